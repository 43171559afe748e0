"""Kill scoring at every file operation in turn, and say whether the store ever showed anything but a whole run.

    python tests/killed.py OLD NEW GOLDS WORK

OLD and NEW are JSONL files of attempts. For n = 1, 2, … a child scores NEW over a store that holds OLD and kills itself
(SIGKILL) at its n-th file operation; then the store must hold, byte for byte, the run of OLD or that of NEW, and
scoring again must give the bytes of an undisturbed run. Prints how many kills there were and how often each was left.

The children are forks of a process that has imported everything and used nothing, so each costs a fraction of a start.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from scorer import pipeline
from scorer.ingest import attempts as cutting

OPERATIONS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate", "shutil.rmtree"}
FINISHED, KILLED = 0, -signal.SIGKILL


def main(old: str, new: str, golds: str, work: str) -> None:
    """Try every n until the child is not killed any more."""
    cutting.BATCH_ROWS = 9
    place = Path(work)
    place.mkdir()
    assert in_child(lambda: score(old, golds, place / "old")) == FINISHED
    shutil.copytree(place / "old", place / "new", symlinks=True)
    assert in_child(lambda: score(new, golds, place / "new")) == FINISHED
    before, after = (contents(place / name) for name in ("old", "new"))
    left: list[bool] = []
    number = 1
    while True:
        store = place / str(number)
        shutil.copytree(place / "old", store, symlinks=True)
        ended = in_child(lambda: killed_at(number, lambda: score(new, golds, store)))  # noqa: B023
        if ended == FINISHED:
            break
        assert ended == KILLED, f"operation {number} ended with {ended}"
        found = contents(store)
        assert found in (before, after), f"a kill at operation {number} left neither run whole"
        left.append(found == after)
        assert in_child(lambda: score(new, golds, store)) == FINISHED  # noqa: B023
        assert contents(store) == after, f"again after a kill at operation {number} gave other bytes"
        assert leftovers(store) == leftovers(place / "new"), f"a kill at operation {number} left files behind"
        shutil.rmtree(store)
        number += 1
    print(len(left), left.count(False), left.count(True))


def score(source: str, golds: str, store: Path) -> None:
    """Score the way a user does, in one thread, so that every try meets the same operations."""
    pipeline.score([source], "eduevidence", store, golds=golds, run_id="r", replace=True, threads=1)


def in_child(work: Callable[[], Any]) -> int:
    """Do `work` in a fork; return its exit code, or the negative number of the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(FINISHED)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(number: int, work: Callable[[], Any]) -> None:
    """Do `work`, but for the process being killed at its n-th operation on files."""
    met = 0

    def operation() -> None:
        nonlocal met
        met += 1
        if met == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def audited(event: str, arguments: tuple[Any, ...]) -> None:
        if event in OPERATIONS or (event == "open" and writes(arguments)):
            operation()

    sys.addaudithook(audited)
    for owner, name in ((pq.ParquetWriter, "write_table"), (pq.ParquetWriter, "close"), (os, "fsync")):
        setattr(owner, name, counted(getattr(owner, name), operation))
    work()


def writes(arguments: tuple[Any, ...]) -> bool:
    """Tell whether an audited `open` is for writing."""
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


def counted(function: Callable[..., Any], operation: Callable[[], None]) -> Callable[..., Any]:
    """Return the function with an operation before and after it, so that a kill can find its work done or not."""

    def both(*arguments: Any, **named: Any) -> Any:
        operation()
        result = function(*arguments, **named)
        operation()
        return result

    return both


def contents(store: Path) -> dict[str, bytes]:
    """Return the bytes of every table that a reader of the store sees."""
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.glob("[!.]*/*.parquet"))}


def leftovers(store: Path) -> list[str]:
    """Return the names of all folders of generations and unfinished pieces, numbers aside."""
    return sorted(entry.name.rpartition(".")[0] for entry in hidden(store))


def hidden(store: Path) -> Iterator[Path]:
    """Yield what stands in the store's hidden folders."""
    for folder in (".generations", ".unfinished"):
        if (store / folder).is_dir():
            yield from (store / folder).iterdir()


if __name__ == "__main__":
    main(*sys.argv[1:])

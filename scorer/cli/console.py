"""What every command prints through: data to stdout or a file, all else to stderr, and a bar for longer work."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.errors import UsageError, WriteError

if TYPE_CHECKING:
    from rich.progress import Progress

_BAR_AFTER_SECONDS = 1.0
_REJECTED_SHOWN = 10


def say(text: str) -> None:
    """Print a line for the person at the terminal, on stderr, with nothing in it that the terminal would obey."""
    from scorer.formats import escape_controls

    print(escape_controls(text), file=sys.stderr)


def say_rest(rejected: Sequence[str], flags: Sequence[str]) -> None:
    """Print the end of an account: what was rejected (the first ten, and how many more), and what must be known."""
    for line in rejected[:_REJECTED_SHOWN]:
        say(f"rejected  {line}")
    if len(rejected) > _REJECTED_SHOWN:
        say(f"rejected  {len(rejected) - _REJECTED_SHOWN:,} more; the table `rejected` has all of them")
    for flag in flags:
        say(f"note      {flag}")


def emit(text: str, to: Path | None) -> None:
    """Put data on stdout, or into the file `to`, whole or not at all. Raises WriteError."""
    if to is None:
        _print(text)
        return
    from scorer.store import whole_file

    with whole_file(to) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


def _print(text: str) -> None:
    from scorer.formats import escape_controls

    try:
        sys.stdout.write(escape_controls(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away, which is no failure of ours: see `main`
        raise
    except OSError as error:
        # What is left in the buffer can go nowhere: nobody shall try again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise WriteError(f"standard output: cannot write: {error.strerror}") from error


def terminal_width() -> int | None:
    """Return the terminal's width, or None where stdout is a pipe or file and lines may be as long as they are."""
    if not sys.stdout.isatty():
        return None
    from shutil import get_terminal_size

    return get_terminal_size().columns


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return `value` if it is one of `known`; else raise UsageError that names the option and the nearest."""
    from scorer.errors import nearest

    if value not in known:
        raise UsageError(f"{name}: no {value!r}{nearest(value, known)}")
    return value


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Give a function that takes (done, total): work of over a second shows a bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    started = time.monotonic()
    bar: Progress | None = None

    def advance(done: int, total: int | None) -> None:
        nonlocal bar
        if bar is None and time.monotonic() - started > _BAR_AFTER_SECONDS:
            bar = _bar()
            bar.add_task(what, total=total)
            bar.start()
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done, total=total)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class RateColumn(TextColumn):
        def render(self, task: object) -> Text:
            speed = getattr(task, "speed", None)
            return Text(f"{speed:,.0f}/s" if speed else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(""),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)

"""A results folder: one subfolder a run, typed Parquet, whole or not at all. The only module that writes Parquet.

    STORE/RUN                     a relative link to the run's newest generation
    STORE/.generations/RUN.3/     immutable once linked: one Parquet file a table
    STORE/.unfinished/KEY/        finished batches of an interrupted run, named by their hashes

A reader follows the link once and reads one generation; a writer fills a new one and swaps the link in one step, so
any kill leaves the old run or the new one. Who uses a generation holds a lock on its folder (readers shared, its writer
exclusive); a folder that is linked no more is removed by whoever gets its exclusive lock, so nobody's files vanish
under them and nothing of a killed writer stays.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError, Problem, ScorerError, UsageError, WriteError, nearest
from scorer.tables import TABLES, Table, check

GENERATIONS = ".generations"
UNFINISHED = ".unfinished"
LOCK = ".lock"

SIGNATURE_KEY = "scorer"
"""The Parquet metadata key that holds the signature, as JSON."""

ROW_GROUPS_KEY = "scorer.row_groups"
"""The Parquet metadata key that tells which row groups a scorer wrote: {scorer: [first, count]}."""

_COMPRESSION = "zstd"
_LONG_TEXTS = ("response", "prompt", "value")
"""Text columns whose values are long and seldom equal: a dictionary or the least and greatest of them help nobody."""
_SLUG_LENGTH = 100


def folder_name(run_id: str) -> str:
    """Return the name of a run's folder: the id with everything but ASCII letters, digits, `-`, `_` and `.` escaped.

    Long ids are cut and closed with a hash, so that two ids never share a name and none starts with a dot.
    """
    slug = quote(run_id, safe="").replace("~", "%7E")
    if slug.startswith("."):
        slug = "%2E" + slug[1:]
    if len(slug) > _SLUG_LENGTH or not slug:
        slug = f"{slug[:_SLUG_LENGTH]}-{sha256(run_id.encode()).hexdigest()[:16]}"
    return slug


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass
class StoredRun:
    """One generation of one run, read-only. Holds a shared lock on its folder until closed."""

    path: Path
    _lock: int = field(repr=False)

    @cached_property
    def row(self) -> dict[str, Any]:
        """The run's row of the table `runs`."""
        return self.frame("runs").row(0, named=True)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return str(self.row["run_id"])

    @cached_property
    def signature(self) -> dict[str, Any]:
        """What made this run: versions, pack, hashes of the input tables."""
        return dict(json.loads(self.row["signature"]))

    def file(self, table: str) -> Path | None:
        """Return the table's Parquet file, or None where the run has no such table."""
        path = self.path / f"{table}.parquet"
        return path if path.is_file() else None

    def frame(self, table: str, columns: list[str] | None = None) -> pl.DataFrame:
        """Return a whole table, in stored order; empty but typed where the run has none."""
        path = self.file(table)
        if path is None:
            empty = TABLES[table].empty()
            return empty.select(columns) if columns else empty
        return pl.read_parquet(path, columns=columns, glob=False)

    def parquet(self, table: str) -> pq.ParquetFile | None:
        """Return the table's file opened for reading row group by row group, or None."""
        path = self.file(table)
        return pq.ParquetFile(path) if path else None

    def close(self) -> None:
        """Let the generation go; the next writer may remove it once it is linked no more."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Store:
    """A results folder opened for reading: each run as it was when the runs were first asked for."""

    def __init__(self, path: str | Path) -> None:
        """Open the store at `path`. Raises InputError where there is none."""
        self.path = Path(path)
        if not self.path.is_dir():
            raise InputError([Problem(str(path), "", "no store here; `scorer score … --out` makes one")])
        if not _linked_runs(self.path):
            raise InputError(
                [Problem(str(path), "", "this folder holds no run; give the folder that was named by --out")]
            )

    @cached_property
    def runs(self) -> dict[str, StoredRun]:
        """Every run of the store by its id, in the order of ids."""
        opened = [_open_generation(self.path / name) for name in _linked_runs(self.path)]
        return {run.run_id: run for run in sorted(opened, key=lambda run: run.run_id)}

    def run(self, run_id: str | None = None) -> StoredRun:
        """Return the run named, or the only one. Raises UsageError where there are several and none is named."""
        if run_id is None:
            if len(self.runs) > 1:
                known = ", ".join(self.runs)
                raise UsageError(f"{self.path} holds {len(self.runs)} runs; choose one with --run: {known}")
            return next(iter(self.runs.values()))
        if run_id not in self.runs:
            raise UsageError(f"{self.path} holds no run {run_id!r}{nearest(run_id, list(self.runs))}")
        return self.runs[run_id]

    def files(self, table: str, run_id: str | None = None) -> list[Path]:
        """Return the Parquet files of a table: of every run, or of the one named."""
        chosen = self.runs.values() if run_id is None else [self.run(run_id)]
        return [path for run in chosen if (path := run.file(table))]

    def frame(self, table: str, columns: list[str] | None = None) -> pl.DataFrame:
        """Return a table over all runs, run after run in the order of their ids."""
        return pl.concat(run.frame(table, columns) for run in self.runs.values())

    def count(self, table: str) -> int:
        """Return how many rows a table has over all runs."""
        return sum(pq.read_metadata(path).num_rows for path in self.files(table))

    def close(self) -> None:
        """Let every generation go."""
        for run in self.__dict__.get("runs", {}).values():
            run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def current_run(store: Path, run_id: str) -> StoredRun | None:
    """Return the run as it stands in the store, or None where it is not there (or the store is not)."""
    link = store / folder_name(run_id)
    return _open_generation(link) if link.is_symlink() else None


def _linked_runs(store: Path) -> list[str]:
    return sorted(
        entry.name
        for entry in store.iterdir()
        if entry.is_symlink() and not entry.name.startswith(".") and (entry / "runs.parquet").is_file()
    )


def _open_generation(link: Path) -> StoredRun:
    """Follow the link and lock what it leads to; again if a writer swapped it and removed the folder meanwhile."""
    for _ in range(100):
        generation = link.resolve()
        with suppress(FileNotFoundError):
            lock = os.open(generation, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if (generation / "runs.parquet").is_file():
                return StoredRun(generation, lock)
            os.close(lock)
    raise ScorerError(f"{link}: the link leads nowhere; score the run again")


# --- writing ----------------------------------------------------------------------------------------------------------


class RunWriter:
    """Fills a new generation of one run and publishes it; leaving it without `publish` removes what was written.

    Each `write` adds one row group, so the caller's batches decide the bytes, never the number of threads.
    """

    def __init__(self, store: Path, run_id: str) -> None:
        """Start a generation in `store` (made if absent). Raises WriteError where the folder cannot be written."""
        self.store = store
        self.run_id = run_id
        self._name = folder_name(run_id)
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._row_groups: dict[str, int] = {}
        with writing(store):
            (store / GENERATIONS).mkdir(parents=True, exist_ok=True)
            with _store_lock(store):
                self.path = self._new_folder()
                self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
                fcntl.flock(self._lock, fcntl.LOCK_EX)

    def _new_folder(self) -> Path:
        taken = [int(number) for path in (self.store / GENERATIONS).glob("*") if (number := self._number(path.name))]
        folder = self.store / GENERATIONS / f"{self._name}.{max(taken, default=0) + 1}"
        folder.mkdir()
        return folder

    def _number(self, folder: str) -> str | None:
        name, _, number = folder.rpartition(".")
        return number if name == self._name and number.isdigit() else None

    def write(self, table: str, frame: pl.DataFrame) -> None:
        """Add `frame`, held to the table's contract, as one row group (also where it has no rows)."""
        check(frame, TABLES[table])
        with writing(self.path):
            self._writer(TABLES[table]).write_table(to_arrow(frame), row_group_size=max(frame.height, 1))
        self._row_groups[table] = self._row_groups.get(table, 0) + 1

    def row_groups(self, table: str) -> int:
        """Return how many row groups the table has by now."""
        return self._row_groups.get(table, 0)

    def link(self, table: str, run: StoredRun) -> None:
        """Take over a table of another generation unchanged, without copying it."""
        path = run.file(table)
        if path:
            with writing(self.path):
                os.link(path, self.path / path.name)

    def publish(self, signature: Mapping[str, Any], metadata: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Close every file with the signature (and a table's own `metadata`) in it and swap the run's link to them."""
        with writing(self.path):
            for name, writer in self._writers.items():
                own = (metadata or {}).get(name, {})
                texts = {SIGNATURE_KEY: canonical_json(signature)} | {key: canonical_json(own[key]) for key in own}
                writer.add_key_value_metadata(texts)
                writer.close()
            self._writers.clear()
            for path in self.path.iterdir():
                _sync(path)
            _sync(self.path)
            self._swap()
        self.close()

    def _swap(self) -> None:
        link = self.store / GENERATIONS / f"{self.path.name}.link"
        link.unlink(missing_ok=True)
        link.symlink_to(Path(GENERATIONS) / self.path.name)
        target = self.store / self._name
        if target.is_dir() and not target.is_symlink():
            raise WriteError(f"{target} is a folder of something else; choose another --out or --run")
        link.replace(target)
        _sync(self.store)

    def _writer(self, table: Table) -> pq.ParquetWriter:
        if table.name not in self._writers:
            short = [name for name, dtype in table.columns.items() if not (dtype == pl.String and name in _LONG_TEXTS)]
            self._writers[table.name] = pq.ParquetWriter(
                self.path / f"{table.name}.parquet",
                to_arrow(table.empty()).schema,
                compression=_COMPRESSION,
                use_dictionary=short,
                write_statistics=short,
            )
        return self._writers[table.name]

    def close(self) -> None:
        """Let the generation go: unpublished, it is removed."""
        for writer in self._writers.values():
            with suppress(OSError):
                writer.close()
        self._writers.clear()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            sweep(self.store)
            _remove_if_empty(self.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sweep(store: Path) -> None:
    """Remove generations that no run links to and nobody uses: superseded ones, and those of killed writers."""
    with suppress(OSError), _store_lock(store):
        linked = {entry.resolve() for entry in store.iterdir() if entry.is_symlink()}
        for entry in (store / GENERATIONS).iterdir():
            if entry.is_symlink():
                entry.unlink()
            elif entry.resolve() not in linked:
                _remove_unused(entry)


def _remove_unused(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    except BlockingIOError:
        return
    finally:
        os.close(lock)


def _remove_if_empty(store: Path) -> None:
    """Remove a store that holds nothing: its first run came to nothing."""
    if not any(entry.name not in (GENERATIONS, LOCK) for entry in store.iterdir()):
        with suppress(OSError):
            (store / GENERATIONS).rmdir()
            (store / LOCK).unlink()
            store.rmdir()


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn what the system refuses (a full disk, a folder not ours to write) into a WriteError that says where."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise WriteError(f"{place}: cannot write: {reason}; what stood there before is untouched") from error


@contextmanager
def _store_lock(store: Path) -> Iterator[None]:
    with (store / LOCK).open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- Parquet ----------------------------------------------------------------------------------------------------------


def to_arrow(frame: pl.DataFrame) -> pa.Table:
    """Return the frame as an Arrow table of plain types, as every Parquet reader knows them."""
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def write_parquet(frames: Iterable[pl.DataFrame], path: Path) -> None:
    """Write frames of one schema as one Parquet file, whole or not at all, each frame with rows as one row group."""
    with whole_file(path) as draft:
        writer = None
        for frame in frames:
            writer = writer or pq.ParquetWriter(draft, to_arrow(frame).schema, compression=_COMPRESSION)
            if frame.height:
                writer.write_table(to_arrow(frame), row_group_size=frame.height)
        if writer:
            writer.close()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a draft beside `path` to write to; move it into place at the end, or remove it if anything fails."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield draft
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def canonical_json(value: object) -> str:
    """Return JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


# --- finished pieces of an interrupted run ----------------------------------------------------------------------------


class Unfinished:
    """What an interrupted run had finished: frames kept under the hash of all that decides them."""

    def __init__(self, store: Path, run_id: str) -> None:
        self.path = store / UNFINISHED / folder_name(run_id)

    def load(self, key: str, names: Sequence[str]) -> list[pl.DataFrame] | None:
        """Return the frames kept under `key`, or None where they are not, or not whole."""
        try:
            return [pl.read_ipc(self._file(key, name)) for name in names]
        except (OSError, pl.exceptions.PolarsError):
            return None

    def save(self, key: str, frames: Mapping[str, pl.DataFrame]) -> None:
        """Keep the frames until `discard`. Not as Parquet: they live for minutes, and Arrow IPC costs a quarter."""
        for name, frame in frames.items():
            with whole_file(self._file(key, name)) as draft:
                frame.write_ipc(draft)

    def discard(self) -> None:
        """Remove everything kept for this run: it was published."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            self.path.parent.rmdir()

    def _file(self, key: str, name: str) -> Path:
        return self.path / f"{key}.{name}.arrow"

"""Files of attempts, whatever their form, to frames of named columns: text or numbers as they stand, not yet judged.

A source can be read again from the start, because a run is surveyed before it is scored. Nothing is held but the piece
being read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError, Problem, UsageError
from scorer.ingest.csv_rows import BadRow, csv_rows
from scorer.ingest.text import UnreadableError, keep_surrogates, parse_json, type_name

_PIECE_BYTES = 32 << 20
_PIECE_ROWS = 16384

FRAME = "<frame>"
"""What a frame is called where a file would go by its path."""
_UNUSED_NAMED = 10
_OF_MANIFESTS = {"artifacts", "started_at", "finished_at"}
"""What the entries of a manifest have beside the columns of an attempt."""

PLACE = "place"
"""The column that says where in its source a row stands."""
FAULT = "fault"
"""The column that says why a row's response could not be read."""

Names = Mapping[str, str]
"""The columns that mean something, and our name for each; others are passed over."""


@dataclass(frozen=True)
class Refused:
    """One piece of input that is not used, or only after a repair."""

    source: str
    place: str
    rule: str
    detail: str


@dataclass
class Piece:
    """Some rows of a source: a frame with the columns found, `place`, perhaps `fault`; and what could not be a row."""

    source: str
    frame: pl.DataFrame
    refused: list[Refused] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unused: frozenset[str] = frozenset()
    """Columns that mean nothing here, some of them: one may be a misspelt name."""


@dataclass
class RunFacts:
    """What a source says of the run as a whole; None where it says nothing."""

    run_id: str | None = None
    mode: str | None = None
    created_at: str | None = None
    environment: Mapping[str, Any] | None = None
    notes: str | None = None
    systems: tuple[str, ...] | None = None
    folder: Path | None = None
    """The run folder, where the source is one: golds and questions may lie in it."""


class Source(Protocol):
    """Attempts that can be read piece by piece, again and again."""

    name: str
    """As the caller named it."""
    facts: RunFacts

    def pieces(self) -> Iterator[Piece]:
        """Yield the attempts in order."""
        ...


# --- rows of parsed JSON ----------------------------------------------------------------------------------------------


@dataclass
class Rows:
    """Parsed JSON objects gathered until they fill a piece."""

    source: str
    names: Names
    rows: list[dict[str, str | None]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unused: frozenset[str] = frozenset()
    size: int = 0

    def add(self, place: str, value: Any, extra: Mapping[str, str | None] | None = None) -> None:
        """Add one attempt; what is no object, or holds a list where a name or number belongs, is refused."""
        if not isinstance(value, dict):
            self.refuse(place, "no object", f"an attempt must be a JSON object, this is {type_name(value)}")
            return
        row: dict[str, str | None] = {PLACE: place, FAULT: None}
        if len(self.unused) < _UNUSED_NAMED:
            self.unused |= value.keys() - self.names.keys() - _OF_MANIFESTS
        for column in self.names.keys() & value.keys():
            cell, name = value[column], self.names[column]
            if name in row:
                self.refuse(place, "two names for one column", f"both {column!r} and another column give {name}")
                return
            if name == "response" and not isinstance(cell, str | None):
                row[FAULT] = f"the response is no text but {type_name(cell)}"
            elif isinstance(cell, bool | list | dict):
                self.refuse(place, f"{name} unusable", f"{name} must be text or a number, this is {type_name(cell)}")
                return
            else:
                row[name] = None if cell is None else keep_surrogates(cell if isinstance(cell, str) else repr(cell))
        row |= extra or {}
        self.rows.append(row)
        self.size += len(row.get("response") or "")

    def refuse(self, place: str, rule: str, detail: str) -> None:
        """Note a row that cannot be used."""
        self.refused.append(Refused(self.source, place, rule, detail))

    @property
    def full(self) -> bool:
        """Whether it is time to pass the piece on."""
        return self.size >= _PIECE_BYTES or len(self.rows) + len(self.refused) >= _PIECE_ROWS

    def take(self) -> Piece:
        """Return what was gathered and start anew."""
        found = sorted({PLACE, FAULT}.union(*self.rows))
        columns = {name: [row.get(name) for row in self.rows] for name in found}
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String()))
        piece = Piece(self.source, frame, self.refused, self.problems, self.unused)
        self.rows, self.refused, self.problems, self.size = [], [], [], 0
        return piece


class JsonLines:
    """A file of one JSON object a line."""

    def __init__(self, path: Path, names: Names, name: str | None = None) -> None:
        self.path, self.names, self.name = path, names, name or str(path)
        self.facts = RunFacts()

    def pieces(self) -> Iterator[Piece]:
        """Yield the attempts in order; a line that is no JSON object is refused."""
        rows = Rows(self.name, self.names)
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    rows.add(f"line {number}", parse_json(line))
                except UnreadableError as error:
                    rows.refuse(f"line {number}", "unreadable line", f"the line {error}")
                if rows.full:
                    yield rows.take()
        yield rows.take()


class CsvFile:
    """A CSV file with a header, in UTF-8 with or without BOM."""

    def __init__(self, path: Path, names: Names) -> None:
        self.path, self.names, self.name = path, names, str(path)
        self.facts = RunFacts()

    def pieces(self) -> Iterator[Piece]:
        """Yield the attempts in order; a row that is not UTF-8, or longer or shorter than the header, is refused.

        An empty cell is null, except that an empty response is an empty text.
        """
        rows = Rows(self.name, self.names)
        for row in csv_rows(self.path):
            if isinstance(row, BadRow):
                rows.refuse(row.place, row.rule, row.detail)
            else:
                cells = row.cells.items()
                rows.add(row.place, {name: cell for name, cell in cells if cell or self.names.get(name) == "response"})
            if rows.full:
                yield rows.take()
        yield rows.take()


# --- columns ----------------------------------------------------------------------------------------------------------


class Columnar:
    """Arrow record batches: a Parquet or Arrow IPC file, a Polars frame, anything with an Arrow C stream."""

    def __init__(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], names: Names) -> None:
        """Raise InputError where two columns of `schema` go by one of our names."""
        self.name, self.batches = name, batches
        self.facts = RunFacts()
        self.columns = {column: names[column] for column in schema.names if column in names}
        self.unused = frozenset([column for column in schema.names if column not in names][:_UNUSED_NAMED])
        ours = list(self.columns.values())
        twice = sorted({name for name in ours if ours.count(name) > 1})
        if twice:
            raise InputError([Problem(name, "columns", f"more than one column gives {', '.join(twice)}")])

    def pieces(self) -> Iterator[Piece]:
        """Yield the attempts in order, in pieces of bounded size."""
        row = 0
        for whole in self.batches:
            batch = whole.select(list(self.columns))
            for start, length in _bounded(batch):
                frame = pl.DataFrame(pl.from_arrow(batch.slice(start, length))).rename(self.columns)
                places = pl.format("row {}", pl.int_range(row + 1, row + 1 + length)).alias(PLACE)
                yield Piece(self.name, frame.with_columns(places), unused=self.unused)
                row += length


@dataclass(frozen=True)
class ParquetBatches:
    """The record batches of a Parquet file; few rows at once where rows are long."""

    path: Path
    columns: tuple[str, ...]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                row_bytes = max(group.total_byte_size // max(group.num_rows, 1), 1)
                rows = min(max(_PIECE_BYTES // row_bytes, 1), _PIECE_ROWS)
                yield from file.iter_batches(rows, row_groups=[number], columns=list(self.columns))


@dataclass(frozen=True)
class IpcBatches:
    """The record batches of an Arrow IPC file or stream."""

    path: Path

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.path)) as mapped:
            try:
                reader = pa.ipc.open_file(mapped)
            except pa.ArrowInvalid:
                mapped.seek(0)
                yield from pa.ipc.open_stream(mapped)
            else:
                yield from (reader.get_batch(number) for number in range(reader.num_record_batches))


def _bounded(batch: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Yield (start, length) of slices that hold few enough bytes and rows."""
    row_bytes = max(batch.nbytes // max(batch.num_rows, 1), 1)
    step = min(max(_PIECE_BYTES // row_bytes, 1), _PIECE_ROWS)
    for start in range(0, batch.num_rows, step):
        yield start, min(step, batch.num_rows - start)


# --- which form a path has --------------------------------------------------------------------------------------------

FILE_FORMS = (".jsonl", ".ndjson", ".csv", ".parquet", ".arrow", ".ipc", ".feather")


def open_file(path: Path, names: Names) -> Source:
    """Return the source that reads `path`, by the ending of its name. Raises UsageError, InputError."""
    if not path.is_file():
        raise InputError([Problem(str(path), "", "no such file or folder")])
    ending = path.suffix.lower()
    try:
        if ending in (".jsonl", ".ndjson"):
            return JsonLines(path, names)
        if ending == ".csv":
            return CsvFile(path, names)
        if ending == ".parquet":
            schema = pq.read_schema(path)
            known = tuple(column for column in schema.names if column in names)
            return Columnar(str(path), schema, ParquetBatches(path, known), names)
        if ending in (".arrow", ".ipc", ".feather"):
            return Columnar(str(path), _ipc_schema(path), IpcBatches(path), names)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError([Problem(str(path), "", f"cannot be read as {ending[1:]}: {error}")]) from None
    raise UsageError(
        f"{path}: attempts are read from {', '.join(FILE_FORMS)}, a run folder or `-`; not from {ending!r}"
    )


def _ipc_schema(path: Path) -> pa.Schema:
    with pa.memory_map(str(path)) as mapped:
        try:
            return pa.ipc.open_file(mapped).schema
        except pa.ArrowInvalid:
            mapped.seek(0)
            return pa.ipc.open_stream(mapped).schema


def from_frame(frame: Any, names: Names) -> Source:
    """Return a source over a Polars frame (or LazyFrame) or any object with an Arrow C stream.

    Raises UsageError where the object is neither.
    """
    table = arrow_table(frame)
    return Columnar(FRAME, table.schema, table.to_batches(), names)


def frame_rows(frame: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row of a Polars frame or Arrow stream with its place. Raises UsageError where it is neither."""
    for number, row in enumerate(arrow_table(frame).to_pylist(), 1):
        yield f"row {number}", row


def arrow_table(frame: Any) -> pa.Table:
    """Return a Polars frame (or LazyFrame) or any object with an Arrow C stream as an Arrow table.

    Raises UsageError where the object is neither.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(f"give a path, a Polars frame or an Arrow C stream, not {type(frame).__name__}")
    return pa.table(frame)

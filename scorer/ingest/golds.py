"""Gold annotations, whatever their form, to the table golds: one row an item of a field, one row `id` a gold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError, Problem, UsageError
from scorer.ingest.csv_rows import BadRow, csv_rows
from scorer.ingest.sources import FRAME, frame_rows
from scorer.ingest.text import UnreadableError, keep_surrogates, parse_json, type_name
from scorer.packs import Golds
from scorer.tables import GOLDS


@dataclass
class _Rows:
    """Rows of the table golds, column by column, without run_id."""

    task_ids: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)

    def add(self, task_id: str, name: str, texts: list[str]) -> None:
        """Add the texts of one field of one gold, in their order."""
        self.task_ids += [task_id] * len(texts)
        self.fields += [name] * len(texts)
        self.positions += range(len(texts))
        self.values += map(keep_surrogates, texts)

    def frame(self) -> pl.DataFrame:
        """Return the rows as a frame."""
        columns = {"task_id": self.task_ids, "field": self.fields, "position": self.positions, "value": self.values}
        return pl.DataFrame(columns, schema={name: GOLDS.columns[name] for name in columns})


@dataclass(frozen=True)
class _Found:
    """One gold as parsed, and where it stands."""

    source: str
    place: str
    gold: Any
    named: str | None = None
    """The task's id, where the file's name gives it."""

    def problem(self, key: str, message: str) -> Problem:
        return Problem(self.source, f"{self.place} {key}".strip(), message)

    def __str__(self) -> str:
        return f"{self.source} {self.place}".strip()


def read_golds(place: Any, form: Golds) -> pl.DataFrame:
    """Return the golds at `place` as the table golds without run_id, sorted by its key.

    `place` is the path of a folder of files named as `form.files` says, a JSONL file (one gold a line), a JSON array, a
    Parquet file with a row a gold, or, where `form.separator` says how to write a list, a CSV file with a row a gold;
    or it is a frame or Arrow stream with a row a gold. Raises InputError with every mistake in any of them, UsageError
    for another form.
    """
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    rows = _Rows()
    for found in _golds(place, form, problems):
        task_id = _task_id(found, form, problems)
        if task_id is None:
            continue
        if task_id in seen:
            message = f"a second gold for {task_id!r}; the first is {seen[task_id]}; keep one"
            problems.append(found.problem("", message))
        seen[task_id] = str(found)
        rows.add(task_id, "id", [task_id])
        _add_fields(rows, found, task_id, form, problems)
    if problems:
        raise InputError(problems)
    return rows.frame().sort("task_id", "field", "position")


def _golds(place: Any, form: Golds, problems: list[Problem]) -> Iterator[_Found]:
    if not isinstance(place, str | Path):
        yield from (_Found(FRAME, row, gold) for row, gold in frame_rows(place))
        return
    path = Path(place)
    ending = path.suffix.lower()
    if path.is_dir():
        yield from _folder(path, form, problems)
    elif not path.is_file():
        raise InputError([Problem(str(path), "", "no such file or folder of golds")])
    elif ending in (".jsonl", ".ndjson"):
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield from _parsed(_Found(str(path), f"line {number}", line), problems)
    elif ending == ".json":
        for whole in _parsed(_Found(str(path), "", path.read_bytes()), problems):
            golds = whole.gold if isinstance(whole.gold, list) else [whole.gold]
            yield from (_Found(str(path), f"[{number}]", gold) for number, gold in enumerate(golds))
    elif ending == ".parquet":
        yield from _parquet(path)
    elif ending == ".csv" and form.separator:
        yield from _csv(path, problems)
    else:
        forms = "a folder, .jsonl, .json or .parquet" + (", .csv" if form.separator else "")
        raise UsageError(f"{path}: golds are read from {forms}, not from {ending!r}")


def _folder(path: Path, form: Golds, problems: list[Problem]) -> Iterator[_Found]:
    before, after = form.files.split("*")
    files = sorted(file for file in path.glob(form.files) if file.is_file())
    if not files:
        problems.append(Problem(str(path), "", f"holds no file named {form.files}"))
    for file in files:
        named = file.name.removeprefix(before).removesuffix(after)
        yield from _parsed(_Found(str(file), "", file.read_bytes(), named), problems)


def _parsed(found: _Found, problems: list[Problem]) -> Iterator[_Found]:
    """Yield `found` with the JSON value in place of its bytes, or note why there is none."""
    try:
        yield _Found(found.source, found.place, parse_json(found.gold), found.named)
    except UnreadableError as error:
        problems.append(found.problem("", str(error)))


def _parquet(path: Path) -> Iterator[_Found]:
    try:
        rows = pq.read_table(path).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError([Problem(str(path), "", f"cannot be read as Parquet: {error}")]) from None
    yield from (_Found(str(path), f"row {number}", row) for number, row in enumerate(rows, 1))


def _csv(path: Path, problems: list[Problem]) -> Iterator[_Found]:
    for row in csv_rows(path):
        if isinstance(row, BadRow):
            problems.append(Problem(str(path), row.place, row.detail))
        else:
            yield _Found(str(path), row.place, {name: cell for name, cell in row.cells.items() if cell})


def _task_id(found: _Found, form: Golds, problems: list[Problem]) -> str | None:
    if not isinstance(found.gold, dict):
        problems.append(found.problem("", f"a gold must be a JSON object, this is {type_name(found.gold)}"))
        return None
    task_id = found.gold.get(form.id, found.named)
    if not isinstance(task_id, str):
        what = "missing" if task_id is None else f"{type_name(task_id)}, not text"
        problems.append(found.problem(form.id, f"the gold's id is {what}; name the task it belongs to"))
        return None
    return keep_surrogates(task_id)


def _add_fields(rows: _Rows, found: _Found, task_id: str, form: Golds, problems: list[Problem]) -> None:
    for name in form.lists:
        rows.add(task_id, name, list(_texts(found, name, form, problems)))
    for name in form.texts:
        value = found.gold.get(name)
        if isinstance(value, str):
            rows.add(task_id, name, [value])
        elif value is not None:
            problems.append(found.problem(name, f"must be text, this is {type_name(value)}"))


def _texts(found: _Found, field: str, form: Golds, problems: list[Problem]) -> Iterator[str]:
    """Yield the items of a list field, from its own name and from the columns that add to it."""
    for name in (field, *(column for column, target in form.columns.items() if target == field)):
        values = found.gold.get(name)
        if values is None:
            continue
        if form.separator and not isinstance(values, list | dict):
            values = [part.strip() for part in _as_text(values).split(form.separator) if part.strip()]
        if not isinstance(values, list):
            problems.append(found.problem(name, f"must be a list of texts, this is {type_name(values)}"))
            continue
        for position, value in enumerate(values):
            if isinstance(value, str) or (form.separator and isinstance(value, int | float)):
                yield _as_text(value)
            else:
                problems.append(found.problem(f"{name}[{position}]", f"must be text, this is {type_name(value)}"))


def _as_text(value: object) -> str:
    """Return a text as it is, a number or truth value as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value)

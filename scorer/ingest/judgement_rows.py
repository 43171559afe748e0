"""Files of judgements, whatever their form, to one flat row an evaluation, under our names and not yet judged.

Five forms: JSONL and a JSON array of one object an evaluation, CSV with a column a criterion, CSV with a row a
criterion, and list columns with one item an evaluation (in any of them, and in Parquet). An object inside a row is laid
flat, so `{"judge": {"model": …}}` and a column `judge.model` are one thing.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from scorer.errors import InputError, Problem, nearest
from scorer.ingest.mapping import Naming
from scorer.ingest.text import EXACT, UnreadableError, keep_surrogates, parse_json, type_name
from scorer.metrics.rubric import SCORE, TOTAL
from scorer.packs import Pack

FORMS = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")

FIGURES = ("pass_rate", "mean_score", "passes", "n_tasks")
"""What a row may say that holds only aggregates of a system, and so names no task."""

NAMED = (
    *("benchmark", "mode", "system", "task_id", "repeat", "attempt_id", "evaluation", "status"),
    *("judge", "judge.provider", "judge.model", "judge.prompt", "judge.rubric", "judge.renderer"),
    *(TOTAL, SCORE, "reason", "cost_usd", "tokens", "latency_s", "created_at", "image_hash"),
    *FIGURES,
)
"""What a row may say beside its criteria and strata. `judge` alone is the judge's model."""

_ALIASES = {
    "cost": "cost_usd",
    "prompt_hash": "judge.prompt",
    "rubric_hash": "judge.rubric",
    "renderer": "judge.renderer",
    **{f"judge_{part}": f"judge.{part}" for part in ("provider", "model", "prompt", "rubric", "renderer")},
}
_CRITERION, _POINTS = "criterion", "points"
"""The two columns of the form with a row a criterion."""

_OF_EVALUATION = (
    "evaluation",
    "status",
    TOTAL,
    SCORE,
    "reason",
    "cost_usd",
    "tokens",
    "latency_s",
    "created_at",
    "image_hash",
)
"""What may be a list with one item an evaluation; so may every criterion."""


@dataclass
class Row:
    """One evaluation as it stands in the source: our names, values not yet looked at."""

    source: str
    place: str
    values: dict[str, Any]
    typed: bool
    """Whether the form tells text from numbers; CSV does not."""
    unknown_criteria: list[str] = field(default_factory=list)
    unknown_fields: list[str] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    """Where a value stands, if not at `place`."""
    repeated: int = 0
    """Rows that only said once more what others say."""

    def at(self, name: str) -> str:
        """Return where the value of that name stands."""
        return f"{self.places.get(name, self.place)} {name}".strip()


class Reader:
    """Reads files of judgements for one pack; gathers what is wrong with them in `problems`."""

    def __init__(self, pack: Pack, naming: Naming) -> None:
        self.naming = naming
        self.criteria = tuple(pack.rubric.most) if pack.rubric else ()
        self.names = _ALIASES | dict(pack.fields)
        self.known = {*NAMED, *self.criteria, *pack.strata, _CRITERION, _POINTS}
        self.problems: list[Problem] = []
        for name in (*naming.fields.values(), *naming.constants):
            if self._ours(name) not in self.known:
                message = f"{name!r} is no name for anything in a judgement{nearest(name, sorted(self.known))}"
                self.problems.append(Problem(naming.source, name, message))

    def rows(self, path: Path) -> list[Row]:
        """Return the evaluations in a file, in order."""
        rows: list[Row] = []
        parts: dict[tuple[Any, ...], _Parts] = {}
        for row in self._raw(path):
            self._name(row)
            if _CRITERION not in row.values and _POINTS not in row.values:
                rows += self._spread(row)
                continue
            key = _identity(row)
            if key not in parts:
                parts[key] = _Parts(Row(row.source, row.place, {}, row.typed))
                rows += [parts[key].first]
            rows += parts[key].add(row, self)
        return rows

    def problem(self, row: Row, name: str, message: str) -> None:
        """Note a mistake of the input."""
        self.problems.append(Problem(row.source, row.at(name), message))

    # --- one file ---------------------------------------------------------------------------------------------------

    def _raw(self, path: Path) -> Iterator[Row]:
        source, ending = str(path), path.suffix.lower()
        if not path.is_file():
            self.problems.append(Problem(source, "", "no such file of judgements"))
        elif ending in (".jsonl", ".ndjson"):
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                if line.strip():
                    yield from self._objects(source, f"line {number}", line)
        elif ending == ".json":
            yield from self._array(source, path)
        elif ending == ".csv":
            yield from self._csv(source, path)
        elif ending == ".parquet":
            yield from self._parquet(source, path)
        else:
            self.problems.append(
                Problem(source, "", f"judgements are read from {', '.join(FORMS)}, not from {ending!r}")
            )

    def _objects(self, source: str, place: str, data: bytes) -> Iterator[Row]:
        try:
            yield from self._object(source, place, parse_json(data, EXACT))
        except UnreadableError as error:
            self.problems.append(Problem(source, place, str(error)))

    def _array(self, source: str, path: Path) -> Iterator[Row]:
        try:
            parsed = parse_json(path.read_bytes(), EXACT)
        except UnreadableError as error:
            self.problems.append(Problem(source, "", str(error)))
            return
        if not isinstance(parsed, list):
            message = f"must be an array of evaluations, this is {type_name(parsed)}"
            self.problems.append(Problem(source, "", message))
            return
        for number, value in enumerate(parsed):
            yield from self._object(source, f"[{number}]", value)

    def _object(self, source: str, place: str, value: Any) -> Iterator[Row]:
        if isinstance(value, dict):
            yield Row(source, place, _flat(value), typed=True)
        else:
            message = f"an evaluation must be an object, this is {type_name(value)}"
            self.problems.append(Problem(source, place, message))

    def _csv(self, source: str, path: Path) -> Iterator[Row]:
        csv.field_size_limit(sys.maxsize)
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.problems.append(Problem(source, "", f"is not UTF-8 at byte {error.start}"))
            return
        reader = csv.reader(io.StringIO(text, newline=""))
        header = next(reader, [])
        for name in sorted({name for name in header if header.count(name) > 1}):
            self.problems.append(Problem(source, "header", f"names the column {name!r} twice"))
        for cells in reader:
            place = f"line {reader.line_num}"
            if len(cells) == len(header):
                yield Row(source, place, dict(zip(header, cells, strict=True)), typed=False)
            elif cells:
                message = f"{len(cells)} cells under a header of {len(header)}"
                self.problems.append(Problem(source, place, message))

    def _parquet(self, source: str, path: Path) -> Iterator[Row]:
        try:
            frame = pl.read_parquet(path, glob=False)
        except (pl.exceptions.PolarsError, pa.ArrowException, OSError) as error:
            self.problems.append(Problem(source, "", f"cannot be read as parquet: {error}"))
            return
        for number, values in enumerate(frame.iter_rows(named=True), 1):
            yield Row(source, f"row {number}", _flat(values), typed=True)

    # --- one row ------------------------------------------------------------------------------------------------------

    def _name(self, row: Row) -> None:
        """Put the row under our names; what has none is noted and left out. An empty text says nothing."""
        named: dict[str, Any] = {}
        for name, value in self.naming.apply(row.values).items():
            ours = self._ours(name)
            if ours not in self.known:
                (row.unknown_criteria if name.startswith("scores.") else row.unknown_fields).append(ours)
            elif value is None or value == "":
                named.setdefault(ours, None)
            elif named.get(ours) is not None:
                self.problem(row, ours, f"is given twice, by {name!r} and another name; map one of them elsewhere")
            else:
                named[ours] = self._cell(row, ours, value)
        row.values = named

    def _ours(self, name: str) -> str:
        return self.names.get(name, name).removeprefix("scores.")

    def _cell(self, row: Row, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if not row.typed and value.startswith("[") and name != "reason" and self._may_be_list(name):
            try:
                return parse_json(value.encode(), EXACT)
            except UnreadableError:
                self.problem(row, name, f"{value!r} begins like a list, but is not JSON")
                return None
        return keep_surrogates(value)

    def _may_be_list(self, name: str) -> bool:
        return name in _OF_EVALUATION or name in self.criteria

    def _spread(self, row: Row) -> list[Row]:
        """Return one row for each item of the row's lists; the row itself where it has none."""
        lists = {name: value for name, value in row.values.items() if isinstance(value, list)}
        if not lists:
            return [row]
        misplaced = [name for name in lists if not self._may_be_list(name)]
        for name in misplaced:
            self.problem(row, name, "cannot be a list")
        lengths = {name: len(value) for name, value in lists.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            self.problem(row, "", f"lists of different lengths ({told}); give one item an evaluation in each")
        if misplaced or len(set(lengths.values())) > 1:
            return []
        return [
            Row(
                row.source,
                f"{row.place} item {item + 1}",
                row.values | {name: value[item] for name, value in lists.items()},
                row.typed,
                row.unknown_criteria,
                row.unknown_fields,
            )
            for item in range(next(iter(lengths.values())))
        ]


@dataclass
class _Parts:
    """Rows of one criterion each that belong to one attempt, judge and evaluation (or evaluations without number)."""

    first: Row
    rows: list[Row] = field(default_factory=list)

    def add(self, part: Row, reader: Reader) -> list[Row]:
        """Put the part into the evaluation it belongs to; return the evaluation if it is a new one.

        Where evaluations have no number, a criterion that comes again begins, or continues, the next one.
        """
        if not self.rows:
            self.rows.append(self.first)
        criterion, points = part.values.pop(_CRITERION, None), part.values.pop(_POINTS, None)
        if criterion is not None and criterion not in (*reader.criteria, TOTAL, SCORE):
            part.unknown_criteria.append(str(criterion))
        elif criterion is not None:
            part.values[criterion] = points
            part.places[criterion] = part.place
            if part.values.get("evaluation") is None:
                return self._merged(sum(criterion in row.values for row in self.rows), part, reader)
        return self._merged(0, part, reader)

    def _merged(self, at: int, part: Row, reader: Reader) -> list[Row]:
        new = at == len(self.rows)
        if new:
            self.rows.append(Row(part.source, part.place, {}, part.typed))
        row = self.rows[at]
        row.repeated += any(name in row.values for name in part.places)
        for name, value in part.values.items():
            known = row.values.get(name)
            if name == "reason" and known and value and value not in known.split("\n"):
                row.values[name] = f"{known}\n{value}"
            elif name not in row.values or known is None:
                row.values[name] = value
            elif value is not None and value != known:
                message = f"is {value!r} here and {known!r} in the evaluation that begins at {row.place}"
                reader.problem(part, name, message)
        row.places |= {name: place for name, place in part.places.items() if name not in row.places}
        row.unknown_criteria += part.unknown_criteria
        row.unknown_fields += [name for name in part.unknown_fields if name not in row.unknown_fields]
        return [row] if new else []


def _identity(row: Row) -> tuple[Any, ...]:
    """Return what rows of one criterion each must share to belong together."""
    names = ("attempt_id", "system", "task_id", "repeat", "evaluation")
    judge = sorted((name, str(value)) for name, value in row.values.items() if name.startswith("judge"))
    return (*(str(row.values.get(name)) for name in names), *judge)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with each object in it laid flat by one level; a list of objects becomes lists of their values."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": inner for key, inner in value.items()}
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            keys = dict.fromkeys(key for item in value for key in item)
            flat |= {f"{name}.{key}": [item.get(key) for item in value] for key in keys}
        else:
            flat[name] = value
    return flat


def read_rows(paths: Sequence[Path], pack: Pack, naming: Naming) -> list[Row]:
    """Return the evaluations of all files, in order. Raises InputError with every mistake of form in any of them."""
    reader = Reader(pack, naming)
    rows = [row for path in paths for row in reader.rows(path)]
    if not rows and not reader.problems:
        reader.problems.append(Problem(", ".join(map(str, paths)), "", "holds no evaluation"))
    if reader.problems:
        raise InputError(reader.problems)
    return rows

"""Where scores come from: a store, or a file of scores that any other tool made (CSV, JSONL, Parquet)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from scorer.aggregate.data import Data
from scorer.errors import InputError, Problem, UsageError
from scorer.formats import csv_mistake
from scorer.store import Store
from scorer.text import keep_surrogates

_TABLES = ("runs", "strata", "golds", "metrics")
_SCORE_COLUMNS = ["run_id", "scorer", "system", "task_id", "repeat", "metric", "value", "reason"]


def open_scores(path: str | Path, *, strata: Sequence[str] = ()) -> Data:
    """Return the scores of a store (a folder), or of a file whose ending says what it is.

    `strata` names the columns of a file that are strata; a store knows its own. Raises InputError where there is
    nothing, or something that cannot be used, and UsageError for another ending.
    """
    path = Path(path)
    if path.is_dir():
        with Store(path) as store:
            tables = {name: store.frame(name) for name in _TABLES}
            return Data.from_tables(tables | {"scores": store.frame("scores", _SCORE_COLUMNS)})
    if not path.is_file():
        raise InputError([Problem(str(path), "", "no store and no file of scores here")])
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: scores come as a store, or as a file that ends in {', '.join(_READERS)}")
    return Data.from_scores(reader(path), strata=strata, source=str(path))


def _read_csv(path: Path) -> pl.DataFrame:
    # All as text: a task called 07 must not become 7. Data gives the columns their types.
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as text:
        if seems := csv_mistake(text.readline()):
            raise InputError([Problem(str(path), "header", seems)])
    try:
        return pl.read_csv(path, infer_schema=False)
    except pl.exceptions.NoDataError:
        raise InputError([Problem(str(path), "", "the file is empty")]) from None
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise InputError([Problem(str(path), "", f"no CSV that can be read: {_first_line(error)}")]) from error


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path, glob=False)
    except pl.exceptions.PolarsError as error:
        raise InputError([Problem(str(path), "", f"no Parquet that can be read: {_first_line(error)}")]) from error


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


def _read_jsonl(path: Path) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    problems = []
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                problems.append(Problem(str(path), f"line {number}", f"no JSON: {error}"))
                continue
            if isinstance(row, dict):
                rows.append(row)
            else:
                problems.append(Problem(str(path), f"line {number}", "no JSON object; a score is one object a line"))
    if problems:
        raise InputError(problems)
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame({name: pl.Series([_text(row.get(name)) for row in rows], dtype=pl.String) for name in names})


def _text(value: object) -> str | None:
    """Return a JSON value as text, as CSV would hold it; `Data` gives the columns their types."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    return keep_surrogates(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


_READERS: Mapping[str, Callable[[Path], pl.DataFrame]] = {
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".parquet": _read_parquet,
}

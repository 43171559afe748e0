"""A benchmark's file of questions to the tables tasks and strata."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from scorer.errors import InputError, Problem, UsageError
from scorer.ingest.csv_rows import BadRow, csv_rows
from scorer.ingest.sources import FRAME, frame_rows
from scorer.ingest.text import UnreadableError, keep_surrogates, parse_json, type_name
from scorer.packs import Tasks
from scorer.tables import STRATA, TASKS


def read_tasks(file: Any, form: Tasks) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables tasks and strata, without run_id, in the order of the file.

    `file` is the path of a JSONL file (one question a line), a JSON array or a CSV file, where an empty cell is absent;
    or it is a frame or Arrow stream with a row a question. A question without a stratum has no row for it. Raises
    InputError with every mistake, UsageError for another form.
    """
    is_path = isinstance(file, str | Path)
    source = str(file) if is_path else FRAME
    problems: list[Problem] = []
    tasks: dict[str, tuple[str | None, str | None]] = {}
    strata: list[tuple[str, str, str]] = []
    for place, question in _questions(Path(file), problems) if is_path else frame_rows(file):
        texts = _texts(source, place, question, form, problems)
        task_id = texts.get(form.id)
        if task_id is None:
            continue
        if task_id in tasks:
            problems.append(Problem(source, place, f"names {task_id!r} a second time; keep one"))
        tasks[task_id] = (texts.get(form.prompt or ""), texts.get(form.language or ""))
        strata += [(task_id, name, texts[name]) for name in form.strata if name in texts]
    if problems:
        raise InputError(problems)
    rows = [(task_id, *others) for task_id, others in tasks.items()]
    return (
        pl.DataFrame(rows, schema=_schema(TASKS.schema), orient="row"),
        pl.DataFrame(strata, schema=_schema(STRATA.schema), orient="row"),
    )


def _schema(schema: pl.Schema) -> pl.Schema:
    return pl.Schema({name: dtype for name, dtype in schema.items() if name != "run_id"})


def _questions(path: Path, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    if not path.is_file():
        raise InputError([Problem(str(path), "", "no such file of tasks")])
    ending = path.suffix.lower()
    if ending not in (".jsonl", ".ndjson", ".json", ".csv"):
        raise UsageError(f"{path}: tasks are read from .jsonl, .json or .csv, not from {ending!r}")
    if ending == ".csv":
        for row in csv_rows(path):
            if isinstance(row, BadRow):
                problems.append(Problem(str(path), row.place, row.detail))
            else:
                yield row.place, {name: cell for name, cell in row.cells.items() if cell}
        return
    try:
        if ending == ".json":
            parsed = parse_json(path.read_bytes())
            yield from (
                (f"[{number}]", value) for number, value in enumerate(parsed if isinstance(parsed, list) else [parsed])
            )
            return
    except UnreadableError as error:
        problems.append(Problem(str(path), "", str(error)))
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield f"line {number}", parse_json(line)
                except UnreadableError as error:
                    problems.append(Problem(str(path), f"line {number}", str(error)))


def _texts(source: str, place: str, question: Any, form: Tasks, problems: list[Problem]) -> dict[str, str]:
    """Return the fields that matter as texts; whole numbers (a level 1, a task_no 7) are taken as text."""
    if not isinstance(question, dict):
        problems.append(Problem(source, place, f"a task must be a JSON object, this is {type_name(question)}"))
        return {}
    texts: dict[str, str] = {}
    for field in (form.id, form.prompt, form.language, *form.strata):
        value = question.get(field) if field else None
        if isinstance(value, str):
            texts[field or ""] = keep_surrogates(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            texts[field or ""] = str(value)
        elif value is not None:
            problems.append(Problem(source, f"{place} {field}", f"must be text, this is {type_name(value)}"))
    if question.get(form.id) is None:
        problems.append(Problem(source, f"{place} {form.id}", "is missing; name the task"))
    return texts

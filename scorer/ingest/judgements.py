"""Evaluations by a judge to the tables judgements, criteria, attempts, tasks and strata.

What is repaired or refused on the way is said; mistakes that leave doubt about what was judged end the import, all of
them told at once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from scorer.errors import InputError, Problem
from scorer.ingest.attempts import input_hashes
from scorer.ingest.judgement_notes import Notes
from scorer.ingest.judgement_points import INVALID, OK, Scoring, UnusableError, decimal, shown
from scorer.ingest.judgement_rows import FIGURES, Row, read_rows
from scorer.ingest.mapping import Naming
from scorer.ingest.sources import Refused
from scorer.ingest.text import type_name
from scorer.metrics.rubric import TOTAL, UNIT, Rubric
from scorer.packs import Pack
from scorer.tables import ATTEMPTS, CRITERIA, JUDGEMENTS, PUBLISHED, STRATA, TASKS

MODES = ("empirical", "simulated", "unknown")

UNKNOWN = "unknown"
"""The level of tasks whose level nobody gives."""

Key = tuple[str, str, int]
"""An attempt: system, task, repeat."""


@dataclass(frozen=True)
class Known:
    """The tasks, and perhaps the attempts, that judgements may speak of. No frame has a run_id."""

    tasks: pl.DataFrame | None = None
    """Null: any task may be judged."""
    strata: pl.DataFrame = field(default_factory=lambda: STRATA.empty().drop("run_id"))
    attempts: pl.DataFrame | None = None
    """Attempts already in the store, with attempt_id, system, task_id, repeat; null: judgements make their own."""


@dataclass(frozen=True)
class Judgements:
    """What the files hold, as tables without run_id, and what was refused or repaired on the way."""

    judgements: pl.DataFrame
    criteria: pl.DataFrame
    attempts: pl.DataFrame | None
    """One attempt for each system, task and repeat; null where the store has them."""
    tasks: pl.DataFrame
    strata: pl.DataFrame
    refused: list[Refused]
    flags: list[str]
    published: pl.DataFrame
    """Figures that came without the evaluations behind them."""
    mode: str | None
    invalid: int
    """Evaluations that could not be used."""


def read_judgements(
    paths: Sequence[Path],
    pack: Pack,
    known: Known,
    *,
    naming: Naming | None = None,
    skip_unknown_tasks: bool = False,
    strict: bool = False,
) -> Judgements:
    """Read files of judgements. With `strict`, a reported total or score that differs from the points is a mistake.

    Raises InputError with every mistake in any of the files.
    """
    rubric = pack.rubric
    if rubric is None:
        raise InputError([Problem(pack.name, "", "has no rubric; judgements need one")])
    rows = read_rows(paths, pack, naming or Naming())
    import_ = _Import(pack, rubric, known, skip_unknown_tasks=skip_unknown_tasks, strict=strict)
    for row in rows:
        import_.add(row)
    return import_.finished()


@dataclass
class _Evaluation:
    """One evaluation, understood. Points and totals in whole hundredths."""

    row: Row
    attempt: Key
    judge: _Judge
    number: int | None
    status: str
    points: Mapping[str, int | None]
    total: int | None
    exact: float | None
    normalized: int | None
    facts: Mapping[str, Any]
    flags: tuple[str, ...]

    @property
    def content(self) -> tuple[Any, ...]:
        """Everything that two records of one evaluation must have in common."""
        return self.status, self.points, self.total, self.normalized, self.facts

    @property
    def place(self) -> str:
        return f"{self.row.source} {self.row.place}"


@dataclass(frozen=True, order=True)
class _Judge:
    provider: str | None
    model: str | None
    prompt_hash: str | None
    rubric_hash: str | None
    renderer: str | None

    @cached_property
    def id(self) -> str:
        """A name that differs wherever any of the five does."""
        name = "/".join(part for part in (self.provider, self.model) if part) or "unknown"
        details = {"prompt": self.prompt_hash, "rubric": self.rubric_hash, "renderer": self.renderer}
        return " ".join([name, *(f"{key}={value}" for key, value in details.items() if value)])


class _Import:
    """Understands row after row, then numbers, compares and lays out what it has."""

    def __init__(self, pack: Pack, rubric: Rubric, known: Known, *, skip_unknown_tasks: bool, strict: bool) -> None:
        self.pack, self.rubric, self.known = pack, rubric, known
        self.skip_unknown_tasks, self.strict = skip_unknown_tasks, strict
        self.task_ids = _task_lookup(known.tasks)
        self.levels = {(task, name): level for task, name, level in known.strata.iter_rows() if level != UNKNOWN}
        self.attempt_ids = _attempt_lookup(known.attempts)
        self.attempts = set((self.attempt_ids or {}).values())
        self.evaluations: list[_Evaluation] = []
        self.published: dict[tuple[str, str, str, str, str], tuple[float, str]] = {}
        """(source, system, stratum, level, figure) -> its value and where it stands."""
        self.notes = Notes()
        self.modes: dict[str, str] = {}
        self.seen_levels: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, row: Row) -> None:
        """Take in one row."""
        for name in row.unknown_criteria:
            self.notes.count(row, "unknown criterion", name)
        for name in row.unknown_fields:
            self.notes.count(row, "unknown field", name)
        self.notes.count(row, "same evaluation twice", times=row.repeated)
        if row.values.get("task_id") is None and any(row.values.get(figure) is not None for figure in FIGURES):
            self._check_run(row)
            self._publish(row)
            return
        mistakes = len(self.notes.problems)
        attempt, number, judge = self._attempt(row), self._whole(row, "evaluation"), self._judge(row)
        self._check_run(row)
        if attempt is None or len(self.notes.problems) > mistakes:
            return
        self._note_levels(row, attempt[1])
        self.evaluations.append(self._evaluation(row, attempt, judge, number))

    # --- which attempt, which judge ----------------------------------------------------------------------------------

    def _attempt(self, row: Row) -> Key | None:
        system, task, repeat = self._text(row, "system"), self._task(row), self._whole(row, "repeat")
        named = self._text(row, "attempt_id")
        if named is not None and self.attempt_ids is not None:
            return self._stored_attempt(row, named, system, task)
        if named is not None:
            self.notes.count(row, "unknown field", "attempt_id")
        given = row.values.get("task_id")
        if system is None:
            self.notes.problem(row, "system", "is missing; name the system (condition), in the file or as a constant")
        if given is None:
            self.notes.problem(row, "task_id", "is missing; name the task")
        if system is None or task is None:
            return None
        key = (system, task, repeat or 1)
        if self.attempt_ids is not None and key not in self.attempts:
            self.notes.problem(row, "", f"no attempt {repeat or 1} of {system!r} at task {task!r} is in the run")
            return None
        return key

    def _stored_attempt(self, row: Row, named: str, system: str | None, task: str | None) -> Key | None:
        key = (self.attempt_ids or {}).get(named)
        if key is None:
            self.notes.problem(row, "attempt_id", f"no attempt {named!r} is in the run")
        elif system not in (None, key[0]) or task not in (None, key[1]):
            self.notes.problem(row, "attempt_id", f"attempt {named!r} is one of {key[0]!r} at task {key[1]!r}")
        return key

    def _task(self, row: Row) -> str | None:
        """Return the task's id as the task table writes it; a number, however written, stands for the whole number."""
        given = row.values.get("task_id")
        if given is None:
            return None
        written = _written(given)
        if written is None:
            self.notes.problem(row, "task_id", f"must be text or a whole number, this is {type_name(given)}")
            return None
        if self.task_ids is None:
            return written
        task = self.task_ids.get(written) or self.task_ids.get(_whole_text(written) or written)
        if task is None and self.skip_unknown_tasks:
            self.notes.count(row, "unknown task", written)
        elif task is None:
            message = (
                f"task {written!r} is not in the task table; "
                "a mapping can translate it, --unknown-task skip passes it over"
            )
            self.notes.problem(row, "task_id", message)
        return task

    def _judge(self, row: Row) -> _Judge:
        parts = {
            part: self._text(row, f"judge.{part}") for part in ("provider", "model", "prompt", "rubric", "renderer")
        }
        model = parts.pop("model") or self._text(row, "judge")
        provider = parts.pop("provider")
        return _Judge(provider, model, *(_short(value) for value in parts.values()))

    def _check_run(self, row: Row) -> None:
        """Hold what a row says of the whole run against the pack and the other rows."""
        benchmark = self._text(row, "benchmark")
        if benchmark not in (None, self.pack.name, self.rubric.terms.judges):
            self.notes.problem(row, "benchmark", f"is {benchmark!r}, but the pack is {self.pack.name!r}")
        mode = self._text(row, "mode")
        if mode is not None and mode not in MODES:
            self.notes.problem(row, "mode", f"is {mode!r}; known: {', '.join(MODES)}")
        elif mode is not None:
            self.modes.setdefault(mode, row.place)
            if len(self.modes) > 1:
                first, place = next(iter(self.modes.items()))
                self.notes.problem(row, "mode", f"is {mode!r}, but {first!r} at {place}; import one mode at a time")

    def _publish(self, row: Row) -> None:
        """Keep the figures of a row that speaks of a system as a whole."""
        system = self._text(row, "system")
        if system is None:
            self.notes.problem(row, "system", "is missing; name the system that the figures are of")
            return
        strata = [(name, level) for name in self.pack.strata if (level := self._level(row, name)) is not None]
        stratum, level = strata[0] if strata else ("", "")
        most = {"pass_rate": 1.0, "mean_score": float(self.rubric.terms.scale)}
        for figure in FIGURES:
            if row.values.get(figure) is None:
                continue
            value, key = self._number(row, figure), (row.source, system, stratum, level, figure)
            if value is None or not 0 <= value <= most.get(figure, value):
                self.notes.problem(row, figure, f"must be a number from 0 to {most.get(figure, '…')}")
            elif self.published.setdefault(key, (value, row.place))[0] != value:
                self.notes.problem(
                    row, figure, f"is {value:g} here and {self.published[key][0]:g} at {self.published[key][1]}"
                )

    def _level(self, row: Row, stratum: str) -> str | None:
        given = row.values.get(stratum)
        return None if given is None else _whole_text(_written(given) or "") or _written(given)

    def _note_levels(self, row: Row, task: str) -> None:
        """Keep the row's strata; the task table has the last word, and without one the rows must agree."""
        for name in self.pack.strata:
            level = self._level(row, name)
            if level is None:
                continue
            known = self.levels.get((task, name))
            seen, place = self.seen_levels.setdefault((task, name), (level, f"{row.source} {row.place}"))
            if known is not None and level != known:
                self.notes.refuse(
                    row, name, f"{name} differs", f"is {level!r}; the task table has {known!r}, which counts"
                )
            elif known is None and level != seen:
                self.notes.problem(row, name, f"is {level!r} for task {task!r}, but {seen!r} at {place}")

    # --- what the judge said -----------------------------------------------------------------------------------------

    def _evaluation(self, row: Row, attempt: Key, judge: _Judge, number: int | None) -> _Evaluation:
        scored = Scoring(row, self.rubric, self.notes, strict=self.strict)
        facts = {
            "total_reported": self._number(row, TOTAL),
            "reason": self._text(row, "reason"),
            "image_hash": self._text(row, "image_hash"),
            "cost_usd": self._number(row, "cost_usd"),
            "tokens": self._whole(row, "tokens", least=0),
            "latency_s": self._number(row, "latency_s"),
            "created_at": self._text(row, "created_at"),
        }
        exact = None if scored.total is None else float(self.rubric.exact(scored.total))
        return _Evaluation(
            row, attempt, judge, number, scored.status, scored.points, scored.total, exact, scored.normalized, facts,
            tuple(scored.flags),
        )  # fmt: skip

    # --- values of other kinds ---------------------------------------------------------------------------------------

    def _text(self, row: Row, name: str) -> str | None:
        value = row.values.get(name)
        if value is None:
            return None
        written = _written(value)
        if written is None:
            self.notes.problem(row, name, f"must be text, this is {type_name(value)}")
        return written or None

    def _whole(self, row: Row, name: str, least: int = 1) -> int | None:
        value = row.values.get(name)
        if value is None:
            return None
        try:
            number = decimal(value)
        except UnusableError:
            number = Decimal("NaN")
        if number.is_nan() or not least <= number < 2**53 or number != int(number):
            self.notes.problem(row, name, f"must be a whole number from {least}, not {shown(value)}")
            return None
        return int(number)

    def _number(self, row: Row, name: str) -> float | None:
        value = row.values.get(name)
        if value is None:
            return None
        try:
            number = float(decimal(value))
            if not math.isfinite(number):
                raise UnusableError(f"is {shown(value)}, too large a number")
        except UnusableError as error:
            self.notes.refuse(row, name, f"{name} unusable", f"{error}; kept as not given")
            return None
        return number

    # --- the end -----------------------------------------------------------------------------------------------------

    def finished(self) -> Judgements:
        """Return the tables, evaluations numbered and repeated ones dropped. Raises InputError with every mistake."""
        self._number_evaluations()
        kept = self._without_repeats()
        if not (kept or self.published or self.notes.problems):
            self.notes.problems.append(Problem("<judgements>", "", "no evaluation can be used"))
        if self.notes.problems:
            raise InputError(self.notes.problems)
        ids, tasks = self._ids(kept), self._task_table(kept)
        return Judgements(
            judgements=_judgement_table(kept, ids),
            criteria=_criteria_table(kept, ids, self.rubric),
            attempts=None if self.attempt_ids is not None else _attempt_table(ids),
            tasks=tasks,
            published=self._published_table(),
            strata=self._strata_table(tasks),
            refused=self.notes.refused(),
            flags=self.notes.flags(),
            mode=next(iter(self.modes), None),
            invalid=sum(evaluation.status == INVALID for evaluation in kept),
        )

    def _number_evaluations(self) -> None:
        """Give evaluations without a number the lowest ones free, in file order within attempt and judge."""
        taken: dict[tuple[Key, _Judge], set[int]] = {}
        for evaluation in self.evaluations:
            if evaluation.number is not None:
                taken.setdefault((evaluation.attempt, evaluation.judge), set()).add(evaluation.number)
        last: Counter[tuple[Key, _Judge]] = Counter()
        for evaluation in self.evaluations:
            if evaluation.number is None:
                group = (evaluation.attempt, evaluation.judge)
                last[group] += 1
                while last[group] in taken.get(group, ()):
                    last[group] += 1
                evaluation.number = last[group]
                self.notes.count(evaluation.row, "evaluation number absent")

    def _without_repeats(self) -> list[_Evaluation]:
        kept: dict[tuple[Key, _Judge, int | None], _Evaluation] = {}
        for evaluation in self.evaluations:
            first = kept.setdefault((evaluation.attempt, evaluation.judge, evaluation.number), evaluation)
            if first is evaluation:
                continue
            if first.content == evaluation.content:
                self.notes.count(evaluation.row, "same evaluation twice")
            else:
                system, task, repeat = evaluation.attempt
                self.notes.problem(
                    evaluation.row,
                    "",
                    f"evaluation {evaluation.number} of {system!r} at task {task!r}, attempt {repeat}, stands at "
                    f"{first.place} with other content; keep one",
                )
        return list(kept.values())

    def _ids(self, kept: Sequence[_Evaluation]) -> dict[Key, str]:
        """Return each attempt's id: the store's, or a made one for every system at every task."""
        if self.attempt_ids is not None:
            return {key: name for name, key in self.attempt_ids.items()}
        keys = {evaluation.attempt for evaluation in kept}
        judged = {(system, task) for system, task, _ in keys}
        tasks = self.known.tasks["task_id"].to_list() if self.known.tasks is not None else []
        systems = {system for system, _ in judged}
        keys |= {(system, task, 1) for system in systems for task in tasks if (system, task) not in judged}
        return {key: f"{key[1]}-{key[0]}-a{key[2]}" for key in sorted(keys, key=_in_order)}

    def _published_table(self) -> pl.DataFrame:
        rows = [(*key, value) for key, (value, _) in sorted(self.published.items())]
        return pl.DataFrame(rows, schema=_without_run(PUBLISHED.schema), orient="row")

    def _task_table(self, kept: Sequence[_Evaluation]) -> pl.DataFrame:
        if self.known.tasks is not None:
            return self.known.tasks
        names = sorted({evaluation.attempt[1] for evaluation in kept})
        return pl.DataFrame({"task_id": names}, schema={"task_id": pl.String}).select(
            "task_id", pl.lit(None, pl.String).alias("prompt"), pl.lit(None, pl.String).alias("language")
        )

    def _strata_table(self, tasks: pl.DataFrame) -> pl.DataFrame:
        """Return every task's level in each stratum: the task table's, else the judgements', else `unknown`."""
        seen = {key: level for key, (level, _) in self.seen_levels.items()}
        levels = seen | self.levels
        keys = [(task, name) for task in tasks["task_id"] for name in self.pack.strata]
        rows = [(*key, levels.get(key, UNKNOWN)) for key in keys]
        return pl.DataFrame(rows, schema=_without_run(STRATA.schema), orient="row").sort("task_id", "stratum")


# --- values -----------------------------------------------------------------------------------------------------------

_WHOLE = re.compile(r"(\d+)(\.0*)?", re.ASCII)
_LONGEST_NAME = 64


def _written(value: Any) -> str | None:
    """Return a name as text; a whole number however kept (7, 7.0) is written without its point."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | list | dict):
        return None
    return _whole_text(str(value)) or str(value)


def _whole_text(text: str) -> str | None:
    """Return the whole number that the text spells ("07", "7.0"), written plainly; None for other texts."""
    found = _WHOLE.fullmatch(text)
    return (found[1].lstrip("0") or "0") if found else None


def _short(value: str | None) -> str | None:
    """Return a hash or name as it is; a whole prompt or rubric by its hash."""
    if value is None or len(value) <= _LONGEST_NAME:
        return value
    return sha256(value.encode()).hexdigest()[:12]


def _task_lookup(tasks: pl.DataFrame | None) -> dict[str, str] | None:
    """Return every task's id by its own text and by the whole number it spells."""
    if tasks is None:
        return None
    ids = tasks["task_id"].to_list()
    return {_whole_text(task) or task: task for task in ids} | {task: task for task in ids}


def _attempt_lookup(attempts: pl.DataFrame | None) -> dict[str, Key] | None:
    if attempts is None:
        return None
    rows = attempts.select("attempt_id", "system", "task_id", "repeat").iter_rows()
    return {attempt_id: (system, task, repeat) for attempt_id, system, task, repeat in rows}


def _in_order(key: Key) -> tuple[str, int, str, int]:
    """Sort attempts by system, then tasks by number where they have one, then repeat."""
    system, task, repeat = key
    return system, int(task) if task.isdecimal() and task.isascii() else 0, task, repeat


# --- tables -----------------------------------------------------------------------------------------------------------


def _without_run(schema: pl.Schema) -> pl.Schema:
    return pl.Schema({name: dtype for name, dtype in schema.items() if name != "run_id"})


def _judgement_table(kept: Sequence[_Evaluation], ids: Mapping[Key, str]) -> pl.DataFrame:
    rows = [
        {
            "attempt_id": ids[found.attempt],
            "judge_id": found.judge.id,
            "evaluation": found.number,
            "status": found.status,
            "total_raw": None if found.total is None else found.total / UNIT,
            "score_exact": found.exact,
            "score_normalized": found.normalized,
            "provider": found.judge.provider,
            "model": found.judge.model,
            "prompt_hash": found.judge.prompt_hash,
            "rubric_hash": found.judge.rubric_hash,
            "renderer": found.judge.renderer,
            "flags": list(found.flags),
            **found.facts,
        }
        for found in kept
    ]
    schema = _without_run(JUDGEMENTS.schema)
    return pl.DataFrame(rows, schema=schema, orient="row").sort("attempt_id", "judge_id", "evaluation")


def _criteria_table(kept: Sequence[_Evaluation], ids: Mapping[Key, str], rubric: Rubric) -> pl.DataFrame:
    rows = [
        (
            ids[found.attempt],
            found.judge.id,
            found.number,
            name,
            None if points is None else points / UNIT,
            float(rubric.most[name]),
            found.status if points is not None or found.status != OK else "not_given",
        )
        for found in kept
        for name, points in found.points.items()
    ]
    frame = pl.DataFrame(rows, schema=_without_run(CRITERIA.schema), orient="row")
    return frame.sort("attempt_id", "judge_id", "evaluation", maintain_order=True)


def _attempt_table(ids: Mapping[Key, str]) -> pl.DataFrame:
    """Return attempts of which nothing is known but that they were judged; so two judges' files give the same ones."""
    keys = list(ids)
    frame = pl.DataFrame(
        {
            "attempt_id": list(ids.values()),
            "task_id": [task for _, task, _ in keys],
            "system": [system for system, _, _ in keys],
            "repeat": [repeat for _, _, repeat in keys],
        }
    ).with_columns(pl.lit("unknown").alias("status"))
    schema = _without_run(ATTEMPTS.schema)
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns]
    frame = frame.with_columns(absent).select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    return frame.with_columns(input_hashes(frame).alias("input_hash"))


def numbered_tasks(count: int) -> pl.DataFrame:
    """Return the table tasks, without run_id, for tasks that are numbered from 1 and of which no more is known."""
    ids = pl.DataFrame({"task_id": [str(number) for number in range(1, count + 1)]})
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in TASKS.schema.items() if name in TASKS.nullable]
    return ids.with_columns(absent)

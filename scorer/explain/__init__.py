"""Why an attempt has the values that it has: the plain reference once more on it, beside what the store holds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import polars as pl

from scorer import packs
from scorer.errors import PackError, UsageError
from scorer.explain.judgements import Criterion, Judgement, judgements_of, rubric_reasons
from scorer.explain.marks import Mark, evidence_marks, read_label, read_marks
from scorer.explain.reasons import Reason, Seen, reasons
from scorer.packs import Metric, Pack
from scorer.reference import Answer, Evaluation, Gold, Place, evaluate
from scorer.store import StoredRun

__all__ = [
    "Criterion",
    "Explanation",
    "Judgement",
    "Mark",
    "MetricExplained",
    "ReadOut",
    "Reason",
    "ScorerExplained",
    "explain",
]

COMPLETED = "completed"
_IDS_SEARCHED = 5_000
"""For the nearest name of an unknown attempt, no more ids than these are looked at."""


@dataclass(frozen=True)
class MetricExplained:
    """One metric of the attempt."""

    metric: str
    stored: float | None
    """The value in the store; null where the attempt was not scored."""
    reason: str | None
    """Why it was not scored."""
    kind: str | None = None
    """The metric's kind in the pack; null where no pack explains it, and then nothing below is known."""
    value: float | None = None
    """The value as the reference computes it."""
    evidence: tuple[Any, ...] = ()
    """What decided it: dataclasses as the kind's module defines them."""
    reasons: tuple[Reason, ...] = ()
    """The same in sentences."""

    @property
    def agrees(self) -> bool:
        """Whether the stored value is the reference's (within rounding, where the pack does not round)."""
        if self.value is None or self.stored is None:
            return self.value is None
        return math.isclose(self.value, self.stored, rel_tol=1e-9, abs_tol=1e-12)


@dataclass(frozen=True)
class ReadOut:
    """One thing read out of the response: a row of the table extracts, and where it was found."""

    field: str
    position: int
    value: str
    kind: str
    """The kind of the reading in the pack."""
    places: tuple[Place, ...]
    label: str
    """What its marks are called."""


@dataclass(frozen=True)
class ScorerExplained:
    """What one scorer made of the attempt."""

    scorer: str
    notes: tuple[str, ...]
    """What keeps the explanation from being the whole truth, in plain words."""
    reads: tuple[ReadOut, ...]
    """What was read out of the response, and where; empty where no pack explains it."""
    metrics: tuple[MetricExplained, ...]


@dataclass(frozen=True)
class Explanation:
    """One attempt with everything that decided its values."""

    run_id: str
    mode: str
    attempt_id: str
    task_id: str
    system: str
    repeat: int
    status: str
    prompt: str | None
    response: str | None
    fault: str | None
    error: str | None
    gold: Gold | None
    """Each field's items in order; null where the task has no gold."""
    scorers: tuple[ScorerExplained, ...]
    judgements: tuple[Judgement, ...]
    marks: tuple[Mark, ...]
    """Where in the response things were found, in the order of the text."""

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as dictionaries, lists, texts and numbers, ready for JSON."""
        return asdict(self)


def explain(run: StoredRun, attempt_id: str, *, pack: str | Path | None = None) -> Explanation:
    """Explain one attempt of a stored run.

    The pack of each scorer is the built-in one of that name, or the one at the path `pack`. Where it is not the pack
    that made the stored values (their hashes differ), or there is none, the scorer's notes say so. Raises UsageError
    where the run has no such attempt, or `pack` made none of its scores.
    """
    attempt = _one(run, "attempts", attempt_id)
    task_id, response = str(attempt["task_id"]), attempt["response"]
    gold = _gold(run, task_id)
    signatures = dict(run.signature.get("scorers", {}))
    given = _given(run, signatures, pack)
    stored = _rows(run, "scores", attempt_id)
    judgements = tuple(judgements_of(_rows(run, "judgements", attempt_id), _rows(run, "criteria", attempt_id)))
    answer = Answer(response or "")
    read_well = attempt["status"] == COMPLETED and attempt["fault"] is None
    scorers: list[ScorerExplained] = []
    marks: set[Mark] = set()
    for scorer in stored["scorer"].unique(maintain_order=True):
        rows = stored.filter(pl.col("scorer") == scorer)
        made = signatures.get(scorer, {})
        if made.get("judge"):
            scorers.append(ScorerExplained(scorer, (), (), tuple(_judged(rows, made, judgements))))
            continue
        found, notes = _pack_of(scorer, made, given)
        evaluation = evaluate(found, answer.text, gold) if found and read_well else Evaluation({}, {})
        explained = tuple(_metrics(found, rows, evaluation, answer, gold))
        disagreeing = [each.metric for each in explained if not each.agrees]
        if disagreeing:
            notes.append(f"the stored value differs from what follows for {', '.join(disagreeing)}")
        scorers.append(ScorerExplained(scorer, tuple(notes), tuple(_reads(found, evaluation)), explained))
        marks.update(_marks(found, evaluation, answer))
    return Explanation(
        run_id=run.run_id,
        mode=run.row["mode"],
        attempt_id=attempt_id,
        task_id=task_id,
        system=attempt["system"],
        repeat=attempt["repeat"],
        status=attempt["status"],
        prompt=_prompt(run, task_id),
        response=response,
        fault=attempt["fault"],
        error=attempt["error"],
        gold=gold,
        scorers=tuple(scorers),
        judgements=judgements,
        marks=tuple(sorted(marks)),
    )


# --- one scorer -------------------------------------------------------------------------------------------------------


def _reads(pack: Pack | None, evaluation: Evaluation) -> Iterator[ReadOut]:
    for reading in pack.readings if pack else ():
        for position, found in enumerate(evaluation.reads.get(reading.name, ())):
            label = read_label(reading, position, found)
            yield ReadOut(reading.name, position, found.value, reading.kind, found.places, label)


def _metrics(
    pack: Pack | None, rows: pl.DataFrame, evaluation: Evaluation, answer: Answer, gold: Gold | None
) -> Iterator[MetricExplained]:
    """Yield every stored metric of a scorer, in the pack's order where it has one."""
    declared: dict[str, Metric] = {metric.name: metric for metric in pack.metrics} if pack else {}
    order = list(declared)
    stored = sorted(rows.iter_rows(named=True), key=lambda row: _position(order, row["metric"]))
    for row in stored:
        name = row["metric"]
        judged = evaluation.metrics.get(name)
        if judged is None or name not in declared:
            yield MetricExplained(name, row["value"], row["reason"])
            continue
        seen = Seen(answer, evaluation.reads, gold or {}, judged)
        why = tuple(reasons(declared[name].params, seen))
        kind = declared[name].kind
        yield MetricExplained(name, row["value"], row["reason"], kind, judged.value, judged.evidence, why)


def _judged(rows: pl.DataFrame, made: Mapping[str, Any], judgements: Sequence[Judgement]) -> Iterator[MetricExplained]:
    """Yield every stored metric of a rubric under one judge and policy."""
    for name, value, reason in rows.select("metric", "value", "reason").iter_rows():
        why = tuple(rubric_reasons(name, value, made, judgements))
        yield MetricExplained(name, value, reason, kind="rubric", reasons=why)


def _position(order: Sequence[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _marks(pack: Pack | None, evaluation: Evaluation, answer: Answer) -> Iterator[Mark]:
    for reading in pack.readings if pack else ():
        yield from read_marks(reading, evaluation.reads.get(reading.name, ()), answer)
    for judged in evaluation.metrics.values():
        for evidence in judged.evidence:
            yield from evidence_marks(evidence, answer)


def _given(run: StoredRun, made: Mapping[str, Any], pack: str | Path | None) -> dict[str, Pack]:
    """Return the pack that the caller names, under each of its rulesets that scored this run."""
    if pack is None:
        return {}
    found = {}
    for scorer, signature in made.items():
        loaded = packs.load(pack)
        if loaded.name == signature.get("pack"):
            found[scorer] = packs.load(pack, signature.get("ruleset") or None)
    if not found:
        raise UsageError(f"pack {str(pack)!r} scored nothing in run {run.run_id!r}; it was scored by {', '.join(made)}")
    return found


def _pack_of(scorer: str, made: Mapping[str, Any], given: Mapping[str, Pack]) -> tuple[Pack | None, list[str]]:
    """Return the pack that explains a scorer's values, and what is to be said of it."""
    name = made.get("pack")
    try:
        pack = given.get(scorer) or (packs.load(name, made.get("ruleset") or None) if name else None)
    except (PackError, UsageError) as error:
        return None, [f"no pack explains these values: {error}; name the folder of the pack with --pack"]
    if pack is None:
        return None, ["these values were made elsewhere: no pack explains them"]
    if pack.hash != made.get("pack_hash"):
        note = (
            f"pack {pack.name} is not the one that made these values (its hash differs): what follows is by its rules"
        )
        return pack, [note]
    return pack, []


# --- rows of the store ------------------------------------------------------------------------------------------------


def _one(run: StoredRun, table: str, attempt_id: str) -> dict[str, Any]:
    rows = _rows(run, table, attempt_id)
    if rows.height:
        return rows.row(0, named=True)
    ids = run.frame(table, ["attempt_id"])["attempt_id"].head(_IDS_SEARCHED)
    near = get_close_matches(attempt_id, ids.to_list(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "its table attempts lists them"
    raise UsageError(f"run {run.run_id!r} has no attempt {attempt_id!r}; {hint}")


def _rows(run: StoredRun, table: str, attempt_id: str) -> pl.DataFrame:
    return _scan(run, table, pl.col("attempt_id") == attempt_id)


def _scan(run: StoredRun, table: str, condition: pl.Expr) -> pl.DataFrame:
    """Return some rows of a table, without holding the others."""
    path = run.file(table)
    if path is None:
        return run.frame(table)
    return pl.scan_parquet(path, glob=False).filter(condition).collect()


def _gold(run: StoredRun, task_id: str) -> Gold | None:
    rows = _scan(run, "golds", pl.col("task_id") == task_id)
    fields: dict[str, list[str]] = defaultdict(list)
    for field, value in rows.sort("field", "position").select("field", "value").iter_rows():
        fields[field].append(value)
    return dict(fields) if rows.height else None


def _prompt(run: StoredRun, task_id: str) -> str | None:
    rows = _scan(run, "tasks", pl.col("task_id") == task_id)
    return rows["prompt"][0] if rows.height else None

"""Explains attempts of a stored run: runs the plain reference on them and lays it beside what the store holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import polars as pl

from scorer import packs
from scorer.errors import PackError, UsageError
from scorer.explain.data import Explanation, MetricExplained, ReadOut, ScorerExplained
from scorer.explain.judgements import Judgement, judgements_of, rubric_reasons
from scorer.explain.marks import Mark, evidence_marks, read_label, read_marks
from scorer.explain.reasons import Seen, reasons
from scorer.packs import Metric, Pack
from scorer.reference import Answer, Evaluation, Gold, evaluate
from scorer.store import StoredRun

COMPLETED = "completed"
_IDS_SEARCHED = 5_000
"""For the nearest name of an unknown attempt, no more ids than these are looked at."""


class Explainer:
    """Explains attempts of one stored run; the packs are loaded once.

    The pack of each scorer is the built-in one of that name, or the one at the path `pack`. Where it is not the pack
    that made the stored values (their hashes differ), or there is none, the scorer's notes say so.
    """

    def __init__(self, run: StoredRun, pack: str | Path | None = None) -> None:
        """Load packs. Raises UsageError where `pack` made none of the run's scores, PackError where it is wrong."""
        self._run = run
        self._signatures: dict[str, dict[str, Any]] = dict(run.signature.get("scorers", {}))
        given = packs.load(pack) if pack else None
        if given and all(made.get("pack") != given.name for made in self._signatures.values()):
            known = ", ".join(self._signatures)
            raise UsageError(f"pack {str(pack)!r} scored nothing in run {run.run_id!r}; it was scored by {known}")
        self._packs = {
            scorer: _pack_of(made, pack if given and made.get("pack") == given.name else made.get("pack"))
            for scorer, made in self._signatures.items()
        }

    def explain(self, attempt_id: str) -> Explanation:
        """Explain one attempt. Raises UsageError where the run has no such attempt."""
        return next(self.explain_all([attempt_id]))

    def explain_all(self, attempt_ids: Sequence[str]) -> Iterator[Explanation]:
        """Yield the explanation of each attempt, in the order given; tables are read once for all of them.

        Raises UsageError where the run has no such attempt.
        """
        run = self._run
        attempts, scores, judgements, criteria = (
            _Rows(run, table, "attempt_id", attempt_ids) for table in ("attempts", "scores", "judgements", "criteria")
        )
        task_ids = [task_id for rows in attempts.values() for task_id in rows["task_id"].unique()]
        golds, tasks = (_Rows(run, table, "task_id", task_ids) for table in ("golds", "tasks"))
        for attempt_id in attempt_ids:
            if attempt_id not in attempts:
                raise UsageError(_unknown(run, attempt_id))
            attempt = attempts[attempt_id].row(0, named=True)
            judged = tuple(judgements_of(judgements[attempt_id], criteria[attempt_id]))
            gold, prompt = _gold(golds[attempt["task_id"]]), _prompt(tasks[attempt["task_id"]])
            yield self._explain(attempt, scores[attempt_id], judged, gold, prompt)

    def _explain(
        self,
        attempt: Mapping[str, Any],
        stored: pl.DataFrame,
        judgements: tuple[Judgement, ...],
        gold: Gold | None,
        prompt: str | None,
    ) -> Explanation:
        """Explain an attempt, a row of the table attempts; `stored` are its scores."""
        answer = Answer(attempt["response"] or "")
        is_scored = attempt["status"] == COMPLETED and attempt["fault"] is None
        scorers: list[ScorerExplained] = []
        marks: set[Mark] = set()
        for scorer in stored["scorer"].unique(maintain_order=True):
            rows = stored.filter(pl.col("scorer") == scorer)
            made = self._signatures.get(scorer, {})
            if made.get("judge"):
                scorers.append(ScorerExplained(scorer, (), (), tuple(_judged(rows, made, judgements))))
                continue
            pack, notes = self._packs.get(scorer, (None, _NO_PACK))
            evaluation = evaluate(pack, answer.text, gold) if pack and is_scored else Evaluation({}, {})
            explained = tuple(_metrics(pack, rows, evaluation, answer, gold))
            notes += _disagreement(explained)
            scorers.append(ScorerExplained(scorer, notes, tuple(_reads(pack, evaluation)), explained))
            marks.update(_marks(pack, evaluation, answer))
        return Explanation(
            run_id=self._run.run_id,
            mode=self._run.row["mode"],
            attempt_id=attempt["attempt_id"],
            task_id=attempt["task_id"],
            system=attempt["system"],
            repeat=attempt["repeat"],
            status=attempt["status"],
            prompt=prompt,
            response=attempt["response"],
            fault=attempt["fault"],
            error=attempt["error"],
            gold=gold,
            scorers=tuple(scorers),
            judgements=judgements,
            marks=tuple(sorted(marks)),
        )


_NO_PACK = ("these values were made elsewhere: no pack explains them",)


def _pack_of(made: Mapping[str, Any], place: str | Path | None) -> tuple[Pack | None, tuple[str, ...]]:
    """Return the pack at `place` under the scorer's ruleset, and what is to be said of it."""
    if place is None or made.get("judge"):
        return None, _NO_PACK
    try:
        pack = packs.load(place, made.get("ruleset") or None)
    except (PackError, UsageError) as error:
        return None, (f"no pack explains these values: {error}; name the folder of the pack with --pack",)
    if pack.hash != made.get("pack_hash"):
        return pack, (f"pack {place} is not the one that made these values (its hash differs): these are its rules",)
    return pack, ()


def _disagreement(explained: Sequence[MetricExplained]) -> tuple[str, ...]:
    names = ", ".join(each.metric for each in explained if not each.agrees)
    return (f"the stored value differs from what follows for {names}",) if names else ()


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


# --- rows of the store ------------------------------------------------------------------------------------------------


class _Rows(dict[str, pl.DataFrame]):
    """The rows of a table for each of some attempts or tasks (the column `key`), in stored order; none for any other.

    The table's other rows are not held, and it is searched once, not once for each.
    """

    def __init__(self, run: StoredRun, table: str, key: str, wanted: Sequence[str]) -> None:
        path = run.file(table)
        stored = run.frame(table).lazy() if path is None else pl.scan_parquet(path, glob=False)
        rows = stored.filter(pl.col(key).is_in(list(wanted))).collect()
        super().__init__({name: part for (name,), part in rows.partition_by(key, as_dict=True).items()})
        self._none = rows.clear()

    def __missing__(self, name: str) -> pl.DataFrame:
        return self._none


def _unknown(run: StoredRun, attempt_id: str) -> str:
    ids = run.frame("attempts", ["attempt_id"])["attempt_id"].head(_IDS_SEARCHED)
    near = get_close_matches(attempt_id, ids.to_list(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "its table attempts lists them"
    return f"run {run.run_id!r} has no attempt {attempt_id!r}; {hint}"


def _gold(rows: pl.DataFrame) -> Gold | None:
    fields: dict[str, list[str]] = defaultdict(list)
    for field, value in rows.sort("field", "position").select("field", "value").iter_rows():
        fields[field].append(value)
    return dict(fields) if rows.height else None


def _prompt(rows: pl.DataFrame) -> str | None:
    return rows["prompt"][0] if rows.height else None

"""What judges said of an attempt: each evaluation with its criteria, and how they came to the values of a rubric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from scorer.explain.reasons import Reason
from scorer.formats import cell_text
from scorer.metrics.rubric import PASSED, SCORE, TOTAL


@dataclass(frozen=True)
class Criterion:
    """A judge's points on one criterion; null where it gave none."""

    criterion: str
    points: float | None
    max_points: float
    status: str


@dataclass(frozen=True)
class Judgement:
    """One evaluation of the attempt by a judge."""

    judge_id: str
    evaluation: int
    status: str
    total_raw: float | None
    score_exact: float | None
    score_normalized: float | None
    reason: str | None
    flags: tuple[str, ...]
    criteria: tuple[Criterion, ...]

    def points(self, criterion: str) -> str:
        """Return the points on one criterion in words."""
        for each in self.criteria:
            if each.criterion == criterion:
                return f"{_or(each.points, each.status)} of {cell_text(each.max_points)}"
        return "not given"


_COLUMNS = ("judge_id", "evaluation", "status", "total_raw", "score_exact", "score_normalized", "reason")


def judgements_of(rows: pl.DataFrame, criteria: pl.DataFrame) -> Iterator[Judgement]:
    """Yield one attempt's rows of the tables judgements and criteria, by judge and evaluation."""
    for row in rows.sort("judge_id", "evaluation").iter_rows(named=True):
        own = criteria.filter(judge_id=row["judge_id"], evaluation=row["evaluation"])
        cells = own.select("criterion", "points", "max_points", "status").iter_rows()
        found = tuple(Criterion(*each) for each in cells)
        yield Judgement(**{name: row[name] for name in _COLUMNS}, flags=tuple(row["flags"]), criteria=found)


def rubric_reasons(
    metric: str, value: float | None, made: Mapping[str, Any], judgements: Sequence[Judgement]
) -> Iterator[Reason]:
    """Yield how a rubric's metric came to its value; `made` is the scorer's signature."""
    terms = made["rubric"]["terms"]
    own = [judgement for judgement in judgements if judgement.judge_id == made["judge"]]
    for judgement in own:
        said = {
            TOTAL: f"{_or(judgement.total_raw, 'no total')} of {terms['total']}",
            SCORE: f"{_or(judgement.score_normalized, 'no score')} (exactly {_or(judgement.score_exact, 'none')})",
            PASSED: f"{_or(judgement.score_normalized, 'no score')}",
        }
        text = said.get(metric) or judgement.points(metric)
        yield Reason(None, f"evaluation {judgement.evaluation}: {text} ({judgement.status})")
    if not own:
        yield Reason(None, "no evaluation by this judge")
    if metric in (SCORE, PASSED):
        yield Reason(None, f"put together by {made['ruleset']}, of at least {made['evaluations']} evaluations")
    if metric == PASSED:
        passed = None if value is None else value > 0
        yield Reason(passed, f"passes from {terms['threshold']} on a scale from 0 to {terms['scale']}")


def _or(value: float | None, absent: str) -> str:
    return absent if value is None else cell_text(value)

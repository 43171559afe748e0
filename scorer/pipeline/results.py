"""Out of a store: the report of one run, and what a page or pictures show beside it, the shown attempts explained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from scorer.aggregate import Comparison, Data, compare, summary
from scorer.aggregate.questions import question_means
from scorer.aggregate.repeats import variance
from scorer.errors import UsageError, nearest
from scorer.explain import Explainer, Explanation, Judgement
from scorer.formats import cell_text
from scorer.pipeline.judged import board_of, data_of, is_judged, judge_report, published_figures
from scorer.pipeline.scores_file import data_of_file, report_of_file
from scorer.report import Report
from scorer.report.results import AttemptShown, Compared, JudgeQuality, Results, ValueShown, Why
from scorer.store import Store, StoredRun
from scorer.tables import TASKS

MOST_ATTEMPTS = 150
"""Attempts that a page shows one by one; the rest is left to SQL."""
MOST_REPEATS = 3
"""Repeats of a system at a question that a page shows."""
START = 600
"""Characters of an answer that a page shows."""

_FEWEST = 2
"""Systems that a comparison needs."""


def report(source: str | Path, *, run_id: str | None = None, scorer: str | None = None) -> Report:
    """Summarise one run of a store, or of a file of scores, under one scorer, for `scorer.report` to put into text.

    Raises UsageError where the source holds several runs, or the run scores of several scorers, and none is named.
    """
    if (file := Path(source)).is_file():
        return report_of_file(file, data_of_file(file, run_id=run_id, scorer=scorer))
    with Store(source) as opened:
        run = opened.run(run_id)
        chosen = _scorer_of(run, scorer)
        return _report(run, chosen, data_of(run, chosen))


def _report(run: StoredRun, scorer: str, data: Data) -> Report:
    scores = run.frame("scores").filter(pl.col("scorer") == scorer)
    board = board_of(run, scorer, data) if is_judged(run, scorer) else None
    return Report(
        run=run.row,
        scorer=scorer,
        metrics=tuple(data.metrics["metric"]),
        summary=summary(data, strata=data.strata_names()),
        published=summary(data, method="normal_attempts"),
        attempts=_attempts_by_system(run, scores),
        unscored=_unscored_by_reason(scores),
        tasks=scores["task_id"].n_unique(),
        leaderboard=board.rows if board else None,
        elsewhere=published_figures(run),
        judging=board.notes if board else (),
    )


PUBLISHED_ONLY = "nobody: published figures only"
"""What stands for the scorer in the report of a run that has none."""


def _scorer_of(run: StoredRun, named: str | None) -> str:
    known = run.frame("scores", ["scorer"])["scorer"].unique().sort().to_list()
    listed = ", ".join(known)
    if named is None and len(known) == 1:
        return str(known[0])
    if named is None and not known and run.frame("published").height:
        return PUBLISHED_ONLY
    if named in known:
        return str(named)
    if named is None:
        raise UsageError(f"run {run.run_id!r} has scores of several scorers; choose one with --scorer: {listed}")
    raise UsageError(f"run {run.run_id!r} has no scores of {named!r}{nearest(named, known)}")


def _attempts_by_system(run: StoredRun, scores: pl.DataFrame) -> pl.DataFrame:
    attempts = run.frame("attempts", ["attempt_id", "system", "cost_usd"])
    scored = scores.group_by("attempt_id").agg(pl.col("value").is_not_null().any().alias("scored"))
    cost = pl.when(pl.col("cost_usd").count() > 0).then(pl.col("cost_usd").sort().sum())
    return (
        attempts.join(scored, on="attempt_id", how="left")
        .group_by("system")
        .agg(
            pl.len().cast(pl.Int64).alias("attempts"),
            pl.col("scored").sum().cast(pl.Int64),
            pl.col("cost_usd").count().cast(pl.Int64).alias("costs_known"),
            cost.alias("cost_usd"),
        )
        .sort("system")
    )


def _unscored_by_reason(scores: pl.DataFrame) -> pl.DataFrame:
    missing = scores.filter(pl.col("value").is_null())
    by_reason = missing.group_by("system", "reason").agg(
        pl.col("attempt_id").n_unique().cast(pl.Int64).alias("attempts")
    )
    return by_reason.sort("system", "reason")


# --- for pages and pictures -------------------------------------------------------------------------------------------


def results(
    source: str | Path, *, run_id: str | None = None, scorer: str | None = None, baseline: str | None = None
) -> Results:
    """Return one run's results under one scorer: summaries, comparisons, questions, judges and the first attempts.

    `source` is a store or a file of scores, which has no attempts to show. `baseline` is the system that every other is
    compared with; without it all are compared. The attempts are those of the hardest questions, at most MOST_REPEATS of
    a system at a question and MOST_ATTEMPTS in all. Raises UsageError where the source holds several runs, or the run
    scores of several scorers, and none is named, and for an unknown baseline.
    """
    if (file := Path(source)).is_file():
        data = data_of_file(file, run_id=run_id, scorer=scorer)
        return _bare(report_of_file(file, data), data, TASKS.empty(), baseline)
    with Store(source) as opened:
        run = opened.run(run_id)
        chosen = _scorer_of(run, scorer)
        if chosen == PUBLISHED_ONLY:
            raise UsageError(f"run {run.run_id!r} holds published figures only; `scorer report` shows them as text")
        data = data_of(run, chosen)
        bare = _bare(_report(run, chosen, data), data, run.frame("tasks"), baseline)
        return replace(bare, quality=_quality(source, run, chosen), attempts=tuple(_attempts(run, bare)))


def _bare(report: Report, data: Data, tasks: pl.DataFrame, baseline: str | None) -> Results:
    """Return results without judges and attempts."""
    several = report.attempts.height >= _FEWEST or baseline is not None
    made = compare(data, baseline=baseline) if several else None
    return Results(
        report=report,
        metrics=data.metrics.select("metric", "low", "high", "higher_is_better", "primary"),
        questions=question_means(data),
        variance=made.variance if made else variance(data),
        strata=data.strata,
        tasks=tasks.select("task_id", "prompt", "language"),
        compared=_compared(made, baseline) if made else None,
    )


def _compared(made: Comparison, baseline: str | None) -> Compared:
    return Compared(made.comparisons, made.mcnemar, made.reliability, made.notes, baseline)


def _quality(store: str | Path, run: StoredRun, scorer: str) -> JudgeQuality | None:
    if not is_judged(run, scorer):
        return None
    told = judge_report(store, run_id=run.run_id, pack=run.signature["scorers"][scorer]["pack"])
    return JudgeQuality(told.quality.agreement, told.quality.fragile, told.notes)


# --- the attempts shown -----------------------------------------------------------------------------------------------


def _attempts(run: StoredRun, bare: Results) -> Iterator[AttemptShown]:
    """Yield the attempts that a page shows, explained."""
    for explanation in Explainer(run).explain_all(_chosen(run, bare.hardest["task_id"])):
        yield _shown(explanation, bare.report.scorer)


def _chosen(run: StoredRun, hardest: pl.Series) -> list[str]:
    """Return the ids of the attempts to show, those at the hardest question first."""
    places = pl.DataFrame({"task_id": hardest}).with_row_index("place")
    attempts = run.frame("attempts", ["attempt_id", "task_id", "system", "repeat"])
    ordered = attempts.join(places, on="task_id", how="inner").sort("place", "system", "repeat", "attempt_id")
    first = ordered.filter(pl.int_range(pl.len()).over("task_id", "system") < MOST_REPEATS)
    return first["attempt_id"].head(MOST_ATTEMPTS).to_list()


def _shown(explanation: Explanation, scorer: str) -> AttemptShown:
    """Return what a page shows of an attempt: its values under one scorer and why, and how its answer begins."""
    (mine,) = (each for each in explanation.scorers if each.scorer == scorer)
    trouble = [f"{name}: {text}" for name in ("fault", "error") if (text := getattr(explanation, name))]
    values = [
        ValueShown(
            metric.metric,
            metric.stored,
            metric.reason,
            tuple(Why(reason.met, reason.text, reason.details) for reason in metric.reasons),
        )
        for metric in mine.metrics
    ]
    response = explanation.response
    return AttemptShown(
        attempt_id=explanation.attempt_id,
        task_id=explanation.task_id,
        system=explanation.system,
        repeat=explanation.repeat,
        status=explanation.status,
        trouble=(*trouble, *mine.notes),
        values=tuple(values),
        judgements=tuple(_judged(judgement) for judgement in explanation.judgements),
        start=None if response is None else response[:START],
        length=len(response or ""),
    )


def _judged(judgement: Judgement) -> str:
    """Return one evaluation as a sentence."""
    score = "" if judgement.score_normalized is None else f", score {cell_text(judgement.score_normalized)}"
    reason = f": {judgement.reason}" if judgement.reason else ""
    return f"{judgement.judge_id}, evaluation {judgement.evaluation}, {judgement.status}{score}{reason}"

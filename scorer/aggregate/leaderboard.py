"""A leaderboard of judged systems: how many tasks each passes, with which score, and which cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from scorer.aggregate.compare import compare
from scorer.aggregate.data import Data
from scorer.aggregate.printing import printed
from scorer.aggregate.summary import summary
from scorer.metrics.rubric import PASSED, SCORE, TOTAL
from scorer.warehouse import Warehouse

ALPHA = 0.05
"""The level from which on a difference is taken for one."""

_GROUP = ["benchmark", "scorer", "run_id", "system", "stratum", "level"]


def leaderboard(data: Data, criteria: Sequence[str]) -> pl.DataFrame:
    """Return one row a system, and one more for each level of each stratum, of the scores of one rubric's scorers.

    `data` holds one run; the metrics are those of a rubric with these `criteria`. Columns: benchmark, scorer, run_id,
    stratum and level (null: all tasks), `rank`, system, `tied_with`, `pass_rate` with `pass_low`, `pass_high` (wilson_t
    over tasks), `pass_bound_low`, `pass_bound_high` (had all without a verdict failed, or passed), `n_tasks` with a
    verdict, `n_missing` attempts without one, `mean_score` with `score_low`, `score_high` on the rubric's scale,
    `mean_total`, then the mean points of each criterion under its name.

    `rank` is 1 and the number of systems whose pass rate is significantly higher at .05: by McNemar's exact test
    under Holm over all tasks, by the sign-flip test (the same for one verdict a task) under Benjamini-Hochberg in the
    levels. `tied_with` names the systems that a system cannot be told apart from; that is not to say that they are
    equal.
    """
    rows = summary(data, strata=data.strata_names())
    board = _figures(rows, PASSED, "pass", ["n_questions", "n_unscored"])
    board = board.rename({"pass_mean": "pass_rate", "pass_n_questions": "n_tasks", "pass_n_unscored": "n_missing"})
    with Warehouse(data.sources()) as warehouse:
        bounds = warehouse.query("verdict_bounds", metric=PASSED, low=0, high=1)
    bounds = bounds.rename({"bound_low": "pass_bound_low", "bound_high": "pass_bound_high"})
    board = board.join(bounds, on=_GROUP, how="left", nulls_equal=True)
    score = _figures(rows, SCORE, "score", []).rename({"score_mean": "mean_score"})
    board = board.join(score, on=_GROUP, how="left", nulls_equal=True)
    for metric, name in ((TOTAL, "mean_total"), *((name, name) for name in criteria)):
        means = rows.filter(pl.col("metric") == metric).select(*_GROUP, pl.col("mean").alias(name))
        board = board.join(means, on=_GROUP, how="left", nulls_equal=True)
    ranked = board.join(_ranks(data, board), on=_GROUP, how="left", nulls_equal=True)
    first = ["benchmark", "scorer", "run_id", "stratum", "level", "rank", "system", "tied_with"]
    ordered = ranked.sort(
        *first[:5], "rank", -pl.col("pass_rate"), -pl.col("mean_score"), "system", nulls_last=[False] * 5 + [True] * 4
    )
    return printed(ordered.select(*first, pl.exclude(first)))


def _figures(rows: pl.DataFrame, metric: str, name: str, more: Sequence[str]) -> pl.DataFrame:
    of_metric = rows.filter(pl.col("metric") == metric)
    return of_metric.select(
        *_GROUP,
        pl.col("mean").alias(f"{name}_mean"),
        pl.col("ci_low").alias(f"{name}_low"),
        pl.col("ci_high").alias(f"{name}_high"),
        *(pl.col(column).alias(f"{name}_{column}") for column in more),
    )


def _ranks(data: Data, board: pl.DataFrame) -> pl.DataFrame:
    """Return each row's rank and `tied_with`, from the tests of every two systems of its scorer and level."""
    if board["system"].n_unique() < 2:
        return board.select(
            *_GROUP, pl.lit(1, pl.Int64).alias("rank"), pl.lit([], pl.List(pl.String)).alias("tied_with")
        )
    tested = compare(data, metric=PASSED, strata=data.strata_names())
    overall = tested.mcnemar.select(
        "scorer", "system_a", "system_b", stratum=None, level=None, difference="risk_difference", p="p_adjusted"
    )
    levels = tested.comparisons.filter(pl.col("stratum").is_not_null()).select(
        "scorer", "system_a", "system_b", "stratum", "level", "difference", p="p_adjusted"
    )
    pairs = pl.concat([overall.cast({"stratum": pl.String, "level": pl.String}), levels])
    mirrored = pairs.with_columns(system_a="system_b", system_b="system_a", difference=-pl.col("difference"))
    sided = pl.concat([pairs, mirrored.select(pairs.columns)]).with_columns(differ=pl.col("p") <= ALPHA)
    worse = pl.col("differ") & (pl.col("difference") < 0)
    ranks = sided.group_by("scorer", pl.col("system_a").alias("system"), "stratum", "level").agg(
        rank=1 + worse.sum().cast(pl.Int64),
        tied_with=pl.col("system_b").filter(~pl.col("differ").fill_null(value=False)).sort(),
    )
    found = board.select(_GROUP).join(ranks, on=["scorer", "system", "stratum", "level"], how="left", nulls_equal=True)
    nothing = pl.lit([], pl.List(pl.String))
    return found.with_columns(pl.col("rank").fill_null(1), pl.col("tied_with").fill_null(nothing))

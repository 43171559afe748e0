"""Two systems on a 0/1 metric: one verdict a task, and McNemar's tests on the tasks where the verdicts differ."""

from __future__ import annotations

import polars as pl

from scorer.aggregate.multiplicity import adjust
from scorer.aggregate.printing import printed
from scorer.errors import UsageError, nearest
from scorer.warehouse import Warehouse

RISK_INTERVALS = ("bonett_price", "newcombe")
"""Intervals of the paired risk difference: Bonett and Price (2012), the default; Newcombe's method 10 (1998)."""

_COLUMNS = [
    "benchmark",
    "scorer",
    "metric",
    "run_a",
    "run_b",
    "system_a",
    "system_b",
    "verdict_rule",
    "threshold",
    "n_tasks",
    "n_dropped",
    "both_pass",
    "a_only",
    "b_only",
    "both_fail",
    "p_exact",
    "p_midp",
    "chi2",
    "p_chi2",
    "chi2_cc",
    "p_chi2_cc",
    "family_size",
    "p_adjusted",
    "risk_difference",
    "rd_low",
    "rd_high",
    "rd_method",
    "odds_ratio",
    "or_low",
    "or_high",
    "flags",
]


def mcnemars(warehouse: Warehouse, alpha: float, rd_method: str = "bonett_price") -> pl.DataFrame:
    """Return the table `mcnemar`: one row a pair and 0/1 metric of what is registered as `pairings`.

    Raises UsageError where there is no such `rd_method`.
    """
    if rd_method not in RISK_INTERVALS:
        raise UsageError(f"no interval {rd_method!r} for the risk difference{nearest(rd_method, RISK_INTERVALS)}")
    counts = warehouse.query("mcnemar_counts")
    tests = mcnemar_tests(warehouse, counts, alpha=alpha, rd_method=rd_method)
    rows = counts.join(tests, on="row_id", how="inner", maintain_order="left")
    # One Holm family of all verdicts of a scorer.
    family = rows.select(pl.struct("benchmark", "scorer").rank("dense")).to_series()
    holm = pl.Series(["holm"] * rows.height, dtype=pl.String)
    rows = rows.with_columns(adjust(warehouse, rows["p_exact"], family, holm)).with_columns(
        verdict_rule=pl.lit("strict_majority"),
        rd_method=pl.lit(rd_method),
        flags=pl.concat_list(
            pl.when(pl.col("n_tasks") == 0).then(pl.lit("no_common")),
            pl.when("is_unbounded").then(pl.lit("or_unbounded")),
        ).list.drop_nulls(),
    )
    return printed(rows.select(_COLUMNS))


def mcnemar_tests(
    warehouse: Warehouse, fourfold: pl.DataFrame, *, alpha: float, rd_method: str = "bonett_price"
) -> pl.DataFrame:
    """Return McNemar's tests, the risk difference and the odds ratio of each table of counts.

    `fourfold` has `row_id`, `both_pass`, `a_only`, `b_only` and `both_fail`: numbers of tasks. The columns are
    `p_exact` (conditional, two-sided), `p_midp`, `chi2`, `chi2_cc` (continuity correction, floored at 0) with their p,
    df 1 (null without a differing task); `risk_difference` (a_only - b_only) / tasks with `rd_low`, `rd_high`;
    `odds_ratio` a_only / b_only with `or_low`, `or_high` from the Clopper-Pearson interval of a_only among the
    differing tasks, and `is_unbounded` where b_only is 0. Sources: Fagerland et al. 2013; Bonett and Price 2012;
    Newcombe 1998.
    """
    warehouse.register("fourfold", fourfold)
    return warehouse.query("mcnemar", alpha=alpha, rd_method=rd_method)

"""What the repeats of a question say: where scores vary, and how reliably a system passes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from scorer.aggregate.data import Data
from scorer.aggregate.printing import printed
from scorer.aggregate.sides import sides_of
from scorer.aggregate.summary import load_questions
from scorer.errors import UsageError
from scorer.warehouse import Warehouse


def variance(
    data: Data, *, threshold: float | None = None, pool_runs: bool = False, threads: int | None = None
) -> pl.DataFrame:
    """Return the table `variance`: one row a metric of each system in each run, unless runs are pooled.

    The one-way split of the scores into questions and repeats: `k0` (repeats a question, corrected for unequal ones),
    mean squares `msb` and `msw`, `var_between` = (msb - msw) / k0 as it comes out (flag `negative_variance` below 0),
    `var_within` = msw, all in squared units of the metric; `icc1` = ICC(1); `design_effect`, the squared standard error
    by question (or group) over the one that takes attempts as independent; `flip_rate`, the share of the questions with
    two scored repeats or more whose verdicts are not unanimous, null for a metric without verdicts: see `reliability`.
    With one repeat a question the split is null, flag `one_repeat`.
    """
    with Warehouse(data.sources(), threads=threads) as warehouse:
        load_questions(warehouse, data, sides_of(data, pool_runs=pool_runs), ())
        return variances(warehouse, threshold)


def reliability(
    data: Data,
    *,
    threshold: float | None = None,
    ks: Sequence[int] | None = None,
    conf: float = 0.95,
    pool_runs: bool = False,
    threads: int | None = None,
) -> pl.DataFrame:
    """Return the table `reliability`: pass@k and pass^k, one row a k, metric and system in each run.

    An attempt passes where its value is `threshold` or better, in the metric's direction. Without a threshold only
    metrics that hold nothing but 0 and 1 have verdicts. `ks` is 1 to the most repeats unless given. For a question with
    n scored repeats of which c pass, `pass_at_k` = 1 - C(n-c, k) / C(n, k) (Chen et al. 2021) and `pass_hat_k` =
    C(c, k) / C(n, k) (Yao et al. 2024), averaged over the `n_questions` with n >= k; `n_dropped` others are left out.
    Intervals are wilson_t over the questions' values. `…_bound_low` and `…_bound_high` are what all attempts would
    give, had the unscored ones failed, or passed. Null where no question has k scored repeats.

    Raises UsageError where a k is below 1.
    """
    with Warehouse(data.sources(), threads=threads) as warehouse:
        load_questions(warehouse, data, sides_of(data, pool_runs=pool_runs), ())
        return reliabilities(warehouse, threshold, ks, conf)


def variances(warehouse: Warehouse, threshold: float | None) -> pl.DataFrame:
    """Return the table `variance` of what `load_questions` registered."""
    warehouse.register("verdicts", warehouse.query("verdicts", threshold=threshold))
    return printed(warehouse.query("variance"))


def reliabilities(warehouse: Warehouse, threshold: float | None, ks: Sequence[int] | None, conf: float) -> pl.DataFrame:
    """Return the table `reliability` of what `load_questions` registered."""
    if ks is not None and min(ks, default=0) < 1:
        raise UsageError(f"k counts repeats, from 1; {sorted(ks)} will not do")
    wanted = None if ks is None else sorted(set(ks))
    warehouse.register("verdicts", warehouse.query("verdicts", threshold=threshold))
    warehouse.register("moments", warehouse.query("reliability_estimates", ks=wanted))
    warehouse.register("intervals", warehouse.query("interval_wilson_t", conf=conf))
    return printed(warehouse.query("reliability", conf=conf))

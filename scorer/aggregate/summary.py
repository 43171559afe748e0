"""One system at a time: the mean of its question means, and an interval that takes questions, not attempts, as n."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import polars as pl

from scorer import tables
from scorer.aggregate.bootstrap import BOOTSTRAPS, bootstrap_intervals
from scorer.aggregate.data import GROUP, Data
from scorer.aggregate.printing import printed
from scorer.aggregate.sides import Sides, sides_of
from scorer.errors import InputError, Problem, UsageError, nearest
from scorer.warehouse import Warehouse

INTERVALS = ("wilson_t", "cluster_t", "wilson", "clopper_pearson", "normal_attempts", *BOOTSTRAPS)
"""The intervals offered by name. `wilson_t` is the default and the one to trust."""


def summary(
    data: Data,
    *,
    method: str = "wilson_t",
    conf: float = 0.95,
    strata: Sequence[str] = (),
    pool_runs: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> pl.DataFrame:
    """Return one row a metric of each system (in each run, unless pooled), and one more for each level of each stratum.

    The columns are `benchmark`, `scorer`, `metric`, `run_id` (null where runs are pooled), `system`, `stratum` and
    `level` (null for all questions), `n_questions`, `n_groups` (equal to `n_questions` without groups), `n_attempts`
    (scored ones), `n_unscored`, `repeats_min`, `repeats_max`, `mean` (of question means), `mean_attempts`, `se`,
    `ci_low`, `ci_high`, `ci_method`, `conf_level`, `n_eff` (wilson_t), `bound_low` and `bound_high` (the mean with
    every unscored attempt at the worst and at the best; null without a range), `flags`. All in the metric's units.
    Questions with no score count in `n_unscored` and the bounds only. The interval is null below two questions (or
    groups).

    `seed` is used by the bootstraps. Raises UsageError for an unknown method or stratum, InputError where a value lies
    outside its metric's declared range.
    """
    check_method(method, conf)
    check_strata(data, strata)
    sides = sides_of(data, pool_runs=pool_runs)
    with Warehouse(data.sources(), threads=threads) as warehouse:
        load_questions(warehouse, data, sides, strata)
        load_moments(warehouse, data, sides, strata)
        return summarise(warehouse, method, conf, seed)


def check_method(method: str, conf: float) -> None:
    """Raise UsageError where there is no such interval, or none at this confidence level."""
    if method not in INTERVALS:
        raise UsageError(f"no interval {method!r}{nearest(method, INTERVALS)}")
    if not 0 < conf < 1:
        raise UsageError(f"the confidence level lies between 0 and 1, not {conf:g}")
    if method == "normal_attempts" and conf != 0.95:
        raise UsageError("normal_attempts is 1.96 · sd / √attempts, as published: it has the level 0.95 only")


def check_strata(data: Data, strata: Sequence[str]) -> None:
    """Raise UsageError where the data have no such stratum."""
    known = data.strata_names()
    unknown = [name for name in strata if name not in known]
    if unknown:
        raise UsageError("; ".join(f"no stratum {name!r}{nearest(name, known)}" for name in unknown))


def load_questions(warehouse: Warehouse, data: Data, sides: Sides, strata: Sequence[str]) -> None:
    """Register what every statistic starts from: `sides`, `members`, `scales`, `questions` and `levels`."""
    warehouse.register("sides", sides.sides)
    warehouse.register("members", sides.members)
    _check_range(_load_once(warehouse, data, "scales", _key(sides)))
    _load_once(warehouse, data, "questions", _key(sides))
    levels = [name for name in strata if name != GROUP]
    _load_once(warehouse, data, "levels", _key(sides, strata), strata=levels)


def load_moments(warehouse: Warehouse, data: Data, sides: Sides, strata: Sequence[str]) -> None:
    """Register what means and their intervals are made of, `moments`, out of what `load_questions` registered."""
    _load_once(warehouse, data, "moments", _key(sides, strata))


def _load_once(
    warehouse: Warehouse, data: Data, name: str, key: tuple[Hashable, ...], **parameters: object
) -> pl.DataFrame:
    """Register the rows of a query under its name; `key` is what decides them, so that it runs once for each."""
    rows = data.once((name, *key), lambda: warehouse.query(name, **parameters))
    warehouse.register(name, rows)
    return rows


def _key(sides: Sides, strata: Sequence[str] = ()) -> tuple[Hashable, ...]:
    return (*sides.members.iter_rows(), *strata)


def _check_range(scales: pl.DataFrame) -> None:
    outside = scales.filter((pl.col("least_value") < pl.col("low")) | (pl.col("greatest_value") > pl.col("high")))
    if outside.height:
        raise InputError(
            [
                Problem(
                    tables.SCORES.name,
                    f"metric {row['metric']}",
                    f"values reach from {row['least_value']:g} to {row['greatest_value']:g}, outside the range "
                    f"[{row['low']:g}, {row['high']:g}]; give the right range, or mend the values",
                )
                for row in outside.iter_rows(named=True)
            ]
        )


def summarise(warehouse: Warehouse, method: str, conf: float, seed: int) -> pl.DataFrame:
    """Return the summary of what `load_questions` and `load_moments` registered."""
    if method in BOOTSTRAPS:
        intervals = bootstrap_intervals(warehouse, method, conf, seed)
    elif method == "normal_attempts":
        intervals = warehouse.query("interval_normal_attempts")
    else:
        intervals = warehouse.query(f"interval_{method}", conf=conf)
    warehouse.register("intervals", intervals)
    return printed(warehouse.query("summary", method=method, conf=conf))

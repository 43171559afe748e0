"""How far judges agree: with themselves over evaluations, with each other, and with labels that people gave.

A rubric, whoever it belongs to, comes in as one long frame of ratings: see `RATINGS`.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from scorer.aggregate.printing import printed
from scorer.errors import InputError, Problem, UsageError
from scorer.warehouse import Warehouse

RATINGS = pl.Schema(
    {
        "system": pl.String(),  # null: over all units together
        "criterion": pl.String(),
        "judge_id": pl.String(),
        "unit": pl.String(),  # what is judged, named alike for all judges
        "evaluation": pl.Int64(),  # the judge's repetition
        "value": pl.Float64(),  # points or score; null is a missing rating and is left out
        "category": pl.String(),  # `pass` or `fail`, or any other
    }
)
"""One rating a row. `system` and `category` may be absent."""

LABELS = pl.Schema({"criterion": pl.String(), "unit": pl.String(), "category": pl.String()})
"""What people said of a unit: one category for each criterion."""

_RATING_KEY = ("system", "criterion", "judge_id", "unit", "evaluation")
_LABEL_KEY = ("criterion", "unit")


def agreement(ratings: pl.DataFrame, *, categories: int = 2, threads: int | None = None) -> pl.DataFrame:
    """Return the table `agreement`: one row for the repeats of each judge, and one for several judges together.

    `ratings` holds to `RATINGS`; `categories` is how many categories the rubric declares. For the evaluations of one
    judge (`judge_id` given): ICC(1,1), ICC(1,k) and within_sd, in the units of `value`. For several judges (`judge_id`
    null), each reduced to its mean and most frequent category: ICC(2,1) and ICC(2,k) over the units that all judged
    (Shrout and Fleiss 1979). For both: Krippendorff's alpha (2011), missing ratings allowed, percent agreement,
    Fleiss' kappa and Gwet's AC1 over units with two ratings or more. What cannot be computed is null; where all
    ratings are equal, agreement and AC1 are 1 and the rest null, flag `all_equal`. Closed forms, memory as the input.

    Raises InputError for missing columns, values that are no numbers and repeated ratings, UsageError where the
    ratings hold more categories than declared.
    """
    ratings = _checked(ratings, RATINGS, _RATING_KEY, "ratings", optional=("system", "category"))
    if categories < 2:
        raise UsageError(f"{categories} categories declared; agreement needs at least 2")
    seen = ratings.group_by("criterion").agg(pl.col("category").drop_nulls().n_unique()).sort("criterion")
    crowded = seen.filter(pl.col("category") > categories)
    if crowded.height:
        found = ", ".join(f"{criterion!r} has {count}" for criterion, count in crowded.rows())
        raise UsageError(f"{categories} categories declared, but criterion {found}; declare as many as the rubric has")
    with Warehouse({"ratings": ratings}, threads=threads) as warehouse:
        return printed(warehouse.query("agreement", categories=categories))


def against_labels(
    ratings: pl.DataFrame,
    labels: pl.DataFrame,
    *,
    positive: str = "pass",
    conf_level: float = 0.95,
    threads: int | None = None,
) -> pl.DataFrame:
    """Return one row a criterion and judge: its verdicts against human `labels` (see `LABELS`).

    A judge's verdict is the category `positive` where a strict majority of its evaluations gave it. Cohen's kappa with
    the large-sample interval of Fleiss, Cohen and Everitt (1969), clipped to [-1, 1]; null, flag `no_variance`, where
    that variance is 0. Sensitivity (people said `positive`, so did the judge) and specificity with Wilson intervals.
    Units are taken as independent. Raises InputError as `agreement` does.
    """
    ratings = _checked(ratings, RATINGS, _RATING_KEY, "ratings", optional=("system", "category"))
    labels = _checked(labels, LABELS, _LABEL_KEY, "labels").drop_nulls("category")
    with Warehouse({"ratings": ratings, "labels": labels}, threads=threads) as warehouse:
        return printed(warehouse.query("judge_validity", positive=positive, conf_level=conf_level))


def _checked(
    frame: pl.DataFrame, schema: pl.Schema, key: Sequence[str], name: str, optional: Sequence[str] = ()
) -> pl.DataFrame:
    """Return `frame` with the columns of `schema`; raise InputError with everything that is wrong."""
    source = f"<{name}>"
    problems = [
        Problem(source, f"column {column!r}", "missing; add it")
        for column in schema
        if column not in frame.columns and column not in optional
    ]
    problems += [
        Problem(source, f"column {column!r}", f"holds {frame.schema[column]}, not numbers; convert it")
        for column, dtype in schema.items()
        if dtype.is_numeric() and column in frame.columns and not _may_be_number(frame.schema[column])
    ]
    if problems:
        raise InputError(problems)
    full = frame.select(
        (pl.col(column) if column in frame.columns else pl.lit(None)).cast(dtype).alias(column)
        for column, dtype in schema.items()
    )
    problems = [
        Problem(source, f"column {column!r}", f"{count} nulls; every row needs it")
        for column in key
        if column not in optional and (count := full[column].null_count())
    ]
    if "value" in schema and (count := full.filter(~pl.col("value").is_finite()).height):
        problems.append(Problem(source, "column 'value'", f"{count} values are NaN or infinite; leave them null"))
    for row in full.filter(full.select(key).is_duplicated()).select(key).unique().sort(key).iter_rows(named=True):
        place = ", ".join(f"{column} {value!r}" for column, value in row.items() if value is not None)
        problems.append(Problem(source, place, "stands there more than once; keep one"))
    if problems:
        raise InputError(problems)
    return full


def _may_be_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Null

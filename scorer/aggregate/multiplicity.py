"""Several comparisons at once: which tests make a family, and their p values adjusted in it."""

from __future__ import annotations

import polars as pl

from scorer.warehouse import Warehouse

PRIMARY, EXPLORATORY, STRATA = 1, 2, 3
"""The families of one scorer's comparisons: primary metrics, the other metrics, and all metrics in each level."""

_CORRECTION = {PRIMARY: "holm", EXPLORATORY: "benjamini_hochberg", STRATA: "benjamini_hochberg"}


def adjust(warehouse: Warehouse, p_values: pl.Series, families: pl.Series, corrections: pl.Series) -> pl.DataFrame:
    """Return `family_size`, `n_left_out` and `p_adjusted` for each p value, in the order given.

    A family is what has the same name in `families`; its `corrections` are `holm` (Holm 1979, which holds the chance of
    any false finding) or `benjamini_hochberg` (1995, which holds their share). A null p leaves before the adjustment,
    is counted in `n_left_out`, and stays null.
    """
    tests = pl.DataFrame({"family_id": families, "correction": corrections, "p_value": p_values.cast(pl.Float64)})
    warehouse.register("tests", tests.with_row_index("test_id"))
    return warehouse.query("families").drop("test_id")


def add_families(warehouse: Warehouse, comparisons: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Return the comparisons with `family`, `correction`, `family_size`, `n_left_out`, `p_adjusted`, and a flag.

    `smallest_p_above_alpha` marks a test that could not have been significant whatever its data's signs: the smallest p
    that it can reach, times the family's size under Holm, is above `alpha`.
    """
    scorer = ["benchmark", "scorer"]
    family = (
        pl.when(pl.col("stratum").is_not_null())
        .then(STRATA)
        .when(pl.col("is_primary") | ~pl.col("is_primary").any().over(scorer))
        .then(PRIMARY)
        .otherwise(EXPLORATORY)
    )
    found = comparisons.with_columns(family=family.cast(pl.Int64)).with_columns(
        correction=pl.col("family").replace_strict(_CORRECTION, return_dtype=pl.String)
    )
    names = found.select(pl.struct(*scorer, "family").rank("dense")).to_series()
    found = found.with_columns(adjust(warehouse, found["p_value"], names, found["correction"]))
    smallest = pl.col("p_smallest") * pl.when(pl.col("correction") == "holm").then("family_size").otherwise(1)
    return found.with_columns(
        pl.when(smallest > alpha)
        .then(pl.col("flags").list.concat(pl.lit(["smallest_p_above_alpha"])))
        .otherwise("flags")
        .alias("flags")
    )

"""Every query of sql/ runs on an empty store, a tiny one and one riddled with nulls, and gives the same columns."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from scorer import tables
from scorer.aggregate.data import Data
from scorer.aggregate.sides import sides_of
from scorer.aggregate.signflip import sign_flips
from scorer.warehouse import Warehouse, query_names

Store = dict[str, pl.DataFrame]


def table(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """The rows as a table that keeps its contract; what a row does not say is null, or the plainest value."""
    plain = {pl.String(): "", pl.Int64(): 1, pl.Float64(): 0.0, pl.Boolean(): False, tables.TEXTS: []}
    contract = tables.TABLES[name]
    full = [
        {
            column: row.get(column, None if column in contract.nullable else plain[dtype])
            for column, dtype in contract.columns.items()
        }
        for row in rows
    ]
    return tables.check(pl.DataFrame(full, schema=contract.schema, orient="row"), contract)


def empty() -> Store:
    return {name: contract.empty() for name, contract in tables.TABLES.items()}


def tiny() -> Store:
    """Two systems, three questions in two levels, two repeats, a 0/1 metric and one in points, two judges."""
    attempts = [
        {"run_id": "r", "attempt_id": f"{system}{task}{repeat}", "task_id": task, "system": system, "repeat": repeat}
        for system in "AB"
        for task in ("t1", "t2", "t3")
        for repeat in (1, 2)
    ]
    scores = [
        attempt | {"scorer": "s", "metric": metric, "value": float((place * 7) % 5 % (2 if metric == "passed" else 9))}
        for metric in ("passed", "points")
        for place, attempt in enumerate(attempts)
    ]
    judgements = [
        attempt
        | {
            "judge_id": judge,
            "evaluation": evaluation,
            "status": "ok",
            "provider": "human" if judge == "person" else "maker",
            "total_raw": float(60 + place + evaluation),
            "score_normalized": float(50 + place + evaluation),
        }
        for judge in ("model", "other", "person")
        for place, attempt in enumerate(attempts)
        for evaluation in (1, 2, 3)
    ]
    criteria = [
        judgement | {"criterion": criterion, "points": judgement["total_raw"] / 4, "max_points": 30.0, "status": "ok"}
        for judgement in judgements
        for criterion in ("accuracy", "completeness")
    ]
    return {
        "runs": table("runs", [{"run_id": "r", "benchmark": "b", "mode": "empirical"}]),
        "tasks": table("tasks", [{"run_id": "r", "task_id": task} for task in ("t1", "t2", "t3")]),
        "strata": table(
            "strata",
            [
                {"run_id": "r", "task_id": task, "stratum": stratum, "level": level}
                for task, level in (("t1", "easy"), ("t2", "hard"), ("t3", "hard"))
                for stratum in ("level", "group")
            ],
        ),
        "golds": table("golds", [{"run_id": "r", "task_id": "t1", "field": "id", "position": 0, "value": "t1"}]),
        "attempts": table("attempts", attempts),
        "scores": table("scores", scores),
        "metrics": table(
            "metrics",
            [
                {"run_id": "r", "scorer": "s", "metric": "passed", "low": 0.0, "high": 1.0, "higher_is_better": True},
                {"run_id": "r", "scorer": "s", "metric": "points", "higher_is_better": False, "primary": True},
            ],
        ),
        "judgements": table("judgements", judgements),
        "criteria": table("criteria", criteria),
    }


def riddled() -> Store:
    """The tiny store with every column that may be null null in all rows but a few."""
    return {
        name: frame.with_columns(
            pl.when(pl.int_range(pl.len()) % 5 == 1).then(column).alias(column)
            for column in frame.columns
            if column in tables.TABLES[name].nullable
        )
        for name, frame in tiny().items()
    }


def all_null() -> Store:
    """The tiny store with nothing scored and nothing judged."""
    return {
        name: frame.with_columns(
            pl.lit(None, frame.schema[column]).alias(column)
            for column in frame.columns
            if column in tables.TABLES[name].nullable
        )
        for name, frame in tiny().items()
    }


STORES = {"empty": empty, "tiny": tiny, "riddled": riddled, "all_null": all_null}


def no_bits(names: pl.Series, blocks: int) -> NDArray[np.uint64]:
    pytest.fail(f"tests as small as these are counted: {names.len()} clusters, {blocks} blocks asked for")


@cache
def every_query(store: str) -> dict[str, pl.DataFrame]:
    """Run the queries in an order in which each finds what it reads."""
    given = STORES[store]()
    data = Data.from_tables(given)
    done: dict[str, pl.DataFrame] = {}
    with Warehouse(given | data.sources()) as warehouse:

        def run(name: str, table: str | None = None, **parameters: object) -> pl.DataFrame:
            done[name] = warehouse.query(name, **parameters)
            if table is not None:
                warehouse.register(table, done[name])
            return done[name]

        sides = sides_of(data)
        warehouse.register("sides", sides.sides)
        warehouse.register("members", sides.members)
        pairs = pl.DataFrame({"pair": 1, "side_a": 1, "side_b": 2})
        warehouse.register("pairs", pairs if sides.sides.height else pairs.clear())
        run("scales", "scales")
        run("questions", "questions")
        run("levels", "levels", strata=["level"])
        run("moments", "moments")
        run("cluster_totals")
        run("interval_normal_attempts")
        for name in ("cluster_t", "wilson", "clopper_pearson", "wilson_t"):
            run(f"interval_{name}", "intervals", conf=0.95)
        run("summary", method="wilson_t", conf=0.95)
        run("question_means")
        run("verdict_bounds", metric="passed", low=0, high=1)

        pairings = run("pairings", "pairings")
        clusters = pairings.select(pl.col("cluster").unique().sort()).with_row_index("position")
        warehouse.register("clusters", clusters)
        run("random_bits", seed=1, blocks=2)
        warehouse.register("flips", sign_flips(pairings, no_bits))
        run("comparisons", alpha=0.05)
        run("mcnemar_counts", "fourfold")
        run("mcnemar", alpha=0.05, rd_method="newcombe")
        tests = done["comparisons"].select(
            test_id="row_id", family_id="metric", correction=pl.lit("holm"), p_value="p_value"
        )
        warehouse.register("tests", tests)
        run("families")
        run("spreads")

        run("verdicts", "verdicts", threshold=None)
        run("variance")
        run("reliability_estimates", "moments", ks=None)
        run("interval_wilson_t", "intervals", conf=0.95)
        run("reliability", conf=0.95)

        run("policies", total=130, scale=100, threshold=60, needed=3)
        run("criterion_means")
        run("fragile_verdicts", threshold=60)
        ratings = run("judge_ratings", "ratings", threshold=60, scale=100)
        run("criterion_use")
        run("agreement", categories=2)
        labels = (
            ratings.filter(pl.col("judge_id") == "person")
            .select("criterion", "unit", "category")
            .unique(["criterion", "unit"])
        )
        warehouse.register("labels", labels)
        run("judge_validity", positive="pass", conf_level=0.95)
    return done


def test_no_query_is_left_out() -> None:
    assert sorted(every_query("tiny")) == query_names()


@pytest.mark.parametrize("name", query_names())
def test_the_tiny_store_gives_rows(name: str) -> None:
    assert every_query("tiny")[name].height > 0


@pytest.mark.parametrize("store", ["empty", "riddled", "all_null"])
@pytest.mark.parametrize("name", query_names())
def test_every_store_gives_the_same_columns(name: str, store: str) -> None:
    assert every_query(store)[name].schema == every_query("tiny")[name].schema


@pytest.mark.parametrize("name", query_names())
def test_an_empty_store_gives_no_rows(name: str) -> None:
    assert every_query("empty")[name].height == 0


@pytest.mark.parametrize("store", list(STORES))
@pytest.mark.parametrize("name", query_names())
def test_no_query_gives_nan_or_infinity(name: str, store: str) -> None:
    """0 / 0 is NaN in DuckDB, and NaN is its largest number: what has no value is null."""
    for column in every_query(store)[name].select(pl.selectors.float()):
        assert column.drop_nulls().is_finite().all(), column.name

"""What must hold of the statistics for any scores: order and threads move no digit, units and names change nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scorer.aggregate import Data, compare, summary
from scorer.aggregate.multiplicity import adjust
from scorer.warehouse import Warehouse

# A whole comparison an example: shrinking one that fails would take minutes, and they are small as they are.
slow = settings(
    max_examples=10,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)

VALUES = st.one_of(
    st.none(),
    st.sampled_from([0.0, 1.0, 0.5, 1 / 3, 2 / 3, 0.3333, 0.6667, 0.1]),
    st.floats(0, 1, allow_nan=False).map(lambda x: round(x, 4)),
)


@st.composite
def scores(draw: st.DrawFn) -> pl.DataFrame:
    """Scores of two or three systems on a few questions, with gaps, unscored attempts, groups and unequal repeats."""
    systems = draw(st.sampled_from([["A", "B"], ["A", "B", "C"]]))
    grouped = draw(st.booleans())
    rows = [
        {
            "system": system,
            "task_id": f"q{question}",
            "metric": metric,
            "repeat": repeat,
            "value": value,
            "group": f"g{question // 2}" if grouped else None,
            "level": "odd" if question % 2 else "even",
        }
        for metric in ("m1", "m2")
        for question in range(draw(st.integers(1, 7)))
        for system in systems
        for repeat, value in enumerate(draw(st.lists(VALUES, min_size=0 if question else 1, max_size=3)), 1)
    ]
    schema = dict.fromkeys(("system", "task_id", "metric", "group", "level"), pl.String) | {"value": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=schema)


def everything(frame: pl.DataFrame, threads: int = 1) -> dict[str, pl.DataFrame | list[str]]:
    made = compare(Data.from_scores(frame, strata=["level"]), strata=["level"], threads=threads)
    return {**made.tables, "notes": made.notes}


def same(one: dict[str, pl.DataFrame | list[str]], other: dict[str, pl.DataFrame | list[str]]) -> None:
    for name, table in one.items():
        if isinstance(table, pl.DataFrame):
            assert table.to_dicts() == other[name].to_dicts(), name  # type: ignore[union-attr]
        else:
            assert table == other[name]


@slow
@given(scores(), st.randoms(use_true_random=False))
def test_row_order_and_threads_move_no_digit(frame: pl.DataFrame, random: object) -> None:
    order = list(range(frame.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    same(everything(frame), everything(frame[order], threads=2))


def test_threads_move_no_digit_of_many_scores() -> None:
    """Enough rows that DuckDB shares them out: sums are taken in the order of the values, not of the threads."""
    rng = np.random.default_rng(3)
    n = 150_000
    frame = pl.DataFrame(
        {
            "system": np.repeat(["A", "B"], n // 2),
            "task_id": np.tile(np.arange(n // 6), 6),
            "repeat": np.tile(np.repeat([1, 2, 3], n // 6), 2),
            "metric": "m",
            "value": rng.random(n) ** 3,
            "group": np.tile(np.arange(n // 6), 6) // 40,
            "level": "all",
        }
    )
    same(everything(frame, threads=1), everything(frame.sample(fraction=1, shuffle=True, seed=1), threads=2))


@slow
@given(scores())
def test_bounds_hold_their_estimates(frame: pl.DataFrame) -> None:
    """An interval lies round its mean and inside the range; and within the worst case lies a full record."""
    for row in summary(Data.from_scores(frame, strata=["level"]), strata=["level"]).iter_rows(named=True):
        if row["ci_low"] is not None:
            assert 0 <= row["ci_low"] <= row["mean"] <= row["ci_high"] <= 1
            assert row["ci_low"] < row["ci_high"]
        if row["n_unscored"] == 0 and row["mean"] is not None:
            assert row["bound_low"] == row["bound_high"] == pytest.approx(row["mean"], abs=1e-9)
        if row["bound_low"] is not None:
            assert 0 <= row["bound_low"] <= row["bound_high"] <= 1


@slow
@given(scores())
def test_every_p_is_a_probability_that_its_data_can_reach(frame: pl.DataFrame) -> None:
    rows = compare(Data.from_scores(frame)).comparisons
    for row in rows.filter(pl.col("p_value").is_not_null()).iter_rows(named=True):
        assert row["p_smallest"] <= row["p_value"] + 1e-12
        assert row["p_value"] <= row["p_adjusted"] <= 1
        assert row["wins"] + row["ties"] + row["losses"] == row["n_questions"]
        assert -1 <= row["difference"] <= 1
        if row["ci_low"] is not None:
            assert -1 <= row["ci_low"] <= row["difference"] <= row["ci_high"] <= 1


def _stretched(figure: float | None, factor: float) -> object:
    """Return what a figure should be in a unit so many times smaller."""
    return None if figure is None else pytest.approx(factor * figure, rel=1e-6, abs=1e-9)


@slow
@given(scores(), st.sampled_from([(0.0, 100.0), (-1.0, 1.0), (0.0, 130.0)]))
def test_the_unit_of_a_metric_changes_the_numbers_and_not_what_they_say(
    frame: pl.DataFrame, limits: tuple[float, float]
) -> None:
    low, high = limits
    unit = compare(Data.from_scores(frame).with_range(0, 1))
    stretched = frame.with_columns((low + (high - low) * pl.col("value")).alias("value"))
    scaled = compare(Data.from_scores(stretched).with_range(low, high))
    for one, other in zip(
        unit.comparisons.iter_rows(named=True), scaled.comparisons.iter_rows(named=True), strict=True
    ):
        assert other["difference"] == _stretched(one["difference"], high - low)
        if ("constant" in one["flags"]) != ("constant" in other["flags"]):
            continue  # differences that are equal to the last digit: binary numbers in a new unit may lose that digit
        for name in ("ci_low", "ci_high", "mde"):
            assert other[name] == _stretched(one[name], high - low), name
        assert other["dz"] == _stretched(one["dz"], 1)


@slow
@given(scores())
def test_renaming_systems_and_questions_changes_no_figure(frame: pl.DataFrame) -> None:
    renamed = frame.with_columns(
        pl.format("the {} one", "system").alias("system"), pl.format("x{}", "task_id").alias("task_id")
    )
    one, other = compare(Data.from_scores(frame)), compare(Data.from_scores(renamed))
    drop = ["system_a", "system_b"]
    assert one.comparisons.drop(drop).to_dicts() == other.comparisons.drop(drop).to_dicts()


p_values = st.lists(st.one_of(st.none(), st.floats(0, 1, allow_nan=False)), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(p_values, st.sampled_from(["holm", "benjamini_hochberg"]))
def test_adjustment_by_its_definition(p: list[float | None], correction: str) -> None:
    series = pl.Series(p, dtype=pl.Float64)
    with Warehouse() as warehouse:
        rows = adjust(warehouse, series, pl.Series(["f"] * len(p)), pl.Series([correction] * len(p)))
    known = sorted(x for x in p if x is not None)
    m = len(known)
    if correction == "holm":
        expected = {x: max(min(1.0, (m - j) * y) for j, y in enumerate(known) if y <= x) for x in known}
    else:
        expected = {x: min(min(1.0, m * y / (j + 1)) for j, y in enumerate(known) if y >= x) for x in known}
    assert rows["p_adjusted"].to_list() == [None if x is None else pytest.approx(expected[x]) for x in p]
    assert rows["family_size"].unique().to_list() == [m]
    assert rows["n_left_out"].unique().to_list() == [len(p) - m]

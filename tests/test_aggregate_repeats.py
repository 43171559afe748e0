"""Repeats: pass@k against exact fractions, the variance split against brute force, degenerate scores, determinism."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer import tables
from scorer.aggregate.compare import compare
from scorer.aggregate.data import Data
from scorer.aggregate.repeats import reliability, variance
from scorer.aggregate.summary import summary
from scorer.errors import UsageError

VARIANCE = [
    *("benchmark", "scorer", "metric", "run_id", "system", "n_questions", "k0", "msb", "msw"),
    *("var_between", "var_within", "icc1", "design_effect", "flip_rate", "flags"),
]
RELIABILITY = [
    *("benchmark", "scorer", "metric", "run_id", "system", "k", "threshold", "n_questions", "n_dropped"),
    *("pass_at_k", "pass_at_k_ci_low", "pass_at_k_ci_high", "pass_at_k_bound_low", "pass_at_k_bound_high"),
    *("pass_hat_k", "pass_hat_k_ci_low", "pass_hat_k_ci_high", "pass_hat_k_bound_low", "pass_hat_k_bound_high"),
    *("ci_method", "conf_level", "flags"),
]

Matrix = list[list[float | None]]


def frame(matrix: Matrix, system: str = "A", metric: str = "passed") -> pl.DataFrame:
    """Questions × repeats as scores; None is an attempt that was not scored."""
    rows = [
        (system, f"q{question}", repeat, metric, value)
        for question, values in enumerate(matrix)
        for repeat, value in enumerate(values, 1)
    ]
    return pl.DataFrame(
        rows,
        schema={
            "system": pl.String,
            "task_id": pl.String,
            "repeat": pl.Int64,
            "metric": pl.String,
            "value": pl.Float64,
        },
        orient="row",
    )


def data(matrix: Matrix) -> Data:
    return Data.from_scores(frame(matrix))


def declared(matrix: Matrix, *, higher_is_better: bool) -> Data:
    metrics = pl.DataFrame(
        [("", "", "passed", 0.0, 1.0, higher_is_better, None, False)], schema=tables.METRICS.schema, orient="row"
    )
    source = data(matrix)
    return Data(source.scores, source.runs, metrics=metrics)


def chance(n: int, c: int, k: int, *, every: bool) -> Fraction:
    """The share of all k-subsets of n repeats, of which c pass, that hold a pass, or nothing else."""
    draws = list(combinations([True] * c + [False] * (n - c), k))
    return Fraction(sum(all(draw) if every else any(draw) for draw in draws), len(draws))


verdict = st.one_of(st.none(), st.sampled_from([0.0, 1.0]))
verdicts = st.lists(st.lists(verdict, min_size=1, max_size=6), min_size=1, max_size=6)


@settings(deadline=None, max_examples=12)
@given(verdicts)
def test_pass_at_k_counts_subsets_of_repeats_and_averages_over_questions(matrix: Matrix) -> None:
    scored = [[value for value in values if value is not None] for values in matrix]
    most = max(map(len, scored))
    table = reliability(data(matrix))
    assert table["k"].to_list() == list(range(1, max(most, 1) + 1))
    for row in table.iter_rows(named=True):
        k = row["k"]
        kept = [values for values in scored if len(values) >= k]
        assert (row["n_questions"], row["n_dropped"]) == (len(kept), len(matrix) - len(kept))
        for name, every in (("pass_at_k", False), ("pass_hat_k", True)):
            values = [chance(len(repeats), int(sum(repeats)), k, every=every) for repeats in kept]
            expected = float(sum(values) / len(values)) if values else None
            assert row[name] == (None if expected is None else pytest.approx(expected, abs=1e-11))
            low, high = row[f"{name}_ci_low"], row[f"{name}_ci_high"]
            if len(kept) < 2:
                assert low is high is None
            else:
                assert 0 <= low <= row[name] + 1e-11
                assert row[name] - 1e-11 <= high <= 1
                assert high - low > 0


@settings(deadline=None, max_examples=8)
@given(verdicts)
def test_bounds_hold_whatever_the_missing_attempts_would_have_given(matrix: Matrix) -> None:
    possible = [values for values in matrix if any(value is not None for value in values)]
    if not possible:
        return
    table = reliability(data(possible))
    for fill, name in ((0.0, "low"), (1.0, "high")):
        full = reliability(data([[fill if value is None else value for value in values] for values in possible]))
        both = table.join(full, on="k", suffix="_full")
        for measure in ("pass_at_k", "pass_hat_k"):
            assert both[f"{measure}_bound_{name}"].to_list() == pytest.approx(both[f"{measure}_full"].to_list())


def test_pass_at_1_is_the_summary_of_the_verdicts_with_the_same_interval() -> None:
    source = data([[1, 1, 1], [1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    row = reliability(source, ks=[1]).row(0, named=True)
    whole = summary(source).row(0, named=True)
    for measure in ("pass_at_k", "pass_hat_k"):
        assert [row[measure], row[f"{measure}_ci_low"], row[f"{measure}_ci_high"]] == pytest.approx(
            [whole["mean"], whole["ci_low"], whole["ci_high"]], abs=1e-11
        )
    assert (row["ci_method"], row["conf_level"], row["flags"]) == ("wilson_t", 0.95, ["n<30"])


def test_groups_of_questions_widen_the_interval_and_the_design_effect() -> None:
    matrix: Matrix = [[1, 1], [1, 1], [1, 1], [0, 0], [0, 0], [0, 1], [1, 1], [0, 0]]
    groups = pl.Series("group", ["a", "a", "a", "b", "b", "b", "c", "c"]).gather([i // 2 for i in range(16)])
    grouped = Data.from_scores(frame(matrix).with_columns(groups))
    row, plain = (reliability(source, ks=[2]).row(0, named=True) for source in (grouped, data(matrix)))
    assert row["pass_hat_k"] == plain["pass_hat_k"] == 0.5
    assert (
        row["pass_hat_k_ci_high"] - row["pass_hat_k_ci_low"] > plain["pass_hat_k_ci_high"] - plain["pass_hat_k_ci_low"]
    )
    assert row["flags"] == ["n<5"]
    means = np.array(matrix).mean(axis=1)
    totals = [(means[part] - means.mean()).sum() for part in (slice(0, 3), slice(3, 6), slice(6, 8))]
    expected = 3 / 2 * sum(total**2 for total in totals) / 8**2 / (np.var(matrix, ddof=1) / 16)
    assert variance(grouped)["design_effect"].item() == pytest.approx(expected)


def test_the_threshold_is_explicit_and_follows_the_direction() -> None:
    matrix: Matrix = [[0.2, 0.6], [0.6, 0.9], [0.1, 0.1]]
    assert reliability(data(matrix)).height == 0
    for higher, expected in ((True, 0.5), (False, 0.5 + 1 / 3)):
        row = reliability(declared(matrix, higher_is_better=higher), threshold=0.6, ks=[1]).row(0, named=True)
        assert row["threshold"] == 0.6
        assert row["pass_at_k"] == pytest.approx(expected)
    # 0 is the better of 0 and 1 where lower is better.
    row = reliability(declared([[0, 1], [1, 1]], higher_is_better=False), ks=[1]).row(0, named=True)
    assert (row["threshold"], row["pass_at_k"]) == (0.0, 0.25)


def test_a_comparison_takes_the_threshold() -> None:
    scores = pl.concat([frame([[0.2, 0.9], [0.7, 0.8]], system) for system in ("A", "B")])
    assert compare(Data.from_scores(scores)).reliability.height == 0
    made = compare(Data.from_scores(scores), threshold=0.7)
    assert made.reliability.filter(pl.col("k") == 2)["pass_hat_k"].to_list() == [0.5, 0.5]
    assert made.variance["flip_rate"].to_list() == [0.5, 0.5]
    assert any("hold a pass (0.7 or better)" in note for note in made.notes)


def test_k_above_the_repeats_is_null_and_says_how_many_questions_were_dropped() -> None:
    row = reliability(data([[0, 0], [1, 0]]), ks=[5]).row(0, named=True)
    assert (row["pass_at_k"], row["pass_hat_k"], row["n_questions"], row["n_dropped"]) == (None, None, 0, 2)
    assert row["flags"] == ["no_question", "dropped"]
    for ks in ([0], [], [2, -1]):
        with pytest.raises(UsageError, match="k counts repeats, from 1"):
            reliability(data([[0, 0]]), ks=ks)


def test_many_repeats_keep_their_digits() -> None:
    matrix: Matrix = [[1.0] * 3 + [0.0] * 497, [1.0] * 250 + [0.0] * 250]
    row = reliability(data(matrix), ks=[100]).row(0, named=True)
    at_least = [1 - Fraction(math.comb(500 - c, 100), math.comb(500, 100)) for c in (3, 250)]
    all_pass = [Fraction(math.comb(c, 100), math.comb(500, 100)) for c in (3, 250)]
    assert row["pass_at_k"] == pytest.approx(float(sum(at_least) / 2), rel=1e-11)
    assert row["pass_hat_k"] == pytest.approx(float(sum(all_pass) / 2), rel=1e-9)


scores = st.lists(st.lists(st.integers(0, 100).map(lambda x: x / 100), min_size=1, max_size=5), min_size=2, max_size=7)


@settings(deadline=None, max_examples=12)
@given(scores)
def test_the_variance_split_equals_brute_force(matrix: list[list[float]]) -> None:
    row = variance(data([list(values) for values in matrix])).row(0, named=True)
    groups = [np.array(values) for values in matrix]
    everything = np.concatenate(groups)
    total, n = len(everything), len(groups)
    k0 = (total - sum(len(group) ** 2 for group in groups) / total) / (n - 1)
    msb = sum(len(group) * (group.mean() - everything.mean()) ** 2 for group in groups) / (n - 1)
    assert row["n_questions"] == n
    assert row["k0"] == pytest.approx(k0)
    assert row["msb"] == pytest.approx(msb, abs=1e-11)
    if total == n:
        assert row["msw"] is row["var_between"] is row["var_within"] is row["icc1"] is None
        assert "one_repeat" in row["flags"]
    else:
        msw = sum(((group - group.mean()) ** 2).sum() for group in groups) / (total - n)
        assert row["var_within"] == row["msw"] == pytest.approx(msw, abs=1e-11)
        assert row["var_between"] == pytest.approx((msb - msw) / k0, abs=1e-11)
        assert ("negative_variance" in row["flags"]) == (row["var_between"] < 0)
        if msb + (k0 - 1) * msw > 1e-9:
            assert row["icc1"] == pytest.approx((msb - msw) / (msb + (k0 - 1) * msw), abs=1e-8)
    means = np.array([group.mean() for group in groups])
    if everything.min() < everything.max():
        effect = (means.var(ddof=1) / n) / (everything.var(ddof=1) / total)
        assert row["design_effect"] == pytest.approx(effect, abs=1e-9)
    else:
        assert row["icc1"] is row["design_effect"] is None
        assert "all_equal" in row["flags"]
    assert ("unequal_repeats" in row["flags"]) == (len({len(group) for group in groups}) > 1)


def test_equal_question_means_give_var_between_below_0_and_say_so() -> None:
    row = variance(data([[0.1, 0.2, 0.6], [0.3, 0.3, 0.3], [0.0, 0.4, 0.5]])).row(0, named=True)
    assert row["msb"] == 0.0
    assert row["var_between"] == pytest.approx(-row["msw"] / 3)
    assert row["icc1"] == pytest.approx(-0.5)
    assert row["flags"] == ["n<5", "negative_variance"]


def test_flip_rate_counts_questions_with_two_repeats_or_more() -> None:
    matrix: Matrix = [[1, 0, 1], [1, 1], [0], [None, 1], [0, None, 1]]
    row = variance(data(matrix)).row(0, named=True)
    assert row["flip_rate"] == pytest.approx(2 / 3)
    fractions = data([[0.2, 0.7], [0.8, 0.9]])
    assert variance(fractions)["flip_rate"].to_list() == [None]
    assert variance(fractions, threshold=0.5)["flip_rate"].to_list() == [0.5]


def test_nothing_one_question_and_nulls_are_defined() -> None:
    assert variance(data([])).columns == VARIANCE
    assert reliability(data([])).columns == RELIABILITY
    assert variance(data([[None, None]])).height == 0
    row = reliability(data([[None, None]])).row(0, named=True)
    assert (row["pass_at_k"], row["pass_at_k_bound_low"], row["pass_at_k_bound_high"]) == (None, None, None)
    row = variance(data([[1, 0]])).row(0, named=True)
    assert (row["n_questions"], row["k0"], row["msb"], row["msw"], row["icc1"]) == (1, None, None, 0.5, None)
    row = reliability(data([[1, 0]]), ks=[1]).row(0, named=True)
    assert (row["pass_at_k"], row["pass_at_k_ci_low"], row["flags"]) == (0.5, None, ["n<5"])
    row = reliability(data([[1, 1]] * 5), ks=[2]).row(0, named=True)
    assert (row["pass_hat_k"], row["pass_hat_k_ci_high"]) == (1.0, 1.0)
    assert 0 < row["pass_hat_k_ci_low"] < 1
    assert row["flags"] == ["n<30", "no_variance"]


def test_runs_are_kept_apart_unless_pooled() -> None:
    runs = [frame([[1, 1], [0, 1]]).with_columns(run_id=pl.lit(name)) for name in ("r1", "r2")]
    source = Data.from_scores(pl.concat(runs))
    assert variance(source)["run_id"].to_list() == ["r1", "r2"]
    assert reliability(source)["k"].to_list() == [1, 2, 1, 2]
    assert variance(source, pool_runs=True)["run_id"].to_list() == [None]
    assert reliability(source, pool_runs=True)["k"].to_list() == [1, 2, 3, 4]


def test_threads_and_row_order_move_no_digit() -> None:
    rng = np.random.default_rng(3)
    tables = []
    for system in ("A", "B"):
        for metric, draws in (("passed", rng.integers(0, 2, (300, 5))), ("score", rng.random((300, 5)).round(4))):
            tables.append(frame(draws.astype(float).tolist(), system, metric))
    source = pl.concat(tables)
    expected = None
    for seed, threads in enumerate((1, 2, 2)):
        shuffled = Data.from_scores(source.sample(fraction=1, shuffle=True, seed=seed))
        found = (variance(shuffled, threads=threads), reliability(shuffled, threshold=0.5, threads=threads))
        expected = expected or found
        assert all(table.equals(other) for table, other in zip(found, expected, strict=True))

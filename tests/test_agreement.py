"""Agreement of judges: against brute force in NumPy, on degenerate ratings, and under threads and row order."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from scorer.aggregate.agreement import LABELS, RATINGS, against_labels, agreement
from scorer.errors import InputError, UsageError

COLUMNS = [
    *("system", "criterion", "judge_id", "n_judges", "n_units", "n_judgements", "k", "within_sd"),
    *("icc1", "icc1_k", "icc2", "icc2_k", "alpha_interval", "alpha_nominal"),
    *("percent_agreement", "fleiss_kappa", "ac1", "flags"),
]

Matrix = list[list[float | None]]


def ratings(matrix: Matrix, *, judges: bool, criterion: str = "accuracy") -> pl.DataFrame:
    """Units × raters as a long frame; the raters are judges, or the evaluations of one judge."""
    rows = [
        {
            "criterion": criterion,
            "judge_id": f"judge {column}" if judges else "judge",
            "unit": f"unit {row}",
            "evaluation": 1 if judges else column + 1,
            "value": value,
            "category": None if value is None else str(value),
        }
        for row, values in enumerate(matrix)
        for column, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema={name: dtype for name, dtype in RATINGS.items() if name != "system"})


def one_row(matrix: Matrix, *, judges: bool, categories: int = 50) -> dict[str, object]:
    table = agreement(ratings(matrix, judges=judges), categories=categories)
    wanted = pl.col("judge_id").is_null() if judges else pl.col("judge_id") == "judge"
    return table.filter(wanted).row(0, named=True)


def mean_squares(data: NDArray[np.float64]) -> tuple[float, float, float, float]:
    n, k = data.shape
    grand = data.mean()
    rows, columns = data.mean(axis=1), data.mean(axis=0)
    within = sum((data[i, j] - rows[i]) ** 2 for i in range(n) for j in range(k)) / (n * (k - 1))
    residual = sum((data[i, j] - rows[i] - columns[j] + grand) ** 2 for i in range(n) for j in range(k))
    return (
        k * sum((rows - grand) ** 2) / (n - 1),
        within,
        n * sum((columns - grand) ** 2) / (k - 1),
        residual / ((n - 1) * (k - 1)),
    )


def alpha_by_pairs(matrix: Matrix, distance: object) -> float | None:
    """Krippendorff's alpha from its definition: mean distance within units over mean distance of all pairs."""
    units = [[value for value in row if value is not None] for row in matrix]
    units = [unit for unit in units if len(unit) >= 2]
    values = [value for unit in units for value in unit]
    if len(set(values)) < 2:
        return None
    observed = sum(2 * sum(distance(a, b) for a, b in combinations(unit, 2)) / (len(unit) - 1) for unit in units)
    expected = sum(2 * distance(a, b) for a, b in combinations(values, 2)) / (len(values) - 1)
    return 1 - observed / expected


values = st.one_of(st.none(), st.integers(0, 4).map(float))
matrices = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(values, min_size=k, max_size=k), min_size=1, max_size=8)
)


@settings(deadline=None, max_examples=30)
@given(matrices)
def test_alpha_and_percent_agreement_equal_their_definitions_over_all_pairs(matrix: Matrix) -> None:
    row = one_row([*matrix, [1.0] + [None] * (len(matrix[0]) - 1)], judges=False)
    for column, distance in (
        ("alpha_interval", lambda a, b: (a - b) ** 2),
        ("alpha_nominal", lambda a, b: float(a != b)),
    ):
        expected = alpha_by_pairs(matrix, distance)
        assert row[column] == (None if expected is None else pytest.approx(expected, abs=1e-10)), column
    shares = [
        np.mean([a == b for a, b in combinations(unit, 2)])
        for unit in ([value for value in values if value is not None] for values in matrix)
        if len(unit) >= 2
    ]
    assert row["percent_agreement"] == (pytest.approx(float(np.mean(shares)), abs=1e-11) if shares else None)


@settings(deadline=None, max_examples=20)
@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 30).map(float), min_size=k, max_size=k), min_size=2, max_size=8)
    )
)
def test_icc_equals_brute_force(matrix: Matrix) -> None:
    data = np.array(matrix)
    (n, k), (msb, msw, msc, mse) = data.shape, mean_squares(data)
    one, several = one_row(matrix, judges=False), one_row(matrix, judges=True)
    if data.min() == data.max():
        assert one["icc1"] is one["icc1_k"] is several["icc2"] is several["icc2_k"] is None
        return
    assert one["icc1"] == pytest.approx((msb - msw) / (msb + (k - 1) * msw), abs=1e-9)
    assert one["within_sd"] == pytest.approx(math.sqrt(msw), abs=1e-9)
    if msb > 1e-9:
        assert one["icc1_k"] == pytest.approx((msb - msw) / msb, rel=1e-9, abs=1e-9)
    else:
        assert one["icc1_k"] is None
    bottom = msb + (k - 1) * mse + k * (msc - mse) / n
    if abs(bottom) > 1e-9:
        assert several["icc2"] == pytest.approx((msb - mse) / bottom, rel=1e-8, abs=1e-9)
    bottom = msb + (msc - mse) / n
    if abs(bottom) > 1e-9:
        assert several["icc2_k"] == pytest.approx((msb - mse) / bottom, rel=1e-8, abs=1e-9)


def test_icc_takes_unequal_numbers_of_evaluations() -> None:
    matrix: Matrix = [[3, 4, None], [1, None, None], [5, 5, 4], [2, 3, None]]
    groups = [np.array([value for value in row if value is not None]) for row in matrix]
    total, n_units = sum(len(group) for group in groups), len(groups)
    grand = np.concatenate(groups).mean()
    msb = sum(len(group) * (group.mean() - grand) ** 2 for group in groups) / (n_units - 1)
    msw = sum(((group - group.mean()) ** 2).sum() for group in groups) / (total - n_units)
    k0 = (total - sum(len(group) ** 2 for group in groups) / total) / (n_units - 1)
    row = one_row(matrix, judges=False)
    assert row["k"] == pytest.approx(k0)
    assert row["icc1"] == pytest.approx((msb - msw) / (msb + (k0 - 1) * msw))
    assert (row["n_units"], row["n_judgements"]) == (4, 8)
    assert row["flags"] == ["n<5", "rated_once"]


def test_several_judges_are_reduced_to_their_means_and_most_frequent_categories() -> None:
    rows = [
        ("a", "u1", 1, 10.0, "pass"), ("a", "u1", 2, 20.0, "pass"), ("a", "u1", 3, 30.0, "fail"),
        ("a", "u2", 1, 40.0, "fail"), ("a", "u2", 2, 60.0, "pass"),
        ("b", "u1", 1, 22.0, "pass"), ("b", "u2", 1, 50.0, "fail"), ("b", "u3", 1, 99.0, "pass"),
    ]  # fmt: skip
    frame = pl.DataFrame(
        [("total", *row) for row in rows],
        schema=["criterion", "judge_id", "unit", "evaluation", "value", "category"],
        orient="row",
    )
    row = agreement(frame).row(-1, named=True)
    msb, _, msc, mse = mean_squares(np.array([[20.0, 22.0], [50.0, 50.0]]))
    assert row["icc2"] == pytest.approx((msb - mse) / (msb + mse + 2 * (msc - mse) / 2))
    assert (row["judge_id"], row["n_judges"], row["n_units"], row["n_judgements"], row["k"]) == (None, 2, 3, 5, 2)
    # u1: pass and pass; u2: a tie, which takes fail, and fail.
    assert row["percent_agreement"] == 1.0
    assert row["flags"] == ["n<5", "rated_once", "not_rated_by_all"]


def test_ac1_takes_the_declared_categories() -> None:
    frame = ratings([[1, 1], [1, 0], [1, 1], [0, 0], [1, 1]], judges=False)
    for declared in (2, 4):
        chance = 2 * 0.7 * 0.3 / (declared - 1)
        ac1 = agreement(frame, categories=declared)["ac1"].item()
        assert ac1 == pytest.approx((0.8 - chance) / (1 - chance))


def test_all_equal_ratings_give_agreement_1_and_null_coefficients() -> None:
    for judges in (False, True):
        row = one_row([[0.1, 0.1, 0.1]] * 6, judges=judges)
        assert [row[name] for name in ("icc1", "icc1_k", "icc2", "icc2_k", "alpha_interval")] == [None] * 5
        assert row["alpha_nominal"] is row["fleiss_kappa"] is None
        assert row["percent_agreement"] == row["ac1"] == 1.0
        assert row["within_sd"] == (None if judges else 0.0)
        assert row["flags"] == ["all_equal"]


def test_equal_unit_means_give_a_null_icc1_k_and_not_a_huge_number() -> None:
    row = one_row([[0.1, 0.2, 0.6], [0.3, 0.3, 0.3], [0.0, 0.4, 0.5]], judges=False)
    assert row["icc1_k"] is None
    assert row["icc1"] == pytest.approx(-0.5)


def test_a_single_rating_and_no_rating_are_defined() -> None:
    row = one_row([[3.0]], judges=False)
    assert all(row[name] is None for name in COLUMNS[7:17])
    assert row["flags"] == ["n<5", "all_equal", "rated_once"]
    for frame in (ratings([], judges=False), ratings([[None, None]], judges=True)):
        table = agreement(frame)
        assert table.height == 0
        assert table.columns == COLUMNS


def test_systems_and_criteria_are_kept_apart() -> None:
    parts = [
        ratings([[1, 2], [3, 3]], judges=False, criterion=criterion).with_columns(system=pl.lit(system))
        for system in ("x", "y")
        for criterion in ("accuracy", "exists")
    ]
    table = agreement(pl.concat(parts), categories=3)
    assert table.select("system", "criterion").rows() == [
        ("x", "accuracy"), ("x", "exists"), ("y", "accuracy"), ("y", "exists"),
    ]  # fmt: skip
    assert table.drop("system", "criterion").unique().height == 1


@pytest.mark.parametrize("judges", [False, True])
def test_threads_and_row_order_move_no_digit(judges: bool) -> None:
    rng = np.random.default_rng(7)
    frame = ratings((rng.integers(0, 130, (400, 7)) / 1.3).round(2).tolist(), judges=judges)
    expected = agreement(frame, categories=200, threads=1)
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        assert agreement(shuffled, categories=200, threads=2).equals(expected)


def test_mistakes_in_ratings_are_all_named() -> None:
    frame = ratings([[1.0, math.nan], [math.inf, 2.0]], judges=False)
    with pytest.raises(InputError) as caught:
        agreement(pl.concat([frame, frame.head(1)]))
    assert [str(problem) for problem in caught.value.problems] == [
        "<ratings>: column 'value': 2 values are NaN or infinite; leave them null",
        "<ratings>: criterion 'accuracy', judge_id 'judge', unit 'unit 0', evaluation 1: "
        "stands there more than once; keep one",
    ]
    with pytest.raises(InputError, match=r"column 'criterion': missing(.|\n)*column 'value': holds String"):
        agreement(pl.DataFrame({"judge_id": ["j"], "unit": ["u"], "evaluation": [1], "value": ["3"]}))
    with pytest.raises(UsageError, match=r"2 categories declared, but criterion 'accuracy' has 3"):
        agreement(ratings([[1, 2, 3]], judges=False))
    with pytest.raises(UsageError, match="at least 2"):
        agreement(ratings([[1, 1]], judges=False), categories=1)


def verdicts(both_pass: int, judge_only: int, human_only: int, both_fail: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    cells = [("pass", "pass")] * both_pass + [("pass", "fail")] * judge_only
    cells += [("fail", "pass")] * human_only + [("fail", "fail")] * both_fail
    names = [f"unit {place}" for place in range(len(cells))]
    judged = pl.DataFrame(
        {
            "criterion": "total",
            "judge_id": "j",
            "unit": names,
            "evaluation": 1,
            "value": 1.0,
            "category": [c[0] for c in cells],
        },
        schema_overrides={"unit": pl.String, "category": pl.String},
    )
    return judged, pl.DataFrame({"criterion": "total", "unit": names, "category": [c[1] for c in cells]}, schema=LABELS)


def test_kappa_interval_and_rates_against_the_closed_forms() -> None:
    row = against_labels(*verdicts(20, 5, 10, 15)).row(0, named=True)
    p = np.array([[20, 5], [10, 15]]) / 50
    judge, human = p.sum(axis=1), p.sum(axis=0)
    chance = float(judge @ human)
    kappa = (p.trace() - chance) / (1 - chance)
    variance = sum(p[i, i] * (1 - (judge[i] + human[i]) * (1 - kappa)) ** 2 for i in range(2))
    variance += (1 - kappa) ** 2 * sum(p[i, j] * (human[i] + judge[j]) ** 2 for i, j in ((0, 1), (1, 0)))
    variance = (variance - (kappa - chance * (1 - kappa)) ** 2) / (50 * (1 - chance) ** 2)
    z = stats.norm.ppf(0.975)
    assert row["kappa"] == pytest.approx(0.4)
    assert row["kappa_low"] == pytest.approx(kappa - z * math.sqrt(variance))
    assert row["kappa_high"] == pytest.approx(kappa + z * math.sqrt(variance))
    for name, hits, n in (("sensitivity", 20, 30), ("specificity", 15, 20)):
        interval = stats.binomtest(hits, n).proportion_ci(method="wilson")
        assert row[name] == pytest.approx(hits / n)
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx(tuple(interval))
    assert (row["n_units"], row["n_dropped"], row["percent_agreement"]) == (50, 0, 0.7)


@pytest.mark.parametrize(
    ("cells", "kappa", "flags"),
    [
        ((20, 0, 0, 20), 1.0, ["no_variance"]),
        ((6, 0, 0, 0), None, ["n<30", "all_equal"]),
        ((0, 0, 0, 4), None, ["n<5", "all_equal"]),
        ((3, 0, 1, 0), 0.0, ["n<5", "no_variance"]),
    ],
)
def test_one_sided_verdicts_give_no_zero_width_interval(
    cells: tuple[int, int, int, int], kappa: float | None, flags: list[str]
) -> None:
    row = against_labels(*verdicts(*cells)).row(0, named=True)
    assert row["kappa"] == kappa
    assert row["kappa_low"] is row["kappa_high"] is None
    assert row["flags"] == flags


def test_a_split_vote_is_no_pass_and_unlabelled_units_are_counted() -> None:
    judged, labels = verdicts(2, 0, 0, 1)
    split = judged.head(1).with_columns(evaluation=pl.lit(2, pl.Int64), category=pl.lit("fail"))
    row = against_labels(pl.concat([judged, split], how="vertical_relaxed"), labels.tail(2)).row(0, named=True)
    assert [row[name] for name in ("n_units", "n_dropped", "both_pass", "human_only", "both_fail")] == [2, 1, 1, 0, 1]
    row = against_labels(pl.concat([judged, split], how="vertical_relaxed"), labels).row(0, named=True)
    assert [row[name] for name in ("both_pass", "human_only", "both_fail")] == [1, 1, 1]
    none = against_labels(judged, labels.clear()).row(0, named=True)
    assert (none["n_units"], none["kappa"], none["sensitivity"], none["flags"]) == (0, None, None, ["no_common"])
    assert against_labels(judged.clear(), labels).height == 0

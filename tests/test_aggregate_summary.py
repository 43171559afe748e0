"""One system at a time: means of question means, and intervals that take questions as n."""

from __future__ import annotations

import json
import math
import statistics

import polars as pl
import pytest
from scipy import stats

from scorer import tables
from scorer.aggregate import INTERVALS, Data, summary
from scorer.errors import InputError, UsageError
from tests.conftest import SHARED
from tests.statistics_data import data_of, frame_of, only_row

HALVES = [[0.5, 0.0], [1.0, 0.5], [0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.0, 1.0]]


def test_repeats_end_in_one_value_a_question() -> None:
    row = only_row(summary(data_of(A=HALVES)))
    means = [sum(q) / 2 for q in HALVES]
    assert (row["n_questions"], row["n_groups"], row["n_attempts"]) == (6, 6, 12)
    assert (row["repeats_min"], row["repeats_max"], row["n_unscored"]) == (2, 2, 0)
    assert row["mean"] == pytest.approx(statistics.mean(means), rel=1e-11)
    assert row["se"] == pytest.approx(statistics.stdev(means) / math.sqrt(6), rel=1e-11)
    assert (row["ci_method"], row["conf_level"]) == ("wilson_t", 0.95)
    assert row["flags"] == ["n<30"]


def test_columns_are_those_of_the_specification() -> None:
    assert " ".join(summary(data_of(A=HALVES)).columns) == (
        "benchmark scorer metric run_id system stratum level n_questions n_groups n_attempts n_unscored "
        "repeats_min repeats_max mean mean_attempts se ci_low ci_high ci_method conf_level n_eff bound_low bound_high "
        "flags"
    )


def test_unequal_repeats_show_both_means() -> None:
    row = only_row(summary(data_of(A=[[1, 1, 1, 1], [0]])))
    assert (row["mean"], row["mean_attempts"]) == (0.5, 0.8)
    assert "unequal_repeats" in row["flags"]


def test_no_scores_no_rows() -> None:
    assert summary(data_of(A=[])).height == 0


def test_one_question_has_a_mean_and_no_interval() -> None:
    row = only_row(summary(data_of(A=[[0.5, 1.0]])))
    assert (row["mean"], row["se"], row["ci_low"], row["ci_high"], row["n_eff"]) == (0.75, None, None, None, None)
    assert "n<5" in row["flags"]


@pytest.mark.parametrize("value", [0.0, 0.1, 0.5, 1.0])
def test_scores_that_do_not_vary_still_have_an_interval_with_a_width(value: float) -> None:
    row = only_row(summary(data_of(A=[[value] * 3] * 10)))
    assert {"no_variance", "all_equal"} <= set(row["flags"])
    assert row["n_eff"] == 10
    assert row["ci_low"] < row["ci_high"]
    assert 0 <= row["ci_low"] <= value <= row["ci_high"] <= 1


def test_question_means_may_be_equal_while_attempts_are_not() -> None:
    row = only_row(summary(data_of(A=[[0, 1]] * 10)))
    assert "no_variance" in row["flags"]
    assert "all_equal" not in row["flags"]


def test_an_edge_value_clamps_what_the_repeats_are_worth() -> None:
    inside = [0.4, 0.5, 0.6] * 4
    free = only_row(summary(data_of(A=[*inside, 0.9])))
    clamped = only_row(summary(data_of(A=[*inside, 1.0])))
    assert free["n_eff"] > 13
    assert "clamped" not in free["flags"]
    assert clamped["n_eff"] == 13
    assert "clamped" in clamped["flags"]


def test_nothing_scored_is_null_and_never_zero() -> None:
    row = only_row(summary(data_of(A=[None, None, [None, None]])))
    assert (row["n_questions"], row["n_attempts"], row["n_unscored"]) == (0, 0, 4)
    assert [row[name] for name in ("mean", "mean_attempts", "se", "ci_low", "ci_high")] == [None] * 5


def test_an_unscored_attempt_is_missing_with_the_worst_case_beside() -> None:
    row = only_row(summary(data_of(A=[[1, 1], [1, None], [None, None], [0, 0]], B=[[1], [1], [1], [1]])).head(1))
    assert row["system"] == "A"
    assert (row["n_questions"], row["n_unscored"]) == (3, 3)
    assert row["mean"] == pytest.approx(2 / 3, rel=1e-11)
    assert row["bound_low"] == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert row["bound_high"] == pytest.approx((1 + 1 + 1 + 0) / 4)


def test_a_question_that_nobody_is_scored_on_is_outside_the_worst_case() -> None:
    """No gold annotation is no failure of a system."""
    row = only_row(summary(data_of(A=[[1, 1], [0, 0], [None, None]])))
    assert row["n_unscored"] == 2
    assert (row["bound_low"], row["bound_high"]) == (0.5, 0.5)


# --- the range --------------------------------------------------------------------------------------------------------


def test_the_interval_scales_with_the_range() -> None:
    points = [[100 * value for value in question] for question in HALVES]
    unit = only_row(summary(data_of(A=HALVES)))
    scaled = only_row(summary(data_of(A=points).with_range(0, 100)))
    for name in ("mean", "mean_attempts", "se", "ci_low", "ci_high", "bound_low", "bound_high"):
        assert scaled[name] == pytest.approx(100 * unit[name], rel=1e-11), name
    assert scaled["n_eff"] == pytest.approx(unit["n_eff"], rel=1e-11)


def test_without_a_range_the_interval_is_that_of_t_and_says_so() -> None:
    values = [3.0, 8.0, -2.0, 4.0, 90.0]
    row = only_row(summary(data_of(A=values)))
    half = stats.t.ppf(0.975, 4) * statistics.stdev(values) / math.sqrt(5)
    assert row["ci_method"] == "cluster_t"
    assert "no_range" in row["flags"]
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(20.6 - half), pytest.approx(20.6 + half))
    assert (row["bound_low"], row["bound_high"]) == (None, None)


def test_a_value_outside_its_declared_range_is_an_error_that_names_both() -> None:
    with pytest.raises(InputError, match=r"metric m: values reach from -1 to 0.5, outside the range \[0, 1\]"):
        summary(data_of(A=[0.5, -1.0]).with_range(0, 1))


def test_a_range_is_of_one_metric_where_it_is_named() -> None:
    scores = pl.concat([frame_of({"A": [3, 7]}, "points"), frame_of({"A": [0, 1]}, "passed")])
    data = Data.from_scores(scores).with_range(0, 10, metric="points")
    rows = {row["metric"]: row for row in summary(data).iter_rows(named=True)}
    assert rows["points"]["ci_high"] <= 10
    assert rows["passed"]["ci_high"] <= 1
    with pytest.raises(UsageError, match="no metric 'point'; did you mean 'points'"):
        data.with_range(0, 1, metric="point")
    for low, high in ((1, 1), (1, 0), (0, math.inf), (math.nan, 1)):
        with pytest.raises(UsageError, match="from a low number to a high one"):
            data.with_range(low, high)


# --- groups, strata, runs ---------------------------------------------------------------------------------------------


def test_groups_of_questions_are_the_clusters() -> None:
    values = [0.2, 0.4, 0.9, 0.7, 0.8, 0.1, 0.5, 0.6]
    group = ["a", "a", "a", "b", "b", "c", "d", "d"]
    row = only_row(summary(Data.from_scores(frame_of({"A": values}, group=pl.Series(group))), method="cluster_t"))
    mean = statistics.mean(values)
    sums = [sum(v - mean for v, g in zip(values, group, strict=True) if g == name) for name in "abcd"]
    se = math.sqrt(4 / 3 * sum(s * s for s in sums)) / 8
    assert (row["n_questions"], row["n_groups"]) == (8, 4)
    assert row["se"] == pytest.approx(se, rel=1e-11)
    assert row["ci_high"] - row["mean"] == pytest.approx(stats.t.ppf(0.975, 3) * se, rel=1e-9)
    assert "n<5" in row["flags"], "groups are what counts"


def test_a_group_a_question_changes_nothing() -> None:
    values = [0.2, 0.4, 0.9, 0.7]
    plain = only_row(summary(data_of(A=values)))
    grouped = only_row(summary(Data.from_scores(frame_of({"A": values}, group=pl.Series(list("wxyz"))))))
    assert plain == grouped


def test_strata_add_rows_and_change_none() -> None:
    level = pl.Series(["easy", "hard", "easy", "hard", None, "easy"])
    data = Data.from_scores(frame_of({"A": [1, 0, 1, 0.5, 1, 0]}, level=level), strata=["level"])
    rows = summary(data, strata=["level"])
    assert rows.filter(pl.col("stratum").is_null()).equals(summary(data))
    by_level = {row["level"]: row for row in rows.filter(pl.col("stratum") == "level").iter_rows(named=True)}
    assert {name: (row["n_questions"], row["mean"]) for name, row in by_level.items()} == {
        "easy": (3, pytest.approx(2 / 3)),
        "hard": (2, 0.25),
    }
    with pytest.raises(UsageError, match="no stratum 'levl'; did you mean 'level'"):
        summary(data, strata=["levl"])


def test_runs_stay_apart_unless_pooled() -> None:
    runs = pl.concat([frame_of({"A": [0, 0]}, run_id=pl.lit("r1")), frame_of({"A": [1, 1]}, run_id=pl.lit("r2"))])
    data = Data.from_scores(runs)
    apart = summary(data)
    assert apart.select("run_id", "mean", "n_attempts").rows() == [("r1", 0.0, 2), ("r2", 1.0, 2)]
    pooled = only_row(summary(data, pool_runs=True))
    assert (pooled["run_id"], pooled["mean"], pooled["n_questions"], pooled["n_attempts"]) == (None, 0.5, 2, 4)


def test_a_question_with_another_gold_is_another_question_when_runs_are_pooled() -> None:
    runs = pl.concat([frame_of({"A": [0, 0]}, run_id=pl.lit("r1")), frame_of({"A": [1, 1]}, run_id=pl.lit("r2"))])
    golds = pl.DataFrame(
        [
            {"run_id": run, "task_id": task, "field": "answer", "position": 0, "value": value}
            for run, task, value in [
                ("r1", "q0000", "x"),
                ("r2", "q0000", "y"),
                ("r1", "q0001", "z"),
                ("r2", "q0001", "z"),
            ]
        ],
        schema=tables.GOLDS.schema,
    )
    stored = Data.from_scores(runs)
    pooled = only_row(summary(Data(stored.scores, stored.runs, golds=golds), pool_runs=True))
    assert pooled["n_questions"] == 3
    assert pooled["n_groups"] == 2, "the two golds of one task are no independent questions"


def test_two_scorers_are_never_pooled() -> None:
    scores = pl.concat([frame_of({"A": [0, 0]}, scorer=pl.lit("one")), frame_of({"A": [1, 1]}, scorer=pl.lit("two"))])
    assert summary(Data.from_scores(scores)).select("scorer", "mean").rows() == [("one", 0.0), ("two", 1.0)]


# --- the other intervals ----------------------------------------------------------------------------------------------


def test_every_interval_is_there_by_name() -> None:
    data = data_of(A=[0, 1, 1, 0, 1, 1, 1, 0, 1, 1])
    for method in INTERVALS:
        row = only_row(summary(data, method=method))
        assert row["ci_method"] == method
        assert row["ci_low"] < row["mean"] < row["ci_high"], method
    with pytest.raises(UsageError, match="no interval 'wilsont'; did you mean 'wilson_t'"):
        summary(data, method="wilsont")
    with pytest.raises(UsageError, match="between 0 and 1"):
        summary(data, conf=95)


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson"])
@pytest.mark.parametrize("values", [[[0, 1], [1, 1]], [0.5, 1.0, 0.0]])
def test_intervals_of_a_share_need_one_0_or_1_a_question(method: str, values: list[float]) -> None:
    row = only_row(summary(data_of(A=values), method=method))
    assert (row["ci_low"], row["ci_high"]) == (None, None)
    assert "not_one_binary" in row["flags"]


def test_the_published_interval_takes_attempts_for_independent_and_says_so() -> None:
    row = only_row(summary(data_of(A=HALVES), method="normal_attempts"))
    attempts = [value for question in HALVES for value in question]
    half = 1.96 * statistics.stdev(attempts) / math.sqrt(12)
    assert row["ci_high"] - row["mean_attempts"] == pytest.approx(half, rel=1e-10)
    assert "attempts_taken_as_independent" in row["flags"]
    alone = only_row(summary(data_of(A=[0.5]), method="normal_attempts"))
    assert (alone["ci_low"], alone["ci_high"]) == (0.5, 0.5)
    with pytest.raises(UsageError, match=r"the level 0\.95 only"):
        summary(data_of(A=HALVES), method="normal_attempts", conf=0.9)


def test_the_bootstrap_draws_questions_and_depends_on_its_seed_alone() -> None:
    values = [(i * 7 % 11) / 10 for i in range(40)]
    data = data_of(A=values)
    first = only_row(summary(data, method="cluster_bootstrap", seed=1))
    assert first == only_row(summary(data, method="cluster_bootstrap", seed=1))
    assert first != only_row(summary(data, method="cluster_bootstrap", seed=2))
    half = stats.norm.ppf(0.975) * statistics.pstdev(values) / math.sqrt(40)
    assert (first["ci_high"] - first["ci_low"]) / 2 == pytest.approx(half, rel=0.03)
    assert {"resamples=9999", "seed=1"} <= set(first["flags"])


def test_bca_agrees_with_scipy() -> None:
    values = [0.02, 0.05, 0.05, 0.1, 0.12, 0.15, 0.2, 0.2, 0.33, 0.95, 0.6, 0.08, 0.3, 0.01, 0.44, 0.7]
    row = only_row(summary(data_of(A=values), method="cluster_bootstrap_bca"))
    other = stats.bootstrap((values,), statistics.mean, n_resamples=9999, method="BCa", rng=1, vectorized=False)
    assert row["ci_low"] == pytest.approx(other.confidence_interval.low, abs=0.01)
    assert row["ci_high"] == pytest.approx(other.confidence_interval.high, abs=0.01)


def test_a_bootstrap_of_what_does_not_vary_has_no_width() -> None:
    for method in ("cluster_bootstrap", "cluster_bootstrap_bca"):
        row = only_row(summary(data_of(A=[0.25] * 6), method=method))
        assert (row["ci_low"], row["ci_high"]) == (0.25, 0.25)


def test_the_published_half_widths_of_the_real_run() -> None:
    """`normal_attempts` gives every ci95 of the published evaluation."""
    published = SHARED / "data" / "eduevidence" / "run-empirical-01" / "evaluation.json"
    if not published.is_file():
        pytest.skip("the real run is not here")
    evaluation = json.loads(published.read_text("utf-8"))
    scores = [
        {
            "system": attempt["baseline"],
            "task_id": attempt["question_id"],
            "repeat": attempt["attempt"],
            "metric": metric,
            "value": value,
        }
        for attempt in evaluation["per_attempt"]
        for metric, value in (attempt.get("metrics") or {}).items()
    ]
    rows = summary(Data.from_scores(pl.DataFrame(scores)), method="normal_attempts")
    assert rows.height == 12
    for row in rows.iter_rows(named=True):
        figures = evaluation["per_baseline"][row["system"]]["metrics"][row["metric"]]
        half = round((row["ci_high"] - row["ci_low"]) / 2, 4)
        assert (round(row["mean_attempts"], 4), half, row["n_attempts"]) == (
            figures["mean"],
            figures["ci95"],
            figures["n"],
        )
        assert row["n_questions"] == 10

"""Two systems at a time: pairing, the degenerate cases, families, McNemar, and what is said of it all."""

from __future__ import annotations

import math
import statistics
from typing import Any

import polars as pl
import pytest
from scipy import stats

from scorer import tables
from scorer.aggregate import Comparison, Data, compare
from scorer.aggregate.sentences import comparison_sentence
from scorer.errors import InputError, UsageError
from tests.statistics_data import data_of, frame_of, only_row

A = [0.9, 0.4, 0.7, 1.0, 0.55, 0.65, 0.3, 0.85]
B = [0.5, 0.45, 0.2, 0.9, 0.5, 0.05, 0.35, 0.5]


def comparison_of(**systems: Any) -> dict[str, Any]:
    return only_row(compare(data_of(**systems)).comparisons)


def test_columns_are_those_of_the_specification() -> None:
    made = compare(data_of(A=A, B=B))
    assert " ".join(made.comparisons.columns) == (
        "benchmark scorer metric run_a run_b system_a system_b stratum level n_questions n_groups n_only_a n_only_b "
        "mean_a mean_b difference ci_low ci_high conf_level p_value p_method n_resamples p_monte_carlo_error p_t "
        "primary family correction family_size n_left_out p_adjusted p_smallest wins ties losses dz dz_low dz_high mde "
        "seed flags"
    )
    assert " ".join(made.mcnemar.columns) == (
        "benchmark scorer metric run_a run_b system_a system_b verdict_rule threshold n_tasks n_dropped both_pass "
        "a_only b_only both_fail p_exact p_midp chi2 p_chi2 chi2_cc p_chi2_cc family_size p_adjusted risk_difference "
        "rd_low rd_high rd_method odds_ratio or_low or_high flags"
    )
    assert list(made.tables) == ["summary", "comparisons", "mcnemar", "variance", "reliability"]


def test_a_paired_comparison_by_the_textbook() -> None:
    row = comparison_of(A=A, B=B)
    d = [a - b for a, b in zip(A, B, strict=True)]
    mean, sd, n = statistics.mean(d), statistics.stdev(d), len(d)
    half = stats.t.ppf(0.975, n - 1) * sd / math.sqrt(n)
    factor = math.gamma(7 / 2) / (math.sqrt(7 / 2) * math.gamma(3))
    permuted = stats.permutation_test((d,), statistics.mean, permutation_type="samples", n_resamples=math.inf)
    assert row["difference"] == pytest.approx(mean, rel=1e-11)
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(mean - half), pytest.approx(mean + half))
    assert row["p_value"] == pytest.approx(permuted.pvalue, rel=1e-11)
    assert row["p_t"] == pytest.approx(stats.ttest_rel(A, B).pvalue, rel=1e-9)
    assert row["dz"] == pytest.approx(mean / sd * factor, rel=1e-10)
    t = mean / sd * math.sqrt(n)
    for bound, tail in (("dz_low", 0.975), ("dz_high", 0.025)):
        assert stats.nct.cdf(t, n - 1, row[bound] / factor * math.sqrt(n)) == pytest.approx(tail, abs=1e-8)
    assert (row["wins"], row["ties"], row["losses"]) == (6, 0, 2)
    assert (row["n_questions"], row["n_groups"], row["n_only_a"], row["n_only_b"]) == (8, 8, 0, 0)
    assert (row["p_method"], row["n_resamples"], row["seed"], row["p_monte_carlo_error"]) == ("exact", None, None, None)
    assert row["p_smallest"] == 2**-7


def test_turning_the_sides_round_turns_the_signs_and_nothing_else() -> None:
    data = data_of(A=A, B=B)
    one = only_row(compare(data, systems=["A", "B"]).comparisons)
    other = only_row(compare(data, systems=["B", "A"]).comparisons)
    assert (other["system_a"], other["system_b"]) == ("B", "A")
    for name in ("difference", "dz"):
        assert other[name] == -one[name]
    assert (other["ci_low"], other["ci_high"]) == (-one["ci_high"], -one["ci_low"])
    for name in ("p_value", "p_t", "p_adjusted", "mde", "n_questions", "ties"):
        assert other[name] == one[name]
    assert (other["wins"], other["losses"]) == (one["losses"], one["wins"])


def test_one_value_a_question_of_0_or_1_is_mcnemar() -> None:
    made = compare(data_of(A=[1, 1, 1, 1, 0, 1, 0, 1, 1], B=[0, 0, 1, 0, 1, 0, 0, 0, 1]))
    assert only_row(made.comparisons)["p_value"] == only_row(made.mcnemar)["p_exact"]


def test_many_fine_differences_are_sampled_with_their_error_and_seed() -> None:
    a = [(i * 7919 % 10007) / 10007 for i in range(60)]
    b = [(i * 104729 % 10007) / 10007 for i in range(60)]
    data = data_of(A=a, B=b)
    row = only_row(compare(data, seed=5).comparisons)
    assert (row["p_method"], row["n_resamples"], row["seed"]) == ("monte_carlo", 9999, 5)
    p = row["p_value"]
    assert row["p_monte_carlo_error"] == pytest.approx(math.sqrt(p * (1 - p) / 9999), rel=1e-9)
    assert row["p_smallest"] == 1 / 10_000
    assert row == only_row(compare(data, seed=5).comparisons)
    assert p != only_row(compare(data, seed=6).comparisons)["p_value"]
    assert p == pytest.approx(row["p_t"], abs=0.02)


def test_groups_flip_together_and_are_what_counts() -> None:
    group = pl.Series([name for name in "aabbccdd" for _ in range(1)] * 2)
    row = only_row(compare(Data.from_scores(frame_of({"A": A, "B": B}, group=group))).comparisons)
    sums = [A[i] + A[i + 1] - B[i] - B[i + 1] for i in range(0, 8, 2)]
    mean = sum(sums) / 8
    se = math.sqrt(4 / 3 * sum((s - 2 * mean) ** 2 for s in sums)) / 8
    assert (row["n_questions"], row["n_groups"]) == (8, 4)
    assert row["difference"] == pytest.approx(mean)
    assert row["ci_high"] - row["difference"] == pytest.approx(stats.t.ppf(0.975, 3) * se, rel=1e-9)
    permuted = stats.permutation_test((sums,), statistics.mean, permutation_type="samples", n_resamples=math.inf)
    assert row["p_value"] == pytest.approx(permuted.pvalue)
    assert row["p_smallest"] == 2**-3
    assert "n<5" in row["flags"]


# --- degenerate inputs ------------------------------------------------------------------------------------------------

INFERENCE = ("ci_low", "ci_high", "p_t", "dz", "dz_low", "dz_high", "mde")


def test_no_scores_at_all_name_what_is_missing() -> None:
    with pytest.raises(UsageError, match="needs two systems; found: none"):
        compare(data_of(A=[]))


def test_one_system_is_no_comparison() -> None:
    with pytest.raises(UsageError, match="needs two systems; found: A"):
        compare(data_of(A=A))


def test_no_question_in_common_is_a_row_of_nulls() -> None:
    made = compare(data_of(A=[1, 0, [], []], B=[[], [], 1, 1]))
    row = only_row(made.comparisons)
    assert (row["n_questions"], row["n_only_a"], row["n_only_b"]) == (0, 2, 2)
    assert [row[name] for name in (*INFERENCE, "mean_a", "mean_b", "difference", "p_value", "p_adjusted")] == [
        None
    ] * 12
    assert row["p_smallest"] is None
    assert "no_common" in row["flags"]
    assert (row["family_size"], row["n_left_out"]) == (0, 1)
    assert "m: A and B have no scored question in common" in made.notes


def test_nothing_scored_is_no_common_question() -> None:
    row = comparison_of(A=[None, None], B=[1, 0])
    assert (row["n_questions"], row["n_only_b"], row["p_value"]) == (0, 2, None)
    both = comparison_of(A=[None, None], B=[None, None])
    assert (both["n_questions"], both["n_only_a"], both["n_only_b"], both["p_value"]) == (0, 0, 0, None)


def test_one_question_has_a_difference_and_p_1() -> None:
    row = comparison_of(A=[0.75], B=[0.25])
    assert (row["difference"], row["p_value"]) == (0.5, 1.0)
    assert [row[name] for name in INFERENCE] == [None] * 7


def test_two_questions() -> None:
    row = comparison_of(A=[0.9, 0.4], B=[0.5, 0.3])
    assert row["p_value"] == 0.5
    assert (row["ci_low"], row["ci_high"]) == (-1, 1), "clipped to what the range allows"
    assert row["dz"] is None, "no correction with one degree of freedom"
    assert row["mde"] > 0


@pytest.mark.parametrize("values", [[0.5, 0.2, 0.9, 1.0], [1.0, 1.0, 1.0, 1.0]])
def test_identical_systems(values: list[float]) -> None:
    row = comparison_of(A=values, B=values)
    half = 1 - 0.05 ** (1 / 4)
    assert (row["difference"], row["p_value"]) == (0, 1)
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(-half), pytest.approx(half))
    assert [row[name] for name in ("p_t", "dz", "dz_low", "dz_high", "mde")] == [None] * 5
    assert "identical" in row["flags"]
    assert (row["wins"], row["ties"], row["losses"]) == (0, 4, 0)


def test_identical_systems_with_another_range() -> None:
    row = only_row(compare(data_of(A=[10, 20, 30], B=[10, 20, 30]).with_range(0, 130)).comparisons)
    assert row["ci_high"] == pytest.approx(130 * (1 - 0.05 ** (1 / 3)))
    unknown = only_row(compare(data_of(A=[10, 20, 30], B=[10, 20, 30])).comparisons)
    assert (unknown["ci_low"], unknown["ci_high"], unknown["p_value"]) == (None, None, 1)


def test_a_difference_that_is_the_same_on_every_question() -> None:
    row = comparison_of(A=[0.3, 0.5, 0.9, 0.7], B=[0.1, 0.3, 0.7, 0.5])
    assert row["p_value"] == 2**-3
    assert [row[name] for name in INFERENCE] == [None] * 7
    assert "constant" in row["flags"]


def test_unequal_repeats_are_flagged_and_count_a_question_each() -> None:
    row = comparison_of(A=[[1, 0], [1], [0, 0, 1]], B=[[1], [0, 0], [1, 1]])
    assert row["difference"] == pytest.approx((0.5 + 1 + 1 / 3) / 3 - 2 / 3)
    assert "unequal_repeats" in row["flags"]


def test_means_are_over_the_common_questions_only() -> None:
    made = compare(data_of(A=[1, 0, 1, []], B=[0, None, [], 1]))
    row = only_row(made.comparisons)
    assert (row["n_questions"], row["n_only_a"], row["n_only_b"]) == (1, 2, 1)
    assert (row["mean_a"], row["mean_b"]) == (1, 0)
    assert "m: 1 question in common, 2 only in A, 1 only in B" in made.notes


def test_a_question_partly_unscored_counts_with_what_it_has() -> None:
    assert comparison_of(A=[[1, None], [0, 1]], B=[[0, 0], [0, 0]])["difference"] == 0.75


def test_0_or_1_in_one_system_and_fractions_in_the_other_is_no_matter_for_mcnemar() -> None:
    made = compare(data_of(A=[1, 0, 1, 1], B=[0.5, 0.25, 1, 0]))
    assert made.mcnemar.height == 0
    assert only_row(made.comparisons)["difference"] == pytest.approx(0.3125)


@pytest.mark.parametrize("digits", [2, 3, 4, 6])
def test_rounded_thirds_keep_their_ties(digits: int) -> None:
    """Rounding must not decide a tie: the p of the rounded values is the p of the thirds themselves."""
    a, b = [2, 0, 2, 3, 1, 3], [0, 1, 3, 1, 1, 1]
    rounded = comparison_of(A=[round(x / 3, digits) for x in a], B=[round(x / 3, digits) for x in b])
    full = comparison_of(A=[x / 3 for x in a], B=[x / 3 for x in b])
    whole = comparison_of(A=a, B=b)
    assert rounded["p_value"] == full["p_value"] == whole["p_value"]
    assert rounded["ties"] == full["ties"] == whole["ties"] == 1


@pytest.mark.parametrize("unit", [1e-90, 1e-9, 1e-3, 7.0, 1e12, 1e90])
def test_the_size_of_the_values_is_no_matter(unit: float) -> None:
    one = comparison_of(A=A, B=B)
    scaled = only_row(
        compare(data_of(A=[unit * a for a in A], B=[unit * b for b in B]).with_range(0, unit)).comparisons
    )
    assert scaled["difference"] == pytest.approx(unit * one["difference"])
    for name in ("p_value", "wins", "ties", "losses"):
        assert scaled[name] == one[name], name
    assert scaled["p_t"] == pytest.approx(one["p_t"])


def test_values_outside_the_range_are_an_error() -> None:
    with pytest.raises(InputError, match="outside the range"):
        compare(data_of(A=[2, 3], B=[1, 9]).with_range(0, 5))


def test_a_range_of_whole_numbers_clips_the_interval() -> None:
    row = only_row(compare(data_of(A=[100, 0, 100], B=[0, 0, 0]).with_range(0, 100)).comparisons)
    assert (row["ci_low"], row["ci_high"]) == (-100, 100) or row["ci_high"] == 100
    free = only_row(compare(data_of(A=[100, 0, 100], B=[0, 0, 0])).comparisons)
    assert free["ci_high"] > 100


def test_near_constant_differences_do_not_hang_or_overflow() -> None:
    row = comparison_of(A=[1.0, 1.0, 1.0, 0.999999], B=[0.0, 0.0, 0.0, 0.0])
    assert row["p_value"] == 2**-3
    assert "constant" in row["flags"] or row["p_t"] < 1e-9


# --- sides, runs, modes -----------------------------------------------------------------------------------------------


def runs_of(**runs: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame.with_columns(run_id=pl.lit(name)) for name, frame in runs.items()])


def pairs(made: Comparison) -> list[tuple[str, str]]:
    return made.comparisons.select("system_a", "system_b").unique(maintain_order=True).rows()


def test_all_pairs_come_in_the_order_of_names() -> None:
    data = data_of(C=A, A=B, B=A)
    assert pairs(compare(data)) == [("A", "B"), ("A", "C"), ("B", "C")]


def test_a_baseline_is_b_in_every_pair() -> None:
    made = compare(data_of(C=A, A=B, B=A), baseline="B")
    assert pairs(made) == [("A", "B"), ("C", "B")]
    assert made.comparisons["family_size"].to_list() == [2, 2]


def test_names_that_do_not_exist_name_the_nearest() -> None:
    data = data_of(standard=A, careful=B)
    with pytest.raises(UsageError, match="no system 'standrad'; did you mean 'standard'"):
        compare(data, systems=["standrad", "careful"])
    with pytest.raises(UsageError, match="no system 'x'; known: careful, standard"):
        compare(data, baseline="x")
    with pytest.raises(UsageError, match="no metric 'mm'"):
        compare(data, metric="mm")
    with pytest.raises(UsageError, match="not both"):
        compare(data, systems=["standard", "careful"], baseline="careful")
    with pytest.raises(UsageError, match="no interval 'x' for the risk difference"):
        compare(data, rd_method="x")


def test_a_name_found_in_two_runs_is_an_error_that_lists_both() -> None:
    data = Data.from_scores(runs_of(r1=frame_of({"A": A, "B": B}), r2=frame_of({"A": B})))
    with pytest.raises(UsageError, match="'A' is found in several runs: name one of r1:A, r2:A, or pool them"):
        compare(data, systems=["A", "B"])
    with pytest.raises(UsageError, match="found in several runs"):
        compare(data)
    row = only_row(compare(data, systems=["r1:A", "r2:A"]).comparisons)
    assert (row["run_a"], row["run_b"], row["system_a"], row["system_b"]) == ("r1", "r2", "A", "A")
    assert row["difference"] == pytest.approx(sum(A) / 8 - sum(B) / 8)


def test_a_system_whose_name_holds_a_colon_is_found_by_it() -> None:
    assert only_row(compare(data_of(**{"x:A": A, "B": B}), systems=["x:A", "B"]).comparisons)["system_a"] == "x:A"


def test_pooled_runs_make_one_side() -> None:
    data = Data.from_scores(runs_of(r1=frame_of({"A": [1, 0], "B": [0, 0]}), r2=frame_of({"A": [0, 0]})))
    row = only_row(compare(data, systems=["A", "B"], pool_runs=True).comparisons)
    assert (row["run_a"], row["run_b"]) == (None, "r1")
    assert (row["n_questions"], row["difference"]) == (2, 0.25)


def test_a_task_with_another_gold_is_no_pair() -> None:
    scores = Data.from_scores(runs_of(r1=frame_of({"A": [1, 0, 1]}), r2=frame_of({"B": [0, 0, 1]})))
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
    made = compare(Data(scores.scores, scores.runs, golds=golds))
    row = only_row(made.comparisons)
    assert (row["n_questions"], row["n_only_a"], row["n_only_b"]) == (2, 1, 1)
    assert any(note.startswith("1 tasks have different golds") for note in made.notes)


def test_simulated_meets_empirical_only_where_it_is_meant() -> None:
    scores = pl.concat(
        [
            frame_of({"A": A}, run_id=pl.lit("made"), mode=pl.lit("simulated")),
            frame_of({"B": B}, run_id=pl.lit("real"), mode=pl.lit("empirical")),
        ]
    )
    data = Data.from_scores(scores)
    with pytest.raises(UsageError, match="run made is simulated and run real is empirical"):
        compare(data)
    made = compare(data, allow_mixed=True)
    assert made.comparisons.height == 1
    assert made.notice == "SIMULATED (made), harness validation only, not model performance"
    assert {"Run made is simulated", "Run real is empirical"} <= set(made.notes)


def test_pooling_simulated_with_empirical_is_mixing_too() -> None:
    scores = pl.concat(
        [
            frame_of({"A": A, "B": B}, run_id=pl.lit("made"), mode=pl.lit("simulated")),
            frame_of({"A": B}, run_id=pl.lit("real"), mode=pl.lit("empirical")),
        ]
    )
    with pytest.raises(UsageError, match="--allow-mixed"):
        compare(Data.from_scores(scores), pool_runs=True)


def test_benchmarks_and_scorers_are_never_paired_with_each_other() -> None:
    scores = pl.concat(
        [
            frame_of({"A": A, "B": B}, benchmark=pl.lit("one"), run_id=pl.lit("1")),
            frame_of({"A": B, "B": A}, benchmark=pl.lit("two"), run_id=pl.lit("2")),
        ]
    )
    made = compare(Data.from_scores(scores), systems=["A", "B"])
    one, two = made.comparisons.iter_rows(named=True)
    assert (one["benchmark"], two["benchmark"]) == ("one", "two")
    assert one["difference"] == -two["difference"]
    assert one["family_size"] == 1


# --- families ---------------------------------------------------------------------------------------------------------


def many(primary: str | None = None) -> Data:
    """Three metrics of three systems, one of them better in two metrics."""
    scores = pl.concat(
        [
            frame_of({"A": [1] * 12, "B": [0] * 9 + [1] * 3, "C": [0, 1] * 6}, "first"),
            frame_of({"A": [1, 0] * 6, "B": [0, 1] * 6, "C": [0] * 12}, "second"),
            frame_of({"A": [0.5] * 12, "B": [0.5] * 12, "C": [0.5] * 12}, "third"),
        ]
    )
    data = Data.from_scores(scores)
    if primary is None:
        return data
    metrics = data.with_range(0, 1).metrics
    return Data(data.scores, data.runs, metrics=metrics.with_columns(primary=pl.col("metric") == primary))


def holm(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, running = [0.0] * len(p), 0.0
    for place, i in enumerate(order):
        running = max(running, min(1.0, (len(p) - place) * p[i]))
        adjusted[i] = running
    return adjusted


def test_without_a_primary_metric_all_metrics_and_pairs_are_one_family() -> None:
    rows = compare(many()).comparisons
    assert rows.select("family", "correction", "family_size").unique().rows() == [(1, "holm", 9)]
    assert rows["p_adjusted"].to_list() == pytest.approx(holm(rows["p_value"].to_list()))


def test_a_primary_metric_has_a_family_of_its_own() -> None:
    rows = compare(many("first")).comparisons
    first = rows.filter(pl.col("metric") == "first")
    rest = rows.filter(pl.col("metric") != "first")
    assert first.select("primary", "family", "correction", "family_size").unique().rows() == [(True, 1, "holm", 3)]
    assert rest.select("primary", "family", "correction", "family_size").unique().rows() == [
        (False, 2, "benjamini_hochberg", 6)
    ]
    expected = stats.false_discovery_control(rest["p_value"].to_list())
    assert rest["p_adjusted"].to_list() == pytest.approx(expected.tolist())


def test_choosing_a_metric_shows_less_and_adjusts_over_all() -> None:
    whole = compare(many())
    chosen = compare(many(), metric="first")
    assert chosen.comparisons.equals(whole.comparisons.filter(pl.col("metric") == "first"))
    assert chosen.summary["metric"].unique().to_list() == ["first"]
    assert any("first is the caller's choice" in note for note in chosen.notes)


def test_a_null_leaves_its_family_before_the_adjustment() -> None:
    scores = pl.concat([frame_of({"A": [1, 1], "B": [0, 1]}, "m1"), frame_of({"A": [None, None], "B": [1, 1]}, "m2")])
    rows = compare(Data.from_scores(scores)).comparisons
    assert rows.select("metric", "p_adjusted", "family_size", "n_left_out").rows() == [
        ("m1", 1.0, 1, 1),
        ("m2", None, 1, 1),
    ]


def test_strata_are_a_family_of_their_own() -> None:
    level = pl.Series(["x", "y"] * 8)
    data = Data.from_scores(frame_of({"A": A, "B": B}, level=level), strata=["level"])
    made = compare(data, strata=["level"])
    overall = made.comparisons.filter(pl.col("stratum").is_null())
    assert overall.equals(compare(data).comparisons)
    levels = made.comparisons.filter(pl.col("stratum") == "level")
    assert levels["level"].to_list() == ["x", "y"]
    assert levels["n_questions"].to_list() == [4, 4]
    assert levels.select("family", "correction", "family_size").unique().rows() == [(3, "benjamini_hochberg", 2)]


def test_a_test_that_cannot_reach_significance_says_so() -> None:
    made = compare(data_of(A=[1, 1, 1, 1, 1], B=[0, 0, 0, 0, 0]))
    row = only_row(made.comparisons)
    assert row["p_value"] == row["p_smallest"] == 2**-4
    assert "smallest_p_above_alpha" in row["flags"]
    assert "p cannot fall below 0.062: too few for significance" in made.notes[0]
    reachable = comparison_of(A=[1] * 6, B=[0] * 6)
    assert "smallest_p_above_alpha" not in reachable["flags"]


def test_under_holm_over_many_ten_questions_are_never_enough() -> None:
    systems = {f"s{i}": [(i * q) % 3 / 2 for q in range(10)] for i in range(14)}
    rows = compare(data_of(**systems)).comparisons
    assert rows["family_size"].unique().to_list() == [91]
    assert rows["flags"].list.contains("smallest_p_above_alpha").all()


# --- McNemar ----------------------------------------------------------------------------------------------------------


def test_one_verdict_a_task_by_strict_majority() -> None:
    made = compare(
        data_of(A=[[1, 1, 0], [1, 0], [1, 0, 0], [1], [None, 1]], B=[[0, 0, 1], [1, 1], [1, 1, 1], [None], [0]])
    )
    row = only_row(made.mcnemar)
    assert (row["verdict_rule"], row["threshold"]) == ("strict_majority", 1)
    assert (row["n_tasks"], row["n_dropped"]) == (4, 1)
    assert [row[name] for name in ("both_pass", "a_only", "b_only", "both_fail")] == [0, 2, 2, 0]


def test_mcnemar_figures_of_the_published_card() -> None:
    """15 tasks that one system passes and the other fails, none the other way."""
    row = only_row(compare(data_of(A=[1] * 45, B=[0] * 15 + [1] * 30)).mcnemar)
    assert row["p_exact"] == pytest.approx(6.1035e-5, rel=1e-4)
    assert row["p_midp"] == pytest.approx(row["p_exact"] / 2)
    assert row["chi2"] == 15
    assert row["chi2_cc"] == pytest.approx(13.0667, abs=1e-4)


def test_odds_at_the_edges() -> None:
    unbounded = only_row(compare(data_of(A=[1, 1, 1], B=[0, 0, 1])).mcnemar)
    assert (unbounded["odds_ratio"], unbounded["or_high"]) == (None, None)
    assert unbounded["or_low"] > 0
    assert "or_unbounded" in unbounded["flags"]
    nothing = only_row(compare(data_of(A=[0, 0, 1], B=[1, 1, 1])).mcnemar)
    assert (nothing["odds_ratio"], nothing["or_low"]) == (0, 0)
    assert nothing["or_high"] > 0
    same = only_row(compare(data_of(A=[0, 1], B=[0, 1])).mcnemar)
    assert [same[name] for name in ("odds_ratio", "or_low", "or_high", "chi2", "p_chi2", "chi2_cc")] == [None] * 6
    assert (same["p_exact"], same["p_midp"]) == (1, 1)


def test_no_task_with_two_verdicts_is_a_row_of_nulls() -> None:
    row = only_row(compare(data_of(A=[1, None], B=[None, 0])).mcnemar)
    assert (row["n_tasks"], row["n_dropped"], row["p_exact"], row["risk_difference"]) == (0, 2, None, None)
    assert "no_common" in row["flags"]


def test_verdicts_have_a_holm_family_of_their_own() -> None:
    made = compare(data_of(A=[1] * 12, B=[0] * 12, C=[0] * 6 + [1] * 6))
    assert made.mcnemar["family_size"].unique().to_list() == [3]
    assert made.mcnemar["p_adjusted"].to_list() == pytest.approx(holm(made.mcnemar["p_exact"].to_list()))


def test_where_lower_is_better_the_better_value_is_the_pass_and_the_win() -> None:
    data = data_of(A=[0, 0, 0, 1], B=[1, 1, 0, 1]).with_range(0, 1, higher_is_better=False)
    made = compare(data)
    row = only_row(made.comparisons)
    assert (row["difference"], row["wins"], row["losses"]) == (-0.5, 2, 0)
    verdicts = only_row(made.mcnemar)
    assert (verdicts["threshold"], verdicts["a_only"], verdicts["b_only"]) == (0, 2, 0)
    assert made.notes[0].startswith("m: A is better than B by 0.50")


# --- in words ---------------------------------------------------------------------------------------------------------


def test_a_sentence_names_the_better_system_with_its_interval_and_the_family() -> None:
    scores = pl.concat([frame_of({"A": A, "B": B}, "x"), frame_of({"A": B, "B": B}, "y")])
    notes = compare(Data.from_scores(scores)).notes
    assert notes[0] == (
        "x: A is better than B by 0.24 [0.02, 0.45], p = 0.062, 0.12 after Holm over 2: not significant at 0.05; "
        "8 questions could show 0.3 or more"
    )
    assert notes[1].startswith("y: A and B are the same on all 8 questions, the difference may lie within ±0.3")


def test_a_significant_result_says_so_and_no_more() -> None:
    notes = compare(data_of(A=[1] * 10, B=[0, 0.5] * 5)).notes
    assert notes[0] == "m: A is better than B by 0.75 [0.56, 0.94], p = 0.002: significant at 0.05"


def test_a_p_is_rounded_on_its_own_side_of_the_level() -> None:
    row = {"metric": "m", "stratum": None, "run_a": "", "run_b": "", "system_a": "A", "system_b": "B", "n_questions": 9}
    row |= {"difference": 0.5, "ci_low": 0.1, "ci_high": 0.9, "flags": [], "higher_is_better": True, "mde": None}
    row |= {"family_size": 1, "correction": "holm"}
    for p, conf_level, said in (
        (0.0503, 0.95, "p = 0.0503: not significant at 0.05"),
        (0.0496, 0.95, "p = 0.05: significant at 0.05"),
        (0.1, 0.9, "p = 0.1: significant at 0.1"),
        (0.01004, 0.99, "p = 0.01004: not significant at 0.01"),
    ):
        sentence = comparison_sentence(row | {"p_value": p, "p_adjusted": p, "conf_level": conf_level})
        assert sentence.endswith(said), sentence


def test_what_every_report_says() -> None:
    made = compare(data_of(A=[[1, 0], [1, 1], [0, 0]], B=[[0, 0], [1, None], [None, None]]))
    text = "\n".join(made.notes)
    for said in (
        "n is the number of questions (2 to 3)",
        "the mean of its question means, with the wilson_t interval",
        "sign-flip permutation test of the paired differences, exact",
        "Holm at 0.05; the smallest p that its data could reach is 1",
        "m: 2 questions in common, 1 only in A, 0 only in B",
        "3 attempts of B are unscored and count in no mean (no reason given: 3)",
        "with them at the worst and at the best the means would lie in: m [0.1667, 0.6667]",
        "more than half of its scored repeats have the better value of 0 and 1, and a tie fails",
        "Not significant does not mean equal",
    ):
        assert said in text, text

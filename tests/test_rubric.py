"""Rubrics: how points become scores and verdicts, under every policy, held against fractions in plain Python."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer import packs
from scorer.errors import PackError, UsageError
from scorer.metrics.rubric import PASSED, POLICIES, SCORE, TOTAL, Rubric, hundredths
from scorer.rubric import Judging, scores, turned, verdicts
from scorer.tables import CRITERIA, JUDGEMENTS

GIS = packs.load("gis-bench").rubric
assert GIS is not None
JUDGE = "someone/model"


# --- the same rules with fractions ------------------------------------------------------------------------------------


def exact(total: Fraction) -> Fraction:
    return total / 130 * 100


def plain(policy: str, totals: Sequence[Fraction]) -> tuple[Fraction, bool]:
    """Return score and verdict by the words of the policy. Python's round of a fraction is half to even."""
    exacts = [exact(total) for total in totals]
    rounded = [round(score) for score in exacts]
    mean_rounded = Fraction(sum(rounded), len(rounded))
    if policy == "mean_of_rounded":
        score = mean_rounded
    elif policy == "mean_exact":
        score = sum(exacts, Fraction(0)) / len(exacts)
    elif policy == "mean_raw_rounded":
        score = Fraction(round(exact(sum(totals, Fraction(0)) / len(totals))))
    elif policy == "median":
        score = Fraction(statistics.median(exacts))
    else:
        passing = sum(score >= 60 for score in rounded)
        return mean_rounded, passing * 2 > len(rounded)
    return score, score >= 60


# --- frames -----------------------------------------------------------------------------------------------------------


def attempts_of(count: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "run_id": ["r"] * count,
            "attempt_id": [f"a{number}" for number in range(count)],
            "task_id": [str(number) for number in range(count)],
            "system": ["s"] * count,
            "repeat": pl.Series([1] * count, dtype=pl.Int64),
        }
    )


def judgements_of(rubric: Rubric, evaluations: Sequence[Sequence[Fraction | int | str | None]]) -> pl.DataFrame:
    """Return judgements: for each attempt its evaluations; a number is a total, a text a status, null a score only."""
    rows = []
    for number, given_ in enumerate(evaluations):
        for evaluation, total in enumerate(given_, 1):
            row = {"run_id": "r", "attempt_id": f"a{number}", "judge_id": JUDGE, "evaluation": evaluation, "flags": []}
            if isinstance(total, str):
                row["status"] = total
            elif total is None:
                row |= {"status": "ok", "score_normalized": 70.0}
            else:
                points = int(Fraction(total) * 100)
                row |= {"status": "ok", "total_raw": points / 100, "score_normalized": float(rubric.rounded(points))}
            rows.append(row)
    return pl.DataFrame(rows, schema=JUDGEMENTS.schema)


def judged(evaluations: Sequence[Sequence[Fraction | int | str | None]], needed: int = 1) -> pl.DataFrame:
    judging = Judging.of(GIS, None, needed)
    return verdicts(attempts_of(len(evaluations)), judgements_of(GIS, evaluations), judging)


def only(found: pl.DataFrame, policy: str) -> dict[str, object]:
    return found.filter(pl.col("policy") == policy).row(0, named=True)


# --- policies ---------------------------------------------------------------------------------------------------------


def test_the_policies_part_on_as_many_triples_as_whole_numbers_say() -> None:
    """Of the 8,436 triples of whole points from 60 to 95 the policies disagree on exactly those that fractions give."""
    triples = [tuple(map(Fraction, triple)) for triple in combinations_with_replacement(range(60, 96), 3)]
    assert len(triples) == 8436
    found = (
        judged(triples).sort("attempt_id", "policy").with_columns(at=pl.col("attempt_id").str.slice(1).cast(pl.Int64))
    )
    passed = {policy: found.filter(pl.col("policy") == policy).sort("at")["passed"].to_list() for policy in POLICIES}
    for policy in POLICIES:
        assert passed[policy] == [plain(policy, triple)[1] for triple in triples]
    differ = {
        pair: sum(a != b for a, b in zip(passed[pair[0]], passed[pair[1]], strict=True))
        for pair in combinations(POLICIES, 2)
    }
    assert differ["mean_of_rounded", "mean_exact"] == 67
    assert differ["median", "majority"] == 0
    means = POLICIES[:3]
    assert all(differ[mean, other] > 1000 for mean in means for other in ("median", "majority"))
    assert turned(found.drop("at"), "mean_of_rounded")["mean_exact"] == 67


def test_rounding_scores_to_hundredths_would_turn_verdicts() -> None:
    """Scores stay fractions: 21 of the mean_exact verdicts would change if each were rounded to two places first."""
    triples = combinations_with_replacement(range(60, 96), 3)
    changed = sum(
        plain("mean_exact", [*map(Fraction, triple)])[1]
        != (sum(round(exact(Fraction(total)), 2) for total in triple) >= 180)
        for triple in triples
    )
    assert changed == 21


def test_the_policies_on_the_triple_that_divides_them() -> None:
    found = judged([[61, 77, 95]])
    passed = {policy: only(found, policy)["passed"] for policy in POLICIES}
    assert passed == {
        "mean_of_rounded": False,
        "mean_exact": False,
        "mean_raw_rounded": True,
        "median": False,
        "majority": False,
    }
    assert only(found, "mean_of_rounded")["score"] == pytest.approx(179 / 3)
    assert only(found, "mean_raw_rounded")["score"] == 60.0


POINTS = st.integers(0, 13_000).map(lambda points: Fraction(points, 100))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(POINTS, min_size=1, max_size=6), min_size=1, max_size=40))
def test_every_policy_equals_its_words_on_any_points(evaluations: list[list[Fraction]]) -> None:
    """Any number of evaluations, any points of two decimals: score and verdict are those of exact fractions."""
    found = judged(evaluations)
    for row in found.iter_rows(named=True):
        score, passes = plain(row["policy"], evaluations[int(row["attempt_id"][1:])])
        assert row["passed"] == passes
        assert row["score"] == pytest.approx(float(score), rel=1e-12)


def test_halves_round_to_even() -> None:
    """A score of exactly 59.5 is 60 and one of 60.5 is 60 too: half to even, not away from zero."""
    assert GIS.rounded(7735) == 60  # 77.35 of 130 is 59.5
    assert GIS.rounded(7865) == 60  # 78.65 of 130 is 60.5
    assert GIS.rounded(7995) == 62  # 79.95 of 130 is 61.5
    found = judged([[Fraction(7865, 100)]])
    assert only(found, "mean_raw_rounded")["score"] == 60.0


def test_a_tied_majority_fails() -> None:
    assert only(judged([[100, 10]]), "majority")["passed"] is False
    assert only(judged([[100, 10, 100]]), "majority")["passed"] is True


def test_whole_points_pass_from_78_on() -> None:
    found = judged([[77], [78]])
    for policy in POLICIES:
        assert found.filter(pl.col("policy") == policy).sort("attempt_id")["passed"].to_list() == [False, True]


# --- what is missing --------------------------------------------------------------------------------------------------


def test_too_few_evaluations_give_no_verdict_and_say_why() -> None:
    row = only(judged([[100, "refused", 90], [100]], needed=3), "mean_of_rounded")
    assert (row["passed"], row["score"]) == (None, None)
    assert row["reason"] == "2 of 3 evaluations: refused"


def test_more_evaluations_than_asked_are_all_used() -> None:
    row = only(judged([[60, 60, 60, 130, 130]], needed=3), "mean_exact")
    assert row["score"] == pytest.approx(100 * 440 / 650)


def test_nothing_handed_in_is_zero_whatever_the_number_of_evaluations() -> None:
    for status in ("no_output", "blank_output"):
        for policy in POLICIES:
            row = only(judged([[status]], needed=3), policy)
            assert (row["score"], row["passed"], row["total_raw"], row["reason"]) == (0.0, False, 0.0, None)


def test_an_attempt_without_evaluation_has_no_verdict() -> None:
    found = verdicts(attempts_of(2), judgements_of(GIS, [[100]]), Judging.of(GIS, None, 1))
    row = only(found.filter(pl.col("attempt_id") == "a1"), "median")
    assert (row["passed"], row["reason"]) == (None, "no evaluation")


def test_scores_alone_serve_two_policies_only() -> None:
    found = judged([[None, None, None]], needed=3)
    given_ = {policy: only(found, policy)["passed"] for policy in POLICIES}
    assert given_ == {
        "mean_of_rounded": True,
        "majority": True,
        "mean_exact": None,
        "mean_raw_rounded": None,
        "median": None,
    }
    assert only(found, "median")["reason"] == "policy median needs points, only scores are given"


def test_every_attempt_and_metric_has_a_row_with_a_value_or_a_reason() -> None:
    judgements = judgements_of(GIS, [[100, 100, 100], ["no_output"], ["judge_error"], [None, None, None], []])
    criteria = pl.DataFrame(
        [("r", "a0", JUDGE, evaluation, "exists", 15.0 + evaluation, 20.0, "ok") for evaluation in (1, 2, 3)],
        schema=CRITERIA.schema,
        orient="row",
    )
    zero = [("r", "a1", JUDGE, 1, name, 0.0, float(most), "no_output") for name, most in GIS.most.items()]
    criteria = pl.concat([criteria, pl.DataFrame(zero, schema=CRITERIA.schema, orient="row")])
    found = scores(attempts_of(5), judgements, criteria, Judging.of(GIS), "gis-bench")
    assert found.height == 5 * len(GIS.metrics)
    assert found["scorer"].unique().to_list() == [f"gis-bench/mean_of_rounded@{JUDGE}"]
    assert found.filter(pl.col("value").is_null() == pl.col("reason").is_null()).height == 0

    def value(attempt: str, metric: str) -> tuple[float | None, str | None]:
        row = found.filter((pl.col("attempt_id") == attempt) & (pl.col("metric") == metric)).row(0, named=True)
        return row["value"], row["reason"]

    assert value("a0", "exists") == (17.0, None)
    assert value("a0", "accuracy") == (None, "criteria not given")
    assert value("a1", "accuracy") == (0.0, None)
    assert value("a1", PASSED) == (0.0, None)
    assert value("a2", SCORE) == (None, "0 of 3 evaluations: judge_error")
    assert value("a3", SCORE) == (70.0, None)
    assert value("a3", TOTAL) == (None, "points not given")
    assert value("a4", PASSED) == (None, "no evaluation")


def test_row_order_and_repetition_change_no_digit() -> None:
    evaluations = [[Fraction(7801, 100), Fraction(7799, 100), 60, 95], [33, 44, 55]]
    judgements = judgements_of(GIS, evaluations)
    first = verdicts(attempts_of(2), judgements, Judging.of(GIS, None, 1))
    again = verdicts(attempts_of(2), judgements.reverse(), Judging.of(GIS, None, 1))
    assert first.equals(again)


# --- rubrics as data --------------------------------------------------------------------------------------------------


def test_points_are_whole_hundredths_or_nothing() -> None:
    assert hundredths(Decimal("12.50")) == 1250
    assert hundredths(Decimal("0.00000")) == 0
    assert hundredths(Decimal("12.345")) is None
    assert hundredths(Decimal("12.3400000000000000000000000000001")) is None
    assert hundredths(Decimal("1e-999999")) is None


def test_an_unknown_policy_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="mean_exact"):
        Judging.of(GIS, "mean_exactly")


def test_every_mistake_in_a_rubric_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "pack.toml").write_text(
        """
        name = "own"
        title = "Own"
        [rubric]
        total = 11
        evaluations = 1
        threshold = 60
        default_policy = "mean"
        treshold = 60
        [[rubric.criteria]]
        name = "a"
        most = 5
        [[rubric.criteria]]
        name = "passed"
        most = 0
        """
    )
    with pytest.raises(PackError) as caught:
        packs.load(tmp_path)
    places = [problem.place for problem in caught.value.problems]
    assert "rubric.treshold" in places
    assert "rubric.criteria[1].most" in places
    (tmp_path / "pack.toml").write_text(
        """
        name = "own"
        title = "Own"
        [rubric]
        total = 11
        evaluations = 1
        threshold = 101
        default_policy = "mean"
        [[rubric.criteria]]
        name = "a"
        most = 5
        [[rubric.criteria]]
        name = "a"
        most = 5
        [[rubric.criteria]]
        name = "passed"
        most = 5
        """
    )
    with pytest.raises(PackError) as caught:
        packs.load(tmp_path)
    text = str(caught.value)
    for said in ("two criteria 'a'", "'passed' is a metric", "add up to 15", "above the scale", "no policy"):
        assert said in text

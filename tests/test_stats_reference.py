"""Reference values of intervals, paired comparisons, McNemar and families, through the public functions and the SQL.

The values were computed by other programs; their tolerances stand beside them. Those of repeats, judges and planning
are in a module of their own, see `ELSEWHERE`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer import tails
from scorer.aggregate import Comparison, Data, compare, summary
from scorer.aggregate.multiplicity import adjust
from scorer.warehouse import Warehouse

ROWS = {row["id"]: row for row in json.loads(Path(__file__).with_name("stats_reference.json").read_text("utf-8"))}

HERE = (
    "wilson_",
    "clopper_pearson_",
    "mcnemar_",
    "matched_or_",
    "rd_",
    "clustered_mcnemar_",
    "darwin_",
    "cluster_se_",
    "bh1995_",
    "ties_",
    "mde_dz_",
)
ELSEWHERE = ("pass_", "krippendorff_", "icc_", "fleiss_", "power_", "miller_")


def ids(prefix: str) -> list[str]:
    """The rows whose id starts so."""
    return [name for name in ROWS if name.startswith(prefix)]


def near(row: dict[str, Any], expected: float | None) -> Any:
    return None if expected is None else pytest.approx(expected, abs=row["tolerance"], rel=0)


def test_no_row_is_left_out() -> None:
    """Every value that the specification or the planning promises is tested, here or in the module beside."""
    promised = {name for name, row in ROWS.items() if row["scope"] != "extra"}
    assert {name for name in promised if not name.startswith((*HERE, *ELSEWHERE))} == set()


def scores(**systems: list[list[float]]) -> Data:
    """One metric; each system's values as a list of repeats a question."""
    return Data.from_scores(
        pl.DataFrame(
            [
                {"system": system, "task_id": f"q{q:05}", "repeat": r + 1, "metric": "m", "value": float(value)}
                for system, questions in systems.items()
                for q, values in enumerate(questions)
                for r, value in enumerate(values)
            ]
        )
    )


def fourfold(inputs: dict[str, int]) -> Data:
    """Tasks that both, one or neither of A and B pass."""
    counts = [(1, 1, inputs.get("a", 0)), (1, 0, inputs["b"]), (0, 1, inputs["c"]), (0, 0, inputs.get("d", 0))]
    a = [[a] for a, _, count in counts for _ in range(count)]
    b = [[b] for _, b, count in counts for _ in range(count)]
    return scores(A=a, B=b)


def only_row(frame: pl.DataFrame) -> dict[str, Any]:
    assert frame.height == 1
    return frame.row(0, named=True)


@pytest.mark.parametrize("name", [n for n in ids("wilson_") if "t_" not in n] + ids("clopper_pearson_"))
def test_intervals_of_a_share(name: str) -> None:
    row = ROWS[name]
    k, n = row["inputs"]["k"], row["inputs"]["n"]
    method = "wilson" if name.startswith("wilson_") else "clopper_pearson"
    found = only_row(
        summary(scores(A=[[1]] * k + [[0]] * (n - k)), method=method, conf=row["inputs"].get("conf", 0.95))
    )
    assert found["ci_method"] == method
    assert (found["ci_low"], found["ci_high"]) == (
        near(row, row["expected"]["lo"]),
        near(row, row["expected"]["hi"]),
    )


@pytest.mark.parametrize("name", ids("wilson_t_"))
def test_wilson_t_of_given_moments(name: str) -> None:
    row = ROWS[name]
    given = row["inputs"]
    moments = pl.DataFrame(
        {
            "row_id": 1,
            "mean": given["p"],
            "se": given["se"],
            "n_groups": given["Q"],
            "n_attempts": given["N"],
            "has_range": True,
            "least_value": 0.0 if given["touches_0_or_1"] else 0.1,
            "greatest_value": 1.0 if given["touches_0_or_1"] else 0.9,
        }
    )
    with Warehouse({"moments": moments}) as warehouse:
        found = only_row(warehouse.query("interval_wilson_t", conf=0.95))
    assert [found["ci_low"], found["ci_high"]] == [near(row, x) for x in row["expected"]["ci"]]
    assert found["n_eff"] == near(row, row["expected"]["n_eff"])


@pytest.mark.parametrize(("name", "value"), [("wilson_t_all_one_10x3", 1.0), ("wilson_t_all_half_10x3", 0.5)])
def test_wilson_t_of_scores_that_do_not_vary(name: str, value: float) -> None:
    row = ROWS[name]
    found = only_row(summary(scores(A=[[value] * 3] * 10)))
    assert [found["ci_low"], found["ci_high"]] == [near(row, x) for x in row["expected"]["ci"]]
    assert {"no_variance", "all_equal"} <= set(found["flags"])


def test_cluster_standard_error_and_the_intervals_on_it() -> None:
    row = ROWS["cluster_se_6x3"]
    expected = row["expected"]
    data = scores(A=row["inputs"]["data"])
    wilson_t = only_row(summary(data))
    assert wilson_t["mean"] == near(row, expected["mean"])
    assert wilson_t["se"] == near(row, expected["se_cr1"])
    assert wilson_t["n_eff"] == near(row, expected["n_eff"])
    assert [wilson_t["ci_low"], wilson_t["ci_high"]] == [near(row, x) for x in expected["wilson_t"]]
    cluster_t = only_row(summary(data, method="cluster_t"))
    assert [cluster_t["ci_low"], cluster_t["ci_high"]] == [near(row, x) for x in expected["t_interval"]]
    published = only_row(summary(data, method="normal_attempts"))
    assert (published["ci_high"] - published["ci_low"]) / 2 / 1.96 == near(row, expected["se_attempts"])


@pytest.mark.parametrize("name", ids("mcnemar_"))
def test_mcnemar(name: str) -> None:
    row = ROWS[name]
    found = only_row(compare(fourfold(row["inputs"])).mcnemar)
    assert [found[key] for key in ("both_pass", "a_only", "b_only", "both_fail")] == [row["inputs"][x] for x in "abcd"]
    columns = {"chi2": "chi2", "p": "p_chi2", "chi2_cc": "chi2_cc", "p_cc": "p_chi2_cc"} | {
        name: name for name in ("p_exact", "p_midp")
    }
    for key, expected in row["expected"].items():
        assert found[columns[key]] == near(row, expected), key


@pytest.mark.parametrize("name", ["matched_or_exact2x2", "matched_or_bentur"])
def test_odds_ratio_of_pairs(name: str) -> None:
    row = ROWS[name]
    found = only_row(compare(fourfold(row["inputs"])).mcnemar)
    for column, key in (("odds_ratio", "odds_ratio"), ("or_low", "lo"), ("or_high", "hi")):
        assert found[column] == near(row, row["expected"][key]), column


def test_odds_ratio_by_the_wilson_interval_of_a_share() -> None:
    """The transformed Wilson interval is the Wilson interval of the one-sided share among the differing pairs."""
    row = ROWS["matched_or_wilson_cavo"]
    b, c = row["inputs"]["b"], row["inputs"]["c"]
    found = only_row(summary(scores(A=[[1]] * b + [[0]] * c), method="wilson"))
    odds = [found[bound] / (1 - found[bound]) for bound in ("ci_low", "ci_high")]
    assert odds == [near(row, row["expected"]["lo"]), near(row, row["expected"]["hi"])]
    assert only_row(compare(fourfold(row["inputs"])).mcnemar)["odds_ratio"] == near(row, row["expected"]["odds_ratio"])


@pytest.mark.parametrize("name", ids("rd_"))
@pytest.mark.parametrize("method", ["bonett_price", "newcombe"])
def test_paired_risk_difference(name: str, method: str) -> None:
    row = ROWS[name]
    found = only_row(compare(fourfold(row["inputs"]), rd_method=method).mcnemar)
    assert found["rd_method"] == method
    assert found["risk_difference"] == near(row, row["expected"]["diff"])
    assert [found["rd_low"], found["rd_high"]] == [near(row, x) for x in row["expected"][method]]


def t_of(row: dict[str, Any]) -> float:
    """The t statistic that a comparison's interval was made with."""
    standard_error = (row["ci_high"] - row["difference"]) / float(tails.t_quantile(0.975, row["n_groups"] - 1))
    return float(row["difference"] / standard_error)


def test_sign_flips_and_paired_t_of_darwins_maize() -> None:
    row = ROWS["darwin_maize"]
    expected = row["expected"]
    found = only_row(compare(scores(A=[[d] for d in row["inputs"]["d"]], B=[[0]] * 15)).comparisons)
    assert found["n_questions"] == expected["n"]
    assert found["difference"] == near(row, expected["mean"])
    assert t_of(found) == near(row, expected["t"])
    assert found["p_t"] == near(row, expected["p_t"])
    assert found["p_method"] == "exact"
    assert found["p_value"] == near(row, expected["p_signflip"])
    assert round(found["p_value"] * expected["signflip_total"], 6) == expected["signflip_count"]


def clustered() -> tuple[dict[str, Any], Comparison]:
    """Clusters of 0/1 pairs as questions whose repeats are the pairs."""
    row = ROWS["clustered_mcnemar_psychiatry"]
    a, b = [], []
    for both, first, second, neither in row["inputs"]["rows_abcd"]:
        a.append([1] * (both + first) + [0] * (second + neither))
        b.append([1] * both + [0] * first + [1] * second + [0] * neither)
    return row, compare(scores(A=a, B=b))


def test_clustered_mcnemar_is_the_paired_t_of_question_means() -> None:
    """Durkalski's statistic is n t² / (n - 1 + t²) of the paired t over the clusters' mean differences."""
    row, comparison = clustered()
    found = only_row(comparison.comparisons)
    t, n = t_of(found), found["n_questions"]
    assert t == near(row, row["expected"]["paired_t_on_cluster_means"])
    assert found["p_t"] == near(row, row["expected"]["p_t"])
    assert n * t * t / (n - 1 + t * t) == near(row, row["expected"]["durkalski"])


def test_plain_mcnemar_takes_every_pair_for_itself() -> None:
    row = ROWS["clustered_mcnemar_psychiatry"]
    sums = dict(zip("abcd", map(sum, zip(*row["inputs"]["rows_abcd"], strict=True)), strict=True))
    assert only_row(compare(fourfold(sums)).mcnemar)["chi2"] == near(row, row["expected"]["mcnemar"])


@pytest.mark.parametrize("name", ["bh1995_15", "ties_5"])
@pytest.mark.parametrize(("correction", "key"), [("holm", "holm"), ("benjamini_hochberg", "bh")])
def test_adjusted_p(name: str, correction: str, key: str) -> None:
    row = ROWS[name]
    p = pl.Series(row["inputs"]["p"])
    same = pl.Series(["one"] * len(p))
    with Warehouse() as warehouse:
        adjusted = adjust(warehouse, p, same, pl.Series([correction] * len(p)))
        backwards = adjust(warehouse, p.reverse(), same, pl.Series([correction] * len(p)))
    assert adjusted["p_adjusted"].to_list() == [near(row, x) for x in row["expected"][key]]
    assert backwards["p_adjusted"].to_list() == [near(row, x) for x in reversed(row["expected"][key])]
    assert adjusted["family_size"].unique().to_list() == [len(p)]
    rejected = row["expected"].get(f"{key}_rejected")
    assert rejected is None or sum(x <= 0.05 for x in adjusted["p_adjusted"]) == rejected


@pytest.mark.parametrize("name", ids("mde_dz_"))
def test_minimum_detectable_effect(name: str) -> None:
    """The effect that a comparison prints, in standard deviations of its differences."""
    row = ROWS[name]
    n = row["inputs"]["n"]
    d = [float(i % 5) for i in range(n)]
    mean = sum(d) / n
    sd = math.sqrt(sum((x - mean) ** 2 for x in d) / (n - 1))
    found = only_row(compare(scores(A=[[x] for x in d], B=[[0.0]] * n), alpha=row["inputs"]["alpha"]).comparisons)
    assert found["mde"] / sd == near(row, row["expected"]["dz"])
    assert float(tails.detectable_effect(n, row["inputs"]["alpha"], row["inputs"]["power"])) == near(
        row, row["expected"]["dz"]
    )

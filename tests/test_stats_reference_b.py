"""Reference values of repeats, judges and planning, each through the public function and the SQL behind it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.aggregate import power
from scorer.aggregate.agreement import against_labels, agreement
from scorer.aggregate.data import Data
from scorer.aggregate.repeats import reliability, variance

ROWS = {row["id"]: row for row in json.loads(Path(__file__).with_name("stats_reference.json").read_text("utf-8"))}


def rows(*prefixes: str) -> list[str]:
    """The ids that start so, of methods that scorer promises."""
    return [name for name, row in ROWS.items() if row["scope"] != "extra" and name.startswith(prefixes)]


def assert_within(found: float | None, name: str, expected: float | None = None) -> None:
    row = ROWS[name]
    expected = row["expected"] if expected is None else expected
    assert found == (None if expected is None else pytest.approx(expected, abs=row["tolerance"], rel=0)), name


def passes(n: int, c: int) -> Data:
    return Data.from_scores(
        pl.DataFrame(
            {
                "system": "A",
                "task_id": "q",
                "metric": "passed",
                "repeat": range(1, n + 1),
                "value": [1.0] * c + [0.0] * (n - c),
            }
        )
    )


def ratings(matrix: list[list[float | None]], *, judges: bool) -> pl.DataFrame:
    """Units × raters; the raters are judges, or evaluations of one."""
    return pl.DataFrame(
        [
            (f"judge {rater if judges else 0}", f"unit {unit}", rater, value, str(value))
            for unit, values in enumerate(matrix)
            for rater, value in enumerate(values)
            if value is not None
        ],
        schema={
            "judge_id": pl.String,
            "unit": pl.String,
            "evaluation": pl.Int64,
            "value": pl.Float64,
            "category": pl.String,
        },
        orient="row",
    ).with_columns(criterion=pl.lit("all"))


def together(matrix: list[list[float | None]], *, judges: bool, categories: int) -> dict[str, Any]:
    """The row that speaks of all raters together."""
    table = agreement(ratings(matrix, judges=judges), categories=categories)
    return table.filter(pl.col("judge_id").is_null() == judges).row(0, named=True)


@pytest.mark.parametrize("name", rows("pass_at_k", "pass_hat_k"))
def test_pass_at_k_and_pass_hat_k(name: str) -> None:
    n, c, k = (ROWS[name]["inputs"][key] for key in "nck")
    row = reliability(passes(n, c), ks=[k]).row(0, named=True)
    if name == "pass_at_k_undefined":
        assert row["pass_at_k"] is row["pass_hat_k"] is ROWS[name]["expected"] is None
        assert (row["n_questions"], row["n_dropped"]) == (0, 1)
    else:
        assert_within(row[name[: name.index("_k") + 2]], name)


@pytest.mark.parametrize("judges", [False, True])
@pytest.mark.parametrize("name", rows("krippendorff"))
def test_krippendorff_alpha(name: str, judges: bool) -> None:
    matrix = [list(unit) for unit in zip(*ROWS[name]["inputs"]["data"], strict=True)]
    row, expected = together(matrix, judges=judges, categories=5), ROWS[name]["expected"]
    for column, key in (("alpha_interval", "interval"), ("alpha_nominal", "nominal")):
        if expected is None:
            assert row[column] is None
        else:
            assert_within(row[column], name, expected[key])


@pytest.mark.parametrize("name", rows("icc"))
def test_icc(name: str) -> None:
    matrix, expected = ROWS[name]["inputs"]["data"], ROWS[name]["expected"]
    one, several = (together(matrix, judges=judges, categories=11) for judges in (False, True))
    for found, key in (
        (one["icc1"], "ICC1"),
        (one["icc1_k"], "ICC1k"),
        (several["icc2"], "ICC2"),
        (several["icc2_k"], "ICC2k"),
    ):
        assert_within(found, name, expected[key])


@pytest.mark.parametrize("judges", [False, True])
@pytest.mark.parametrize("name", rows("fleiss"))
def test_fleiss_kappa(name: str, judges: bool) -> None:
    counts = ROWS[name]["inputs"]["counts"]
    matrix = [[float(category) for category, n in enumerate(unit) for _ in range(n)] for unit in counts]
    assert_within(together(matrix, judges=judges, categories=5)["fleiss_kappa"], name)


def test_cohen_kappa() -> None:
    name = "cohen_kappa_wiki"
    verdicts = ("pass", "fail")
    cells = [
        (judge, human)
        for judge, row in zip(verdicts, ROWS[name]["inputs"]["table"], strict=True)
        for human, n in zip(verdicts, row, strict=True)
        for _ in range(n)
    ]
    units = [f"unit {place}" for place in range(len(cells))]
    judged = pl.DataFrame({"unit": units, "category": [judge for judge, _ in cells]}).with_columns(
        criterion=pl.lit("all"), judge_id=pl.lit("judge"), evaluation=1, value=1.0
    )
    labels = pl.DataFrame({"unit": units, "category": [human for _, human in cells]}).with_columns(
        criterion=pl.lit("all")
    )
    assert_within(against_labels(judged, labels)["kappa"].item(), name)


@pytest.mark.parametrize("name", rows("cluster_se"))
def test_design_effect(name: str) -> None:
    matrix, expected = ROWS[name]["inputs"]["data"], ROWS[name]["expected"]
    scores = [
        ("A", f"q{question}", repeat, "passed", float(value))
        for question, values in enumerate(matrix)
        for repeat, value in enumerate(values, 1)
    ]
    frame = pl.DataFrame(scores, schema=["system", "task_id", "repeat", "metric", "value"], orient="row")
    effect = (expected["se_cr1"] / expected["se_attempts"]) ** 2
    assert_within(variance(Data.from_scores(frame))["design_effect"].item(), name, effect)


def _mcnemar(inputs: dict[str, float]) -> dict[str, float]:
    given = (inputs["p12"], inputs["p21"])
    levels = {"alpha": inputs["alpha"], "power": inputs["power"]}
    return {
        "n_two_sided": power.tasks_for_mcnemar(*given, **levels),
        "n_one_sided": power.tasks_for_mcnemar(*given, **levels, two_sided=False),
    }


def _miller_variance(inputs: dict[str, float]) -> float:
    return power.variance_of_difference(inputs["w2"], inputs["sA2"], inputs["sB2"], inputs["K"], inputs["K"])


def _paired(inputs: dict[str, float]) -> dict[str, float]:
    n = power.questions_for_effect(inputs["dz"], alpha=inputs["alpha"], power=inputs["power"])
    return {"n": n, "n_ceil": math.ceil(n)}


def _detectable(inputs: dict[str, float]) -> dict[str, float]:
    n, levels = inputs["n"], {"alpha": inputs["alpha"], "power": inputs["power"]}
    return {
        "dz": power.detectable_effect(n, **levels),
        "dz_normal_approx": power.detectable_difference(n, 1.0, **levels),
    }


def _miller_n(inputs: dict[str, float]) -> dict[str, float]:
    levels = {"alpha": inputs["alpha"], "power": inputs["power"]}
    return {"n": power.questions_for_difference(inputs["delta"], _miller_variance(inputs), **levels)}


def _miller_mde(inputs: dict[str, float]) -> dict[str, float]:
    return {"mde": power.detectable_difference(inputs["n"], _miller_variance(inputs))}


def _resampling(inputs: dict[str, Any]) -> dict[str, list[float]]:
    return {"relative": [power.relative_variance(inputs["var_x"], inputs["e_s2"], k) for k in inputs["K"]]}


PLANNED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "power_paired": _paired,
    "mde_dz": _detectable,
    "power_mcnemar": _mcnemar,
    "miller_n": _miller_n,
    "miller_mde": _miller_mde,
    "miller_resampling": _resampling,
}


@pytest.mark.parametrize("name", rows(*PLANNED))
def test_planning(name: str) -> None:
    found = next(method for prefix, method in PLANNED.items() if name.startswith(prefix))(ROWS[name]["inputs"])
    for key, expected in ROWS[name]["expected"].items():
        assert found[key] == pytest.approx(expected, abs=ROWS[name]["tolerance"], rel=0), key


def test_every_row_of_scope_plan_is_here() -> None:
    assert {name for name, row in ROWS.items() if row["scope"] == "plan"} <= set(rows(*PLANNED))

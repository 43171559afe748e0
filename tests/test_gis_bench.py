"""GIS-Bench end to end: the figures of the benchmark's card out of the bundled sample, as a user asks for them."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer import packs
from tests.conftest import REPO, Ended, run_scorer

SAMPLE = REPO / "datasets" / "gis-bench" / "sample"
AGENTIC, FIRST, SECOND = "claude-sonnet-qgis-mcp", "claude-sonnet-baseline", "gpt-5.2-baseline"
SIMULATED = "SIMULATED, harness validation only, not model performance"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """Return a store with the sample in it, and how the import ended."""
    store = tmp_path_factory.mktemp("gis") / "store"
    ended = run_scorer(
        *("judge", "import", SAMPLE / "judgements.jsonl"),
        *("--pack", "gis-bench", "--tasks", SAMPLE / "tasks.jsonl", "--out", store),
    )
    assert ended.code == 0, ended.err
    return store, ended


@pytest.fixture(scope="module")
def store(imported: tuple[Path, Ended]) -> Path:
    return imported[0]


def asked(*arguments: object) -> Any:
    ended = run_scorer(*arguments, "--format", "json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


# --- the card's figures -----------------------------------------------------------------------------------------------


def test_the_import_says_what_passed_and_what_other_policies_would_turn(imported: tuple[Path, Ended]) -> None:
    said = imported[1].err
    for system, passed in ((AGENTIC, 45), (FIRST, 30), (SECOND, 31)):
        assert f"{system}: {passed} of 45 pass" in said
    assert "mean_exact 0, mean_raw_rounded 1, median 2, majority 2" in said
    assert "(simulated)" in said


def test_mcnemar_gives_the_cards_figures(store: Path) -> None:
    """b and c, exact p, mid-p and both chi-squares of the three comparisons; n is 45, never 135."""
    found = {
        frozenset((row["system_a"], row["system_b"])): row
        for row in asked("compare", store, "--metric", "passed")["mcnemar"]
    }
    assert len(found) == 3
    assert {row["n_tasks"] for row in found.values()} == {45}
    assert {row["n_dropped"] for row in found.values()} == {0}

    def only(system: str, other: str) -> tuple[int, int]:
        row = found[frozenset((system, other))]
        both = (row["a_only"], row["b_only"])
        return both if row["system_a"] == system else both[::-1]

    first, second = found[frozenset((AGENTIC, FIRST))], found[frozenset((AGENTIC, SECOND))]
    assert only(AGENTIC, FIRST) == (15, 0)
    assert first["p_exact"] == pytest.approx(6.1035e-5, rel=1e-4)
    assert first["p_midp"] == pytest.approx(first["p_exact"] / 2)
    assert first["chi2"] == pytest.approx(15)
    assert first["chi2_cc"] == pytest.approx(13.0667, abs=1e-4)
    assert only(AGENTIC, SECOND) == (14, 0)
    assert second["p_exact"] == pytest.approx(1.2207e-4, rel=1e-4)
    between = only(FIRST, SECOND)
    assert abs(between[0] - between[1]) == 1
    assert found[frozenset((FIRST, SECOND))]["p_exact"] == 1


def test_the_paired_comparison_of_scores_stands_beside_mcnemar(store: Path) -> None:
    """Raw points are whole, so the sign-flip test counts exactly, thirds of points included."""
    rows = [row for row in asked("compare", store)["comparisons"] if row["metric"] == "total_raw"]
    assert len(rows) == 3
    for row in rows:
        assert (row["n_questions"], row["p_method"], row["primary"]) == (45, "exact", True)
    significant = {frozenset((row["system_a"], row["system_b"])): row["p_adjusted"] < 0.05 for row in rows}
    assert significant == {
        frozenset((AGENTIC, FIRST)): True,
        frozenset((AGENTIC, SECOND)): True,
        frozenset((FIRST, SECOND)): False,
    }


def test_the_leaderboard_ranks_and_marks_ties(store: Path, tmp_path: Path) -> None:
    for ending in ("json", "csv", "parquet"):
        assert run_scorer("export", store, "leaderboard", "--to", tmp_path / f"board.{ending}").code == 0
    board = pl.read_parquet(tmp_path / "board.parquet")
    assert json.loads((tmp_path / "board.json").read_text()) == board.to_dicts()
    assert pl.read_csv(tmp_path / "board.csv").height == board.height == 3 + 3 * 3
    overall = {row["system"]: row for row in board.filter(pl.col("stratum").is_null()).iter_rows(named=True)}
    assert {name: row["pass_rate"] for name, row in overall.items()} == {
        AGENTIC: 1.0,
        FIRST: pytest.approx(30 / 45),
        SECOND: pytest.approx(31 / 45),
    }
    assert {name: (row["rank"], row["tied_with"]) for name, row in overall.items()} == {
        AGENTIC: (1, []),
        FIRST: (2, [SECOND]),
        SECOND: (2, [FIRST]),
    }
    for row in board.iter_rows(named=True):
        assert row["pass_low"] <= row["pass_rate"] <= row["pass_high"]
        assert row["score_low"] <= row["mean_score"] <= row["score_high"]
        assert row["n_tasks"] == (45 if row["stratum"] is None else 15)
        assert (row["judge"], row["policy"], row["mode"]) == ("anthropic/claude-sonnet", "mean_of_rounded", "simulated")
        assert row["mean_total"] == pytest.approx(sum(row[name] for name in packs.load("gis-bench").rubric.most))


def test_the_report_says_what_must_be_known(store: Path) -> None:
    """Mode at head and foot, the rule, the ceiling, and that the judge is kin of two of the systems."""
    text = run_scorer("report", store).out
    lines = [line for line in text.splitlines() if line]
    assert lines[2] == lines[-1] == SIMULATED
    for said in (
        "policy mean_of_rounded: an attempt passes from 60 of 100 on, and needs 3 evaluations",
        "verdicts that other policies would turn, of 135: mean_exact 0, mean_raw_rounded 1, median 2, majority 2",
        f"every task passed: {AGENTIC}",
        f"the judge is of the same family (claude) as {FIRST}, {AGENTIC}",
    ):
        assert said in text
    made = asked("report", store)
    assert len(made["leaderboard"]) == 12
    assert made["notice"] == SIMULATED


# --- the judge --------------------------------------------------------------------------------------------------------


def test_the_quality_of_the_judge(store: Path) -> None:
    made = asked("judge", "quality", store)
    assert made["notice"] == SIMULATED
    whole = next(row for row in made["agreement"] if row["system"] is None and row["criterion"] == "score_normalized")
    assert (whole["n_units"], whole["n_judgements"], whole["k"]) == (130, 390, 3.0)
    assert 0 < whole["within_sd"] < 10
    assert 0.8 < whole["fleiss_kappa"] < whole["ac1"] < 1
    criteria = {row["criterion"] for row in made["agreement"]}
    assert criteria == {*packs.load("gis-bench").rubric.most, "score_normalized"}
    assert all(0 <= row["share_at_max"] <= 1 for row in made["agreement"])
    fragile = {(row["system"], row["task_id"]): row["why"] for row in made["fragile"]}
    assert fragile[FIRST, "34"] == "split votes"
    assert all(system != AGENTIC for system, _ in fragile)
    for form in ("text", "markdown", "csv"):
        assert run_scorer("judge", "quality", store, "--format", form).code == 0


# --- the documented queries -------------------------------------------------------------------------------------------


def documented() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", (REPO / "docs" / "gis-bench.md").read_text(encoding="utf-8"), re.DOTALL)


def test_the_documented_queries_answer_their_questions(store: Path) -> None:
    costs, only_agentic, wavering = [asked("sql", store, query) for query in documented()]
    evaluations = [json.loads(line) for line in (SAMPLE / "judgements.jsonl").read_text().splitlines()]
    most = packs.load("gis-bench").rubric.most

    for row in costs:
        given = [e.get("scores", dict.fromkeys(most, 0)) for e in evaluations if e["condition"] == row["system"]]
        lost = {name: sum(top - scores[name] for scores in given) / len(given) for name, top in most.items()}
        assert row["criterion"] == max(lost, key=lambda name: (lost[name], name))
        assert row["points_lost"] == pytest.approx(max(lost.values()), abs=0.005)
    assert len(costs) == 3

    sums = dict.fromkeys(((system, task) for system in (AGENTIC, FIRST, SECOND) for task in range(1, 46)), 0)
    for e in evaluations:
        sums[e["condition"], e["task_no"]] += e.get("score_normalized", 0)
    passes = {place: total >= 3 * 60 for place, total in sums.items()}
    alone = {task for task in range(1, 46) if not passes[FIRST, task] and not passes[SECOND, task]}
    assert {row["task_no"] for row in only_agentic} == alone
    assert len(alone) == 11

    split = set()
    for system in (AGENTIC, FIRST, SECOND):
        for task in range(1, 46):
            given = [
                e["score_normalized"]
                for e in evaluations
                if (e["condition"], e["task_no"]) == (system, task) and e["status"] == "ok"
            ]
            if given and min(given) < 60 <= max(given):
                split.add((system, task))
    assert {(row["system"], row["task_no"]) for row in wavering} == split


# --- the sample -------------------------------------------------------------------------------------------------------


def test_the_sample_is_whole_and_says_that_it_is_simulated() -> None:
    tasks = [json.loads(line) for line in (SAMPLE / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [task["task_no"] for task in tasks] == list(range(1, 46))
    assert {level: sum(task["level"] == level for task in tasks) for level in (1, 2, 3)} == {1: 15, 2: 15, 3: 15}
    assert all(re.search("[가-힣]", task["prompt"]) for task in tasks)
    assert not any(re.search("[가-힣]", task["prompt_en"]) for task in tasks)
    evaluations = [json.loads(line) for line in (SAMPLE / "judgements.jsonl").read_text().splitlines()]
    assert len(evaluations) == 3 * 45 * 3
    assert {e["mode"] for e in evaluations} == {"simulated"}
    assert all(e["reason"] for e in evaluations)
    assert {e["status"] for e in evaluations} == {"ok", "no_output", "blank_output"}
    for one, other in combinations((AGENTIC, FIRST, SECOND), 2):
        reasons = [{e["reason"] for e in evaluations if e["condition"] == system} for system in (one, other)]
        assert reasons[0] != reasons[1]

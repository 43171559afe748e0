"""The bundled samples: whole, marked simulated, and with something to see in them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from scorer.store import Store
from tests.conftest import REPO, SAMPLE, run_scorer

JUDGEMENTS = REPO / "datasets" / "eduevidence-judge" / "sample" / "judgements.jsonl"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the EduEvidence sample, scored by its golds and by a judge."""
    path = tmp_path_factory.mktemp("samples") / "store"
    scored = run_scorer("score", SAMPLE, "--pack", "eduevidence", "--out", path)
    assert scored.code == 0, scored.err
    judged = run_scorer("judge", "import", JUDGEMENTS, "--pack", "eduevidence-judge", "--out", path)
    assert judged.code == 0, judged.err
    return path


def test_the_eduevidence_sample_holds_every_kind_of_attempt() -> None:
    """Three systems, three repeats, two languages, three levels; failures, a question without gold, unknown costs."""
    manifest = json.loads((SAMPLE / "manifest.json").read_text(encoding="utf-8"))
    attempts = manifest["attempts"]
    assert manifest["run_mode"] == "simulated"
    questions = [json.loads(line) for line in (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {question["level"] for question in questions} == {"S", "M", "L"}
    assert len(attempts) == len(questions) * 3 * 3
    golds = {json.loads(path.read_text(encoding="utf-8"))["id"] for path in (SAMPLE / "golds").glob("*.json")}
    assert {question["id"] for question in questions} - golds == {"E12"}
    assert {attempt["status"] for attempt in attempts} == {"completed", "failed", "budget_stopped"}
    assert all((attempt["error"] is None) == (attempt["status"] == "completed") for attempt in attempts)
    assert {attempt["cost_usd"] is None for attempt in attempts} == {True, False}
    responses = [
        json.loads((SAMPLE / attempt["artifacts"][0]).read_text(encoding="utf-8"))["response"]
        for attempt in attempts
        if attempt["artifacts"]
    ]
    assert any("```json" in response for response in responses)
    assert any("{" not in response for response in responses)
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*")) < 300_000


def test_the_sample_shows_one_clear_difference_and_one_that_cannot_be_told(store: Path) -> None:
    ended = run_scorer("compare", store, "--metric", "citation_support_recall", "--format", "json")
    found = {
        frozenset((row["system_a"], row["system_b"])): row["p_adjusted"] < 0.05
        for row in json.loads(ended.out)["comparisons"]
    }
    assert found[frozenset(("direct_answer", "evidence_agent"))]
    assert found[frozenset(("search_agent", "evidence_agent"))]
    assert not found[frozenset(("direct_answer", "search_agent"))]


def test_scores_by_golds_and_by_a_judge_stand_side_by_side(store: Path) -> None:
    with Store(store) as opened:
        scores, attempts, judgements = (opened.frame(name) for name in ("scores", "attempts", "judgements"))
    assert sorted(scores["scorer"].unique()) == [
        "eduevidence-judge/mean_exact@example/judge-1",
        "eduevidence/eduevidence-v3",
    ]
    assert judgements.height == attempts.height
    judged = scores.filter(pl.col("scorer").str.starts_with("eduevidence-judge"))
    assert judged.height == attempts.height * 8
    unscored = judged.filter((pl.col("metric") == "passed") & pl.col("value").is_null())
    assert set(unscored["reason"]) == {"0 of 1 evaluations: judge_error"}
    board = run_scorer("report", store, "--scorer", "eduevidence-judge/mean_exact@example/judge-1").out
    assert "Leaderboard" in board
    assert "SIMULATED" in board

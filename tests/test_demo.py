"""`scorer demo`: what it prints is what the samples give, and what it proposes works."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from scorer import aggregate
from scorer.pipeline import stored
from tests.conftest import Ended, run_scorer

NOTICE = "SIMULATED, harness validation only, not model performance"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(folder: Path) -> Ended:
    ended = run_scorer("demo", cwd=folder)
    assert ended.code == 0, ended.err
    return ended


def test_the_demo_shows_means_with_intervals_and_a_comparison(shown: Ended, folder: Path) -> None:
    """Every mean and interval is the report's, every sentence that of the comparison; simulated at head and foot."""
    overall = stored.report(folder / "scorer-demo" / "eduevidence").overall
    text = " ".join(shown.out.split())
    for mean, low, high in overall.select("mean", "ci_low", "ci_high").iter_rows():
        assert f"{mean:.2f} [{low:.2f}, {high:.2f}]" in text
    scores = aggregate.open_scores(folder / "scorer-demo" / "eduevidence")
    made = aggregate.compare(scores, systems=("evidence_agent", "direct_answer"))
    assert made.comparisons.height == 6
    assert all(note in text for note in made.notes[:6])
    assert text.count(NOTICE) == 4
    assert "9 unscored: no gold annotation" in text


def test_the_demo_shows_the_leaderboard_with_mcnemar(shown: Ended) -> None:
    text = " ".join(shown.out.split())
    assert "1 claude-sonnet-qgis-mcp 1 [0.917" in text
    assert "of 45 tasks, 0 passed with claude-sonnet-baseline only and 15 with claude-sonnet-qgis-mcp only" in text


def test_what_the_demo_proposes_works(shown: Ended, folder: Path) -> None:
    proposed = [
        line.partition("scorer ")[2]
        for line in shown.out.partition("What to try next")[2].splitlines()
        if "scorer " in line and not line.startswith("      ")
    ]
    assert len(proposed) == 6
    for command in proposed:
        arguments = shlex.split(command)
        stdin = b"select 1" if arguments[0] == "sql" else None
        ended = run_scorer(*arguments, cwd=folder, stdin=stdin)
        assert ended.code == 0, (command, ended.err)
    assert (folder / "report.html").is_file()


def test_the_demo_can_be_shown_again_and_elsewhere(folder: Path, shown: Ended) -> None:
    again = run_scorer("demo", cwd=folder)
    assert (again.code, again.out) == (0, shown.out)
    other = run_scorer("demo", "--out", folder / "other place")
    assert other.code == 0
    assert f"report '{folder}/other place/eduevidence'" in other.out
    assert (folder / "other place" / "gis-bench").is_dir()

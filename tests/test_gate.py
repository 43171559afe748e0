"""The gate: verdicts against the interval, in the metric's direction; the worst decides; no interval, undecided."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer import tables
from scorer.aggregate.compare import compare
from scorer.aggregate.data import Data
from scorer.aggregate.gate import GATE, gate
from scorer.errors import ExitCode, UsageError
from scorer.report.gate import gate_junit
from tests.conftest import run_scorer

SCHEMA = {"system": pl.String, "task_id": pl.String, "metric": pl.String, "value": pl.Float64}


def scores(differences: list[float], metric: str = "score", base: float = 0.5) -> pl.DataFrame:
    """Scores of `old` and `new`: one question a difference, new above old by it."""
    rows = [
        (system, f"q{question}", metric, base + (gain if system == "new" else 0.0))
        for question, gain in enumerate(differences)
        for system in ("old", "new")
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def declared(frame: pl.DataFrame, **metrics: tuple[bool, bool]) -> Data:
    """Scores with what is declared of metrics: higher is better, primary."""
    source = Data.from_scores(frame)
    rows = [("", "", name, 0.0, 1.0, higher, None, primary) for name, (higher, primary) in metrics.items()]
    return Data(source.scores, source.runs, metrics=pl.DataFrame(rows, schema=tables.METRICS.schema, orient="row"))


GAINS = [0.1, -0.05, 0.02, 0.0, 0.04, -0.02, 0.03, 0.01]


def asked(source: Data, margin: float, **more: object) -> tuple[str, int]:
    found = gate(source, baseline="old", candidate="new", margin=margin, **more)  # type: ignore[arg-type]
    return found.verdict, int(found.exit_code)


def test_the_interval_of_the_gain_decides_at_its_very_ends() -> None:
    source = Data.from_scores(scores(GAINS))
    row = compare(source, systems=["new", "old"]).comparisons.row(0, named=True)
    low, high = row["ci_low"], row["ci_high"]
    assert low < 0 < high
    assert asked(source, -low) == ("pass", 0)
    assert asked(source, -low - 1e-9) == ("undecided", 6)
    assert asked(source, 0) == ("undecided", 6)
    worse = Data.from_scores(scores([gain - 0.2 for gain in GAINS]))
    high = compare(worse, systems=["new", "old"]).comparisons["ci_high"].item()
    assert asked(worse, -high - 1e-9) == ("worse", 5)
    assert asked(worse, -high) == ("undecided", 6)
    assert asked(worse, 1) == ("pass", 0)


def test_lower_is_better_mirrors_everything() -> None:
    rng = np.random.default_rng(9)
    gains = {f"metric {i}": (rng.integers(-50, 40 - 3 * i, rng.integers(2, 12)) / 100).tolist() for i in range(25)}
    upward = declared(pl.concat(scores(x, name) for name, x in gains.items()), **dict.fromkeys(gains, (True, False)))
    mirrored = pl.concat(scores([-gain for gain in x], name) for name, x in gains.items())
    downward = declared(mirrored, **dict.fromkeys(gains, (False, False)))
    up, down = (gate(source, baseline="old", candidate="new", margin=0.1).cases for source in (upward, downward))
    assert up["metric"].to_list() == down["metric"].to_list()
    assert set(up["verdict"]) == {"pass", "undecided", "worse"}
    assert up["verdict"].to_list() == down["verdict"].to_list()
    for column in ("gain", "gain_low", "gain_high"):
        assert up[column].to_list() == pytest.approx(down[column].to_list(), abs=1e-9)


def test_primary_metrics_are_asked_else_all_and_the_worst_decides() -> None:
    frame = pl.concat(
        [scores(GAINS, "good"), scores([gain - 0.2 for gain in GAINS], "bad"), scores([0.1, -0.4], "open")]
    )
    undeclared = Data.from_scores(frame)
    found = gate(undeclared, baseline="old", candidate="new", margin=0.1)
    assert dict(found.cases.select("metric", "verdict").iter_rows()) == {
        "good": "pass",
        "bad": "worse",
        "open": "undecided",
    }
    assert found.exit_code == ExitCode.GATE_WORSE
    assert "3 metrics are asked, each by itself, and the worst verdict decides" in found.notes
    assert found.cases.schema == GATE
    chosen = {"good": (True, True), "bad": (True, False), "open": (True, False)}
    assert asked(declared(frame, **chosen), 0.1) == ("pass", 0)
    assert asked(declared(frame, **chosen | {"open": (True, True)}), 0.1) == ("undecided", 6)
    assert asked(declared(frame, **chosen), 0.1, metric="bad") == ("worse", 5)
    assert asked(undeclared, 0.1, metric="open") == ("undecided", 6)


@pytest.mark.parametrize(
    ("frame", "flag"),
    [
        (scores([0.1]), "n<5"),
        (scores([0.1, 0.1, 0.1]), "constant"),
        (
            pl.concat([scores([0.1]).filter(pl.col("system") == "old"), scores([0.1, 0.2]).tail(1)]),
            "no_common",
        ),
    ],
)
def test_without_an_interval_the_gate_is_undecided(frame: pl.DataFrame, flag: str) -> None:
    found = gate(Data.from_scores(frame), baseline="old", candidate="new", margin=0.5)
    row = found.cases.row(0, named=True)
    assert (row["gain_low"], row["gain_high"], found.exit_code) == (None, None, ExitCode.GATE_UNDECIDED)
    assert flag in row["flags"]
    assert row["sentence"].startswith("score: the data cannot tell whether new is worse than old by more than 0.5: ")


def test_identical_systems_pass_only_within_what_so_few_questions_can_exclude() -> None:
    source = Data.from_scores(scores([0.0] * 10))
    reach = 1 - 0.05 ** (1 / 10)
    assert asked(source, reach + 1e-9) == ("pass", 0)
    assert asked(source, reach - 1e-9) == ("undecided", 6)


def test_runs_are_sides_too() -> None:
    before, after = scores(GAINS), scores([2 * gain - 0.3 for gain in GAINS])
    frame = pl.concat(
        [
            part.filter(pl.col("system") == "new").with_columns(run_id=pl.lit(run))
            for part, run in ((before, "r1"), (after, "r2"))
        ]
    )
    found = gate(Data.from_scores(frame), baseline="r1:new", candidate="r2:new", margin=0.1)
    row = found.cases.row(0, named=True)
    assert (row["verdict"], row["gain"]) == ("worse", pytest.approx(np.mean(GAINS) - 0.3))
    assert row["sentence"].startswith("score: r2:new is worse than r1:new by more than 0.1: gain -0.2838 [")
    with pytest.raises(UsageError, match="several runs"):
        gate(Data.from_scores(frame), baseline="new", candidate="r2:new", margin=0.1)


@pytest.mark.parametrize("margin", [-0.1, float("nan"), float("inf")])
def test_a_margin_is_how_much_worse_the_candidate_may_be(margin: float) -> None:
    with pytest.raises(UsageError, match="number from 0 up"):
        asked(Data.from_scores(scores(GAINS)), margin)


def test_an_equal_candidate_is_seldom_called_worse() -> None:
    draws = np.random.default_rng(4).normal(0, 0.1, (120, 12)).round(3).tolist()
    frame = pl.concat(scores(gains, f"metric {place}") for place, gains in enumerate(draws))
    found = gate(Data.from_scores(frame), baseline="old", candidate="new", margin=0)
    # 2.5 % are expected; more than 8 of 120 come up once in 200 tries.
    assert found.cases["verdict"].to_list().count("worse") <= 8


any_text = st.text(st.characters(exclude_categories=()), max_size=30)


@settings(deadline=None)
@given(any_text, any_text, any_text, st.lists(any_text, max_size=2))
def test_junit_is_well_formed_whatever_the_ids_hold(metric: str, scorer: str, sentence: str, notes: list[str]) -> None:
    rows = [
        {"benchmark": "", "scorer": scorer, "metric": metric, "verdict": verdict, "sentence": sentence}
        for verdict in ("pass", "worse", "undecided")
    ]
    cases = pl.DataFrame([{k: v.encode("utf-8", "replace").decode() for k, v in row.items()} for row in rows])
    root = ElementTree.fromstring(gate_junit(cases, [note.encode("utf-8", "replace").decode() for note in notes], None))
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    kinds = [[child.tag for child in case] for case in suite.iter("testcase")]
    assert kinds == [["system-out"], ["failure"], ["error"]]
    if metric.isprintable() and metric.isascii():
        assert {case.get("name") for case in suite.iter("testcase")} == {metric}


@pytest.fixture
def file_of_scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    pl.concat([scores(GAINS), scores([gain - 0.2 for gain in GAINS], 'b<&"ad\x01>')]).write_csv(path)
    return path


def ask(*arguments: object) -> tuple[int, str, str]:
    ended = run_scorer("gate", "--baseline", "old", "--candidate", "new", *arguments)
    return ended.code, ended.out, ended.err


def test_the_exit_code_says_what_the_output_says(file_of_scores: Path) -> None:
    for metric, margin, code, verdict in (
        ("score", "0.1", 0, "pass"),
        ("score", "0.01", 6, "undecided"),
        ('b<&"ad\x01>', "0.1", 5, "worse"),
    ):
        ended, out, _ = ask(file_of_scores, "--margin", margin, "--metric", metric, "--format", "json")
        made = json.loads(out)
        assert (ended, made["verdict"], made["cases"][0]["verdict"]) == (code, verdict, verdict)
        assert list(made["cases"][0]) == list(GATE)


def test_text_and_junit_on_the_command_line(file_of_scores: Path, tmp_path: Path) -> None:
    code, out, _ = ask(file_of_scores, "--margin", "0.1")
    assert code == 5
    assert out.startswith("Gate: worse\n")
    report = tmp_path / "gate.xml"
    code, out, _ = ask(file_of_scores, "--margin", "0.1", "--format", "junit", "--to", report)
    assert (code, out) == (5, "")
    names = [case.get("name") for case in ElementTree.parse(report).iter("testcase")]
    assert names == ['b<&"ad\\x01>', "score"]


def test_lower_is_better_is_said_by_the_range(tmp_path: Path) -> None:
    path = tmp_path / "seconds.csv"
    scores([gain * 100 for gain in GAINS], "seconds", base=30.0).write_csv(path)
    assert ask(path, "--margin", "2.5")[0] == 0
    assert ask(path, "--margin", "2.5", "--range", "seconds=0:60:lower")[0] == 6


def test_the_sides_of_two_files_are_paired(tmp_path: Path) -> None:
    frame = scores(GAINS)
    paths = [tmp_path / "before.csv", tmp_path / "after:1.parquet"]
    frame.filter(pl.col("system") == "old").with_columns(run_id=pl.lit("r")).write_csv(paths[0])
    frame.with_columns(run_id=pl.lit("r")).write_parquet(paths[1])
    sides = ("--baseline", paths[0], "--margin", "0.1", "--format", "json")
    ended = run_scorer("gate", *sides, "--candidate", f"{paths[1]}:new")
    case = json.loads(ended.out)["cases"][0]
    assert ended.code == 0
    assert case["gain"] == pytest.approx(np.mean(GAINS))
    assert (case["run_baseline"], case["baseline"]) == ("baseline", "old")
    assert (case["run_candidate"], case["candidate"]) == ("candidate", "new")
    assert run_scorer("gate", *sides, "--candidate", f"{paths[1]}:r:new").code == 0
    for wrong, words in (
        (paths[1], "the candidate holds 2 systems: name one, as PATH:SYSTEM or PATH:RUN:SYSTEM, of new, old"),
        (f"{paths[1]}:nwe", "no system 'nwe'; did you mean 'new'?"),
        ("nowhere:new", "nowhere:new: no store and no file of scores here"),
    ):
        ended = run_scorer("gate", *sides, "--candidate", wrong)
        assert (ended.code, ended.out) == (2, "")
        assert words in ended.err


def test_wrong_use_ends_in_2(file_of_scores: Path) -> None:
    for wrong in (
        ("--margin", "-1"),
        ("--margin", "0.1", "--metric", "scrore"),
        ("--margin", "0.1", "--format", "xml"),
        (),
    ):
        assert ask(file_of_scores, *wrong)[0] == 2
    assert ask("--margin", "0.1", "--pool-runs")[0] == 2

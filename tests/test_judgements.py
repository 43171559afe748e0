"""Judgements in: every defined case and every form, through the command line, into a store and out again."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer import packs
from scorer.cli import main
from scorer.store import Store
from tests.conftest import SAMPLE

GIS = packs.load("gis-bench").rubric
assert GIS is not None
MOST = GIS.most
FULL = sum(MOST.values())

Row = dict[str, Any]


# --- a file in, a store out -------------------------------------------------------------------------------------------


def evaluation(number: int | None = 1, task: object = 7, system: str = "A", **changes: Any) -> Row:
    """Return one evaluation in the canonical form, full marks; a change to None leaves the field out."""
    row = {
        "benchmark": "gis-bench",
        "condition": system,
        "task_no": task,
        "evaluation": number,
        "judge": {"provider": "someone", "model": "model-1"},
        "scores": dict(MOST),
    } | changes
    return {name: value for name, value in row.items() if value is not None}


def three(task: object = 7, system: str = "A", **changes: Any) -> list[Row]:
    return [evaluation(number, task, system, **changes) for number in (1, 2, 3)]


def points(**changes: object) -> Row:
    """Return full marks but for the changes; a change to None leaves the criterion out."""
    return {name: value for name, value in (MOST | changes).items() if value is not None}


@dataclass(frozen=True)
class Ended:
    """How a command ended, and the store that it worked on."""

    code: int
    out: str
    err: str
    store: Path

    def frame(self, table: str) -> pl.DataFrame:
        with Store(self.store) as store:
            return store.frame(table)

    @property
    def judgements(self) -> pl.DataFrame:
        return self.frame("judgements")

    @property
    def statuses(self) -> list[str]:
        return self.judgements["status"].to_list()

    def value(self, metric: str = "passed", task: str = "7", system: str = "A") -> float | None:
        return self.score(metric, task, system)["value"]

    def score(self, metric: str = "passed", task: str = "7", system: str = "A") -> dict[str, Any]:
        rows = self.frame("scores").filter(
            (pl.col("metric") == metric) & (pl.col("task_id") == task) & (pl.col("system") == system)
        )
        return rows.row(0, named=True)

    @property
    def rules(self) -> dict[str, str]:
        """What was refused or repaired: place -> rule."""
        return dict(self.frame("rejected").select("place", "rule").iter_rows())

    @property
    def flags(self) -> list[str]:
        return self.frame("runs")["flags"][0].to_list()


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the command line in this process: the same `main`, without a new interpreter."""

    def run_here(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["scorer", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Ended(int(ended.value.code or 0), said.out, said.err, tmp_path / "store")

    return run_here


@pytest.fixture
def judge(tmp_path: Path, run: Run) -> Run:
    """Return a function that imports rows (written as JSONL), or a file, by the GIS-Bench pack."""

    def import_(given: Sequence[Row] | Path, *options: object, pack: object = "gis-bench") -> Ended:
        path = given if isinstance(given, Path) else write_lines(tmp_path / "judgements.jsonl", given)
        return run("judge", "import", path, "--pack", pack, "--out", tmp_path / "store", *options)

    return import_


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def tasks_file(tmp_path: Path, levels: Mapping[int, int | None]) -> Path:
    rows = [{"task_no": task, "prompt": "…"} | ({"level": level} if level else {}) for task, level in levels.items()]
    return write_lines(tmp_path / "tasks.jsonl", rows)


# --- the defined cases ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [31, -1, float("nan"), float("inf"), True, "many", "1e1", [1], 10**400])
def test_points_that_are_none_make_the_evaluation_invalid(judge: Run, bad: object) -> None:
    """Points out of range, NaN, booleans: the evaluation is missing, never clamped, and named in `rejected`."""
    good, spoilt = three(), evaluation(4, scores=points(accuracy=bad))
    if isinstance(bad, list):
        spoilt["scores"]["accuracy"] = {"points": bad}
    ended = judge([*good, spoilt])
    assert ended.code == 4
    assert ended.statuses == ["ok", "ok", "ok", "invalid"]
    assert ended.judgements["total_raw"].to_list() == [FULL, FULL, FULL, None]
    assert ended.frame("criteria").filter(pl.col("evaluation") == 4)["points"].to_list() == [None] * len(MOST)
    assert ended.rules == {"line 4 accuracy": "points unusable"}
    assert ended.value() == 1.0


def test_decimals_up_to_two_places(judge: Run) -> None:
    """Two decimals are points, flagged; a third makes the evaluation invalid."""
    rows = [evaluation(number, scores=points(accuracy=part)) for number, part in enumerate((12.25, 7, 12.345), 1)]
    ended = judge(rows)
    assert ended.code == 4
    assert ended.statuses == ["ok", "ok", "invalid"]
    assert ended.judgements["flags"].to_list() == [["decimal_points"], [], []]
    assert ended.judgements["total_raw"].to_list() == [FULL - 30 + 12.25, FULL - 30 + 7, None]
    assert ended.rules == {"line 3 accuracy": "points unusable"}


def test_a_decimal_is_read_as_it_is_written(judge: Run, tmp_path: Path) -> None:
    """No binary fraction hides a decimal place that stands in the file."""
    text = "".join(json.dumps(row) + "\n" for row in three())
    path = write(tmp_path / "long.jsonl", text.replace('"accuracy": 30', '"accuracy": 12.340000000000000000001', 1))
    assert judge(path).statuses == ["invalid", "ok", "ok"]


def test_numbers_as_text_are_converted_and_flagged(judge: Run) -> None:
    ended = judge(three(scores={name: str(most) for name, most in MOST.items()}))
    assert ended.code == 0
    assert ended.value("total_raw") == FULL
    assert ended.rules == dict.fromkeys(MOST, "number as text")
    assert ended.flags == [f"number as text: {3 * len(MOST)} values converted"]


def test_a_missing_criterion_makes_the_evaluation_invalid(judge: Run) -> None:
    """No part of an evaluation is added up, though a total be given."""
    ended = judge([*three(), evaluation(4, scores=points(numeric_match=None), total_raw=100)])
    assert ended.code == 4
    assert ended.statuses[3] == "invalid"
    assert ended.judgements["total_raw"][3] is None
    assert ended.rules == {"line 4 numeric_match": "criterion missing"}


def test_a_total_without_criteria_is_accepted_and_left_out_of_criterion_statistics(judge: Run) -> None:
    ended = judge(three(scores=None, total_raw=91))
    assert ended.code == 0
    assert ended.judgements["flags"].to_list() == [["total_only"]] * 3
    assert ended.value("score_normalized") == 70.0
    assert ended.score("exists")["reason"] == "criteria not given"
    assert ended.frame("criteria")["status"].unique().to_list() == ["not_given"]


def test_an_unknown_criterion_is_flagged(judge: Run) -> None:
    ended = judge(three(scores=points(beauty=5)))
    assert ended.code == 0
    assert ended.value("total_raw") == FULL
    assert ended.rules == {"beauty": "unknown criterion"}
    assert ended.flags == ["unknown criterion: 3 values passed over"]


def test_a_reported_total_that_differs_loses_against_the_sum(judge: Run) -> None:
    rows = [evaluation(1, total_raw=FULL, score_normalized=100), *three()[1:]]
    rows[2] |= {"total_raw": 90, "score_normalized": 69}
    ended = judge(rows, "--strict")
    assert ended.code == 3
    assert "line 3 total_raw: is 90, but the points give 130" in ended.err
    assert not ended.store.exists()
    ended = judge(rows)
    assert ended.code == 0
    assert ended.judgements["total_raw"].to_list() == [FULL] * 3
    assert ended.judgements["total_reported"].to_list() == [FULL, None, 90]
    assert ended.judgements["flags"].to_list() == [[], [], ["total_raw_differs", "score_normalized_differs"]]
    assert ended.rules == {
        "line 3 total_raw": "total_raw differs",
        "line 3 score_normalized": "score_normalized differs",
    }


def test_fewer_evaluations_than_asked_give_no_verdict_unless_admitted(judge: Run) -> None:
    rows = [*three(task=8), *three()[:2]]
    ended = judge(rows)
    assert ended.code == 0
    assert (ended.score()["value"], ended.score()["reason"]) == (None, "2 of 3 evaluations")
    assert ended.value(task="8") == 1.0
    line = next(line for line in ended.err.splitlines() if line.startswith("verdicts"))
    assert "1 of 1 pass" in line
    assert "44 of 45 without a verdict" in line
    assert judge(rows, "--min-evaluations", 2).value() == 1.0


def test_more_evaluations_than_asked_are_all_used(judge: Run) -> None:
    ended = judge([*three(), evaluation(4, scores=points(accuracy=0)), evaluation(5, scores=points(accuracy=0))])
    assert ended.value("total_raw") == pytest.approx(FULL - 30 * 2 / 5)


@pytest.mark.parametrize("status", ["no_output", "blank_output"])
def test_nothing_handed_in_counts_as_all_evaluations(judge: Run, status: str) -> None:
    """The agent's fault scores 0 and fails, whatever the number of evaluations; it is not missing."""
    ended = judge([evaluation(scores=None, status=status)])
    assert ended.code == 0
    assert [ended.value(metric) for metric in GIS.metrics] == [0.0] * len(GIS.metrics)
    assert ended.judgements["total_raw"].to_list() == [0.0]


@pytest.mark.parametrize(
    "status", ["render_failed", "refused", "truncated", "invalid", "judge_error", "budget", "pending"]
)
def test_what_is_not_the_agents_fault_is_missing(judge: Run, status: str) -> None:
    ended = judge([*three()[:2], evaluation(3, scores=None, status=status)])
    assert ended.judgements["total_raw"].to_list() == [FULL, FULL, None]
    assert ended.score()["value"] is None
    assert ended.score()["reason"] == f"2 of 3 evaluations: {status}"


def test_scores_alone_serve_the_policies_that_need_no_points(judge: Run) -> None:
    rows = three(scores=None, score_normalized=70)
    ended = judge(rows)
    assert ended.value("score_normalized") == 70.0
    assert ended.score("total_raw")["reason"] == "points not given"
    assert ended.judgements["flags"].to_list() == [["normalized_only"]] * 3
    ended = judge(rows, "--policy", "median", "--run", "other")
    assert ended.frame("scores").filter(pl.col("scorer").str.contains("median"))["value"].null_count() == 10 * 45
    assert judge(three(8, scores=None, score_normalized=70.5), "--run", "x").statuses[-3:] == ["invalid"] * 3


def test_evaluations_without_a_number_are_numbered_in_file_order(judge: Run) -> None:
    """Numbers come first, so that repeated content is no duplicate; explicit numbers are kept clear of."""
    rows = [evaluation(None, scores=points(accuracy=part)) for part in (10, 20, 20)]
    ended = judge([rows[0], evaluation(2), *rows[1:]])
    assert ended.code == 0
    assert ended.judgements.select("evaluation", "total_raw").rows() == [(1, 110.0), (2, 130.0), (3, 120.0), (4, 120.0)]
    assert ended.flags == ["evaluation number absent: 3 evaluations numbered in file order"]
    assert ended.rules == {"evaluation number absent": "evaluation number absent"}


def test_the_same_evaluation_twice_is_dropped_and_counted(judge: Run) -> None:
    ended = judge([*three(), evaluation(2)])
    assert ended.code == 0
    assert ended.judgements.height == 3
    assert ended.flags == ["same evaluation twice: 1 dropped"]


def test_the_same_evaluation_with_other_content_is_an_error_with_both_places(judge: Run) -> None:
    ended = judge([*three(), evaluation(2, scores=points(accuracy=1)), evaluation(3, scores=points(accuracy=2))])
    assert ended.code == 3
    assert "2 mistakes" in ended.err
    assert "line 4: evaluation 2 of 'A' at task '7', attempt 1, stands at" in ended.err
    assert "judgements.jsonl line 2 with other content" in ended.err
    assert not ended.store.exists()


def test_a_task_that_is_not_in_the_task_table(judge: Run) -> None:
    rows = [*three(), *three(task=46)]
    ended = judge(rows)
    assert ended.code == 3
    assert "task '46' is not in the task table" in ended.err
    ended = judge(rows, "--unknown-task", "skip")
    assert ended.code == 0
    assert ended.judgements.height == 3
    assert ended.flags == ["unknown task: 3 evaluations passed over"]


def test_a_task_without_evaluation_counts_in_coverage_and_bounds(judge: Run, run: Run, tmp_path: Path) -> None:
    tasks = tasks_file(tmp_path, {7: 1, 8: 1, 9: 2, 10: 2})
    ended = judge([*three(), *three(task=8, scores=points(accuracy=0, requirement=0))], "--tasks", tasks)
    assert ended.score(task="9")["reason"] == "no evaluation"
    assert "1 of 2 pass" in ended.err
    assert "2 of 4 without a verdict, pass rate in [0.250, 0.750]: tasks 9, 10" in ended.err
    report = run("report", ended.store)
    assert "2 of 4 attempts have no verdict" in report.out
    assert "[0.25, 0.75]" in report.out


def test_a_missing_level_is_the_group_unknown(judge: Run, run: Run, tmp_path: Path) -> None:
    ended = judge([*three(), *three(task=8)], "--tasks", tasks_file(tmp_path, {7: 1, 8: None}))
    assert dict(ended.frame("strata").select("task_id", "level").iter_rows()) == {"7": "1", "8": "unknown"}
    run("export", ended.store, "leaderboard", "--to", tmp_path / "board.json")
    board = json.loads((tmp_path / "board.json").read_text())
    assert {row["level"]: row["n_tasks"] for row in board} == {None: 2, "1": 1, "unknown": 1}


def test_the_task_table_has_the_last_word_on_levels(judge: Run, tmp_path: Path) -> None:
    ended = judge([*three(level=2)], "--tasks", tasks_file(tmp_path, {7: 1}))
    assert ended.frame("strata")["level"].to_list() == ["1"]
    assert ended.rules == {f"line {line} level": "level differs" for line in (1, 2, 3)}
    without = judge([*three(level=2), *three(task=8, level="3")], "--run", "without")
    levels = without.frame("strata").filter(pl.col("run_id") == "without")
    assert dict(levels.filter(pl.col("level") != "unknown").select("task_id", "level").iter_rows()) == {
        "7": "2",
        "8": "3",
    }
    unclear = judge([*three(level=2)[:2], evaluation(3, level=1)], "--run", "unclear")
    assert unclear.code == 3
    assert "level: is '1' for task '7', but '2' at" in unclear.err


@pytest.mark.parametrize("part", ["model", "prompt", "rubric", "renderer", "provider"])
def test_judges_prompts_and_renderers_are_not_pooled(judge: Run, part: str) -> None:
    """Whatever tells two judges apart gives two judges, each with its own scores."""
    one = {"provider": "p", "model": "m"}
    rows = three(judge=one) + three(judge=one | {part: "other"}, scores=points(accuracy=0, requirement=0))
    ended = judge(rows)
    assert ended.judgements["judge_id"].n_unique() == 2
    passed = ended.frame("scores").filter((pl.col("metric") == "passed") & pl.col("value").is_not_null())
    assert passed["scorer"].n_unique() == 2
    assert sorted(passed["value"]) == [0.0, 1.0]


def test_mcnemar_drops_tasks_without_a_verdict_on_both_sides_and_counts_them(
    judge: Run, run: Run, tmp_path: Path
) -> None:
    bad = points(accuracy=0, requirement=0)
    rows = [*three(1, "A"), *three(2, "A"), *three(3, "A"), *three(1, "B", scores=bad), *three(2, "B", scores=bad)[:2]]
    ended = judge(rows, "--tasks", tasks_file(tmp_path, {1: 1, 2: 1, 3: 1}))
    found = json.loads(run("compare", ended.store, "--metric", "passed", "--format", "json").out)["mcnemar"][0]
    assert (found["n_tasks"], found["a_only"], found["b_only"]) == (1, 1, 0)
    assert found["n_dropped"] == 2


def test_task_numbers_however_they_are_written(judge: Run, tmp_path: Path) -> None:
    ended = judge([evaluation(1, "07"), evaluation(2, 7.0), evaluation(3, "7.0")])
    assert ended.code == 0
    assert ended.value() == 1.0
    rows = three(task="T7")
    assert judge(rows, "--run", "mapped").code == 3
    mapping = write(tmp_path / "map.toml", "[values.task_no]\nT7 = 7\n")
    assert judge(rows, "--run", "mapped", "--mapping", mapping).code == 0


def test_a_leaderboard_of_aggregates_is_shown_and_never_tested(judge: Run, run: Run, tmp_path: Path) -> None:
    """Published figures stand in the report and the leaderboard, apart from the scores; no statistic reads them."""
    figures = [
        {"condition": "A", "pass_rate": 1.0},
        {"condition": "B", "pass_rate": "0.67", "n_tasks": 45},
        {"condition": "B", "level": 1, "pass_rate": 0.9},
    ]
    path = write(tmp_path / "leaderboard.json", json.dumps(figures))
    ended = judge(path)
    assert ended.code == 0
    assert [ended.frame(name).height for name in ("attempts", "scores", "published")] == [0, 0, 4]
    report = run("report", ended.store)
    assert report.code == 0
    assert "Published elsewhere: shown, never tested" in report.out
    run("export", ended.store, "leaderboard", "--to", tmp_path / "board.json")
    board = json.loads((tmp_path / "board.json").read_text())
    assert {(row["system"], row["level"], row["pass_rate"]) for row in board} == {
        ("A", None, 1.0),
        ("B", None, 0.67),
        ("B", "1", 0.9),
    }
    lines = write_lines(tmp_path / "j.jsonl", three())
    both = run("judge", "import", path, lines, "--pack", "gis-bench", "--out", ended.store)
    assert both.code == 0
    assert both.value() == 1.0
    assert "Published elsewhere" in run("report", both.store, "--run", both.frame("scores")["run_id"][0]).out
    bad = [{"condition": "A", "pass_rate": 67}, {"pass_rate": 0.5}, {"condition": "A", "passes": -1}]
    path.write_text(json.dumps(bad))
    wrong = judge(path, "--run", "wrong")
    assert wrong.code == 3
    assert "3 mistakes" in wrong.err
    assert "[0] pass_rate: must be a number from 0 to 1" in wrong.err


def test_judges_who_could_judge_nothing(judge: Run, run: Run) -> None:
    """Every evaluation missing: no verdict, no statistic, and every command still answers."""
    ended = judge(three(scores=None, status="judge_error"))
    assert ended.code == 0
    assert ended.frame("scores")["value"].null_count() == ended.frame("scores").height
    for command in (("report",), ("judge", "quality"), ("judge", "quality", "--format", "json")):
        shown = run(*command, ended.store)
        assert shown.code == 0, shown.err


# --- other input that is wrong ----------------------------------------------------------------------------------------


def test_all_mistakes_are_named_at_once_and_nothing_is_written(judge: Run, tmp_path: Path) -> None:
    lines = [
        json.dumps(evaluation(task=99)),
        "not json",
        json.dumps([1]),
        json.dumps(evaluation(0)),
        json.dumps(evaluation(benchmark="other")),
    ]
    ended = judge(write(tmp_path / "bad.jsonl", "\n".join(lines)))
    assert ended.code == 3
    assert "line 2: is not JSON" in ended.err
    assert "line 3: an evaluation must be an object" in ended.err
    ended = judge(write(tmp_path / "bad.jsonl", "\n".join([lines[0], *lines[3:], json.dumps({"task_no": 1})])))
    for said in ("task '99'", "whole number from 1", "is 'other', but the pack is 'gis-bench'", "system: is missing"):
        assert said in ended.err
    assert not ended.store.exists()


def test_statuses_that_contradict_the_points(judge: Run) -> None:
    """A judge who gives points for nothing contradicts himself; who refuses has no points; a made-up status is none."""
    ended = judge(
        [
            evaluation(1, status="no_output"),
            evaluation(2, status="refused"),
            evaluation(3, status="fine"),
            evaluation(4, scores=None),
            evaluation(5, scores=dict.fromkeys(MOST, 0), status="no_output", task=8),
        ]
    )
    assert ended.code == 4
    assert ended.statuses == ["invalid", "refused", "invalid", "invalid", "no_output"]
    assert ended.rules["line 1 exists"] == "points beside no_output"
    assert ended.rules["line 2"] == "points not used"
    assert ended.rules["line 3 status"] == "status unknown"
    assert ended.rules["line 4"] == "nothing given"


def test_nothing_handed_in_outweighs_points_of_other_evaluations(judge: Run) -> None:
    """That an attempt handed nothing in is a fact of the attempt: other evaluations of it cannot make it pass."""
    ended = judge([*three(), evaluation(4, scores=None, status="no_output")])
    assert [ended.value(metric) for metric in ("accuracy", "total_raw", "passed")] == [0.0, 0.0, 0.0]


def test_untrusted_text_in_reasons_is_kept(judge: Run) -> None:
    reasons = ["NUL \0 and =cmd()", "\ud800 alone", "x" * 10_000_000]
    ended = judge([evaluation(number, reason=reason) for number, reason in enumerate(reasons, 1)])
    assert ended.code == 0
    kept = ended.judgements["reason"].to_list()
    assert kept[0] == reasons[0]
    assert kept[1] == "\U0010d800 alone"
    assert kept[2] == reasons[2]


def test_numbers_too_large_for_anything(judge: Run, tmp_path: Path) -> None:
    """Whatever a number looks like, it is stored as a finite one or not at all."""
    text = "".join(json.dumps(row) + "\n" for row in three(cost_usd=1, total_raw=FULL))
    path = write(tmp_path / "large.jsonl", text.replace('"cost_usd": 1', '"cost_usd": 1e999999', 1))
    path.write_text(path.read_text().replace(f'"total_raw": {FULL}', '"total_raw": 1e400', 1))
    ended = judge(path)
    assert ended.code == 0
    assert ended.judgements["cost_usd"].to_list() == [None, 1.0, 1.0]
    assert ended.judgements["total_reported"].to_list() == [None, FULL, FULL]
    assert ended.value() == 1.0


def test_a_mapping_names_its_mistakes(judge: Run, tmp_path: Path) -> None:
    mapping = write(tmp_path / "map.toml", "[field]\nx = 1\n[fields]\nnote = 3\n[constants]\nmode = []\n")
    ended = judge(three(), "--mapping", mapping)
    assert ended.code == 3
    assert "'fields'" in ended.err
    mapping.write_text('[fields]\nnote = "acuracy"\n[constants]\njudge_modle = "x"\n')
    ended = judge(three(), "--mapping", mapping)
    assert ended.code == 3
    assert "did you mean 'accuracy'" in ended.err
    assert "judge_modle" in ended.err


def test_a_pack_without_a_rubric_is_a_usage_error(judge: Run) -> None:
    ended = judge(three(), pack="eduevidence")
    assert ended.code == 2
    assert "has no rubric" in ended.err


def test_a_pack_without_metrics_cannot_score_answers(run: Run, tmp_path: Path) -> None:
    ended = run("score", SAMPLE, "--pack", "eduevidence-judge", "--out", tmp_path / "store")
    assert ended.code == 2
    assert "scorer judge import" in ended.err


def test_check_says_what_the_import_would_say_and_writes_nothing(judge: Run, run: Run, tmp_path: Path) -> None:
    rows = [*three(task=46), evaluation(task=7, scores=points(accuracy=31))]
    path = write_lines(tmp_path / "judgements.jsonl", rows)
    checked = run("check", path, "--pack", "gis-bench")
    assert checked.code == 3
    assert "task '46' is not in the task table" in checked.out
    assert not checked.store.exists()
    assert judge(path).code == 3
    good = write_lines(tmp_path / "good.jsonl", three())
    assert run("check", good, "--pack", "gis-bench").code == 0


# --- forms ------------------------------------------------------------------------------------------------------------


def sample() -> list[Row]:
    """Return evaluations of every kind that all forms can hold."""
    rows = []
    for task in (1, 2, 3, 4):
        for system in ("A", "B"):
            for number in (1, 2, 3):
                scores = points(accuracy=10 + task * 3 + number, requirement=5 * number, completeness=2.5 * task)
                row = {
                    "condition": system,
                    "task_no": task,
                    "evaluation": number,
                    "provider": "someone",
                    "model": "model-1",
                    "status": "ok",
                    "total_raw": sum(scores.values()),
                    "reason": f'because, "{task}"',
                    **scores,
                }
                if (task, system) == (4, "B"):
                    row = row | dict.fromkeys([*MOST, "total_raw"]) | {"status": "no_output"}
                if (task, system, number) == (3, "A", 2):
                    row = row | dict.fromkeys([*MOST, "total_raw"]) | {"status": "judge_error"}
                rows.append(row)
    return rows


def canonical(rows: Sequence[Row]) -> list[Row]:
    made = []
    for row in rows:
        nested = {name: value for name, value in row.items() if name not in (*MOST, "provider", "model")}
        nested["judge"] = {"provider": row["provider"], "model": row["model"]}
        nested["scores"] = {name: row[name] for name in MOST if row[name] is not None}
        made.append({name: value for name, value in nested.items() if value not in (None, {})})
    return made


def as_csv(rows: Sequence[Row], names: Sequence[str]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


MAPPING = """
[fields]
"Modell" = "condition"
"Aufgabe" = "task_no"
"Genauigkeit" = "accuracy"

[constants]
judge_provider = "someone"
judge_model = "model-1"

[values.condition]
"System A" = "A"
"""


def forms(folder: Path) -> dict[str, tuple[Path, Path | None]]:
    """Write the sample in every form; return each with its mapping, where it needs one."""
    rows, nested = sample(), canonical(sample())
    common = ["condition", "task_no", "evaluation", "status", "reason"]
    wide = as_csv(rows, [*common, "judge.provider", "judge.model", "total_raw", *MOST])
    wide = as_csv(
        [row | {"judge.provider": row["provider"], "judge.model": row["model"]} for row in rows],
        wide.splitlines()[0].split(","),
    )
    foreign = [
        row | {"Modell": "System A" if row["condition"] == "A" else "B", "Aufgabe": f"0{row['task_no']}"}
        for row in rows
    ]
    foreign = [row | {"Genauigkeit": row["accuracy"]} for row in foreign]
    others = [name for name in MOST if name != "accuracy"]
    mapped = as_csv(foreign, ["Modell", "Aufgabe", *common[2:], "total_raw", "Genauigkeit", *others])
    long = [
        row
        | {"criterion": name if row["status"] == "ok" else None, "points": row[name], "judge_model": "model-1"}
        | {"judge_provider": "someone"}
        for row in rows
        for name in (MOST if row["status"] == "ok" else ["exists"])
    ]
    long_csv = as_csv(long, [*common, "total_raw", "criterion", "points", "judge_provider", "judge_model"])
    keys = ["condition", "task_no"]
    lists = (
        pl.DataFrame(rows, infer_schema_length=None)
        .group_by(keys, maintain_order=True)
        .agg(pl.exclude(*keys, "provider", "model"))
        .to_dicts()
    )
    list_rows = [row | {"judge": {"provider": "someone", "model": "model-1"}} for row in lists]
    list_csv = as_csv(
        [
            {
                name: json.dumps(value) if isinstance(value, list) and name != "reason" else value
                for name, value in row.items()
            }
            | {"reason": row["reason"][0], "judge_provider": "someone", "judge_model": "model-1"}
            for row in lists
        ],
        [*common, "total_raw", *MOST, "judge_provider", "judge_model"],
    )
    mapping = write(folder / "map.toml", MAPPING)
    made = {
        "jsonl": (write_lines(folder / "a.jsonl", nested), None),
        "array": (write(folder / "a.json", json.dumps(nested)), None),
        "array with BOM": (write(folder / "bom.json", "\ufeff" + json.dumps(nested)), None),
        "wide": (write(folder / "wide.csv", wide), None),
        "wide with BOM": (write(folder / "bom.csv", "\ufeff" + wide), None),
        "wide, mapped": (write(folder / "mapped.csv", mapped), mapping),
        "long": (write(folder / "long.csv", long_csv), None),
        "lists": (write_lines(folder / "lists.jsonl", list_rows), None),
        "lists in CSV": (write(folder / "lists.csv", list_csv), None),
        "parquet": (folder / "wide.parquet", mapping),
        "lists in parquet": (folder / "lists.parquet", mapping),
    }
    pl.DataFrame(rows, infer_schema_length=None).drop("provider", "model").write_parquet(made["parquet"][0])
    pl.DataFrame(lists, infer_schema_length=None).write_parquet(made["lists in parquet"][0])
    return made


def test_every_form_gives_equal_judgements_criteria_and_scores(judge: Run, tmp_path: Path) -> None:
    """Provenance and flags of form stand in `rejected` and `runs`; the judgements themselves are the same."""
    folder = tmp_path / "forms"
    folder.mkdir()
    found = {}
    for number, (form, (path, mapping)) in enumerate(forms(folder).items()):
        ended = judge(path, "--run", f"r{number}", *(["--mapping", mapping] if mapping else []))
        assert ended.code == 0, (form, ended.err)
        tables = {name: ended.frame(name) for name in ("judgements", "criteria", "scores", "attempts")}
        found[form] = {
            name: frame.filter(pl.col("run_id") == f"r{number}").drop("run_id") for name, frame in tables.items()
        }
    first = found["jsonl"]
    assert first["judgements"].height == 24
    assert first["judgements"]["status"].value_counts().sort("status").rows() == [
        ("judge_error", 1),
        ("no_output", 3),
        ("ok", 20),
    ]
    for form, tables in found.items():
        for name, frame in tables.items():
            assert frame.equals(first[name]), (form, name)


def test_long_rows_without_numbers_begin_the_next_evaluation_where_a_criterion_comes_again(
    judge: Run, tmp_path: Path
) -> None:
    rows = [
        {"condition": "A", "task_no": 7, "criterion": name, "points": most - (part if name == "accuracy" else 0)}
        for part in (0, 1, 2)
        for name, most in MOST.items()
    ]
    path = write(tmp_path / "long.csv", as_csv(rows, ["condition", "task_no", "criterion", "points"]))
    ended = judge(path)
    assert ended.code == 0
    assert ended.judgements["total_raw"].to_list() == [FULL, FULL - 1, FULL - 2]


def test_long_rows_that_contradict_each_other_name_both_places(judge: Run, tmp_path: Path) -> None:
    rows = [{"condition": "A", "task_no": 7, "evaluation": 1, "criterion": name, "points": 1} for name in MOST]
    names = ["condition", "task_no", "evaluation", "criterion", "points"]
    path = write(tmp_path / "long.csv", as_csv([*rows, rows[2] | {"points": 2}], names))
    ended = judge(path)
    assert ended.code == 3
    assert "line 9 requirement: is '2' here and '1' in the evaluation that begins at line 2" in ended.err
    path.write_text(as_csv([*rows, rows[2]], names))
    ended = judge(path)
    assert ended.flags == ["same evaluation twice: 1 dropped"]


def test_files_that_cannot_be_read_as_their_form(judge: Run, tmp_path: Path) -> None:
    for name, content, said in (
        ("ragged.csv", "condition,task_no\nA\n", "1 cells under a header of 2"),
        ("twice.csv", "condition,condition\nA,A\n", "names the column 'condition' twice"),
        ("object.json", "{}", "must be an array of evaluations"),
        ("empty.jsonl", "\n", "holds no evaluation"),
        ("notes.txt", "x", "judgements are read from"),
        ("broken.parquet", "PAR1", "cannot be read as parquet"),
        (
            "lists.csv",
            'condition,task_no,accuracy,exists\nA,1,"[1,2]","[1]"\nA,2,"[1,","[1]"\n',
            "lists of different lengths",
        ),
    ):
        ended = judge(write(tmp_path / name, content))
        assert ended.code == 3, name
        assert said in ended.err, name
    ended = judge(tmp_path / "nowhere.jsonl")
    assert ended.code == 3
    assert "no such file" in ended.err


# --- the store --------------------------------------------------------------------------------------------------------


def test_importing_again_changes_nothing_and_other_content_needs_to_be_asked_for(judge: Run) -> None:
    first = judge(three())
    before = first.judgements
    again = judge(three())
    assert again.code == 0
    assert "unchanged 3" in again.err
    assert again.judgements.equals(before)
    changed = three(scores=points(accuracy=1))
    refused = judge(changed)
    assert refused.code == 3
    assert "with other content" in refused.err
    assert refused.judgements.equals(before)
    assert judge(changed, "--replace").value("accuracy") == 1.0


def test_other_attempts_under_a_known_id_need_to_be_asked_for(judge: Run, tmp_path: Path) -> None:
    assert judge(three(), "--run", "r").code == 0
    refused = judge(three(system="B"), "--run", "r")
    assert refused.code == 3
    assert "holds other attempts than these" in refused.err
    replaced = judge(three(system="B"), "--run", "r", "--replace")
    assert replaced.frame("attempts")["system"].unique().to_list() == ["B"]
    levelled = judge(three(system="B"), "--run", "r", "--tasks", tasks_file(tmp_path, {7: 3}))
    assert levelled.frame("strata")["level"].to_list() == ["3"]


def test_a_policy_joins_the_others_and_new_evaluations_reach_all_of_them(judge: Run) -> None:
    rows = [evaluation(number, scores=points(accuracy=part)) for number, part in enumerate((0, 0, 0, 30, 30), 1)]
    judge(rows[:3])
    ended = judge(rows[:3], "--policy", "median")
    means = dict(
        ended.frame("scores")
        .filter((pl.col("metric") == "accuracy") & pl.col("value").is_not_null())
        .select("scorer", "value")
        .iter_rows()
    )
    assert set(means.values()) == {0.0}
    assert len(means) == 2
    ended = judge(rows[3:], "--policy", "majority", "--run", next(iter(ended.frame("runs")["run_id"])))
    values = ended.frame("scores").filter((pl.col("metric") == "accuracy") & pl.col("value").is_not_null())
    assert sorted(values["value"]) == [12.0, 12.0, 12.0]


def test_a_second_judge_joins_the_run_of_the_first(judge: Run, run: Run) -> None:
    bad = points(accuracy=0, requirement=0)
    judge([*three(1), *three(2), *three(3, scores=bad)])
    person = {"provider": "human", "model": "annotator"}
    ended = judge(
        [
            evaluation(1, 1, judge=person),
            evaluation(1, 2, scores=bad, judge=person),
            evaluation(1, 3, scores=bad, judge=person),
        ],
        "--min-evaluations",
        1,
    )
    assert ended.frame("runs").height == 1
    quality = json.loads(run("judge", "quality", ended.store, "--format", "json").out)
    labels = next(row for row in quality["labels"] if row["system"] is None)
    assert (labels["both_pass"], labels["judge_only"], labels["human_only"], labels["both_fail"]) == (1, 1, 0, 1)
    assert (labels["sensitivity"], labels["specificity"]) == (1.0, 0.5)
    assert labels["kappa"] == pytest.approx(0.4)
    drift = next(row for row in quality["drift"] if row["metric"] == "accuracy")
    assert (drift["judge_a"], drift["judge_b"], drift["n_attempts"]) == ("human/annotator", "someone/model-1", 3)
    assert drift["difference"] == pytest.approx(-10.0)
    assert quality["drift_verdicts"][0]["b_only"] == 1
    together = [row for row in quality["agreement"] if row["judge_id"] is None]
    assert {row["n_judges"] for row in together} == {2}


def test_judges_who_judged_different_things_have_nothing_in_common(judge: Run, run: Run) -> None:
    judge([*three(1), *three(1, "B"), *three(2, judge={"model": "other"})])
    made = run("judge", "quality", judge([*three(1), *three(1, "B")]).store, "--format", "json")
    assert made.code == 0, made.err
    quality = json.loads(made.out)
    assert {row["n_attempts"] for row in quality["drift"]} == {0}
    assert quality["drift_verdicts"][0]["n_attempts"] == 0


def test_modes_that_contradict_each_other_are_a_usage_error(judge: Run) -> None:
    assert judge(three(mode="simulated"), "--mode", "empirical").code == 2
    assert judge([*three(mode="simulated"), evaluation(4, mode="empirical")]).code == 3
    ended = judge(three(mode="simulated"))
    assert ended.frame("runs")["mode"].to_list() == ["simulated"]
    assert judge(three(task=8), "--mode", "empirical", "--run", ended.frame("runs")["run_id"][0]).code == 2


def test_equal_input_gives_equal_bytes(judge: Run, tmp_path: Path) -> None:
    ended = judge(three())
    with Store(ended.store) as store:
        folder = next(iter(store.runs.values())).path
        first = {path.name: path.read_bytes() for path in folder.iterdir()}
    (tmp_path / "store").rename(tmp_path / "before")
    with Store(judge(three()).store) as store:
        folder = next(iter(store.runs.values())).path
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


# --- another rubric, on attempts that the store has -------------------------------------------------------------------

DIMENSIONS = ("citation_support", "outcome_correctness", "scope_calibration", "contradiction_handling")


def dimension_scores(**changes: int) -> dict[str, int]:
    return dict.fromkeys((*DIMENSIONS, "decision_calibration"), 2) | changes


@pytest.fixture
def scored(run: Run, tmp_path: Path) -> Ended:
    """Return a store with the EduEvidence sample in it, scored by its own rules."""
    ended = run("score", SAMPLE, "--pack", "eduevidence", "--out", tmp_path / "store")
    assert ended.code == 0
    return ended


def test_a_rubric_scores_the_attempts_of_a_stored_run(judge: Run, scored: Ended, run: Run) -> None:
    """The second rubric proves that nothing is bound to the first; texts and other scores stay as they are."""
    texts = scored.frame("attempts")
    judged = {"provider": "someone", "model": "model-1"}
    rows = [
        {"attempt_id": attempt_id, "judge": judged, "scores": dimension_scores(citation_support=part)}
        for attempt_id, part in (("E01-evidence_agent-1", 3), ("E01-direct_answer-1", 0))
    ]
    rows.append(
        {"baseline": "search_agent", "question_id": "E02", "attempt": 3, "judge": judged, "scores": dimension_scores()}
    )
    ended = judge(rows, pack="eduevidence-judge")
    assert ended.code == 0
    assert ended.frame("attempts").equals(texts)
    assert ended.frame("runs")["benchmark"].to_list() == ["eduevidence"]
    scores = ended.frame("scores")
    assert sorted(scores["scorer"].unique()) == [
        "eduevidence-judge/mean_exact@someone/model-1",
        "eduevidence/eduevidence-v3",
    ]
    mine = scores.filter(pl.col("scorer").str.starts_with("eduevidence-judge") & pl.col("value").is_not_null())
    totals = dict(mine.filter(pl.col("metric") == "total_raw").select("attempt_id", "value").iter_rows())
    assert totals == {"E01-evidence_agent-1": 11.0, "E01-direct_answer-1": 8.0, "E02-search_agent-3": 10.0}
    normalized = dict(mine.filter(pl.col("metric") == "score_normalized").select("attempt_id", "value").iter_rows())
    assert normalized["E01-evidence_agent-1"] == pytest.approx(100 * 11 / 15)
    passed = mine.filter(pl.col("metric") == "passed")["value"].to_list()
    assert sorted(passed) == [0.0, 1.0, 1.0]
    own = scores.filter(pl.col("scorer") == "eduevidence/eduevidence-v3")
    assert own.equals(scored.frame("scores").filter(pl.col("scorer") == "eduevidence/eduevidence-v3"))
    again = run("score", SAMPLE, "--pack", "eduevidence", "--out", ended.store)
    assert again.code == 0
    assert again.frame("scores").equals(scores)
    assert again.judgements.equals(ended.judgements)


def test_an_attempt_that_the_run_does_not_have_is_an_error(judge: Run, scored: Ended) -> None:
    rows = [
        {"attempt_id": "E99-nobody-1", "judge_model": "m", "scores": dimension_scores()},
        {"baseline": "evidence_agent", "question_id": "E01", "attempt": 9, "scores": dimension_scores()},
        {"attempt_id": "E01-evidence_agent-1", "baseline": "direct_answer", "scores": dimension_scores()},
        {"baseline": "evidence_agent", "question_id": "E99", "scores": dimension_scores()},
    ]
    ended = judge(rows, pack="eduevidence-judge")
    assert ended.code == 3
    for said in ("no attempt 'E99-nobody-1'", "no attempt 9 of", "is one of 'evidence_agent'", "task 'E99' is not"):
        assert said in ended.err
    assert ended.judgements.height == 0


def test_a_judging_rubric_needs_the_run_it_judges(judge: Run, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    ended = judge([{"attempt_id": "x", "scores": dimension_scores()}], pack="eduevidence-judge")
    assert ended.code == 3
    assert "holds no run" in ended.err

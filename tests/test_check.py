"""`scorer check`: every mistake of an input in one go, the right exit code, and nothing written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import ExitCode, UsageError
from scorer.pipeline.checking import Checked, check
from tests.conftest import REPO, SAMPLE, run_scorer

GIS = REPO / "datasets" / "gis-bench" / "sample"
GOLD = {"id": "Q1", "correct_outcome_types": ["accuracy"], "expected_decision_range": ["pilot"]}


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def row(number: int, **changes: Any) -> dict[str, Any]:
    return {"attempt_id": f"a{number}", "question_id": "Q1", "baseline": "s", "attempt": number, "response": "x"} | (
        changes
    )


def run_folder(folder: Path, run_id: str, entries: list[dict[str, Any]], artifacts: dict[str, str]) -> Path:
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"run_id": run_id, "attempts": entries}))
    for name, text in artifacts.items():
        (folder / name).write_text(text)
    return folder


def said(checked: Checked, kind: str) -> list[str]:
    return [f"{each.source} {each.place} {each.message}" for each in checked.findings if each.kind == kind]


@pytest.fixture
def golds(tmp_path: Path) -> Path:
    return lines(tmp_path / "golds.jsonl", GOLD)


def test_a_good_input_ends_well_and_says_what_was_checked() -> None:
    ended = run_scorer("check", SAMPLE, "--pack", "eduevidence")
    assert ended.code == ExitCode.DONE
    assert "attempts in" in ended.err
    assert "108: 1 budget_stopped, 105 completed, 2 failed" in ended.err
    assert "golds in" in ended.err
    assert "tasks in" in ended.err
    assert ended.out.splitlines() == [f"note      {SAMPLE}/manifest.json: 1 task with no gold: E12"]


def test_the_real_run_has_nothing_wrong(real_run: Path) -> None:
    checked = check(
        [str(real_run / "run-empirical-01")],
        pack="eduevidence",
        golds=real_run / "annotations",
        tasks=real_run / "questions.jsonl",
    )
    assert checked.findings == []
    assert checked.exit_code == ExitCode.DONE


def test_all_mistakes_come_at_once_and_nothing_is_written(tmp_path: Path) -> None:
    """Mistakes of attempts, of a file that cannot be opened, of golds and of tasks stand in one list."""
    attempts = lines(tmp_path / "attempts.jsonl", row(1), row(1), "no json\n", row(3, response=7))
    golds = lines(tmp_path / "golds.jsonl", GOLD, GOLD, {"id": "Q2", "known_contradictions": "text"})
    tasks = lines(tmp_path / "tasks.jsonl", {"id": "Q1"}, {"id": "Q1"}, {"level": "S"})
    before = sorted(tmp_path.iterdir())
    ended = run_scorer(
        "check", attempts, tmp_path / "x.xlsx", "--pack", "eduevidence", "--golds", golds, "--tasks", tasks
    )
    assert ended.code == ExitCode.BAD_INPUT
    for wanted in (
        f"mistake   {attempts}: line 2: attempt_id 'a1' stands 2 times",
        f"mistake   {tmp_path / 'x.xlsx'}: no such file",
        f"mistake   {golds}: line 2: a second gold for 'Q1'",
        f"mistake   {golds}: line 3 known_contradictions: must be a list of texts",
        f"mistake   {tasks}: line 2: names 'Q1' a second time",
        f"mistake   {tasks}: line 3 id: is missing",
        f"rejected  {attempts}: line 3: the line is not JSON",
        f"fault     {attempts}: line 4: attempt 'a3': the response is no text but a number",
    ):
        assert wanted in ended.out, wanted
    assert sorted(tmp_path.iterdir()) == before


def test_one_source_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path, golds: Path) -> None:
    headless = tmp_path / "headless.csv"
    headless.write_text("colour\nred\n")
    good = lines(tmp_path / "good.jsonl", row(1), row(2, response=["no text"]))
    checked = check([str(headless), str(good)], pack="eduevidence", golds=golds)
    (mistake,) = said(checked, "mistake")
    assert "headless.csv" in mistake
    assert "has no task_id, system" in mistake
    (fault,) = said(checked, "fault")
    assert "good.jsonl line 2 attempt 'a2'" in fault
    assert any("good.jsonl: 2: 2 completed" in line for line in checked.looked_at)


def test_faults_of_artifacts_alone_end_in_partly(tmp_path: Path, golds: Path) -> None:
    """Artifacts that are missing, broken or outside are faults; the run can still be scored."""
    entries = [
        row(number, artifacts=[name]) for number, name in enumerate(("a.json", "none.json", "cut.json", "../x"), 1)
    ]
    for entry in entries:
        del entry["response"]
    artifacts = {"a.json": json.dumps({"response": "x"}), "cut.json": '{"resp'}
    folder = run_folder(tmp_path / "run", "r", entries, artifacts)
    ended = run_scorer("check", folder, "--pack", "eduevidence", "--golds", golds)
    assert ended.code == ExitCode.PARTLY
    assert [line.split(": ", 3)[2:] for line in ended.out.splitlines()] == [
        ["attempt 'a2'", "artifact none.json is missing"],
        ["attempt 'a3'", ended.out.splitlines()[1].split(": ", 3)[3]],
        ["attempt 'a4'", "artifact ../x lies outside the run folder"],
    ]
    assert "is not JSON" in ended.out.splitlines()[1]


def test_two_run_folders_are_two_runs(tmp_path: Path, golds: Path) -> None:
    """Equal attempt ids in two runs are no mistake; in one run's two folders they are."""
    entries = [row(1, artifacts=["a.json"])]
    del entries[0]["response"]
    text = {"a.json": json.dumps({"response": "x"})}
    folders = [run_folder(tmp_path / name, name, entries, text) for name in ("one", "two")]
    assert check([str(folder) for folder in folders], pack="eduevidence", golds=golds).findings == []
    same = run_folder(tmp_path / "again", "one", entries, text)
    doubled = check([str(folders[0]), str(same)], pack="eduevidence", golds=golds)
    assert doubled.exit_code == ExitCode.BAD_INPUT


def test_what_may_be_a_slip_is_noted(tmp_path: Path) -> None:
    """Tasks without gold, systems that the manifest does not name, and golds that can never be met are notes."""
    entries = [row(1, artifacts=["a.json"], question_id="Q9")]
    del entries[0]["response"]
    folder = run_folder(tmp_path / "run", "r", entries, {"a.json": json.dumps({"response": "x"})})
    manifest = json.loads((folder / "manifest.json").read_text()) | {"baselines": ["other"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    golds = lines(tmp_path / "golds.jsonl", GOLD | {"correct_outcome_types": ["accuracy", "acuracy"]})
    tasks = lines(tmp_path / "tasks.jsonl", {"id": "Q1", "question": "?"})
    checked = check([str(folder)], pack="eduevidence", golds=golds, tasks=tasks)
    assert checked.exit_code == ExitCode.DONE
    notes = " | ".join(said(checked, "note"))
    for wanted in (
        "Q1 correct_outcome_types[1] 'acuracy' is no outcome that the pack can read out",
        "systems that the manifest does not name: s",
        "1 task with no gold: Q9",
        "1 task with no row in the file of tasks: Q9",
    ):
        assert wanted in notes
    without = check([str(folder)], pack="eduevidence")
    assert any("none were named: --golds PATH" in note for note in said(without, "note"))


def test_every_ruleset_of_a_pack_is_checked(tmp_path: Path) -> None:
    """A misspelt key is found in a ruleset that is not the default one, and the exit code is that of a pack."""
    folder = tmp_path / "own"
    shutil.copytree(REPO / "datasets" / "eduevidence", folder, ignore=shutil.ignore_patterns("sample"))
    assert check([str(folder)]).exit_code == ExitCode.DONE
    text = (folder / "pack.toml").read_text()
    (folder / "pack.toml").write_text(
        text + '\n[[rulesets.other.metrics]]\nname = "m"\nkind = "markr"\nrange = [0, 1]\n'
    )
    ended = run_scorer("check", folder)
    assert ended.code == ExitCode.USAGE
    assert "rulesets.other.metrics[0].kind: 'markr' is no kind; did you mean 'marker'?" in ended.out
    named = check([str(SAMPLE)], pack=str(folder))
    assert named.exit_code == ExitCode.USAGE
    assert "nothing else was checked" in said(named, "note")[0]


def test_every_built_in_pack_is_right() -> None:
    packs = sorted(path.parent for path in (REPO / "datasets").glob("*/pack.toml"))
    assert len(packs) >= 3
    assert check([str(pack) for pack in packs]).findings == []


def test_judgements_are_checked_as_the_import_reads_them(tmp_path: Path) -> None:
    good = check([str(GIS / "judgements.jsonl")], pack="gis-bench", tasks=GIS / "tasks.jsonl")
    assert good.findings == []
    assert good.looked_at[-1] == "judgements: 405 evaluations: 6 blank_output, 9 no_output, 390 ok"
    first = json.loads((GIS / "judgements.jsonl").read_text().splitlines()[0])
    high = first | {"scores": first["scores"] | {"exists": 21}, "evaluation": 2}
    unknown = first | {"task_no": 99}
    files = lines(tmp_path / "j.jsonl", first, high), lines(tmp_path / "k.jsonl", unknown)
    checked = check([str(files[0])], pack="gis-bench", tasks=GIS / "tasks.jsonl")
    assert checked.exit_code == ExitCode.PARTLY
    assert "exists" in said(checked, "rejected")[0]
    assert check([str(files[1])], pack="gis-bench").exit_code == ExitCode.BAD_INPUT


def test_references_that_no_metric_can_use_are_mistakes(tmp_path: Path) -> None:
    attempts = lines(tmp_path / "a.jsonl", {"task_id": "a", "system": "s", "repeat": 1, "response": "x"})
    golds = lines(tmp_path / "g.jsonl", {"id": "a", "numbers": ["forty-x"], "patterns": ["("]})
    checked = check([str(attempts)], pack="qa", golds=golds)
    assert checked.exit_code == ExitCode.BAD_INPUT
    mistakes = " | ".join(said(checked, "mistake"))
    assert "'forty-x' is no number" in mistakes
    assert "'(' is no regular expression" in mistakes


def test_a_wrong_mapping_is_a_mistake(tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text("[field]\nx = 'system'\n")
    checked = check([str(GIS / "judgements.jsonl")], pack="gis-bench", mapping=mapping)
    assert checked.exit_code == ExitCode.BAD_INPUT
    assert "did you mean 'fields'" in said(checked, "mistake")[0]


def test_without_a_pack_our_own_names_are_read(tmp_path: Path) -> None:
    ours = lines(tmp_path / "ours.jsonl", {"task_id": "t", "system": "s", "response": "x"})
    checked = check([str(ours)])
    assert checked.exit_code == ExitCode.DONE
    assert "repeat is absent" in said(checked, "note")[0]
    theirs = lines(tmp_path / "theirs.jsonl", row(1))
    assert check([str(theirs)]).exit_code == ExitCode.BAD_INPUT
    with pytest.raises(UsageError, match="name it with --pack"):
        check([str(ours)], golds=tmp_path)
    with pytest.raises(UsageError, match="nothing to check"):
        check([])


def test_standard_input_is_read() -> None:
    text = json.dumps({"task_id": "t", "system": "s", "repeat": 1, "response": 3}).encode()
    ended = run_scorer("check", "-", stdin=text)
    assert ended.code == ExitCode.PARTLY
    assert "fault     <stdin>: line 1" in ended.out

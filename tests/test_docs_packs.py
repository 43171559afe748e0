"""docs/packs.md tells the truth: a newcomer who types what stands there gets what it says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from scorer.metrics import KINDS
from scorer.metrics.answers.normalize import STEPS
from scorer.metrics.answers.tokens import TOKENIZERS
from tests.conftest import REPO, Ended, run_scorer

PAGE = (REPO / "docs" / "packs.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    scorer (.+)$", PAGE, re.MULTILINE)
FILES = re.findall(r"^`([^`]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
OF_ANSWERS = {name for name, kind in KINDS.items() if kind.__module__.startswith("scorer.metrics.answers")}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Ended]]:
    """Type every command of the page in order, in a folder with the files that the page shows."""
    folder = tmp_path_factory.mktemp("packs")
    for name, text in FILES:
        (folder / name).write_text(text, encoding="utf-8")
    return folder, {command: run_scorer(*shlex.split(command), cwd=folder) for command in COMMANDS}


def test_every_command_of_the_page_runs(typed: tuple[Path, dict[str, Ended]]) -> None:
    _, ended = typed
    assert [name for name, _ in FILES] == ["questions.csv", "answers.csv"]
    assert len(ended) >= 10
    for command, each in ended.items():
        assert each.code == 0, f"scorer {command}\n{each.err}"


def test_the_answers_of_the_page_score_as_a_reader_expects(typed: tuple[Path, dict[str, Ended]]) -> None:
    folder, _ = typed
    table = pl.read_csv(folder / "scores.csv").filter(pl.col("metric") == "correct")
    found = {(row["system"], row["task_id"]): row["value"] for row in table.iter_rows(named=True)}
    for question in ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7"):
        assert found["large", question] == 1
    assert found["large", "Q8"] > 0.7
    wrong = {question: found["small", question] for question in ("Q1", "Q2", "Q3", "Q4", "Q6")}
    assert wrong == dict.fromkeys(wrong, 0)
    assert (found["small", "Q5"], found["small", "Q7"]) == (1, 0.5)


def test_the_report_and_the_comparison_say_which_is_better(typed: tuple[Path, dict[str, Ended]]) -> None:
    folder, ended = typed
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "correct" in report
    assert "By language" in report
    assert "large is better than small" in ended["compare results --metric correct"].out
    assert "11000 m" in ended["explain results Q2-large-a1 --pack quiz"].out


def test_the_page_names_every_kind_step_and_tokenizer() -> None:
    for names in (OF_ANSWERS, STEPS, TOKENIZERS):
        assert [name for name in names if f"| `{name}` |" not in PAGE] == []


def test_the_metric_of_the_page_is_one_that_loads(tmp_path: Path) -> None:
    """The example of a metric can be put into a new pack as it stands."""
    (example,) = (block for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
    assert run_scorer("packs", "new", tmp_path / "quiz").code == 0
    pack = tmp_path / "quiz" / "pack.toml"
    text = pack.read_text(encoding="utf-8")
    pack.write_text(text + "\n" + example.replace('name = "number"', 'name = "near"'), encoding="utf-8")
    shown = run_scorer("packs", tmp_path / "quiz")
    assert shown.code == 0, shown.err
    assert re.search(r"near +absolute +0\.5", shown.out)


def test_a_new_pack_is_not_put_over_another(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    ended = run_scorer("packs", "new", tmp_path)
    assert ended.code == 2
    assert "is there already; name a new or an empty folder" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_new_pack_has_its_folders_name_and_a_sample_that_scores(tmp_path: Path) -> None:
    folder = tmp_path / '我的 "test"'
    made = run_scorer("packs", "new", folder)
    assert made.code == 0, made.err
    (following,) = re.findall(r"^next      scorer (.+)$", made.err, re.MULTILINE)
    ended = run_scorer(*shlex.split(following), cwd=tmp_path)
    assert ended.code == 0, ended.err
    run = json.loads(run_scorer("sql", "results", "from runs", "--format", "json", cwd=tmp_path).out)[0]
    assert (run["benchmark"], run["mode"]) == ('我的 "test"', "simulated")


def test_new_needs_a_folder_and_a_name_takes_none() -> None:
    assert run_scorer("packs", "new").code == 2
    assert run_scorer("packs", "qa", "folder").code == 2


@pytest.mark.parametrize(
    ("pack", "parts"),
    [
        ("qa", ["rouge_l", "primary", "nfc, width, lowercase", "答案是", "bigrams/1", "units.m", "metrics"]),
        ("eduevidence", ["unit_recall", "contradiction_hints (below)", "没有显著", "0.2"]),
        ("gis-bench", ["spatial_location", "0 to 15", "mean_of_rounded"]),
    ],
)
def test_packs_shows_metrics_ranges_parameters_and_words(pack: str, parts: list[str]) -> None:
    shown = run_scorer("packs", pack)
    assert shown.code == 0
    assert [part for part in parts if part not in shown.out] == []

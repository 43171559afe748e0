"""The README tells the truth: every command in it runs, and every command of the tool is in it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest

from scorer.cli import app
from tests.conftest import REPO, SAMPLE, run_scorer

README = (REPO / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    scorer (.+?)(?:\s{2,}#.*)?$", README, re.MULTILINE)
JUDGEMENTS = REPO / "datasets" / "gis-bench" / "sample" / "judgements.jsonl"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the README's examples name."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(SAMPLE, folder / "datasets" / "eduevidence" / "sample")
    shutil.copytree(SAMPLE / "golds", folder / "golds")
    shutil.copy(SAMPLE / "questions.jsonl", folder / "questions.jsonl")
    shutil.copy(JUDGEMENTS, folder / "judgements.jsonl")
    rows = [{"task_id": f"Q{n:02}", "system": "x", "response": "pilot"} for n in range(1, 9)]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pl.DataFrame([row | {"system": "y"} for row in rows]).write_parquet(folder / "more.parquet")
    return folder


def filled(command: str, place: Path) -> list[str]:
    """Return the words of a command, an attempt's id in the place of ATTEMPT_ID, one run named where it must be."""
    words = shlex.split(command)
    if "ATTEMPT_ID" in words:
        attempts = pl.read_parquet(str(place / "results" / "*" / "attempts.parquet"))
        words[words.index("ATTEMPT_ID")] = attempts.filter(status="completed")["attempt_id"][0]
    return words


def test_every_command_of_the_readme_runs(place: Path) -> None:
    """In the order of the README, in one folder, as a reader would type them."""
    assert len(COMMANDS) > 12
    for command in COMMANDS:
        ended = run_scorer(*filled(command, place), cwd=place)
        assert ended.code == 0, f"scorer {command}\n{ended.err}"


def test_every_command_of_the_tool_is_in_the_readme() -> None:
    names = [command.name for command in app.registered_commands]
    names += [group.typer_instance.info.name for group in app.registered_groups if group.typer_instance]
    missing = [name for name in names if not re.search(rf"scorer {name}\b", README)]
    assert missing == []


def test_every_document_that_the_readme_names_is_there() -> None:
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (REPO / path).exists(), path

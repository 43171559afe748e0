"""docs/statistics.md holds: its commands run, what it quotes comes out, and it explains every flag."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.conftest import REPO, run_scorer

PAGE = (REPO / "docs" / "statistics.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^    (scorer .*)$", PAGE, re.MULTILINE)]
QUOTES = [
    " ".join(re.findall(r"^> (.*)$", block, re.MULTILINE)) for block in re.findall(r"(?:^> .*\n)+", PAGE, re.MULTILINE)
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the page's commands print, one after the other, in a folder that has the sample."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "datasets").symlink_to(REPO / "datasets")
    outputs = []
    for command in COMMANDS:
        ended = run_scorer(*command, cwd=folder)
        assert ended.code == 0, (command, ended.err)
        outputs.append(ended.out)
    return re.sub(r"\s+", " ", " ".join(outputs))


def test_what_the_page_quotes_is_what_its_commands_print(printed: str) -> None:
    assert len(COMMANDS) >= 7
    assert len(QUOTES) == 4
    for quote in QUOTES:
        assert quote in printed


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "docs/statistics.md", "exec"), {})
    assert capsys.readouterr().out.startswith("accuracy: a is better than b by 0.25 [")


def test_every_flag_is_explained_and_none_that_there_is_not() -> None:
    explained = set(re.findall(r"^\| `([^`]+)` \|", PAGE[PAGE.index("## Flags") :], re.MULTILINE))
    flag = r"[a-z_]{4,}|n<\d+"
    found = set()
    for query in (REPO / "sql").glob("*.sql"):
        text = query.read_text(encoding="utf-8")
        for listed in re.findall(r"list_filter\(\[(.*?)\], lambda flag", text, re.DOTALL):
            found |= set(re.findall(rf"'({flag})'", listed))
        found |= set(re.findall(rf"\['({flag})'\]\) as flags", text))
    for module in Path(sys.modules["scorer"].__path__[0], "aggregate").glob("*.py"):
        text = module.read_text(encoding="utf-8")
        found |= set(re.findall(rf'pl\.lit\(\[?"({flag})"\]?\)', text)) & (explained | {"smallest_p_above_alpha"})
        found |= set(re.findall(rf'flags\w*(?:"\])?\.append\("({flag})"\)', text))
        found |= set(re.findall(r'"(n<\d+)"', text))
    assert found == explained

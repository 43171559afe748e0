"""The Python API: the documented examples, frames of every kind in and out, and what a notebook shows."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import scorer
from scorer.errors import InputError, UsageError
from scorer.explain.printing import explanation_text
from scorer.pipeline import stored
from scorer.pipeline.judging import import_judgements
from scorer.tables import TABLES
from tests.conftest import REPO, SAMPLE

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>&amp;\"'\x1b[2J"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("api") / "store"
    scorer.score(SAMPLE, "eduevidence", store)
    return store


@pytest.fixture
def results(store: Path) -> Iterator[scorer.OpenStore]:
    with scorer.open(store) as opened:
        yield opened


# --- the document -----------------------------------------------------------------------------------------------------


def test_the_examples_of_the_document_give_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example in docs/api.md is run, in the order of the page, as in a clone."""
    (tmp_path / "datasets").symlink_to(REPO / "datasets")
    monkeypatch.chdir(tmp_path)
    text = (REPO / "docs" / "api.md").read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_doctest(text, {}, "docs/api.md", None, 0)
    assert len(examples.examples) > 20
    told: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False).run(examples, out=told.append)
    assert failed == 0, "".join(told)


# --- by name ----------------------------------------------------------------------------------------------------------


def in_a_process(code: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
    return ended.stdout.decode().strip()


def test_importing_scorer_imports_nothing_heavy() -> None:
    heavy = "{'polars', 'duckdb', 'pyarrow', 'scipy', 'typer', 'rich', 'prompt_toolkit'}"
    assert in_a_process(f"import sys, scorer; print(sorted({heavy} & sys.modules.keys()))") == "[]"


def test_the_function_score_goes_before_the_module_of_that_name() -> None:
    """Whatever was imported before, `scorer.score` is the function, and the module is still there to import from."""
    code = """
import scorer.score, scorer.pipeline
from scorer import score
from scorer.score import score_batch
import scorer
print(scorer.score is scorer.pipeline.score is score, score_batch.__name__)
"""
    assert in_a_process(code) == "True score_batch"


def test_names_are_listed_and_unknown_ones_are_refused() -> None:
    assert {"score", "compare", "open", "Data", "__version__"} <= set(dir(scorer))
    assert all(getattr(scorer, name) is not None for name in dir(scorer))
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        scorer.scores  # noqa: B018


# --- frames in --------------------------------------------------------------------------------------------------------

ROWS: dict[str, list[Any]] = {
    "task_id": ["t1", "t2", "t1", "t2"],
    "system": ["a", "a", "b", "b"],
    "response": ["accuracy, pilot", "正确率", "We adopt it", ""],
}
GOLDS: dict[str, list[Any]] = {
    "id": ["t1", "t2"],
    "correct_outcome_types": [["accuracy"], ["accuracy", "transfer"]],
    "expected_decision_range": [["pilot"], None],
}
TASKS: dict[str, list[Any]] = {"id": ["t1", "t2"], "question": ["?", None], "level": ["S", "M"]}


class Stream:
    """Something of another library that offers its rows as an Arrow C stream and nothing else."""

    def __init__(self, rows: dict[str, list[Any]]) -> None:
        self.table = pa.table(rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pa.table, Stream])
def test_frames_of_every_kind_give_what_files_give(make: Any, tmp_path: Path) -> None:
    """Attempts, golds and tasks as frames or Arrow streams make the tables that the same rows in files make."""
    for name, rows in (("attempts", ROWS), ("golds", GOLDS), ("tasks", TASKS)):
        pl.DataFrame(rows).write_ndjson(tmp_path / f"{name}.jsonl")
    files = {name: tmp_path / f"{name}.jsonl" for name in ("golds", "tasks")}
    scorer.score(tmp_path / "attempts.jsonl", "eduevidence", tmp_path / "files", **files)
    scorer.score([make(ROWS)], "eduevidence", tmp_path / "frames", golds=make(GOLDS), tasks=make(TASKS))
    with scorer.open(tmp_path / "files") as one, scorer.open(tmp_path / "frames") as other:
        for name in TABLES:
            assert one.table(name).collect().equals(other.table(name).collect()), name


def test_mistakes_in_frames_are_named_by_row(tmp_path: Path) -> None:
    """All at once: a gold id twice, a list that is a text, a task without a name."""
    golds = pl.DataFrame({"id": ["t1", "t1"], "correct_outcome_types": ["accuracy", "accuracy"]})
    tasks = pl.DataFrame({"id": ["t1", None]})
    with pytest.raises(InputError) as caught:
        scorer.score(pl.DataFrame(ROWS), "eduevidence", tmp_path / "store", golds=golds, tasks=tasks)
    problems = [f"{problem.source} {problem.place}: {problem.message}" for problem in caught.value.problems]
    assert len(problems) == 4
    assert "<frame> row 2: a second gold for 't1'" in "\n".join(problems)
    assert not (tmp_path / "store").exists()
    with pytest.raises(UsageError, match="give a path, a Polars frame or an Arrow C stream, not int"):
        scorer.score(7, "eduevidence", tmp_path / "store", golds=golds)


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pa.table, Stream])
def test_scores_of_other_tools_are_compared_from_any_frame(make: Any, tmp_path: Path) -> None:
    rows = {
        "system": ["a"] * 3 + ["b"] * 3,
        "task_id": ["1", "2", "3"] * 2,
        "metric": ["m"] * 6,
        "value": [1.0, 0.5, 1.0, 0.0, 0.5, 0.25],
        "kind": ["x", "x", "y"] * 2,
    }
    pl.DataFrame(rows).write_parquet(tmp_path / "scores.parquet")
    made = scorer.compare(make(rows), strata=["kind"])
    from_file = scorer.compare(tmp_path / "scores.parquet", strata=["kind"])
    assert made.comparisons.equals(from_file.comparisons)
    assert set(made.comparisons["level"]) == {None, "x", "y"}


# --- a store ----------------------------------------------------------------------------------------------------------


def test_every_table_is_a_lazy_frame_with_its_contract(results: scorer.OpenStore) -> None:
    for name, table in TABLES.items():
        frame = getattr(results, name)
        assert isinstance(frame, pl.LazyFrame)
        assert frame.collect_schema() == table.schema
        assert name in dir(results)
    with pytest.raises(AttributeError, match="has no 'score'; its tables: runs"):
        results.score  # noqa: B018
    with pytest.raises(UsageError, match="no table 'score'"):
        results.table("score")
    with pytest.raises(UsageError, match="no run 'x'"):
        results.table("scores", "x")


def test_what_is_open_stays_while_somebody_scores_again(tmp_path: Path) -> None:
    attempts = pl.DataFrame(ROWS)
    scorer.score(attempts, "eduevidence", tmp_path / "s", golds=pl.DataFrame(GOLDS), run_id="r")
    with scorer.open(tmp_path / "s") as opened:
        fewer = attempts.head(2)
        scorer.score(fewer, "eduevidence", tmp_path / "s", golds=pl.DataFrame(GOLDS), run_id="r", replace=True)
        assert opened.attempts.collect().height == 4
        assert opened.sql("select count(*) as n from attempts").item() == 4
        assert opened.explain("t1-b-a1").response == "We adopt it"
        with scorer.open(tmp_path / "s") as again:
            assert again.attempts.collect().height == 2


def test_summary_comparison_and_explanation_are_those_of_the_pipeline(results: scorer.OpenStore, store: Path) -> None:
    report = stored.report(store)
    overall = results.summary().filter(pl.col("stratum").is_null())
    assert dict(overall.select("system", "mean").iter_rows())
    for metric, system, mean in report.overall.select("metric", "system", "mean").iter_rows():
        assert overall.filter(metric=metric, system=system)["mean"].item() == mean
    assert results.report().overall.equals(report.overall)
    compared = results.compare(baseline="direct_answer")
    assert compared.comparisons.equals(scorer.compare(store, baseline="direct_answer").comparisons)
    assert results.explain("E01-evidence_agent-1") == stored.explain(store, "E01-evidence_agent-1")


def test_a_store_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no store here"):
        scorer.open(tmp_path / "nowhere")


# --- what a notebook shows --------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Gathers the elements of a piece of HTML, and what may make one do something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.shown = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.open.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.shown += data


def test_what_a_notebook_shows_is_text_whatever_the_data_hold(tmp_path: Path) -> None:
    """Ids, answers, flags and paths full of markup come out as text, in well-formed elements that can do nothing."""
    attempts = pl.DataFrame(
        {
            "attempt_id": [f"{HOSTILE}{number}" for number in range(4)],
            "task_id": [f"t{HOSTILE}", "u"] * 2,
            "system": [f"a{HOSTILE}"] * 2 + [f"b{HOSTILE}"] * 2,
            "response": [f"pilot {HOSTILE} 正确率"] * 4,
            "status": ["completed", "completed", "completed", f"failed {HOSTILE}"],
        }
    )
    golds = pl.DataFrame({"id": [f"t{HOSTILE}", "u"], "correct_outcome_types": [["accuracy"], [HOSTILE]]})
    place = tmp_path / "<b>store"
    account = scorer.score(attempts, "eduevidence", place, golds=golds, run_id=f"r{HOSTILE}")
    with scorer.open(place) as opened:
        shown = [account, opened, opened.report(), opened.compare(), opened.explain(f"{HOSTILE}0")]
        for each in shown:
            html = each._repr_html_()
            tags = Tags(html)
            assert tags.open == []
            assert tags.names <= {"table", "thead", "tbody", "tr", "th", "td", "p", "code", "h4", "ul", "li", "pre"} | {
                "strong",
                "span",
            }
            assert tags.attributes <= {"style", "scope"}
            assert "<script>alert(1)</script>" in tags.shown, type(each)
            assert "\x1b" not in html


def test_a_simulated_run_says_so_in_a_notebook(results: scorer.OpenStore) -> None:
    for each in (results.report(), results.compare()):
        html = each._repr_html_()
        notice = "SIMULATED, harness validation only, not model performance"
        assert html.count(f"<p><strong>{notice}</strong></p>") == 2


def test_the_report_of_a_rubric_shows_its_leaderboard_in_a_notebook(tmp_path: Path) -> None:
    sample = REPO / "datasets" / "gis-bench" / "sample"
    import_judgements([sample / "judgements.jsonl"], "gis-bench", tmp_path / "store", tasks=sample / "tasks.jsonl")
    with scorer.open(tmp_path / "store") as opened:
        html = opened.report()._repr_html_()
    assert html.index("<h4>Leaderboard</h4>") < html.index("<h4>Systems</h4>")


def test_the_explanation_in_a_notebook_is_that_of_the_terminal(results: scorer.OpenStore) -> None:
    explanation = results.explain("E01-evidence_agent-1")
    plain = Tags(explanation._repr_html_()).shown
    assert plain == explanation_text(explanation).plain
    assert json.loads(json.dumps(explanation.as_dict()))["attempt_id"] == "E01-evidence_agent-1"

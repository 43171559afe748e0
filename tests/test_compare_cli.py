"""`scorer compare` as a user runs it: on a store and on scores of any other tool, in every format."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import SAMPLE, Ended, run_scorer
from tests.statistics_data import frame_of

A = [0.9, 0.4, 0.7, 1.0, 0.55, 0.65, 0.3, 0.85]
B = [0.5, 0.45, 0.2, 0.9, 0.5, 0.05, 0.35, 0.5]


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """Two systems and two metrics as CSV, with a stratum."""
    path = tmp_path / "scores.csv"
    first = frame_of({"A": A, "B": B}, "first")
    second = frame_of({"A": [1, 0] * 4, "B": [0, 0] * 4}, "second")
    level = pl.when(pl.col("task_id") < "q0004").then(pl.lit("easy")).otherwise(pl.lit("hard")).alias("level")
    pl.concat([first, second]).with_columns(level).write_csv(path)
    return path


def as_json(ended: Ended) -> dict[str, Any]:
    assert ended.code == 0, ended.err
    return dict(json.loads(ended.out))


def test_json_holds_every_table_and_the_sentences(scores: Path) -> None:
    made = as_json(run_scorer("compare", scores, "--format", "json"))
    assert list(made) == ["summary", "comparisons", "mcnemar", "variance", "reliability", "notes"]
    first, second = made["comparisons"]
    assert (first["metric"], first["system_a"], first["system_b"], first["n_questions"]) == ("first", "A", "B", 8)
    assert first["difference"] == pytest.approx((sum(A) - sum(B)) / 8)
    assert first["flags"] == ["n<30", "smallest_p_above_alpha"] or first["flags"] == ["n<30"]
    assert "run_a" not in first, "the runs are not different"
    assert second["p_adjusted"] == pytest.approx(max(2 * min(first["p_value"], second["p_value"]), second["p_value"]))
    assert made["mcnemar"][0]["a_only"] == 4
    assert any(note.startswith("first: A is better than B by 0.24 [0.02, 0.45]") for note in made["notes"])


def test_csv_holds_the_comparisons(scores: Path) -> None:
    ended = run_scorer("compare", scores, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    made = as_json(run_scorer("compare", scores, "--format", "json"))
    assert [float(row["p_value"]) for row in rows] == [row["p_value"] for row in made["comparisons"]]
    assert rows[0]["flags"].startswith('["n<30"')


def test_text_and_markdown_show_the_same_figures(scores: Path) -> None:
    text = run_scorer("compare", scores).out
    markdown = run_scorer("compare", scores, "--format", "markdown").out
    for said in (
        "Systems",
        "Comparisons: A is A, B is B",
        "Tests and effects",
        "McNemar",
        "In words",
        "0.2375",
        "1: Holm over 2",
    ):
        assert said in text
        assert said in markdown
    assert "| first |" in markdown
    assert "|" not in text.splitlines()[3]


def test_the_result_goes_to_a_file_and_nothing_to_stdout(scores: Path, tmp_path: Path) -> None:
    ended = run_scorer("compare", scores, "--format", "json", "--to", tmp_path / "out.json")
    assert (ended.code, ended.out) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["comparisons"]


def test_two_sides_in_the_order_given(scores: Path) -> None:
    made = as_json(run_scorer("compare", scores, "--systems", "B", "A", "--metric", "first", "--format", "json"))
    (row,) = made["comparisons"]
    assert (row["system_a"], row["system_b"], row["family_size"]) == ("B", "A", 2)
    assert row["difference"] == pytest.approx((sum(B) - sum(A)) / 8)
    assert any("first is the caller's choice" in note for note in made["notes"])


def test_a_stratum_is_a_column_of_the_file(scores: Path) -> None:
    made = as_json(run_scorer("compare", scores, "--stratum", "level", "--format", "json"))
    levels = [(row["metric"], row["level"], row["n_questions"]) for row in made["comparisons"] if row["stratum"]]
    assert levels == [(metric, level, 4) for metric in ("first", "second") for level in ("easy", "hard")]
    assert {row["level"] for row in made["summary"]} == {None, "easy", "hard"}


def test_ranges_and_directions(scores: Path) -> None:
    made = as_json(
        run_scorer("compare", scores, "--range", "first=0:2:lower", "--range", "second=-1:1", "--format", "json")
    )
    assert made["notes"][0].startswith("first: B is better than A by 0.24")
    for text in ("first", "first=1", "first=0:1:higher", "first=0:x"):
        ended = run_scorer("compare", scores, "--range", text)
        assert (ended.code, ended.out) == (2, "")
        assert "write LOW:HIGH" in ended.err
    assert run_scorer("compare", scores, "--range", "first=0:0.5").code == 3
    assert "outside the range" in run_scorer("compare", scores, "--range", "first=0:0.5").err


def test_level_seed_and_interval_are_the_callers(scores: Path) -> None:
    made = as_json(
        run_scorer("compare", scores, "--alpha", "0.1", "--interval", "cluster_t", "--seed", "7", "--format", "json")
    )
    assert {row["ci_method"] for row in made["summary"]} == {"cluster_t"}
    assert {row["conf_level"] for row in [*made["summary"], *made["comparisons"]]} == {0.9}
    assert run_scorer("compare", scores, "--interval", "wald").code == 2
    assert run_scorer("compare", scores, "--alpha", "5").code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--systems", "A", "C"], 2, "no system 'C'"),
        (["--baseline", "a"], 2, "no system 'a'"),
        (["--metric", "frist"], 2, "did you mean 'first'"),
        (["--stratum", "levels"], 3, "no column 'levels'; did you mean 'level'"),
        (["--format", "xml"], 2, "no 'xml'"),
    ],
)
def test_mistakes_end_in_a_sentence_and_a_code(scores: Path, arguments: list[str], code: int, said: str) -> None:
    ended = run_scorer("compare", scores, *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_bad_scores_are_named_by_file_and_row(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("system,task_id,metric,value\nA,1,m,NaN\nA,1,m,inf\nB,1,m,1\n")
    ended = run_scorer("compare", path)
    assert (ended.code, ended.out) == (3, "")
    assert f"{path}: row 1: value is nan" in ended.err
    assert f"{path}: row 2: value is inf" in ended.err
    assert f"{path}: row 2: the same score as in row 1" in ended.err


def test_no_store_and_no_file_is_said(tmp_path: Path) -> None:
    assert run_scorer("compare", tmp_path / "none").code == 3
    assert run_scorer("compare", tmp_path).code == 3
    assert "no run" in run_scorer("compare", tmp_path).err


def test_names_cannot_write_on_the_page(tmp_path: Path) -> None:
    """A system may be called anything; it stays in its cell and its line."""
    path = tmp_path / "scores.csv"
    frame_of({"evil | name\n## heading": A, "B": B}).write_csv(path)
    markdown = run_scorer("compare", path, "--format", "markdown").out
    assert not [line for line in markdown.splitlines() if line.startswith("## heading")]
    assert "evil \\| name" in markdown
    text = run_scorer("compare", path).out
    assert not [line for line in text.splitlines() if line.startswith("## heading")]


# --- a store ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled sample, scored."""
    out = tmp_path_factory.mktemp("compare") / "store"
    ended = run_scorer("score", SAMPLE, "--pack", "eduevidence", "--golds", SAMPLE / "golds", "--out", out)
    assert ended.code in (0, 4), ended.err
    return out


def test_a_store_is_compared_by_question_with_its_mode_said(store: Path) -> None:
    made = as_json(run_scorer("compare", store, "--format", "json"))
    assert made["notice"].startswith("SIMULATED")
    systems = {row["system"] for row in made["summary"]}
    assert len(made["comparisons"]) == 6 * math.comb(len(systems), 2)
    assert {row["family_size"] for row in made["comparisons"]} == {len(made["comparisons"])}
    text = run_scorer("compare", store).out
    assert text.splitlines()[0].startswith("SIMULATED")
    assert text.splitlines()[-1].startswith("SIMULATED")


def test_a_store_and_its_exported_scores_say_the_same(store: Path, tmp_path: Path) -> None:
    assert run_scorer("export", store, "scores", "--to", tmp_path / "scores.parquet").code == 0
    stored = as_json(run_scorer("compare", store, "--format", "json"))
    exported = as_json(run_scorer("compare", tmp_path / "scores.parquet", "--format", "json"))
    figures = ("metric", "system_a", "system_b", "difference", "p_value", "p_adjusted", "n_questions")
    assert [[row[name] for name in figures] for row in stored["comparisons"]] == [
        [row[name] for name in figures] for row in exported["comparisons"]
    ]


def test_a_store_breaks_down_by_its_strata(store: Path) -> None:
    made = as_json(run_scorer("compare", store, "--stratum", "level", "--format", "json"))
    assert len({row["level"] for row in made["comparisons"] if row["stratum"] == "level"}) > 1
    assert run_scorer("compare", store, "--stratum", "nothing").code == 2


# --- the published run ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_store(real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("real") / "store"
    ended = run_scorer(
        "score",
        real_run / "run-empirical-01",
        "--pack",
        "eduevidence",
        "--golds",
        real_run / "annotations",
        "--tasks",
        real_run / "questions.jsonl",
        "--out",
        out,
    )
    assert ended.code == 0, ended.err
    return out


def test_the_published_run_by_question(real_store: Path) -> None:
    """Ten questions, not thirty attempts: no metric is significant after Holm, and the page says what could be seen."""
    made = as_json(
        run_scorer("compare", real_store, "--systems", "B3_eduevidence_single", "B2_standard_agent", "--format", "json")
    )
    rows = {row["metric"]: row for row in made["comparisons"]}
    assert {row["n_questions"] for row in rows.values()} == {10}
    assert {row["family_size"] for row in rows.values()} == {6}
    scope = rows["scope_calibration"]
    assert scope["p_value"] == scope["p_smallest"] == 2**-6
    assert scope["p_adjusted"] == pytest.approx(6 * 2**-6)
    assert all(row["p_adjusted"] > 0.05 and row["mde"] > 0.15 for row in rows.values())
    assert any(
        note.startswith(
            "scope_calibration: B3_eduevidence_single is better than B2_standard_agent by 0.37 [0.13, 0.60], "
            "p = 0.016, 0.094 after Holm over 6: not significant at 0.05; 10 questions could show 0.33 or more"
        )
        for note in made["notes"]
    )

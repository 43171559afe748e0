"""Golds and tasks as people keep them: CSV, one answer where a list belongs, numbers as numbers, several columns."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from scorer import ingest
from scorer.errors import InputError, UsageError
from scorer.packs import Golds, Tasks

LOOSE = Golds(lists=("answers", "numbers"), separator="||", columns={"answer": "answers", "answer_2": "answers"})
STRICT = Golds(lists=("answers", "numbers"))


def rows(frame: pl.DataFrame) -> list[tuple[str, str, int, str]]:
    return [row for row in frame.rows() if row[1] != "id"]


def test_one_answer_a_list_and_several_columns_come_to_the_same_golds(tmp_path: Path) -> None:
    forms = {
        "golds.jsonl": json.dumps({"id": "Q1", "answers": ["Paris", "巴黎"], "numbers": [3]}),
        "one.jsonl": json.dumps({"id": "Q1", "answers": "Paris || 巴黎", "numbers": 3}),
        "columns.jsonl": json.dumps({"id": "Q1", "answer": "Paris", "answer_2": "巴黎", "numbers": ["3"]}),
        "golds.csv": "id,question,answer,answer_2,numbers\nQ1,Which city?,Paris,巴黎,3\n",
        "list.csv": "id,answers,numbers\nQ1,Paris||巴黎||,3\n",
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert rows(ingest.read_golds(tmp_path / name, LOOSE)) == [
            ("Q1", "answers", 0, "Paris"),
            ("Q1", "answers", 1, "巴黎"),
            ("Q1", "numbers", 0, "3"),
        ], name


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1234.5"), (True, "true"), (-7, "-7"), ("007", "007")])
def test_numbers_and_truth_values_are_taken_as_they_are_written(tmp_path: Path, value: object, text: str) -> None:
    path = tmp_path / "golds.jsonl"
    path.write_text(json.dumps({"id": "Q1", "answers": value}))
    assert rows(ingest.read_golds(path, LOOSE)) == [("Q1", "answers", 0, text)]


def test_an_empty_cell_is_no_reference(tmp_path: Path) -> None:
    path = tmp_path / "golds.csv"
    path.write_text("id,answers,answer_2,numbers\nQ1,,,\nQ2,,b,\n")
    assert rows(ingest.read_golds(path, LOOSE)) == [("Q2", "answers", 0, "b")]


def test_a_pack_without_a_separator_wants_lists_and_no_csv(tmp_path: Path) -> None:
    golds, table = tmp_path / "golds.jsonl", tmp_path / "golds.csv"
    golds.write_text(json.dumps({"id": "Q1", "answers": "Paris", "numbers": [3]}))
    with pytest.raises(InputError, match="answers: must be a list of texts, this is text") as error:
        ingest.read_golds(golds, STRICT)
    assert "numbers[0]: must be text, this is a number" in str(error.value)
    table.write_text("id,answers\nQ1,Paris\n")
    with pytest.raises(UsageError, match=r"read from a folder, \.jsonl, \.json or \.parquet, not from '\.csv'"):
        ingest.read_golds(table, STRICT)


def test_what_is_wrong_in_csv_golds_is_named_with_its_line_all_at_once(tmp_path: Path) -> None:
    path = tmp_path / "golds.csv"
    path.write_bytes(b"id,answers\nQ1,a\nQ1,b\nQ2,a,b\n,c\n" + b"Q3,\xff\n")
    with pytest.raises(InputError) as error:
        ingest.read_golds(path, LOOSE)
    places = [(problem.place, problem.message.split(";")[0]) for problem in error.value.problems]
    assert ("line 3", "a second gold for 'Q1'") in places
    assert ("line 4", "3 cells under a header of 2") in places
    assert ("line 5 id", "the gold's id is missing") in places
    assert ("line 6", "the row is not UTF-8") in places


def test_a_structure_is_no_reference(tmp_path: Path) -> None:
    path = tmp_path / "golds.jsonl"
    path.write_text(json.dumps({"id": "Q1", "answers": {"a": 1}, "numbers": [[1]]}))
    with pytest.raises(InputError) as error:
        ingest.read_golds(path, LOOSE)
    assert [problem.place for problem in error.value.problems] == ["line 1 answers", "line 1 numbers[0]"]


def test_tasks_in_csv_are_those_in_jsonl(tmp_path: Path) -> None:
    form = Tasks(id="id", prompt="question", language="language", strata=("topic",))
    table, lines = tmp_path / "tasks.csv", tmp_path / "tasks.jsonl"
    table.write_text("id,question,language,topic,answer\nQ1,问题,zh,地理,x\nQ2,,,,y\n", encoding="utf-8")
    objects = [{"id": "Q1", "question": "问题", "language": "zh", "topic": "地理"}, {"id": "Q2"}]
    lines.write_text("\n".join(map(json.dumps, objects)))
    for ours, theirs in zip(ingest.read_tasks(table, form), ingest.read_tasks(lines, form), strict=True):
        assert ours.equals(theirs)


def test_a_ragged_row_of_tasks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("id,question\nQ1,a,b\n")
    with pytest.raises(InputError, match="line 2: 3 cells under a header of 2"):
        ingest.read_tasks(path, Tasks(id="id"))

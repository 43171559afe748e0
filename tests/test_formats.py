"""Frames as text: whatever a cell holds stays in its cell, and what is no number is no number."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest

from scorer.formats import (
    cell_text,
    csv_text,
    escape_controls,
    json_lines,
    json_rows,
    markdown_table,
    markdown_text,
    text_table,
)

HOSTILE = [
    "a|b",
    "line\nline",
    "`code`",
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "=1+1",
    '"quoted", comma',
    "[link](http://x)",
    "\u202egnirts",
    "中文 한국어",
    "nul\0",
    "\\|",
    "a\r\nb",
    "*bold* _it_",
]
FRAME = pl.DataFrame({"text": HOSTILE, "number": [float(n) for n in range(len(HOSTILE))]})


def test_a_cell_never_ends_its_row_or_column_in_markdown() -> None:
    lines = markdown_table(FRAME).splitlines()
    assert len(lines) == len(HOSTILE) + 2
    for line in lines:
        bare = line.replace("\\\\", "").replace("\\|", "")
        assert bare.count("|") == 3, line


def test_markdown_shows_text_as_it_is() -> None:
    assert markdown_text("snake_case_name") == "snake_case_name"
    assert markdown_text("_emphasis_") == "\\_emphasis\\_"
    assert markdown_text("a|b*c<d>`e`[f]") == "a\\|b\\*c\\<d\\>\\`e\\`\\[f\\]"


@pytest.mark.parametrize("width", [None, 40, 80])
def test_a_text_table_holds_no_control_character(width: int | None) -> None:
    shown = text_table(FRAME, width)
    assert not any(ord(c) < 32 and c != "\n" for c in shown)
    assert "\u202e" not in shown
    if width:
        assert all(len(line) <= width for line in shown.splitlines())


def test_controls_are_written_out_and_new_lines_stay() -> None:
    assert escape_controls("a\x1b\x07\x9b\n\tb\u202e") == "a\\x1b\\x07\\x9b\n\tb\\u202e"
    assert cell_text("a\nb") == "a\\nb"


def test_csv_gives_every_text_back() -> None:
    found = list(csv.DictReader(io.StringIO(csv_text(FRAME), newline="")))
    assert [row["text"] for row in found] == HOSTILE


def test_csv_tells_null_from_the_empty_text_and_writes_lists_as_json() -> None:
    frame = pl.DataFrame({"a": ["", None], "b": [["x", '"'], []]})
    assert csv_text(frame) == 'a,b\n"","[""x"", ""\\""""]"\n,[]\n'


def test_safe_csv_disarms_texts_and_headers_but_no_numbers() -> None:
    frame = pl.DataFrame({"=x": ["+1", "-1", "@a", "\tb", "\rc", "fine", None], "n": [-1, -2, -3, -4, -5, -6, -7]})
    rows = list(csv.reader(io.StringIO(csv_text(frame, safe=True), newline="")))
    assert rows[0] == ["'=x", "n"]
    assert [row[0] for row in rows[1:]] == ["'+1", "'-1", "'@a", "'\tb", "'\rc", "fine", ""]
    assert [row[1] for row in rows[1:]] == ["-1", "-2", "-3", "-4", "-5", "-6", "-7"]


def test_json_has_no_nan_and_no_infinity() -> None:
    frame = pl.DataFrame({"x": [float("nan"), float("inf"), 0.5], "l": [[float("nan")], [], [1.0]]})
    expected = [{"x": None, "l": [None]}, {"x": None, "l": []}, {"x": 0.5, "l": [1.0]}]
    assert json.loads(json_rows(frame)) == expected
    assert [json.loads(line) for line in json_lines(frame).splitlines()] == expected


def test_no_rows_are_an_empty_table_in_every_form() -> None:
    empty = FRAME.clear()
    assert json.loads(json_rows(empty)) == []
    assert json_lines(empty) == ""
    assert csv_text(empty) == "text,number\n"
    assert markdown_table(empty).count("\n") == 2
    assert "text" in text_table(empty)

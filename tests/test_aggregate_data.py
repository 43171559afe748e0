"""Scores come in from a store or from a file of any tool, and every mistake in them is named."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from scorer import tables
from scorer.aggregate import Data, compare, open_scores
from scorer.aggregate.data import SCORE
from scorer.errors import InputError, UsageError
from tests.statistics_data import frame_of

FRAME = frame_of({"A": [[1, 0], [1, 1]], "B": [[0, 0], [None, 1]]})


def test_the_least_that_scores_need() -> None:
    data = Data.from_scores(FRAME.filter(pl.col("repeat") == 1).select("system", "task_id", "metric", "value"))
    assert data.scores.schema == SCORE
    assert data.scores.select("benchmark", "run_id", "scorer", "repeat").unique().rows() == [("", "", "", 1)]
    assert data.runs.schema == tables.RUNS.schema
    assert data.runs["mode"].to_list() == ["unknown"]


def test_columns_that_are_not_known_are_not_read() -> None:
    assert Data.from_scores(FRAME.with_columns(note=pl.lit("x"))).scores.equals(Data.from_scores(FRAME).scores)


def test_truth_counts_as_one() -> None:
    frame = FRAME.filter(pl.col("repeat") == 1).with_columns(value=pl.Series([True, False, True, None]))
    assert Data.from_scores(frame).scores["value"].to_list() == [1, 0, 1, None]


def mistakes(frame: pl.DataFrame, **options: object) -> list[str]:
    with pytest.raises(InputError) as error:
        Data.from_scores(frame, source="scores.csv", **options)  # type: ignore[arg-type]
    return [str(problem) for problem in error.value.problems]


def test_a_missing_column_names_the_nearest() -> None:
    assert mistakes(FRAME.rename({"system": "systems", "value": "score"})) == [
        "scores.csv: no column 'system'; did you mean 'systems'?; scores need system, task_id, metric, value",
        "scores.csv: no column 'value'; known: metric, repeat, score, systems, task_id; "
        "scores need system, task_id, metric, value",
    ]
    assert mistakes(FRAME, strata=["level"])[0].startswith("scores.csv: no column 'level'")


def test_nan_and_infinities_are_named_by_row() -> None:
    values = pl.Series([1, float("nan"), 0, float("inf"), float("-inf"), 1e200, None, 0], dtype=pl.Float64)
    assert mistakes(FRAME.with_columns(value=values)) == [
        f"scores.csv: row {row}: value is {value}; give a finite number, or null with a reason"
        for row, value in ((2, "nan"), (4, "inf"), (5, "-inf"), (6, "1e+200"))
    ]


def test_the_same_score_twice_is_named_by_both_rows() -> None:
    assert mistakes(pl.concat([FRAME, FRAME[2:3]])) == [
        "scores.csv: row 9: the same score as in row 3: system A, task_id q0001, repeat 1, metric m; "
        "keep one, or number them in the column repeat"
    ]


def test_the_key_is_run_scorer_system_task_repeat_and_metric() -> None:
    for column in ("run_id", "scorer", "system", "task_id", "repeat", "metric"):
        other = FRAME.with_columns(pl.lit(9 if column == "repeat" else "other", FRAME.schema.get(column)).alias(column))
        frame = pl.concat([FRAME[:1], other[:1]], how="diagonal")
        assert Data.from_scores(frame).scores.height == 2, column


def test_values_that_are_no_numbers_are_named() -> None:
    frame = FRAME.with_columns(
        value=pl.Series(["1", "high", "0.5", "", "1e-3", " 0.25 ", "0,5", "1"]),
        repeat=pl.Series([1.0, 2, 3, 4, 1, 2, 1.5, 2]),
    )
    assert mistakes(frame) == [
        "scores.csv: row 7: repeat is 1.5, which is no whole number",
        "scores.csv: row 2: value is 'high', which is no number",
        "scores.csv: row 4: value is '', which is no number",
        "scores.csv: row 7: value is '0,5', which is no number",
    ]


def test_a_key_may_not_be_null() -> None:
    frame = FRAME.with_columns(pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise("system").alias("system"))
    assert mistakes(frame) == ["scores.csv: row 2: system is None, which is no name"]


def test_a_task_has_one_group_and_one_level() -> None:
    frame = FRAME.with_columns(group=pl.Series(["g", "g", "h", "h", "g", "x", "h", "h"]))
    assert mistakes(frame) == ["scores.csv: task q0000: column 'group' holds ['g', 'x']; a task has one"]
    level = FRAME.with_columns(level=pl.Series([None, "easy", "hard", None, "easy", None, "hard", "hard"]))
    data = Data.from_scores(level, strata=["level"])
    assert data.strata.select("task_id", "level").rows() == [("q0000", "easy"), ("q0001", "hard")]
    assert data.strata_names() == ["level"]


def test_a_run_has_one_mode() -> None:
    frame = FRAME.with_columns(mode=pl.Series(["simulated", "empirical"] * 4))
    assert mistakes(frame) == ["scores.csv: run '': column 'mode' holds several values; a run has one"]


def test_many_mistakes_are_counted() -> None:
    many = mistakes(frame_of({"A": [float("nan")] * 50}))
    assert len(many) == 21
    assert many[-1] == "scores.csv: and 30 more like these"


def test_a_store_whose_keys_repeat_is_refused() -> None:
    row = {"run_id": "r", "attempt_id": "a", "scorer": "s", "metric": "m", "task_id": "t", "system": "A", "repeat": 1}
    scores = pl.DataFrame([row | {"value": 1.0}, row | {"attempt_id": "b", "value": 0.0}], schema=tables.SCORES.schema)
    with pytest.raises(InputError, match="run_id r, scorer s, system A, task_id t, repeat 1, metric m: the same score"):
        Data.from_tables({"scores": scores})


# --- files ------------------------------------------------------------------------------------------------------------


def as_jsonl(frame: pl.DataFrame) -> str:
    return "".join(json.dumps(row) + "\n" for row in frame.to_dicts())


def test_csv_jsonl_and_parquet_say_the_same(tmp_path: Path) -> None:
    frame = FRAME.with_columns(task_id=pl.format("0{}", pl.col("task_id").str.slice(4)), reason=pl.lit("none given"))
    frame.write_csv(tmp_path / "s.csv")
    frame.write_csv(tmp_path / "bom.CSV", include_bom=True)
    frame.write_parquet(tmp_path / "s.parquet")
    (tmp_path / "s.jsonl").write_text("\n" + as_jsonl(frame), encoding="utf-8")
    expected = Data.from_scores(frame).scores
    for name in ("s.csv", "bom.CSV", "s.parquet", "s.jsonl"):
        assert open_scores(tmp_path / name).scores.equals(expected), name
    assert expected["task_id"].to_list()[0] == "00", "a name that looks like a number stays as it is"


def test_jsonl_takes_numbers_truths_and_the_nan_of_python(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    rows = [
        {"system": "A", "task_id": 7, "metric": "m", "value": True},
        {"system": "A", "task_id": "8", "metric": "m", "value": 1e-7},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert open_scores(path).scores.select("task_id", "value").rows() == [("7", 1.0), ("8", 1e-7)]
    path.write_text('{"system": "A", "task_id": "t", "metric": "m", "value": NaN}\n', encoding="utf-8")
    with pytest.raises(InputError, match="row 1: value is nan"):
        open_scores(path)


def test_lines_that_are_no_scores_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"system": "A"\n[1]\n', encoding="utf-8")
    with pytest.raises(InputError) as error:
        open_scores(path)
    assert [problem.place for problem in error.value.problems] == ["line 1", "line 2"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("s.csv", b"", "the file is empty"),
        ("s.csv", b"a,b\n1,2,3\n", "no CSV that can be read"),
        ("s.csv", b"system,task_id\n\xff\xfe,2\n", "no CSV that can be read"),
        ("s.parquet", b"not parquet", "no Parquet that can be read"),
        ("s.jsonl", b"", "no column 'system'"),
    ],
)
def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        open_scores(tmp_path / name)


def test_an_ending_that_is_not_known_lists_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "scores.xlsx").write_bytes(b"")
    with pytest.raises(UsageError, match=r"\.csv, \.jsonl, \.ndjson, \.parquet"):
        open_scores(tmp_path / "scores.xlsx")
    with pytest.raises(InputError, match="no store and no file of scores here"):
        open_scores(tmp_path / "nothing.csv")


def test_strange_names_are_kept(tmp_path: Path) -> None:
    """What a system or task is called is text, whatever it holds."""
    names = ["a\nb", '"quoted", too', "=1+1", "\u202eright to left", "数据"]
    frame = frame_of({name: [1, 0] for name in names})
    frame.write_csv(tmp_path / "s.csv")
    (tmp_path / "s.jsonl").write_text(as_jsonl(frame), encoding="utf-8")
    for name in ("s.csv", "s.jsonl"):
        data = open_scores(tmp_path / name)
        assert data.scores["system"].unique(maintain_order=True).to_list() == names
        assert compare(data).comparisons.height == 10

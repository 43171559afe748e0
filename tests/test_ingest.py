"""Ingest: every form of attempts, golds and tasks comes to the same tables, and nothing is lost without a word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

from scorer import ingest, packs
from scorer.errors import InputError, UsageError
from scorer.ingest import attempts as cutting
from scorer.ingest.attempts import Attempts, Batch

PACK = packs.load("eduevidence")

ROWS = [
    {
        "attempt_id": "a1",
        "task_id": "Q1",
        "system": "x",
        "repeat": 1,
        "status": "completed",
        "response": "使用 AI",
        "cost_usd": 0.5,
    },
    {
        "attempt_id": "a2",
        "task_id": "Q1",
        "system": "x",
        "repeat": 2,
        "status": "failed",
        "response": None,
        "cost_usd": None,
    },
    {
        "attempt_id": "a3",
        "task_id": "Q2",
        "system": "y",
        "repeat": 1,
        "status": "completed",
        "response": "",
        "cost_usd": 1.25,
    },
]


def batches(*places: Any, scratch: Path = Path("/nonexistent")) -> list[Batch]:
    return list(Attempts(ingest.open_sources(places, PACK, scratch)).batches())


def attempts(*places: Any) -> pl.DataFrame:
    return pl.concat(batch.attempts for batch in batches(*places))


def jsonl(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def folder(path: Path, entries: list[dict[str, Any]], artifacts: dict[str, bytes], **manifest: Any) -> Path:
    path.mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps({"run_id": "r", "attempts": entries} | manifest))
    for name, content in artifacts.items():
        (path / name).write_bytes(content)
    return path


FORMS: dict[str, Callable[[Path], Any]] = {
    "jsonl": lambda path: jsonl(path / "a.jsonl", ROWS),
    "ndjson": lambda path: jsonl(path / "a.ndjson", ROWS),
    "two files": lambda path: (jsonl(path / "a.jsonl", ROWS[:1]), jsonl(path / "b.jsonl", ROWS[1:])),
    "parquet": lambda path: pl.DataFrame(ROWS).write_parquet(path / "a.parquet") or path / "a.parquet",
    "arrow file": lambda path: pl.DataFrame(ROWS).write_ipc(path / "a.arrow") or path / "a.arrow",
    "arrow stream": lambda path: pl.DataFrame(ROWS).write_ipc_stream(path / "a.arrow") or path / "a.arrow",
    "feather": lambda path: (
        pa.feather.write_feather(pl.DataFrame(ROWS).to_arrow(), path / "a.feather") or path / "a.feather"
    ),
    "frame": lambda _path: pl.DataFrame(ROWS),
    "lazy frame": lambda _path: pl.LazyFrame(ROWS),
    "arrow table": lambda _path: pa.Table.from_pylist(ROWS),
    "record batch reader": lambda _path: pa.Table.from_pylist(ROWS).to_reader(),
    "benchmark's names": lambda path: jsonl(
        path / "a.jsonl",
        [
            {{"task_id": "question_id", "system": "baseline", "repeat": "attempt"}.get(k, k): v for k, v in row.items()}
            for row in ROWS
        ],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_attempts(tmp_path: Path, form: str) -> None:
    places = FORMS[form](tmp_path)
    expected = attempts(jsonl(tmp_path / "expected.jsonl", ROWS))
    assert attempts(*(places if isinstance(places, tuple) else [places])).equals(expected)


def test_csv_gives_the_same_attempts_but_for_null_and_empty_responses(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pl.DataFrame(ROWS).write_csv(path, include_bom=True)
    found = attempts(path)
    same = ["attempt_id", "task_id", "system", "repeat", "status", "cost_usd"]
    assert found.select(same).equals(attempts(jsonl(tmp_path / "e.jsonl", ROWS)).select(same))
    assert found["response"].to_list() == ["使用 AI", "", ""]


def test_a_run_folder_is_read_in_the_order_of_its_manifest(tmp_path: Path) -> None:
    entries = [
        {
            "attempt_id": f"a{n}",
            "question_id": "Q1",
            "baseline": "x",
            "attempt": n,
            "status": "completed",
            "artifacts": [f"{n}.json"],
        }
        for n in (3, 1, 2)
    ]
    artifacts = {
        f"{n}.json": json.dumps({"attempt_id": f"a{n}", "response": f"answer {n}"}).encode() for n in (1, 2, 3)
    }
    found = attempts(folder(tmp_path / "run", entries, artifacts))
    assert found["response"].to_list() == ["answer 3", "answer 1", "answer 2"]
    assert found["repeat"].to_list() == [3, 1, 2]


ARTIFACT_FAULTS = {
    "missing": (None, "is missing"),
    "empty": (b"", "is empty"),
    "not JSON": (b'{"response": ', "is not JSON"),
    "a list": (b"[]", "is no JSON object but a list"),
    "invalid UTF-8": (b'{"response": "\xff"}', "is not UTF-8 at byte 14"),
    "too deep": (b"[" * 200_000, "is nested too deep"),
    "a number as response": (b'{"response": 5}', "the response is no text but a number"),
    "a list as response": (b'{"response": ["x"]}', "the response is no text but a list"),
}


@pytest.mark.parametrize("fault", ARTIFACT_FAULTS)
def test_a_fault_of_one_artifact_is_that_attempts_own(tmp_path: Path, fault: str) -> None:
    content, reason = ARTIFACT_FAULTS[fault]
    entries = [
        {
            "attempt_id": name,
            "question_id": "Q1",
            "baseline": "x",
            "attempt": n,
            "status": "completed",
            "artifacts": [f"{name}.json"],
        }
        for n, name in enumerate(("good", "bad"), 1)
    ]
    artifacts = {"good.json": b'{"response": "fine"}'} | ({"bad.json": content} if content is not None else {})
    found = attempts(folder(tmp_path / "run", entries, artifacts))
    assert found["response"].to_list() == ["fine", None]
    assert found["fault"][0] is None
    assert reason in found["fault"][1]


PATHS = {
    "../outside.json": "lies outside",
    "/etc/passwd": "lies outside",
    "link-out.json": "lies outside",
    "folder": "is no file",
    "loop": "that no file can have",
    "a\0b": "that no file can have",
    "\ud800": "that no file can have",
    "x" * 5000: "cannot be read",
}


@pytest.mark.parametrize("path", PATHS)
def test_an_artifact_is_read_from_inside_the_run_folder_only(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.json").write_text('{"response": "secret"}')
    entry = {
        "attempt_id": "a",
        "question_id": "Q1",
        "baseline": "x",
        "attempt": 1,
        "status": "completed",
        "artifacts": [path],
    }
    run = folder(tmp_path / "run", [entry], {})
    (run / "link-out.json").symlink_to(tmp_path / "outside.json")
    (run / "loop").symlink_to("loop")
    (run / "folder").mkdir()
    found = attempts(run)
    assert found["response"].to_list() == [None]
    assert PATHS[path] in found["fault"][0]


def test_a_path_that_winds_but_stays_inside_is_read(tmp_path: Path) -> None:
    entry = {
        "attempt_id": "a",
        "question_id": "Q",
        "baseline": "x",
        "attempt": 1,
        "status": "completed",
        "artifacts": ["b/../a.json"],
    }
    run = folder(tmp_path / "run", [entry], {"a.json": b'{"response": "here"}'})
    (run / "b").mkdir()
    assert attempts(run)["response"].to_list() == ["here"]


def test_a_null_or_absent_response_of_an_artifact_is_the_empty_text(tmp_path: Path) -> None:
    entries = [
        {
            "attempt_id": n,
            "question_id": "Q",
            "baseline": n,
            "attempt": 1,
            "status": "completed",
            "artifacts": [f"{n}.json"],
        }
        for n in "ab"
    ]
    found = attempts(folder(tmp_path / "run", entries, {"a.json": b'{"response": null}', "b.json": b"{}"}))
    assert found["response"].to_list() == ["", ""]
    assert found["fault"].to_list() == [None, None]


def test_an_artifact_of_another_attempt_is_a_mistake_of_the_input(tmp_path: Path) -> None:
    entry = {
        "attempt_id": "a",
        "question_id": "Q",
        "baseline": "x",
        "attempt": 1,
        "status": "completed",
        "artifacts": ["a.json"],
    }
    (batch,) = batches(folder(tmp_path / "run", [entry], {"a.json": b'{"attempt_id": "b", "response": ""}'}))
    assert "belongs to attempt 'b'" in str(batch.problems[0])


MANIFESTS = {
    "truncated": (b'{"run_id": "r", "attempts": [', ["is not JSON"]),
    "a list": (b"[]", ["must be a JSON object"]),
    "no attempts": (b'{"run_id": "r"}', ["attempts: must be the list of attempts, this is null"]),
    "all wrong": (
        b'{"run_id": 5, "attempts": {}, "run_mode": [], "environment": 3, "baselines": "x"}',
        ["attempts:", "run_id:", "run_mode:", "environment:", "baselines:"],
    ),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_broken_manifest_is_an_error_that_names_every_mistake(tmp_path: Path, case: str) -> None:
    content, messages = MANIFESTS[case]
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(InputError) as error:
        batches(tmp_path)
    for message in messages:
        assert message in str(error.value)


REFUSED = {
    "no JSON": ("{oops", "unreadable line"),
    "a list": ("[1]", "no object"),
    "no task": ('{"system": "x", "response": ""}', "task_id missing"),
    "no system": ('{"task_id": "Q", "response": ""}', "system missing"),
    "task is a list": ('{"task_id": ["Q"], "system": "x"}', "task_id unusable"),
    "repeat is a word": ('{"task_id": "Q", "system": "x", "repeat": "two"}', "repeat unusable"),
    "repeat is nought": ('{"task_id": "Q", "system": "x", "repeat": 0}', "repeat unusable"),
    "repeat is a fraction": ('{"task_id": "Q", "system": "x", "repeat": 1.5}', "repeat unusable"),
    "two names": ('{"task_id": "Q", "question_id": "Q", "system": "x"}', "two names for one column"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_line_that_is_no_attempt_is_refused_and_the_others_go_on(tmp_path: Path, case: str) -> None:
    line, rule = REFUSED[case]
    path = tmp_path / "a.jsonl"
    path.write_text(line + "\n" + json.dumps(ROWS[0]) + "\n")
    (batch,) = batches(path)
    assert batch.attempts["attempt_id"].to_list() == ["a1"]
    assert [(refused.place, refused.rule) for refused in batch.refused] == [("line 1", rule)]


def test_a_line_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"task_id": "\xff"}\n' + json.dumps(ROWS[0]).encode())
    (batch,) = batches(path)
    assert batch.refused[0].detail == "the line is not UTF-8 at byte 13"


def test_csv_rows_that_are_ragged_or_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'task_id,system,response\nQ1,x,"two\nlines"\nQ2,x\nQ3,x,\xff\nQ4,x,ok\n')
    (batch,) = batches(path)
    assert batch.attempts["task_id"].to_list() == ["Q1", "Q4"]
    assert batch.attempts["response"][0] == "two\nlines"
    assert [(refused.place, refused.rule) for refused in batch.refused] == [
        ("line 4", "ragged row"),
        ("line 5", "unreadable line"),
    ]


@pytest.mark.parametrize("cost", ["free", "NaN", "inf", "-1"])
def test_a_cost_that_is_no_cost_is_not_captured_and_said(tmp_path: Path, cost: str) -> None:
    (batch,) = batches(jsonl(tmp_path / "a.jsonl", [ROWS[0] | {"cost_usd": cost}]))
    assert batch.attempts["cost_usd"].to_list() == [None]
    assert batch.refused[0].rule == "cost_usd unusable"


def test_token_counts_of_prompt_and_completion_are_added(tmp_path: Path) -> None:
    rows = [
        {"task_id": "Q", "system": "x", "repeat": 1, "response": "", "prompt_tokens": 72, "completion_tokens": 1728}
    ]
    assert attempts(jsonl(tmp_path / "a.jsonl", rows))["tokens"].to_list() == [1800]


def test_absent_repeats_are_numbered_in_order_across_files(tmp_path: Path) -> None:
    rows = [{"task_id": task, "system": "x", "response": "r"} for task in "ABABA"]
    source = Attempts(
        ingest.open_sources(
            [jsonl(tmp_path / "1.jsonl", rows[:3]), jsonl(tmp_path / "2.jsonl", rows[3:])], PACK, tmp_path
        )
    )
    found = pl.concat(batch.attempts for batch in source.batches())
    assert found["repeat"].to_list() == [1, 1, 2, 2, 3]
    assert found["attempt_id"].to_list() == ["A-x-a1", "B-x-a1", "A-x-a2", "B-x-a2", "A-x-a3"]
    assert source.repeats_numbered


def test_repeats_given_for_some_attempts_only_are_a_mistake(tmp_path: Path) -> None:
    rows = [
        {"task_id": "A", "system": "x", "repeat": 1, "response": ""},
        {"task_id": "A", "system": "x", "response": ""},
    ]
    (batch,) = batches(jsonl(tmp_path / "a.jsonl", rows))
    assert "line 2: repeat is given for some attempts only" in str(batch.problems[0])


def test_a_completed_attempt_without_response_has_that_as_its_fault(tmp_path: Path) -> None:
    rows = [
        {"task_id": "A", "system": "x", "repeat": 1},
        {"task_id": "A", "system": "x", "repeat": 2, "status": "failed"},
        {"task_id": "A", "system": "x", "repeat": 3, "response": "here"},
    ]
    assert attempts(jsonl(tmp_path / "a.jsonl", rows))["fault"].to_list() == ["no response", None, None]


@pytest.mark.parametrize("form", ["jsonl", "frame"])
def test_a_source_without_any_response_is_told_which_columns_it_has_instead(tmp_path: Path, form: str) -> None:
    rows = [{"task_id": "A", "system": "x", "answer_text": "it is here"}]
    with pytest.raises(InputError, match=r"has no response; .* not used: answer_text"):
        batches(jsonl(tmp_path / "a.jsonl", rows) if form == "jsonl" else pl.DataFrame(rows))


def test_a_source_of_failures_needs_no_response(tmp_path: Path) -> None:
    rows = [{"task_id": "A", "system": "x", "repeat": 1, "status": "failed"}]
    assert attempts(jsonl(tmp_path / "a.jsonl", rows))["fault"].to_list() == [None]


def test_a_response_column_of_numbers_is_a_fault_of_each_row() -> None:
    frame = pl.DataFrame({"task_id": ["A"], "system": ["x"], "repeat": [1], "response": [3.5]})
    assert attempts(frame)["fault"].to_list() == ["the response is no text but Float64"]


def test_whole_numbers_as_ids_are_their_digits() -> None:
    frame = pl.DataFrame({"task_id": [7.0, 8.0], "system": [1, 2], "repeat": [1.0, 2.0], "response": ["", ""]})
    assert attempts(frame).select("task_id", "system", "repeat").rows() == [("7", "1", 1), ("8", "2", 2)]


def test_lone_surrogates_and_nul_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"task_id": "A", "system": "x", "repeat": 1, "response": "a\\ud800b\\u0000c\\ud83d\\ude00"}')
    assert attempts(path)["response"].to_list() == ["a\U0010d800b\0c😀"]


def test_a_response_of_10_mb_is_read(tmp_path: Path) -> None:
    rows = [{"task_id": "A", "system": "x", "repeat": 1, "response": "長" * 3_500_000}]
    assert attempts(jsonl(tmp_path / "a.jsonl", rows))["response"].str.len_chars().to_list() == [3_500_000]


@pytest.mark.parametrize("piece_rows", [1, 2, 7])
def test_batches_are_cut_by_the_rows_alone_however_they_are_read(
    monkeypatch: pytest.MonkeyPatch, piece_rows: int
) -> None:
    monkeypatch.setattr(cutting, "BATCH_BYTES", 100)
    monkeypatch.setattr(cutting, "BATCH_ROWS", 5)
    lengths = [0, 0, 0, 0, 0, 0, 99, 1, 250, 30, 30, 30, 30, 30, 0, 100]
    frame = pl.DataFrame(
        {"task_id": "A", "system": "x", "repeat": range(1, 17), "response": ["x" * n for n in lengths]}
    )
    table = pa.concat_tables(frame[start : start + piece_rows].to_arrow() for start in range(0, 16, piece_rows))
    assert [batch.attempts.height for batch in batches(table)] == [5, 3, 1, 4, 3]


def test_the_hash_of_an_attempt_covers_every_column_and_nothing_else(tmp_path: Path) -> None:
    base = attempts(jsonl(tmp_path / "a.jsonl", ROWS))["input_hash"]
    for column, value in {
        "response": "使用 AI ",
        "status": "failed",
        "cost_usd": 0.25,
        "task_id": "Q9",
        "error": "e",
    }.items():
        changed = attempts(jsonl(tmp_path / "b.jsonl", [ROWS[0] | {column: value}, *ROWS[1:]]))["input_hash"]
        assert (changed != base).to_list() == [True, False, False]


def test_a_missing_file_and_an_unknown_form_are_errors_all_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        batches(tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path)
    assert str(error.value).startswith("3 mistakes in the input:")
    (tmp_path / "a.xlsx").write_text("")
    with pytest.raises(UsageError, match=r"not from '\.xlsx'"):
        batches(tmp_path / "a.xlsx")
    with pytest.raises(UsageError, match="not dict"):
        batches({"task_id": []})


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_damaged_column_file_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PAR1 this is not it")
    with pytest.raises(InputError, match=f"{name}: cannot be read as"):
        batches(tmp_path / name)


# --- golds ------------------------------------------------------------------------------------------------------------

GOLD = {
    "id": "Q1",
    "correct_outcome_types": ["accuracy", " "],
    "allowed_scope": "范围",
    "expected_decision_range": None,
    "more": 1,
}


def golds(path: Path) -> pl.DataFrame:
    return ingest.read_golds(path, PACK.golds)


def gold_forms(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "gold-Q1.json").write_text(json.dumps({key: GOLD[key] for key in GOLD if key != "id"}))
    (tmp_path / "g.json").write_text(json.dumps([GOLD]))
    pl.DataFrame([GOLD]).write_parquet(tmp_path / "g.parquet")
    return {
        "folder": tmp_path / "folder",
        "jsonl": jsonl(tmp_path / "g.jsonl", [GOLD]),
        "array": tmp_path / "g.json",
        "parquet": tmp_path / "g.parquet",
    }


@pytest.mark.parametrize("form", ["folder", "jsonl", "array", "parquet"])
def test_every_form_of_golds_gives_the_same_table(tmp_path: Path, form: str) -> None:
    assert golds(gold_forms(tmp_path)[form]).rows() == [
        ("Q1", "allowed_scope", 0, "范围"),
        ("Q1", "correct_outcome_types", 0, "accuracy"),
        ("Q1", "correct_outcome_types", 1, " "),
        ("Q1", "id", 0, "Q1"),
    ]


def test_all_mistakes_of_golds_are_named_at_once(tmp_path: Path) -> None:
    rows = [
        {"id": "Q1", "key_claims": "one text"},
        {"id": "Q2", "key_claims": ["a", 5, None]},
        {"id": 7},
        {},
        [],
        {"id": "Q1", "allowed_scope": ["x"]},
    ]
    with pytest.raises(InputError) as error:
        golds(jsonl(tmp_path / "g.jsonl", rows))
    message = str(error.value)
    for part in (
        "line 1 key_claims: must be a list of texts, this is text",
        "line 2 key_claims[1]: must be text, this is a number",
        "line 2 key_claims[2]: must be text, this is null",
        "line 3 id: the gold's id is a number, not text",
        "line 4 id: the gold's id is missing",
        "line 5: a gold must be a JSON object, this is a list",
        f"line 6: a second gold for 'Q1'; the first is {tmp_path / 'g.jsonl'} line 1",
        "line 6 allowed_scope: must be text, this is a list",
    ):
        assert part in message


def test_a_folder_without_golds_says_what_it_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no file named gold-\*\.json"):
        golds(tmp_path)


# --- tasks ------------------------------------------------------------------------------------------------------------


def test_tasks_and_strata_keep_the_order_of_the_file(tmp_path: Path) -> None:
    rows = [{"id": "Q2", "level": "S", "question": "为什么?"}, {"id": "Q1", "level": 3, "domain": "d"}]
    tasks, strata = ingest.read_tasks(jsonl(tmp_path / "q.jsonl", rows), PACK.tasks)
    assert tasks.rows() == [("Q2", "为什么?", None), ("Q1", None, None)]
    assert strata.rows() == [("Q2", "level", "S"), ("Q1", "level", "3"), ("Q1", "domain", "d")]


def test_all_mistakes_of_tasks_are_named_at_once(tmp_path: Path) -> None:
    rows = [{"id": "Q1"}, {"id": "Q1"}, {"question": "no id"}, {"id": ["Q"]}, 5]
    with pytest.raises(InputError) as error:
        ingest.read_tasks(jsonl(tmp_path / "q.jsonl", rows), PACK.tasks)
    for part in (
        "line 2: names 'Q1' a second time",
        "line 3 id: is missing",
        "line 4 id: must be text",
        "line 5: a task must be",
    ):
        assert part in str(error.value)


# --- CSV that is none -------------------------------------------------------------------------------------------------


def test_a_quote_that_nothing_closes_swallows_no_row_silently(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('task_id,system,response\nQ0,x,fine\nQ1,x,"the Pacific\nQ2,x,11 km\nQ3,x,No\n')
    (batch,) = batches(path)
    assert batch.attempts["task_id"].to_list() == ["Q0"]
    assert [(refused.place, refused.rule) for refused in batch.refused] == [("lines 3 to 5", "broken quotes")]


def test_a_quote_inside_a_cell_refuses_its_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('task_id,system,response\nQ1,x,"a"b\nQ2,x,"said ""no"""\n')
    (batch,) = batches(path)
    assert batch.attempts["response"].to_list() == ['said "no"']
    assert [refused.place for refused in batch.refused] == ["line 2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"task_id;system;response\nQ1;x;a\n", "separated by semicolons"),
        (b"task_id\tsystem\tresponse\nQ1\tx\ta\n", "separated by tabs"),
        ("task_id,system,response\nQ1,x,a\n".encode("utf-16"), "seems to be UTF-16"),
    ],
)
def test_a_file_that_is_no_csv_in_utf8_is_told_what_it_seems_to_be(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        batches(tmp_path / "a.csv")

"""The command line as a user runs it: what it prints, where, and with which exit code, on good and on bad input."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer.cli import app
from scorer.packs import load
from tests.conftest import REPO, SAMPLE, Ended, run_scorer

PARITY = REPO / "tests" / "parity"
METRICS = [metric.name for metric in load("eduevidence").metrics]


def score(*sources: object, out: Path, golds: Path = SAMPLE / "golds", **more: Any) -> Ended:
    return run_scorer("score", *sources, "--pack", "eduevidence", "--golds", golds, "--out", out, **more)


def attempt(number: int, **changes: object) -> dict[str, Any]:
    entry = {
        "attempt_id": f"a{number}",
        "question_id": "Q1",
        "baseline": "x",
        "attempt": number,
        "status": "completed",
        "artifacts": [f"a{number}.json"],
    }
    return entry | changes


@pytest.fixture
def golds(tmp_path: Path) -> Path:
    path = tmp_path / "golds.jsonl"
    gold = {"id": "Q1", "correct_outcome_types": ["accuracy"], "expected_decision_range": ["pilot"]}
    path.write_text(json.dumps(gold) + "\n")
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run folder of two good attempts."""
    folder = tmp_path / "run"
    folder.mkdir()
    for number in (1, 2):
        artifact = {"attempt_id": f"a{number}", "response": "accuracy 正确率, pilot"}
        (folder / f"a{number}.json").write_text(json.dumps(artifact))
    write_manifest(folder, [attempt(1), attempt(2)])
    return folder


def write_manifest(folder: Path, entries: list[dict[str, Any]]) -> None:
    (folder / "manifest.json").write_text(json.dumps({"run_id": "r", "run_mode": "empirical", "attempts": entries}))


def scores(store: Path) -> pl.DataFrame:
    return pl.read_parquet(str(store / "*" / "scores.parquet"))


# --- the main job -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with the bundled sample in it."""
    store = tmp_path_factory.mktemp("sample") / "store"
    ended = run_scorer("score", SAMPLE, "--pack", "eduevidence", "--out", store)
    assert ended.code == 0, ended.err
    return store


def test_the_bundled_sample_is_scored_with_the_golds_and_questions_beside_it(sample_store: Path) -> None:
    table = scores(sample_store)
    attempts = json.loads((SAMPLE / "manifest.json").read_text())["attempts"]
    assert table.height == len(attempts) * len(METRICS)
    reasons = set(table["reason"].drop_nulls())
    assert {"no gold annotation", "status failed", "status budget_stopped"} <= reasons
    assert (table["value"].is_null() == table["reason"].is_not_null()).all()


def test_the_account_says_what_was_read_scored_and_left_out_and_what_to_do_next(tmp_path: Path) -> None:
    ended = run_scorer("score", SAMPLE, "--pack", "eduevidence", "--out", tmp_path / "store")
    assert ended.out == ""
    for part in (
        "(simulated), scored by eduevidence/eduevidence-v3",
        "read ",
        "scored ",
        "no gold annotation",
        "next ",
    ):
        assert part in ended.err


def test_the_report_of_a_simulated_run_says_so_at_head_and_foot(sample_store: Path) -> None:
    notice = "SIMULATED, harness validation only, not model performance"
    for form in ("text", "markdown"):
        lines = [line for line in run_scorer("report", sample_store, "--format", form).out.splitlines() if line]
        assert notice in lines[:4]
        assert lines[-1] == notice
    assert json.loads(run_scorer("report", sample_store, "--format", "json").out)["notice"] == notice
    assert run_scorer("report", sample_store, "--format", "eduevidence").out.count(notice) == 2


def test_the_report_as_json_has_every_system_metric_and_stratum(sample_store: Path) -> None:
    made = json.loads(run_scorer("report", sample_store, "--format", "json").out)
    overall = [row for row in made["summary"] if row["stratum"] is None]
    systems = {row["system"] for row in made["systems"]}
    assert {(row["metric"], row["system"]) for row in overall} == {(m, s) for m in METRICS for s in systems}
    assert {row["stratum"] for row in made["summary"]} == {None, "level", "domain"}
    assert all(row["ci_method"] == "wilson_t" for row in overall)
    assert all(row["ci_method"] == "normal_attempts" for row in made["published"])


def test_the_published_run_comes_out_equal(tmp_path: Path, real_run: Path) -> None:
    folder = real_run / "run-empirical-01"
    store = tmp_path / "store"
    ended = score(folder, "--tasks", real_run / "questions.jsonl", out=store, golds=real_run / "annotations")
    assert ended.code == 0, ended.err
    assert run_scorer("export", store, "evaluation", "--to", tmp_path / "evaluation.json").code == 0
    made = json.loads((tmp_path / "evaluation.json").read_text())
    assert made == json.loads((folder / "evaluation.json").read_text())
    rows = [line for line in (real_run / "v3-report.md").read_text().splitlines() if line.startswith("| B")]
    table = run_scorer("report", store, "--format", "eduevidence").out.splitlines()
    assert [line for line in table if line.startswith("| B")] == rows


def test_the_vectors_as_jsonl_in_two_files_give_the_values_of_the_evaluator(tmp_path: Path) -> None:
    vectors = [
        json.loads(line)
        for name in ("parity_vectors.jsonl", "targeted_vectors.jsonl")
        for line in (PARITY / name).read_text().splitlines()
    ]
    rows = [
        {"attempt_id": v["id"], "question_id": v["id"], "baseline": "x", "attempt": 1, "response": v["response"]}
        for v in vectors
    ]
    for name, part in (
        ("one.jsonl", rows[:300]),
        ("two.jsonl", rows[300:]),
        ("golds.jsonl", [v["gold"] for v in vectors]),
    ):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in part))
    ended = score(
        tmp_path / "one.jsonl", tmp_path / "two.jsonl", out=tmp_path / "store", golds=tmp_path / "golds.jsonl"
    )
    assert ended.code == 0, ended.err
    found = {
        (row["attempt_id"], row["metric"]): row["value"] for row in scores(tmp_path / "store").iter_rows(named=True)
    }
    assert found == {(v["id"], metric): v["expected"][metric] for v in vectors for metric in METRICS}


def test_jsonl_on_standard_input_is_scored_like_a_file(tmp_path: Path, golds: Path) -> None:
    lines = json.dumps({"task_id": "Q1", "system": "x", "response": "pilot"}).encode() + b"\n"
    (tmp_path / "a.jsonl").write_bytes(lines)
    assert score("-", out=tmp_path / "piped", golds=golds, stdin=lines * 1).code == 0
    assert score(tmp_path / "a.jsonl", out=tmp_path / "read", golds=golds).code == 0
    assert scores(tmp_path / "piped").equals(scores(tmp_path / "read"))


def test_equal_input_gives_equal_bytes_whatever_the_threads_the_form_and_the_hash_seed(
    tmp_path: Path, golds: Path
) -> None:
    rows = [
        {
            "attempt_id": f"a{n}",
            "task_id": "Q1",
            "system": "x",
            "repeat": n,
            "status": "completed",
            "response": "pilot " * n,
        }
        for n in range(1, 60)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet", row_group_size=7)
    variants = {"1": ("a.jsonl", "1", "0"), "2": ("a.jsonl", "3", "1"), "3": ("a.parquet", "2", "2")}
    for name, (source, threads, seed) in variants.items():
        command = [
            sys.executable,
            "-m",
            "scorer",
            "score",
            tmp_path / source,
            "--pack",
            "eduevidence",
            "--golds",
            golds,
            "--threads",
            threads,
        ]
        env = os.environ | {"PYTHONPATH": str(REPO), "PYTHONHASHSEED": seed, "POLARS_MAX_THREADS": threads}
        subprocess.run([*command, "--out", tmp_path / name], env=env, check=True, capture_output=True)
    files = [sorted((tmp_path / name).glob("*/*.parquet")) for name in variants]
    assert [path.name for path in files[0]] == [path.name for path in files[1]] == [path.name for path in files[2]]
    for same in zip(*files, strict=True):
        assert len({path.read_bytes() for path in same}) == 1, same[0].name


# --- bad input --------------------------------------------------------------------------------------------------------

ARTIFACT_FAULTS = {
    "missing": None,
    "empty": b"",
    "not JSON": b"{",
    "a list": b"[]",
    "invalid UTF-8": b'{"response": "\xff"}',
    "response is a number": b'{"response": 1}',
}


@pytest.mark.parametrize("fault", ARTIFACT_FAULTS)
def test_a_fault_of_one_artifact_is_a_reason_on_its_rows_and_exit_4(
    tmp_path: Path, run: Path, golds: Path, fault: str
) -> None:
    (run / "a2.json").unlink()
    if (content := ARTIFACT_FAULTS[fault]) is not None:
        (run / "a2.json").write_bytes(content)
    ended = score(run, out=tmp_path / "store", golds=golds)
    assert ended.code == 4, ended.err
    table = scores(tmp_path / "store")
    assert table.filter(pl.col("attempt_id") == "a1")["value"].null_count() == 0
    bad = table.filter(pl.col("attempt_id") == "a2")
    assert bad["value"].null_count() == bad.height == len(METRICS)
    assert set(bad["reason"]) == {
        line.split(": ", 1)[1] for line in ended.err.splitlines() if line.startswith("unscored")
    }


def test_an_artifact_outside_the_folder_is_not_read(tmp_path: Path, run: Path, golds: Path) -> None:
    (tmp_path / "secret.json").write_text('{"response": "secret"}')
    write_manifest(run, [attempt(1), attempt(2, artifacts=["../secret.json"])])
    ended = score(run, out=tmp_path / "store", golds=golds)
    assert ended.code == 4
    assert "lies outside the run folder" in ended.err
    assert not any(b"secret\x00" in path.read_bytes() for path in (tmp_path / "store").rglob("*.parquet"))


def bad_inputs(tmp_path: Path, run: Path, golds: Path) -> dict[str, tuple[list[object], list[str]]]:
    """Return for each kind of unusable input the sources and what the error must name."""
    twice = tmp_path / "twice.jsonl"
    row = {"attempt_id": "a", "task_id": "Q1", "system": "x", "response": ""}
    twice.write_text("".join(json.dumps(row | {"repeat": n}) + "\n" for n in (1, 2)))
    (tmp_path / "empty.jsonl").write_text("")
    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    (broken / "manifest.json").write_bytes((run / "manifest.json").read_bytes()[:-20])
    ids = tmp_path / "ids"
    shutil.copytree(run, ids)
    write_manifest(ids, [attempt(1), attempt(2), attempt(2, attempt=3), attempt(1, attempt=4)])
    return {
        "truncated manifest": ([broken], ["manifest.json: is not JSON"]),
        "attempt id twice": ([twice], ["line 2: attempt_id 'a' stands 2 times, first at", "line 1"]),
        "attempt ids twice in a manifest": (
            [ids],
            ["attempt_id 'a1' stands 2 times", "attempt_id 'a2' stands 2 times"],
        ),
        "empty run": ([tmp_path / "empty.jsonl"], ["holds no attempt"]),
        "no such file": ([tmp_path / "none.jsonl", tmp_path / "nor.jsonl"], ["none.jsonl", "nor.jsonl"]),
    }


@pytest.mark.parametrize(
    "case", ["truncated manifest", "attempt id twice", "attempt ids twice in a manifest", "empty run", "no such file"]
)
def test_unusable_input_lists_all_mistakes_writes_nothing_and_ends_with_3(
    tmp_path: Path, run: Path, golds: Path, case: str
) -> None:
    sources, messages = bad_inputs(tmp_path, run, golds)[case]
    ended = score(*sources, out=tmp_path / "store", golds=golds)
    assert ended.code == 3, ended.err
    for message in messages:
        assert message in ended.err
    assert not (tmp_path / "store").exists()


def test_bad_golds_list_all_mistakes_write_nothing_and_end_with_3(tmp_path: Path, run: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    rows = [{"id": "Q1", "key_claims": "text"}, {"id": "Q2"}, {"id": "Q2"}]
    bad.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = score(run, out=tmp_path / "store", golds=bad)
    assert ended.code == 3
    assert "line 1 key_claims: must be a list of texts, this is text" in ended.err
    assert "line 3: a second gold for 'Q2'" in ended.err
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("command", [["report"], ["sql", "--tables"], ["export", "scores", "--to", "x.csv"]])
def test_no_store_where_one_is_named_ends_with_3(tmp_path: Path, command: list[str]) -> None:
    ended = run_scorer(command[0], tmp_path / "nowhere", *command[1:])
    assert ended.code == 3
    assert "no store here" in ended.err


def test_a_pack_with_a_misspelt_key_ends_with_2_and_names_the_right_one(tmp_path: Path, run: Path, golds: Path) -> None:
    pack = tmp_path / "pack"
    shutil.copytree(REPO / "datasets" / "eduevidence", pack)
    text = (pack / "pack.toml").read_text().replace("default_ruleset", "defaultruleset")
    (pack / "pack.toml").write_text(text)
    ended = run_scorer("score", run, "--pack", pack, "--golds", golds, "--out", tmp_path / "store")
    assert ended.code == 2
    assert "did you mean 'default_ruleset'" in ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pack", "eduevidenz"], "did you mean 'eduevidence'"),
        (["--pack", "eduevidence"], "name them with --golds"),
        (["--pack", "eduevidence", "--golds", "GOLDS", "--mode", "emprical"], "did you mean 'empirical'"),
        (
            ["--pack", "eduevidence", "--golds", "GOLDS", "--mode", "simulated"],
            "the source says that the run is empirical",
        ),
        (["--pack", "eduevidence", "--golds", "GOLDS", "--ruleset", "v4"], "no ruleset 'v4'"),
    ],
)
def test_a_wrong_word_of_the_command_ends_with_2_and_a_hint(
    tmp_path: Path, run: Path, golds: Path, arguments: list[str], message: str
) -> None:
    filled = [str(golds) if word == "GOLDS" else word for word in arguments]
    ended = run_scorer("score", run, *filled, "--out", tmp_path / "store")
    assert ended.code == 2
    assert message in ended.err


def test_other_attempts_under_the_same_run_need_replace(tmp_path: Path, run: Path, golds: Path) -> None:
    store = tmp_path / "store"
    assert score(run, out=store, golds=golds).code == 0
    assert score(run, out=store, golds=golds).code == 0, "the same attempts may be scored again"
    (run / "a1.json").write_text('{"response": "other"}')
    refused = score(run, out=store, golds=golds)
    assert refused.code == 3
    assert "holds other attempts" in refused.err
    assert score(run, "--replace", out=store, golds=golds).code == 0
    assert score(run, "--run", "r2", out=store, golds=golds).code == 0
    assert sorted(set(scores(store)["run_id"])) == ["r", "r2"]


def test_hostile_responses_are_scored(tmp_path: Path, golds: Path) -> None:
    responses = ["\ud800 lone", "nul \0 pilot", "長" * 3_400_000, "{" * 100_000, "[31m red", "=1+1", "<script>"]
    rows = [{"task_id": "Q1", "system": "x", "response": text} for text in responses]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = score(tmp_path / "a.jsonl", out=tmp_path / "store", golds=golds)
    assert ended.code == 0, ended.err
    assert scores(tmp_path / "store")["value"].null_count() == 0
    assert "numbered in the order of the rows" in ended.err


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a small disk needs root on Linux")
def test_a_full_disk_ends_with_1_and_the_old_run_stays(tmp_path: Path, run: Path, golds: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], check=False, capture_output=True
    ).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        assert score(run, out=disk / "store", golds=golds).code == 0
        before = scores(disk / "store")
        (run / "a1.json").write_bytes(json.dumps({"response": os.urandom(900_000).hex()}).encode())
        ended = score(run, "--replace", out=disk / "store", golds=golds)
        assert ended.code == 1, ended.err
        assert "cannot write" in ended.err
        assert scores(disk / "store").equals(before)
        assert len(list((disk / "store" / ".generations").iterdir())) == 1
    finally:
        subprocess.run(["umount", disk], check=True)


# --- out of the store -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "json", "arrow"])
def test_every_table_comes_out_in_every_format(tmp_path: Path, sample_store: Path, ending: str) -> None:
    readers = {
        "parquet": pl.read_parquet,
        "csv": lambda path: pl.read_csv(path, infer_schema_length=None),
        "jsonl": lambda path: pl.read_ndjson(path, infer_schema_length=None),
        "json": lambda path: pl.read_json(path, infer_schema_length=None),
        "arrow": pl.read_ipc,
    }
    target = tmp_path / f"scores.{ending}"
    assert run_scorer("export", sample_store, "scores", "--to", target).code == 0
    columns = ["attempt_id", "metric", "value", "reason"]
    assert readers[ending](target).select(columns).equals(scores(sample_store).select(columns))


def test_csv_for_a_spreadsheet_begins_with_a_bom_and_holds_no_formula(tmp_path: Path, golds: Path) -> None:
    rows = [
        {"task_id": "Q1", "system": system, "response": "=cmd|'/c calc'!A1"}
        for system in ("=1+1", "+x", "-y", "@z", "\tt", "plain")
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert score(tmp_path / "a.jsonl", out=tmp_path / "store", golds=golds).code == 0
    target = tmp_path / "a.csv"
    assert run_scorer("export", tmp_path / "store", "attempts", "--to", target, "--bom", "--safe").code == 0
    assert target.read_bytes().startswith(b"\xef\xbb\xbf")
    found = pl.read_csv(target)
    assert found["system"].to_list() == ["'=1+1", "'+x", "'-y", "'@z", "'\tt", "plain"]
    assert set(found["response"]) == {"'=cmd|'/c calc'!A1"}


def test_an_unknown_table_or_ending_is_a_usage_error(tmp_path: Path, sample_store: Path) -> None:
    ended = run_scorer("export", sample_store, "score", "--to", tmp_path / "x.csv")
    assert (ended.code, "did you mean 'scores'" in ended.err) == (2, True)
    ended = run_scorer("export", sample_store, "scores", "--to", tmp_path / "x.xlsx")
    assert (ended.code, "the ending chooses the format" in ended.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_sql_answers_in_every_format(tmp_path: Path, sample_store: Path) -> None:
    query = "select system, count(*) as n from scores group by all order by all"
    expected = scores(sample_store).group_by("system").len("n").sort("system").rows()
    assert [
        tuple(row.values()) for row in json.loads(run_scorer("sql", sample_store, query, "--format", "json").out)
    ] == expected
    (tmp_path / "q.sql").write_text(query)
    csv = run_scorer("sql", sample_store, "-f", tmp_path / "q.sql", "--format", "csv").out
    assert [tuple(line.split(",")) for line in csv.splitlines()[1:]] == [(name, str(n)) for name, n in expected]
    assert run_scorer("sql", sample_store, query, "--format", "parquet", "--to", tmp_path / "q.parquet").code == 0
    assert pl.read_parquet(tmp_path / "q.parquet").rows() == expected
    for form in ("table", "markdown"):
        assert all(name in run_scorer("sql", sample_store, query, "--format", form).out for name, _ in expected)


def test_sql_lists_tables_columns_and_row_counts(sample_store: Path) -> None:
    listed = {
        row["table"]: row for row in json.loads(run_scorer("sql", sample_store, "--tables", "--format", "json").out)
    }
    assert listed["scores"]["rows"] == scores(sample_store).height
    assert listed["judgements"]["rows"] == 0
    assert "attempt_id" in listed["scores"]["columns"]


def test_sql_that_fails_or_reaches_outside_ends_with_1_and_one_sentence(tmp_path: Path, sample_store: Path) -> None:
    for query in ("select * from nowhere", f"copy (select 1) to '{tmp_path / 'x.csv'}'", "selec"):
        ended = run_scorer("sql", sample_store, query)
        assert ended.code == 1
        assert "Traceback" not in ended.err
        assert ended.err.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


def test_sql_may_reach_outside_for_those_who_mean_it(tmp_path: Path, sample_store: Path) -> None:
    target = tmp_path / "x.csv"
    assert run_scorer("sql", sample_store, f"copy (select 1 as a) to '{target}'", "--allow-external").code == 0
    assert target.read_text() == "a\n1\n"


def test_control_characters_of_the_data_do_not_reach_a_table(tmp_path: Path, golds: Path) -> None:
    rows = [{"task_id": "Q1", "system": "\x1b[31mred\x07", "response": ""}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = score(tmp_path / "a.jsonl", out=tmp_path / "store", golds=golds)
    shown = [ended.err]
    shown += [
        run_scorer("report", tmp_path / "store", "--format", form).out for form in ("text", "markdown", "eduevidence")
    ]
    shown += [
        run_scorer("sql", tmp_path / "store", "from scores", "--format", form).out for form in ("table", "markdown")
    ]
    for text in shown:
        assert "\x1b" not in text
        assert "\x07" not in text


# --- the tool itself --------------------------------------------------------------------------------------------------


def test_every_command_says_in_its_help_what_it_is_for_and_gives_an_example() -> None:
    overview = run_scorer("--help")
    assert overview.code == 0
    for command in app.registered_commands:
        shown = run_scorer(command.name, "--help")
        assert shown.code == 0
        assert "Example: scorer" in " ".join(shown.out.split()), command.name
        assert command.name in overview.out


def test_help_does_not_import_what_it_does_not_need() -> None:
    heavy = ("polars", "duckdb", "pyarrow", "scipy", "numpy")
    code = f"import sys; import scorer.cli; sys.exit(', '.join(sys.modules.keys() & {heavy}))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPO, capture_output=True, check=False, text=True)
    assert ended.stderr.strip() == ""


@pytest.mark.usefixtures("ctrl_c_heard")
def test_an_interrupt_is_no_traceback(tmp_path: Path, golds: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "scorer",
        "score",
        "-",
        "--pack",
        "eduevidence",
        "--golds",
        golds,
        "--out",
        tmp_path / "store",
    ]
    process = subprocess.Popen(command, cwd=REPO, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    process.stdin.write(b" " * 500_000)  # more than a pipe holds: once it is gone, the command is at work
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert b"goes on where it stopped" in err
    assert b"Traceback" not in err


def test_output_onto_a_full_disk_is_no_fault_of_scorer(sample_store: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this machine has no /dev/full")
    command = f"{sys.executable} -m scorer report {sample_store} > /dev/full"
    ended = subprocess.run(["bash", "-c", command], cwd=REPO, capture_output=True, check=False, text=True)
    assert (ended.returncode, ended.stderr) == (1, "error: standard output: cannot write: No space left on device\n")


def test_output_into_a_closed_pipe_ends_quietly(sample_store: Path) -> None:
    command = f"{sys.executable} -m scorer sql {sample_store} 'from extracts' --format csv | head -1"
    ended = subprocess.run(["bash", "-c", command], cwd=REPO, capture_output=True, check=False)
    assert ended.stderr == b""

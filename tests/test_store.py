"""The store: a run is there whole or not at all, its files say what made them, and readers keep what they opened."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from scorer.errors import InputError, ScorerError, UsageError, WriteError
from scorer.store import SIGNATURE_KEY, RunWriter, Store, Unfinished, current_run, folder_name, whole_file
from scorer.tables import RUNS, SCORES

SIGNATURE = {"scorer": "0", "attempts": "a", "scorers": {}}


def run_row(run_id: str, **changes: object) -> pl.DataFrame:
    row = {
        "run_id": run_id,
        "benchmark": "b",
        "mode": "simulated",
        "origin": "scored",
        "flags": [],
        "signature": json.dumps(SIGNATURE),
    }
    return pl.DataFrame([row | changes], schema=RUNS.schema)


def score_rows(run_id: str, *values: float | None) -> pl.DataFrame:
    rows = [
        {
            "run_id": run_id,
            "attempt_id": f"a{number}",
            "scorer": "s",
            "metric": "m",
            "task_id": "t",
            "system": "x",
            "repeat": number + 1,
            "value": value,
            "reason": None if value is not None else "no reason",
        }
        for number, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=SCORES.schema)


def publish(store: Path, run_id: str, *values: float | None, **changes: object) -> None:
    with RunWriter(store, run_id) as writer:
        writer.write("runs", run_row(run_id, **changes))
        writer.write("scores", score_rows(run_id, *values))
        writer.publish(SIGNATURE)


def generations(store: Path) -> list[str]:
    return sorted(path.name for path in (store / ".generations").iterdir())


def test_a_published_run_is_read_back_whole(tmp_path: Path) -> None:
    publish(tmp_path / "store", "r1", 0.5, None)
    with Store(tmp_path / "store") as store:
        assert list(store.runs) == ["r1"]
        assert store.run().frame("scores").equals(score_rows("r1", 0.5, None))
        assert store.run().frame("judgements").is_empty()
        assert store.count("scores") == 2


def test_every_file_carries_the_signature(tmp_path: Path) -> None:
    publish(tmp_path, "r1", 0.5)
    for path in (tmp_path / "r1").glob("*.parquet"):
        assert json.loads(pq.read_metadata(path).metadata[SIGNATURE_KEY.encode()]) == SIGNATURE


def test_plain_readers_find_the_tables_of_all_runs(tmp_path: Path) -> None:
    publish(tmp_path, "r1", 0.5)
    publish(tmp_path, "r2", 0.25, 1.0)
    scores = pl.read_parquet(str(tmp_path / "*" / "scores.parquet"))
    assert scores.sort("run_id", "attempt_id")["value"].to_list() == [0.5, 0.25, 1.0]


def test_a_writer_that_stops_early_leaves_the_old_run_and_nothing_of_its_own(tmp_path: Path) -> None:
    publish(tmp_path, "r1", 0.5)
    before = generations(tmp_path)
    with pytest.raises(RuntimeError, match="power"), RunWriter(tmp_path, "r1") as writer:
        writer.write("runs", run_row("r1"))
        raise RuntimeError("power cut")
    assert generations(tmp_path) == before
    with Store(tmp_path) as store:
        assert store.run().frame("scores")["value"].to_list() == [0.5]


def test_a_first_run_that_comes_to_nothing_leaves_no_folder(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "store", "r1"):
        pass
    assert not (tmp_path / "store").exists()


def test_a_reader_keeps_its_generation_while_a_writer_replaces_the_run(tmp_path: Path) -> None:
    publish(tmp_path, "r1", 0.5)
    with Store(tmp_path) as store:
        assert store.runs
        publish(tmp_path, "r1", 0.75)
        assert store.run().frame("scores")["value"].to_list() == [0.5]
        assert len(generations(tmp_path)) == 2
    publish(tmp_path, "r1", 1.0)
    assert len(generations(tmp_path)) == 1, "superseded generations go once nobody reads them"


def test_what_a_killed_writer_left_goes_with_the_next_publication(tmp_path: Path) -> None:
    publish(tmp_path, "r1", 0.5)
    left = tmp_path / ".generations" / "r1.7"
    left.mkdir()
    (left / "scores.parquet").write_bytes(b"half")
    publish(tmp_path, "r2", 0.5)
    assert not left.exists()


def test_a_folder_of_something_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "r1").mkdir()
    (tmp_path / "r1" / "thesis.txt").write_text("mine")
    with pytest.raises(WriteError, match="folder of something else"):
        publish(tmp_path, "r1", 0.5)
    assert (tmp_path / "r1" / "thesis.txt").read_text() == "mine"


def test_a_table_that_is_linked_is_not_copied(tmp_path: Path) -> None:
    publish(tmp_path, "r1", 0.5)
    with current_run(tmp_path, "r1") as before, RunWriter(tmp_path, "r1") as writer:
        writer.write("runs", run_row("r1"))
        writer.link("scores", before)
        writer.publish(SIGNATURE)
        assert (tmp_path / "r1" / "scores.parquet").samefile(before.file("scores"))


def test_no_store_and_an_empty_folder_are_errors_that_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no store here"):
        Store(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no run"):
        Store(tmp_path)


def test_of_several_runs_one_must_be_named(tmp_path: Path) -> None:
    publish(tmp_path, "run-a", 0.5)
    publish(tmp_path, "run-b", 0.5)
    with Store(tmp_path) as store:
        with pytest.raises(UsageError, match="choose one with --run: run-a, run-b"):
            store.run()
        with pytest.raises(UsageError, match="did you mean 'run-a'"):
            store.run("run-aa")


@pytest.mark.parametrize(
    "run_id", ["../../etc", "/abs", ".", "..", ".hidden", "a/b", "a\0b", "ünïcode 中文", "x" * 400, "*?[a]", "", "a\nb"]
)
def test_a_run_id_never_leaves_its_store(tmp_path: Path, run_id: str) -> None:
    store = tmp_path / "store"
    publish(store, run_id, 0.5)
    assert {path.name for path in tmp_path.iterdir()} == {"store"}
    assert not folder_name(run_id).startswith(".")
    with Store(store) as opened:
        assert opened.run().run_id == run_id
    assert pl.read_parquet(str(store / "*" / "scores.parquet")).height == 1


def test_ids_that_differ_have_folders_that_differ() -> None:
    ids = ["a", "A", "a b", "a%20b", "a+b", "x" * 101, "x" * 102, "中", "%E4%B8%AD", ".a", "%2Ea"]
    assert len({folder_name(run_id) for run_id in ids}) == len(ids)


def test_a_frame_that_breaks_its_contract_is_refused_with_every_breach(tmp_path: Path) -> None:
    broken = score_rows("r1", 0.5).with_columns(metric=pl.lit(None, pl.String), extra=1).drop("system")
    with (
        RunWriter(tmp_path / "s", "r1") as writer,
        pytest.raises(ScorerError, match="1 missing columns: system; 1 unknown"),
    ):
        writer.write("scores", broken)


def test_finished_pieces_are_found_under_their_hash_and_half_written_ones_are_not(tmp_path: Path) -> None:
    unfinished = Unfinished(tmp_path, "r1")
    frame = score_rows("r1", 0.5)
    unfinished.save("key", {"scores": frame})
    assert unfinished.load("key", ["scores"])[0].equals(frame)
    assert unfinished.load("other", ["scores"]) is None
    assert unfinished.load("key", ["scores", "extracts"]) is None
    (unfinished.path / "key.scores.arrow").write_bytes(b"ARROW1")
    assert unfinished.load("key", ["scores"]) is None
    unfinished.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_written_whole_or_the_old_one_stays(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(WriteError, match="No space left"), whole_file(target) as draft:
        draft.write_text("half")
        raise OSError(28, "full")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]

"""The pipeline: any kill leaves the old run or the new one, and work done once is not done again, to the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer import pipeline
from scorer.errors import InputError, UsageError
from scorer.ingest import attempts as cutting
from scorer.pipeline import scoring
from scorer.score import Scored
from tests.conftest import REPO

GOLDS = [
    {
        "id": f"Q{n}",
        "correct_outcome_types": ["accuracy"],
        "expected_decision_range": ["pilot"],
        "known_contradictions": [f"只对第{n}组有效"],
    }
    for n in range(4)
]
WORDS = ("accuracy", "pilot", "但只对第1组有效。", "however, only", "正确率")


def rows(count: int, **changes: object) -> list[dict[str, Any]]:
    return [
        {
            "attempt_id": f"a{n}",
            "task_id": f"Q{n % 5}",
            "system": f"s{n % 2}",
            "repeat": n,
            "status": "failed" if n % 11 == 7 else "completed",
            "response": " ".join(WORDS[: n % 6]) + f" {n}",
        }
        | changes
        for n in range(1, count + 1)
    ]


def lines(path: Path, objects: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in objects))
    return path


@pytest.fixture
def golds(tmp_path: Path) -> Path:
    return lines(tmp_path / "golds.jsonl", GOLDS)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "BATCH_ROWS", 7)


def score(attempts: list[dict[str, Any]], store: Path, golds: Path, **more: Any) -> pipeline.Account:
    return pipeline.score([pl.DataFrame(attempts)], "eduevidence", store, golds=golds, run_id="r", **more)


def contents(store: Path) -> dict[str, bytes]:
    """Return the bytes of every table of every run."""
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.glob("*/*.parquet"))}


@pytest.fixture
def scored_ids(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gathers the ids of the attempts that the kernel is given."""
    given: list[str] = []
    kernel = scoring.score_batch

    def watched(attempts: pl.DataFrame, golds: Any, steps: Any) -> Scored:
        given.extend(attempts["attempt_id"])
        return kernel(attempts, golds, steps)

    monkeypatch.setattr(scoring, "score_batch", watched)
    return given


# --- update -----------------------------------------------------------------------------------------------------------


def changed_inputs(golds: Path) -> dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], set[str]]]:
    """Return for each change the attempts and golds after it, and the attempts that must be scored again."""
    base = rows(40)
    first = base[0] | {"response": "pilot, other"}
    new = rows(43)[40:]
    gold = GOLDS[1] | {"correct_outcome_types": ["transfer"]}
    return {
        "nothing": (base, GOLDS, set()),
        "one response": ([first, *base[1:]], GOLDS, {"a1"}),
        "new attempts": ([*base, *new], GOLDS, {"a41", "a42", "a43"}),
        "new attempts in front": ([*new, *base], GOLDS, {"a41", "a42", "a43"}),
        "attempts gone": (base[5:20], GOLDS, set()),
        "another order": (base[::-1], GOLDS, set()),
        "one gold": (base, [GOLDS[0], gold, *GOLDS[2:]], {row["attempt_id"] for row in base if row["task_id"] == "Q1"}),
        "a gold more": (base, [*GOLDS, {"id": "Q4"}], {row["attempt_id"] for row in base if row["task_id"] == "Q4"}),
        "a gold less": (base, GOLDS[1:], {row["attempt_id"] for row in base if row["task_id"] == "Q0"}),
    }


@pytest.mark.parametrize(
    "change",
    [
        "nothing",
        "one response",
        "new attempts",
        "new attempts in front",
        "attempts gone",
        "another order",
        "one gold",
        "a gold more",
        "a gold less",
    ],
)
def test_update_scores_what_changed_and_gives_the_bytes_of_scoring_everything(
    tmp_path: Path, golds: Path, scored_ids: list[str], change: str
) -> None:
    attempts, after, again = changed_inputs(golds)[change]
    score(rows(40), tmp_path / "updated", golds)
    lines(golds, after)
    score(attempts, tmp_path / "anew", golds)
    scored_ids.clear()
    score(attempts, tmp_path / "updated", golds, update=True)
    assert set(scored_ids) == again
    assert contents(tmp_path / "updated") == contents(tmp_path / "anew")


def test_update_takes_nothing_over_from_another_ruleset_or_pack(
    tmp_path: Path, golds: Path, scored_ids: list[str]
) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    for name in ("pack.toml", "lexicon.toml"):
        (pack / name).write_text((REPO / "datasets" / "eduevidence" / name).read_text())
    score(rows(10), tmp_path / "store", golds)
    (pack / "pack.toml").write_text((pack / "pack.toml").read_text().replace("overlap = 0.20", "overlap = 0.25"))
    scored_ids.clear()
    pipeline.score([pl.DataFrame(rows(10))], pack, tmp_path / "store", golds=golds, run_id="r", update=True)
    assert len(scored_ids) == 10


# --- several scorers --------------------------------------------------------------------------------------------------


def renamed_pack(tmp_path: Path, ruleset: str) -> Path:
    folder = tmp_path / ruleset
    folder.mkdir()
    source = REPO / "datasets" / "eduevidence"
    (folder / "lexicon.toml").write_text((source / "lexicon.toml").read_text())
    (folder / "pack.toml").write_text((source / "pack.toml").read_text().replace("eduevidence-v3", ruleset))
    return folder


@pytest.mark.parametrize("other", ["a-first", "z-last"])
def test_a_second_ruleset_stands_beside_the_first_and_neither_is_made_again(
    tmp_path: Path, golds: Path, scored_ids: list[str], other: str
) -> None:
    store, pack = tmp_path / "store", renamed_pack(tmp_path, other)
    score(rows(20), store, golds)
    first = pl.read_parquet(store / "r" / "scores.parquet")
    pipeline.score([pl.DataFrame(rows(20))], pack, store, golds=golds, run_id="r")
    both = pl.read_parquet(store / "r" / "scores.parquet")
    assert sorted(both["scorer"].unique()) == sorted(["eduevidence/eduevidence-v3", f"eduevidence/{other}"])
    assert both.filter(pl.col("scorer") == "eduevidence/eduevidence-v3").equals(first)
    values = [part["value"].to_list() for _, part in both.group_by("scorer", maintain_order=True)]
    assert values[0] == values[1]
    scored_ids.clear()
    score(rows(20), store, golds, update=True)
    pipeline.score([pl.DataFrame(rows(20))], pack, store, golds=golds, run_id="r", update=True)
    assert scored_ids == []
    assert pl.read_parquet(store / "r" / "scores.parquet").equals(both)


def test_scores_of_other_attempts_do_not_stay_beside_new_ones(tmp_path: Path, golds: Path) -> None:
    store, pack = tmp_path / "store", renamed_pack(tmp_path, "other")
    score(rows(20), store, golds)
    pipeline.score([pl.DataFrame(rows(21))], pack, store, golds=golds, run_id="r", replace=True)
    assert pl.read_parquet(store / "r" / "scores.parquet")["scorer"].unique().to_list() == ["eduevidence/other"]


# --- identity ---------------------------------------------------------------------------------------------------------


def test_a_run_without_an_id_is_named_by_its_attempts_whatever_their_order(tmp_path: Path, golds: Path) -> None:
    def named(attempts: list[dict[str, Any]]) -> str:
        return pipeline.score([pl.DataFrame(attempts)], "eduevidence", tmp_path / "s", golds=golds).run_id

    assert named(rows(9)) == named(rows(9)[::-1])
    assert named(rows(9)) != named(rows(10))


def test_a_later_mistake_of_the_input_leaves_the_old_run(tmp_path: Path, golds: Path) -> None:
    store = tmp_path / "store"
    score(rows(20), store, golds)
    before = contents(store)
    with pytest.raises(InputError, match="stands 2 times"):
        score([*rows(20), rows(20)[3]], store, golds, replace=True)
    assert contents(store) == before
    assert not (store / ".unfinished").exists()


def test_two_run_folders_of_different_ids_are_not_one_run(tmp_path: Path, golds: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(json.dumps({"run_id": name, "attempts": []}))
    with pytest.raises(UsageError, match="2 runs: one, two"):
        pipeline.score([tmp_path / "one", tmp_path / "two"], "eduevidence", tmp_path / "store", golds=golds)


def test_what_the_manifest_and_the_tasks_do_not_name_is_scored_and_flagged(tmp_path: Path, golds: Path) -> None:
    tasks = lines(tmp_path / "q.jsonl", [{"id": "Q0"}, {"id": "Q1"}])
    run = tmp_path / "run"
    run.mkdir()
    entry = {
        "attempt_id": "a",
        "question_id": "Q2",
        "baseline": "new",
        "attempt": 1,
        "status": "completed",
        "artifacts": ["a.json"],
    }
    (run / "manifest.json").write_text(
        json.dumps({"run_id": "r", "baselines": ["old"], "run_mode": "odd", "attempts": [entry]})
    )
    (run / "a.json").write_text('{"response": "pilot"}')
    account = pipeline.score([run], "eduevidence", tmp_path / "store", golds=golds, tasks=tasks)
    assert account.scored == 1
    assert account.mode == "unknown"
    assert [flag.split(":")[0] for flag in account.flags] == [
        "the source's run_mode 'odd' is none of empirical, simulated, unknown",
        "systems that the manifest does not name",
        "tasks that the file of tasks does not name",
    ]


# --- interruptions ----------------------------------------------------------------------------------------------------


def test_an_interrupted_run_goes_on_where_it_stopped(
    tmp_path: Path, golds: Path, scored_ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(done: int, _total: int | None) -> None:
        if done >= 14:
            raise KeyboardInterrupt

    score(rows(40), tmp_path / "undisturbed", golds)
    scored_ids.clear()
    with pytest.raises(KeyboardInterrupt):
        score(rows(40), tmp_path / "store", golds, threads=1, progress=stopped)
    assert not contents(tmp_path / "store"), "a run is published only whole"
    finished = set(scored_ids)
    scored_ids.clear()
    score(rows(40), tmp_path / "store", golds, threads=2)
    assert len(finished) >= 14
    assert finished.isdisjoint(scored_ids)
    assert finished | set(scored_ids) == {row["attempt_id"] for row in rows(40)}
    assert contents(tmp_path / "store") == contents(tmp_path / "undisturbed")
    assert not (tmp_path / "store" / ".unfinished").exists()


def test_a_kill_at_any_file_operation_leaves_the_old_run_or_the_new_one(tmp_path: Path, golds: Path) -> None:
    """For every n: after SIGKILL at the n-th operation one run is there whole; again gives the undisturbed bytes."""
    old = lines(tmp_path / "old.jsonl", rows(12))
    new = lines(tmp_path / "new.jsonl", rows(16, response="pilot, but 但 however"))
    ended = subprocess.run(
        [sys.executable, "tests/killed.py", old, new, golds, tmp_path / "work"],
        cwd=REPO,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(REPO)},
    )
    assert ended.returncode == 0, ended.stderr
    kills, left_old, left_new = map(int, ended.stdout.split())
    assert kills > 40
    assert left_old > 0
    assert left_new > 0

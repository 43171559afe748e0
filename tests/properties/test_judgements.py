"""Judgements of any content: read into tables that keep their contracts, or refused by name; never a crash."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer import packs
from scorer.errors import InputError
from scorer.ingest.judgement_points import MISSING, NOTHING, STATUSES
from scorer.ingest.judgements import Judgements, Known, numbered_tasks, read_judgements
from scorer.pipeline.scoring import with_run_id
from scorer.tables import ATTEMPTS, CRITERIA, JUDGEMENTS, PUBLISHED, STRATA, TASKS, check

PACK = packs.load("gis-bench")
assert PACK.rubric is not None
MOST = PACK.rubric.most
KNOWN = Known(numbered_tasks(PACK.rubric.terms.tasks))

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["7", "ok", "0.5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
POINTS = st.integers(-2, 31) | st.decimals(0, 31, places=3).map(float) | st.sampled_from(["12", "x", None, True])
FIELDS = {
    "condition": st.sampled_from(["A", "B"]) | ANY,
    "task_no": st.integers(0, 46) | ANY,
    "attempt": st.none() | st.integers(0, 3),
    "evaluation": st.none() | st.integers(0, 4) | ANY,
    "judge": st.none() | st.text(max_size=3) | st.fixed_dictionaries({"model": st.sampled_from("mn")}) | ANY,
    "status": st.none() | st.sampled_from(STATUSES) | ANY,
    "scores": st.fixed_dictionaries(dict.fromkeys(MOST, POINTS)) | ANY,
    "total_raw": st.none() | st.integers(0, 140) | ANY,
    "score_normalized": st.none() | st.integers(0, 110) | ANY,
    "pass_rate": st.none() | ANY,
    "level": st.none() | st.integers(1, 3) | ANY,
    "reason": st.none() | ANY,
    "criterion": st.none() | st.sampled_from([*MOST, "other"]),
    "points": POINTS,
}
GOOD = st.fixed_dictionaries(
    {
        "condition": st.sampled_from(["A", "B"]),
        "task_no": st.integers(1, 3),
        "scores": st.fixed_dictionaries(dict.fromkeys(MOST, POINTS)),
    },
    optional={"status": st.sampled_from(STATUSES), "total_raw": st.integers(0, 140), "judge": st.sampled_from("mn")},
)


def read(rows: list[Any]) -> Judgements | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        try:
            return read_judgements([path], PACK, KNOWN)
        except InputError:
            return None


def hold_to_contracts(found: Judgements) -> None:
    tables = (
        (JUDGEMENTS, found.judgements),
        (CRITERIA, found.criteria),
        (ATTEMPTS, found.attempts),
        (TASKS, found.tasks),
        (STRATA, found.strata),
        (PUBLISHED, found.published),
    )
    for table, frame in tables:
        assert frame is not None
        check(with_run_id(frame, "r"), table)
        assert not frame.select(name for name in table.key if name != "run_id").is_duplicated().any()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.fixed_dictionaries({}, optional=FIELDS) | ANY, max_size=4), st.lists(GOOD, max_size=2))
def test_any_rows_are_read_or_refused(rows: list[Any], good: list[Any]) -> None:
    found = read([*good, *rows])
    if found is not None:
        hold_to_contracts(found)


@settings(max_examples=100, deadline=None)
@given(st.lists(GOOD, min_size=1, max_size=6))
def test_an_evaluation_has_all_its_points_or_no_score(rows: list[Any]) -> None:
    """Never clamped, padded or added up in part: the total is the sum of every criterion, or there is none."""
    found = read(rows)
    assert found is not None
    hold_to_contracts(found)
    assert found.judgements.height == len(rows)
    key = ["attempt_id", "judge_id", "evaluation"]
    sums = found.criteria.group_by(key).agg(pl.col("points").sum(), pl.col("points").null_count().alias("absent"))
    for row in found.judgements.join(sums, on=key).iter_rows(named=True):
        if row["status"] in MISSING:
            assert (row["total_raw"], row["score_normalized"], row["absent"]) == (None, None, len(MOST))
        elif row["status"] in NOTHING:
            assert (row["total_raw"], row["score_normalized"], row["points"]) == (0, 0, 0)
        else:
            assert row["absent"] == 0
            assert abs(row["total_raw"] - row["points"]) < 1e-9
            assert row["score_normalized"] == round(row["total_raw"] * 100 / 130) or row["flags"] == ["decimal_points"]

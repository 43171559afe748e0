"""Kernel and reference give the published evaluator's values, on its 659 vectors and on the published run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer import packs, reference, tables
from scorer.score import compile_golds, score_batch
from scorer.text import keep_surrogates
from tests.parity import vectors

PACK = packs.load("eduevidence")
VECTORS = vectors.load()


def _as_expected(metrics: dict[str, Any], reads: dict[str, list[str]]) -> dict[str, Any]:
    return metrics | {
        "detected_outcomes": reads.get("outcome", []),
        "detected_action": next(iter(reads.get("action", [])), None),
    }


def test_there_are_659_vectors() -> None:
    """None of the published values may be lost."""
    assert len(VECTORS) == 659


def test_kernel_gives_the_published_values() -> None:
    """Every metric, the outcomes and the action of every vector equal the published evaluator's."""
    attempts, golds = vectors.tables_of((each["response"], vectors.gold_lists(each["gold"])) for each in VECTORS)
    scored = score_batch(attempts, compile_golds(PACK, golds))
    tables.check(scored.scores, tables.SCORES)
    tables.check(scored.extracts, tables.EXTRACTS)
    found = vectors.by_attempt(scored)
    different = []
    for number, vector in enumerate(VECTORS):
        reads = found[str(number)].pop("reads")
        if _as_expected(found[str(number)], reads) != vector["expected"]:
            different.append((vector["id"], vector.get("note"), found[str(number)], vector["expected"]))
    assert different == []


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_reference_gives_the_published_values(vector: dict[str, Any]) -> None:
    """Every metric, the outcomes and the action of a vector equal the published evaluator's."""
    evaluation = reference.evaluate(PACK, keep_surrogates(vector["response"]), vectors.gold_lists(vector["gold"]))
    metrics = {name: judged.value for name, judged in evaluation.metrics.items()}
    reads = {name: [found.value for found in read] for name, read in evaluation.reads.items()}
    assert _as_expected(metrics, reads) == vector["expected"]


def test_published_run_comes_out_equal(real_run: Path) -> None:
    """Kernel and reference give every value and action of the published evaluation.json."""
    folder = real_run / "run-empirical-01"
    published = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))["per_attempt"]
    golds = {}
    for path in sorted((real_run / "annotations").glob("gold-*.json")):
        gold = json.loads(path.read_text(encoding="utf-8"))
        golds[gold["id"]] = vectors.gold_lists(gold)
    responses = [
        json.loads((folder / f"{row['attempt_id']}.response.json").read_text(encoding="utf-8"))["response"]
        for row in published
    ]
    cases = [(response, golds[row["question_id"]]) for response, row in zip(responses, published, strict=True)]
    attempts, gold_table = vectors.tables_of(cases)
    found = vectors.by_attempt(score_batch(attempts, compile_golds(PACK, gold_table)))
    for number, ((response, gold), row) in enumerate(zip(cases, published, strict=True)):
        reads = found[str(number)].pop("reads")
        plain = reference.evaluate(PACK, response, gold)
        assert found[str(number)] == row["metrics"] == {name: each.value for name, each in plain.metrics.items()}
        assert next(iter(reads.get("action", [])), None) == row["detected_action"]
        assert reads == {name: [each.value for each in read] for name, read in plain.reads.items() if read}


def test_rows_and_reasons_of_what_is_not_scored() -> None:
    """Every attempt × metric has a row; what is not scored is null with its reason, and extracts need no gold."""
    attempts, golds = vectors.tables_of([("采用 accuracy", {}), *[("pilot", {})] * 5])
    changed = pl.DataFrame(
        {
            "status": ["completed", "failed", "budget_stopped", "exploded", "completed", "completed"],
            "fault": [None, None, None, None, "response.json is missing", None],
        },
        schema_overrides={"fault": pl.String},
    )
    attempts = attempts.with_columns(changed["status"], changed["fault"])
    scored = score_batch(attempts, compile_golds(PACK, golds.filter(pl.col("task_id") != "5")))
    tables.check(scored.scores, tables.SCORES)
    reasons = scored.scores.group_by("attempt_id", maintain_order=True).agg(
        pl.col("reason").unique(), pl.col("value").null_count().alias("nulls"), pl.len().alias("rows")
    )
    assert reasons.rows() == [
        ("0", [None], 0, 6),
        ("1", ["status failed"], 6, 6),
        ("2", ["status budget_stopped"], 6, 6),
        ("3", ["unknown status exploded"], 6, 6),
        ("4", ["response.json is missing"], 6, 6),
        ("5", ["no gold annotation"], 6, 6),
    ]
    assert scored.extracts.select("attempt_id", "field", "position", "value").rows() == [
        ("0", "outcome", 0, "accuracy"),
        ("0", "action", 0, "adopt"),
        ("5", "action", 0, "pilot"),
    ]

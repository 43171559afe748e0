"""The published evaluator's values on made-up answers, and answers and golds laid out as the tables of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from scorer import tables
from scorer.score import Scored
from scorer.text import keep_surrogates

Gold = Mapping[str, Sequence[str]]


def load() -> list[dict[str, Any]]:
    """Return the vectors: `id`, `note` where one rule is aimed at, `response`, `gold`, `expected`."""
    files = [Path(__file__).with_name(f"{name}_vectors.jsonl") for name in ("parity", "targeted")]
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def gold_lists(gold: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return a gold's list fields as they stand in our tables."""
    return {
        field: [keep_surrogates(item) for item in items] for field, items in gold.items() if isinstance(items, list)
    }


def tables_of(cases: Iterable[tuple[str, Gold]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables attempts and golds of pairs of response and gold: attempt and task `0`, `1`, …"""
    attempts, golds = [], []
    for number, (response, gold) in enumerate(cases):
        name = str(number)
        attempts.append(
            {
                "run_id": "run",
                "attempt_id": name,
                "task_id": name,
                "system": "system",
                "repeat": 1,
                "status": "completed",
                "response": keep_surrogates(response),
                "input_hash": name,
            }
        )
        golds.append((name, "id", 0, name))
        golds += [(name, field, at, item) for field, items in gold.items() for at, item in enumerate(items)]
    schema = {name: tables.GOLDS.columns[name] for name in ("task_id", "field", "position", "value")}
    return pl.DataFrame(attempts, schema=tables.ATTEMPTS.schema), pl.DataFrame(golds, schema=schema, orient="row")


def by_attempt(scored: Scored) -> dict[str, dict[str, Any]]:
    """Return each attempt's metrics and, under `reads`, what was read: a list for each field."""
    found: dict[str, dict[str, Any]] = {}
    for row in scored.scores.iter_rows(named=True):
        found.setdefault(row["attempt_id"], {"reads": {}})[row["metric"]] = row["value"]
    for row in scored.extracts.iter_rows(named=True):
        values = found[row["attempt_id"]]["reads"].setdefault(row["field"], [])
        assert row["position"] == len(values)
        values.append(row["value"])
    return found

"""Scores for the tests of the statistics, written as what each system got on each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from scorer.aggregate import Data

Values = Sequence[float | Sequence[float | None] | None]
"""One value, or one list of repeats, a question."""


def frame_of(systems: Mapping[str, Values], metric: str = "m", **columns: Any) -> pl.DataFrame:
    """Return scores as a file of them would be; a question with no repeats is one that the system was not asked."""
    rows = [
        {"system": system, "task_id": f"q{q:04}", "repeat": r + 1, "metric": metric, "value": value}
        for system, questions in systems.items()
        for q, values in enumerate(questions)
        for r, value in enumerate(values if isinstance(values, Sequence) else [values])
    ]
    schema = {"system": pl.String, "task_id": pl.String, "repeat": pl.Int64, "metric": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema).with_columns(**columns)


def data_of(metric: str = "m", **systems: Values) -> Data:
    """Return the scores of one metric."""
    return Data.from_scores(frame_of(systems, metric))


def only_row(frame: pl.DataFrame) -> dict[str, Any]:
    """Return the one row that there must be."""
    assert frame.height == 1, frame
    return frame.row(0, named=True)

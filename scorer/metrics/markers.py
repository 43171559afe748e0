"""Whether a response holds one of the words of a list."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from scorer import text
from scorer.metrics.base import Batch, Values
from scorer.parameters import LoweredWords
from scorer.reference import Attempt, Judged


@dataclass(frozen=True)
class MarkerFound:
    """Evidence: one marker that the response holds."""

    marker: str


@dataclass(frozen=True)
class Marker:
    """1 if one of the markers occurs in the lowercased response, else 0."""

    markers: LoweredWords

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        held = tuple(MarkerFound(marker) for marker in self.markers if marker in attempt.answer.lowered)
        return Judged(float(bool(held)), held)

    @property
    def matcher(self) -> Marker:
        """The search itself."""
        return self

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return no column: golds have no part in it."""
        return items.select()

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the column `held`, one row an answer."""
        del compiled
        pattern = text.any_of_lowered(self.markers)
        return batch.answers.select(pl.col("response").str.contains(pattern).alias("held"))

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return 1 or 0 for each answer."""
        del batch, compiled
        return matched["held"].cast(pl.Float64).to_numpy()

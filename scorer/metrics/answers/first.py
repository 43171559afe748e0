"""One metric out of several that fit different questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from scorer.metrics.base import Batch, MetricKind, Values
from scorer.parameters import Refers
from scorer.reference import Attempt, Judged


@dataclass(frozen=True)
class FirstThatFits:
    """The value of the first of some metrics that has a reference in the task's gold.

    So a benchmark of numbers, letters and texts has one metric over all its questions.
    """

    metrics: Annotated[tuple[MetricKind, ...], Refers("metrics")]
    """In a pack the names of metrics that stand before this one."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        judged = (metric.plain(attempt) for metric in self.metrics)
        return next((each for each in judged if each.value is not None), Judged(None))

    @property
    def matcher(self) -> FirstThatFits:
        """The metrics themselves."""
        return self

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return what each metric compiled, a struct column for each, named by its place."""
        compiled = [metric.matcher.compile(items) for metric in self.metrics]
        return pl.DataFrame([frame.to_struct(str(at)) for at, frame in enumerate(compiled)])

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the column `value`, one row an answer."""
        value = np.full(batch.size, np.nan)
        for at, metric in enumerate(self.metrics):
            own = compiled[str(at)].struct.unnest()
            value = np.where(np.isnan(value), metric.values(batch, own, batch.matched(metric.matcher, own)), value)
        return pl.DataFrame({"value": value})

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the column `value`."""
        del batch, compiled
        return matched["value"].to_numpy()

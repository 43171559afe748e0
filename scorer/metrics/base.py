"""What every metric kind has in common, and the batch that it is computed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from scorer import text
from scorer.reference import PlainMetric

Values = NDArray[np.float64]
"""One number an answer, in the order of the batch."""


@dataclass(frozen=True)
class Batch:
    """The answers that are scored together, and what was read out of them."""

    answers: pl.DataFrame
    """Columns `row` (0, 1, …), `gold` (the index of the task's gold) and `response` (never null), one row an answer."""
    reads: Mapping[str, pl.DataFrame]
    """For each reading the columns `row`, `position`, `value`, sorted by row and position."""

    @property
    def size(self) -> int:
        """How many answers there are."""
        return self.answers.height

    @cached_property
    def lowered(self) -> pl.Series:
        """The responses in lowercase as far as ASCII is concerned."""
        return text.lowered(self.answers["response"])

    @cached_property
    def worked_out(self) -> dict[Any, Any]:
        """What one metric worked out and another may ask for, by what was asked for (anything hashable)."""
        return {}

    def matched(self, matcher: Matcher, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return what a matcher matches; the work is done once, whoever asks."""
        if matcher not in self.worked_out:
            self.worked_out[matcher] = matcher.match(self, compiled)
        matched: pl.DataFrame = self.worked_out[matcher]
        return matched

    def gold(self, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return `row` and each answer's row of a compiled gold frame."""
        return compiled[self.answers["gold"]].insert_column(0, self.answers["row"])


class Matcher(Protocol):
    """What compares answers with golds. Metrics that have an equal one share its work."""

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return what is to be known of each gold, one row a gold in the order of `items`, however often it is used.

        `items` has the columns `gold` (0, 1, …) and `task_id` and, for each list field, a list of its items in order.
        Raises InputError where an item is nothing that the metric can use.
        """

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return what of the golds was found in the answers, as the metric's `values` wants it."""


class MetricKind(PlainMetric, Protocol):
    """A frozen dataclass of parameters, which also validates a pack's TOML, and what computes the metric from them."""

    @property
    def matcher(self) -> Matcher:
        """What the values are counted from."""

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the metric of each answer, not rounded; NaN where its gold has nothing to compare the answer with."""


def count(owners: pl.Series, size: int) -> Values:
    """Return how often each of 0, 1, … `size` - 1 occurs in `owners`."""
    return np.bincount(owners.to_numpy(), minlength=size).astype(np.float64)


def share(part: Values, whole: Values, where_empty: float | Values) -> Values:
    """Return `part` / `whole`, and `where_empty` where `whole` is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), where_empty)


def not_blank(items: pl.DataFrame, field: str, name: str) -> pl.DataFrame:
    """Return `gold` and, as column `name`, each item of the field that Python's `strip` leaves something of."""
    return (
        items.select("gold", pl.col(field).alias(name))
        .explode(name)
        .filter(pl.col(name).str.strip_chars(text.WHITE_SPACE) != "")
    )


def one_row_each(per_item: pl.DataFrame, golds: int) -> pl.DataFrame:
    """Return `per_item` with one row a gold, all columns as lists, empty ones where a gold has no item."""
    lists = per_item.group_by("gold", maintain_order=True).agg(pl.all())
    every = pl.DataFrame({"gold": pl.int_range(golds, dtype=pl.UInt32, eager=True)})
    return every.join(lists, on="gold", how="left", maintain_order="left").select(pl.exclude("gold").fill_null([]))

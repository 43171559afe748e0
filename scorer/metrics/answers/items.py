"""Answers that list several things: how many of the gold's are named, and how many of those named are the gold's."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from scorer.metrics.answers.base import AnswerKind
from scorer.metrics.answers.measures import Measure, measure_of, measures
from scorer.metrics.answers.normalize import normalize, normalized
from scorer.metrics.base import Batch, Values, count, one_row_each
from scorer.parameters import Words
from scorer.reference import Attempt, Judged
from scorer.text import WHITE_SPACE, any_of

_BULLET = f"^[{WHITE_SPACE}]*(?:[-*•·–]|[0-9]{{1,3}}[.)、）])[{WHITE_SPACE}]*"
"""What a list puts before its items."""


@dataclass(frozen=True)
class ItemJudged:
    """Evidence: one thing that the answer names, the gold lists, or both."""

    item: str
    named: bool
    wanted: bool


@dataclass(frozen=True, kw_only=True)
class ItemSet(AnswerKind):
    """Precision, recall or F1 of the set of things that an answer names, against the set that the gold lists.

    An answer is cut at the separators; what a list puts before its items is dropped, then each item is normalised. The
    gold's items belong together here: all of them are wanted. An answer that names nothing has 0 on each measure.
    """

    separators: Words
    measure: Measure

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        wanted = set(self.references(attempt))
        if not wanted:
            return Judged(None)
        named = self.items(self.part(attempt.answer.text))
        value = measure_of(self.measure, len(named & wanted), len(named), len(wanted))
        return Judged(value, tuple(ItemJudged(item, item in named, item in wanted) for item in sorted(named | wanted)))

    def items(self, said: str) -> set[str]:
        """Return the different things that a text names, normalised."""
        parts = re.split(any_of(self.separators), said)
        return {item for part in parts if (item := normalize(re.sub(_BULLET, "", part), self.normalize))}

    # ---- a batch ----

    @property
    def matcher(self) -> ItemSet:
        """The comparison itself."""
        return self

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return `reference`: a list of each gold's different items."""
        return one_row_each(self.all_references(items).unique(maintain_order=True), items.height)

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return a row for each different thing that an answer names: `row`, and whether it is `wanted`."""
        cut = pl.col("item").str.split(any_of(self.separators), literal=False)
        listed = batch.answers.select("row", self.parts(batch).alias("item")).with_columns(cut).explode("item")
        item = normalized(pl.col("item").str.replace(_BULLET, ""), self.normalize)
        named = listed.with_columns(item).filter(pl.col("item") != "").unique(maintain_order=True)
        wanted = batch.gold(compiled).explode("reference").drop_nulls().with_columns(wanted=True)
        named = named.join(wanted, left_on=["row", "item"], right_on=["row", "reference"], how="left")
        return named.select("row", pl.col("wanted").fill_null(value=False))

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the measure of each answer."""
        wanted = batch.gold(compiled)["reference"].list.len().to_numpy().astype(np.float64)
        named = count(matched["row"], batch.size)
        shared = count(matched.filter("wanted")["row"], batch.size)
        return np.where(wanted > 0, measures(self.measure, shared, named, wanted), np.nan)

"""Names read out of a response against the names that the gold lists."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from scorer.metrics.base import Batch, Values, count, share
from scorer.parameters import GoldList, ReadField
from scorer.reference import Attempt, Judged, Place


@dataclass(frozen=True)
class NameJudged:
    """Evidence: one name of the gold, and where it was found (nowhere where it was not)."""

    gold: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class NameMatch:
    """Which of the gold's different names were read out."""

    gold: GoldList
    read: ReadField

    @property
    def matcher(self) -> NameMatch:
        """The names found, for every metric that asks for the same."""
        return NameMatch(self.gold, self.read)

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return the column `names`: each gold's different names."""
        return items.select(pl.col(self.gold).list.unique().alias("names"))

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the column `row` with one row for each name that an answer has of its gold."""
        wanted = batch.gold(compiled).explode("names")
        return wanted.join(batch.reads[self.read], left_on=["row", "names"], right_on=["row", "value"], how="semi")

    def judge(self, attempt: Attempt) -> tuple[NameJudged, ...]:
        """Return each different name of the gold with where one attempt has it."""
        places = {found.value: found.places for found in attempt.reads[self.read]}
        return tuple(NameJudged(name, places.get(name, ())) for name in sorted(set(attempt.gold.get(self.gold, ()))))


@dataclass(frozen=True)
class SetRecall(NameMatch):
    """The share of the gold's names that were read out; with an empty gold list 1 if nothing was read out, else 0."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        names = self.judge(attempt)
        if not names:
            return Judged(0.0 if attempt.reads[self.read] else 1.0)
        return Judged(sum(bool(name.places) for name in names) / len(names), names)

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the share of each answer."""
        wanted = batch.gold(compiled)["names"].list.len().to_numpy()
        nothing_read = count(batch.reads[self.read]["row"], batch.size) == 0
        return share(count(matched["row"], batch.size), wanted, where_empty=nothing_read.astype(float))


@dataclass(frozen=True)
class ChoiceInRange(NameMatch):
    """1 if the name that was read out is one of the gold's, else 0."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        names = self.judge(attempt)
        return Judged(float(any(name.places for name in names)), names)

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return 1 or 0 for each answer."""
        del compiled
        return (count(matched["row"], batch.size) > 0).astype(float)

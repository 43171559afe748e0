"""Units of a response (sentences, list items) against the gold's statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scorer.metrics.base import MetricKind
from scorer.parameters import Count, GoldList, ReadField, Share
from scorer.reference import Attempt, Gold, Judged, overlap, runs, tokens


@dataclass(frozen=True)
class UnitJudged:
    """Evidence: one unit beside one statement of the gold: a hit and by what, or of several misses the nearest."""

    unit: str
    gold: str
    hit: bool
    shared_tokens: tuple[str, ...]
    overlap: float
    shared_run: str | None
    """The first run of the statement that the unit holds too."""


@dataclass(frozen=True)
class UnitMatch(MetricKind):
    """When a unit hits a gold statement: enough overlap, or a shared run of characters."""

    gold: GoldList
    read: ReadField
    overlap: Share
    run: Count

    def statements(self, gold: Gold) -> list[str]:
        """Return the gold's statements that are not blank."""
        return [item for item in gold.get(self.gold, ()) if item.strip()]

    def judge(self, attempt: Attempt, each: Literal["unit", "gold"]) -> tuple[UnitJudged, ...]:
        """Return the hits of each unit or each statement, or of one that has none its nearest miss.

        Equal units and equal statements are judged once.
        """
        decisive: dict[str, list[_Pair]] = {}
        for pair in self._pairs(attempt):
            kept = decisive.setdefault(getattr(pair, each), [])
            if kept and not kept[0].hit and (pair.hit or pair.overlap > kept[0].overlap):
                kept.clear()
            if pair.hit or not kept:
                kept.append(pair)
        return tuple(pair.judged() for kept in decisive.values() for pair in kept)

    def _pairs(self, attempt: Attempt) -> Iterator[_Pair]:
        statements = {item: (tokens(item), runs(item, self.run)) for item in self.statements(attempt.gold)}
        for unit in dict.fromkeys(found.value for found in attempt.reads[self.read]):
            unit_tokens, unit_runs = tokens(unit), set(runs(unit, self.run))
            for statement, (wanted, wanted_runs) in statements.items():
                share = overlap(unit_tokens, wanted)
                run = next((run for run in wanted_runs if run in unit_runs), None)
                yield _Pair(unit, statement, share >= self.overlap or run is not None, share, run)


class _Pair(NamedTuple):
    unit: str
    gold: str
    hit: bool
    overlap: float
    shared_run: str | None

    def judged(self) -> UnitJudged:
        shared = tuple(sorted(tokens(self.unit) & tokens(self.gold)))
        return UnitJudged(self.unit, self.gold, self.hit, shared, self.overlap, self.shared_run)


@dataclass(frozen=True)
class UnitRecall(UnitMatch):
    """The share of the gold's statements that some unit hits; 1 where the gold list is empty."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        judged = self.judge(attempt, "gold")
        statements = self.statements(attempt.gold)
        hit = {each.gold for each in judged if each.hit}
        value = sum(statement in hit for statement in statements) / len(statements) if statements else 1.0
        return Judged(value, judged)


@dataclass(frozen=True)
class UnitPrecision(UnitMatch):
    """The share of units that hit some gold statement; 1 where there are no units."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        judged = self.judge(attempt, "unit")
        units = [found.value for found in attempt.reads[self.read]]
        hitting = {each.unit for each in judged if each.hit}
        return Judged(sum(unit in hitting for unit in units) / len(units) if units else 1.0, judged)

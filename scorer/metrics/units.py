"""Units of a response (sentences, list items) against the gold's statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scorer.metrics.base import MetricKind
from scorer.parameters import Count, GoldList, ReadField, Share
from scorer.reference import Attempt, Gold, Judged, Read, overlap, runs, tokens


@dataclass(frozen=True)
class UnitHit:
    """Evidence: one unit that hits one statement of the gold, and by what."""

    unit: str
    gold: str
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

    def hits(self, reads: Mapping[str, Read], gold: Gold) -> list[UnitHit]:
        """Return every hit: equal units and equal statements give equal hits."""
        statements = {item: (tokens(item), runs(item, self.run)) for item in self.statements(gold)}
        hits = []
        for unit in dict.fromkeys(found.value for found in reads[self.read]):
            unit_tokens, unit_runs = tokens(unit), set(runs(unit, self.run))
            for statement, (wanted, wanted_runs) in statements.items():
                share = overlap(unit_tokens, wanted)
                run = next((run for run in wanted_runs if run in unit_runs), None)
                if share >= self.overlap or run is not None:
                    hits.append(UnitHit(unit, statement, tuple(sorted(unit_tokens & wanted)), share, run))
        return hits


@dataclass(frozen=True)
class UnitRecall(UnitMatch):
    """The share of the gold's statements that some unit hits; 1 where the gold list is empty."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        hits = self.hits(attempt.reads, attempt.gold)
        statements = self.statements(attempt.gold)
        hit = {each.gold for each in hits}
        value = sum(statement in hit for statement in statements) / len(statements) if statements else 1.0
        return Judged(value, tuple(hits))


@dataclass(frozen=True)
class UnitPrecision(UnitMatch):
    """The share of units that hit some gold statement; 1 where there are no units."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        hits = self.hits(attempt.reads, attempt.gold)
        units = [found.value for found in attempt.reads[self.read]]
        hitting = {each.unit for each in hits}
        return Judged(sum(unit in hitting for unit in units) / len(units) if units else 1.0, tuple(hits))

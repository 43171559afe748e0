"""Units of a response (sentences, list items) against the gold's statements."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.metrics.base import MetricKind
from scorer.metrics.parameters import Count, GoldList, ReadField, Share


@dataclass(frozen=True)
class UnitMatch(MetricKind):
    """When a unit hits a gold statement: enough overlap, or a shared run of characters."""

    gold: GoldList
    read: ReadField
    overlap: Share
    run: Count


@dataclass(frozen=True)
class UnitRecall(UnitMatch):
    """The share of the gold's statements that some unit hits; 1 where the gold list is empty."""


@dataclass(frozen=True)
class UnitPrecision(UnitMatch):
    """The share of units that hit some gold statement; 1 where there are no units."""

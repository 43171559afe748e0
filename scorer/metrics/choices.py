"""Names read out of a response against the names that the gold lists."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.metrics.base import MetricKind
from scorer.metrics.parameters import GoldList, ReadField


@dataclass(frozen=True)
class SetRecall(MetricKind):
    """The share of the gold's names that were read out; with an empty gold list 1 if nothing was read out, else 0."""

    gold: GoldList
    read: ReadField


@dataclass(frozen=True)
class ChoiceInRange(MetricKind):
    """1 if the name that was read out is one of the gold's, else 0."""

    gold: GoldList
    read: ReadField

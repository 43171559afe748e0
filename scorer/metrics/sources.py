"""Which of the gold's sources a response mentions."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.metrics.base import MetricKind
from scorer.metrics.parameters import GoldList, Share, Words


@dataclass(frozen=True)
class SourceRecall(MetricKind):
    """The share of the gold's sources that are mentioned; 1 where the gold list is empty."""

    gold: GoldList
    overlap: Share
    """The overlap of response and source from which the source counts as mentioned."""
    no_names: Words
    """Words of a source that are nobody's name."""

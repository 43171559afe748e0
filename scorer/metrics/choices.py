"""Names read out of a response against the names that the gold lists."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.metrics.base import MetricKind
from scorer.parameters import GoldList, ReadField
from scorer.reference import Attempt, Judged, Place


@dataclass(frozen=True)
class NameJudged:
    """Evidence: one name of the gold, and where it was found (nowhere where it was not)."""

    gold: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class SetRecall(MetricKind):
    """The share of the gold's names that were read out; with an empty gold list 1 if nothing was read out, else 0."""

    gold: GoldList
    read: ReadField

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        places = {found.value: found.places for found in attempt.reads[self.read]}
        wanted = sorted(set(attempt.gold.get(self.gold, ())))
        evidence = tuple(NameJudged(name, places.get(name, ())) for name in wanted)
        if not wanted:
            return Judged(0.0 if places else 1.0)
        return Judged(sum(name in places for name in wanted) / len(wanted), evidence)


@dataclass(frozen=True)
class ChoiceInRange(MetricKind):
    """1 if the name that was read out is one of the gold's, else 0."""

    gold: GoldList
    read: ReadField

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        places = {found.value: found.places for found in attempt.reads[self.read]}
        wanted = tuple(attempt.gold.get(self.gold, ()))
        evidence = tuple(NameJudged(name, places.get(name, ())) for name in wanted)
        return Judged(float(any(name in places for name in wanted)), evidence)

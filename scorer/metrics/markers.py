"""Whether a response holds one of the words of a list."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.metrics.base import MetricKind
from scorer.parameters import Words
from scorer.reference import Attempt, Judged


@dataclass(frozen=True)
class MarkerFound:
    """Evidence: one marker that the response holds."""

    marker: str


@dataclass(frozen=True)
class Marker(MetricKind):
    """1 if one of the markers occurs in the lowercased response, else 0."""

    markers: Words

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        held = tuple(MarkerFound(marker) for marker in self.markers if marker in attempt.answer.lowered)
        return Judged(float(bool(held)), held)

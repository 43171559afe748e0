"""Whether a response holds one of the words of a list."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.metrics.base import MetricKind
from scorer.metrics.parameters import Words


@dataclass(frozen=True)
class Marker(MetricKind):
    """1 if one of the markers occurs in the lowercased response, else 0."""

    markers: Words

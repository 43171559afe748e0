"""What every metric kind has in common."""

from __future__ import annotations

from typing import Protocol

from scorer.reference import PlainMetric


class MetricKind(PlainMetric, Protocol):
    """A frozen dataclass of parameters, which also validates a pack's TOML, and what computes the metric from them."""

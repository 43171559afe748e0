"""What every metric kind has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Gold = Mapping[str, Sequence[str]]
"""One task's gold: each field's items in order."""


@dataclass(frozen=True)
class Judged:
    """One metric of one attempt as the plain reference computes it."""

    value: float
    """Before rounding."""
    evidence: tuple[Any, ...] = ()
    """What decided it: dataclasses, one a gold item or a thing read, as the kind's module defines them."""


class MetricKind(Protocol):
    """A frozen dataclass of parameters, which also validates a pack's TOML, and what computes the metric from them."""

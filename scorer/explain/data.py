"""What an explanation holds: plain data, for text, JSON and pages alike."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from scorer.explain.judgements import Judgement
from scorer.explain.marks import Mark
from scorer.explain.reasons import Reason
from scorer.reference import Gold, Place


@dataclass(frozen=True)
class MetricExplained:
    """One metric of the attempt."""

    metric: str
    stored: float | None
    """The value in the store; null where the attempt was not scored."""
    reason: str | None
    """Why it was not scored."""
    kind: str | None = None
    """The metric's kind in the pack; null where no pack explains it, and then nothing below is known."""
    value: float | None = None
    """The value as the reference computes it."""
    evidence: tuple[Any, ...] = ()
    """What decided it: dataclasses as the kind's module defines them."""
    reasons: tuple[Reason, ...] = ()
    """The same in sentences."""

    @property
    def agrees(self) -> bool:
        """Whether the stored value is the reference's (within rounding, where the pack does not round)."""
        if self.value is None or self.stored is None:
            return self.value is None
        return math.isclose(self.value, self.stored, rel_tol=1e-9, abs_tol=1e-12)


@dataclass(frozen=True)
class ReadOut:
    """One thing read out of the response: a row of the table extracts, and where it was found."""

    field: str
    position: int
    value: str
    kind: str
    """The kind of the reading in the pack."""
    places: tuple[Place, ...]
    label: str
    """What its marks are called."""


@dataclass(frozen=True)
class ScorerExplained:
    """What one scorer made of the attempt."""

    scorer: str
    notes: tuple[str, ...]
    """What keeps the explanation from being the whole truth, in plain words."""
    reads: tuple[ReadOut, ...]
    """What was read out of the response, and where; empty where no pack explains it."""
    metrics: tuple[MetricExplained, ...]


@dataclass(frozen=True)
class Explanation:
    """One attempt with everything that decided its values."""

    run_id: str
    mode: str
    attempt_id: str
    task_id: str
    system: str
    repeat: int
    status: str
    prompt: str | None
    response: str | None
    fault: str | None
    error: str | None
    gold: Gold | None
    """Each field's items in order; null where the task has no gold."""
    scorers: tuple[ScorerExplained, ...]
    judgements: tuple[Judgement, ...]
    marks: tuple[Mark, ...]
    """Where in the response things were found, in the order of the text."""

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the same as the command line, with the marks in colour."""
        from scorer.explain.printing import explanation_html  # noqa: PLC0415  (it builds on this module)

        return explanation_html(self)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as dictionaries, lists, texts and numbers, ready for JSON."""
        return asdict(self)

"""Metric kinds, registered in one place: what each takes, how a batch is scored, how the plain reference does it."""

from __future__ import annotations

from collections.abc import Mapping

from scorer.metrics.answers import (
    Contains,
    ExactMatch,
    FirstThatFits,
    ItemSet,
    Matches,
    MultipleChoice,
    NumberNear,
    RougeL,
    TokenOverlap,
    YesNo,
)
from scorer.metrics.base import MetricKind
from scorer.metrics.choices import ChoiceInRange, SetRecall
from scorer.metrics.markers import Marker
from scorer.metrics.sources import SourceRecall
from scorer.metrics.units import UnitPrecision, UnitRecall

KINDS: Mapping[str, type[MetricKind]] = {
    "set_recall": SetRecall,
    "choice_in_range": ChoiceInRange,
    "unit_recall": UnitRecall,
    "unit_precision": UnitPrecision,
    "source_recall": SourceRecall,
    "marker": Marker,
    "exact_match": ExactMatch,
    "contains": Contains,
    "regex": Matches,
    "number": NumberNear,
    "multiple_choice": MultipleChoice,
    "yes_no": YesNo,
    "item_set": ItemSet,
    "token_overlap": TokenOverlap,
    "rouge_l": RougeL,
    "first_that_fits": FirstThatFits,
}
"""Every metric kind by the name that `kind` has in a pack."""

__all__ = ["KINDS", "MetricKind"]

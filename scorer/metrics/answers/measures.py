"""Precision, recall and F1 from three counts; the same for items, tokens and subsequences."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from scorer.metrics.base import Values
from scorer.parameters import OneOf

PRECISION, RECALL, F1 = "precision", "recall", "f1"
Measure = Annotated[str, OneOf((PRECISION, RECALL, F1))]


def measures(measure: str, shared: Values, said: Values, wanted: Values) -> Values:
    """Return the measure from how many are shared, said and wanted; 0 where the share is one of nothing."""
    part, whole = {PRECISION: (shared, said), RECALL: (shared, wanted), F1: (2 * shared, said + wanted)}[measure]
    return np.where(whole > 0, part / np.maximum(whole, 1), 0.0)


def measure_of(measure: str, shared: int, said: int, wanted: int) -> float:
    """Return the measure from three whole numbers, 0 where the share is one of nothing."""
    part, whole = {PRECISION: (shared, said), RECALL: (shared, wanted), F1: (2 * shared, said + wanted)}[measure]
    return part / whole if whole else 0.0

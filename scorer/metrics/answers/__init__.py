"""Kinds for anyone's answers with reference answers: texts, numbers, letters, yes and no, lists, free texts."""

from __future__ import annotations

from scorer.metrics.answers.closed import MultipleChoice, YesNo
from scorer.metrics.answers.first import FirstThatFits
from scorer.metrics.answers.items import ItemSet
from scorer.metrics.answers.numbers import NumberNear
from scorer.metrics.answers.overlap import RougeL, TokenOverlap
from scorer.metrics.answers.texts import Contains, ExactMatch, Matches

__all__ = [
    "Contains",
    "ExactMatch",
    "FirstThatFits",
    "ItemSet",
    "Matches",
    "MultipleChoice",
    "NumberNear",
    "RougeL",
    "TokenOverlap",
    "YesNo",
]

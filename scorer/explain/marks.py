"""Where in the response things were found: spans of characters with a label, for whoever shows the response."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from scorer.metrics.answers.numbers import NumberJudged
from scorer.metrics.answers.texts import PatternJudged, TextJudged
from scorer.metrics.markers import MarkerFound
from scorer.metrics.sources import SourceJudged
from scorer.metrics.units import UnitJudged
from scorer.packs import Reading
from scorer.reference import LOWERED, TEXT, Answer, Found, Place, Read, UnitReading, block_text

MOST_SPANS = 50
"""Of words that occur more often than this only so many are marked."""

Span = tuple[int, int]
"""From the first character to the one after the last."""


@dataclass(frozen=True, order=True)
class Mark:
    """Characters `start` to `end` (exclusive) of the response, and what they were found to be."""

    start: int
    end: int
    label: str


def read_label(reading: Reading, position: int, found: Found) -> str:
    """Return what the marks of one thing read are called: a unit is long, so it goes by its number."""
    return f"{reading.name} {position + 1 if isinstance(reading.params, UnitReading) else found.value}"


def read_marks(reading: Reading, read: Read, answer: Answer) -> Iterator[Mark]:
    """Yield where each thing that a reading read stands."""
    labels = [read_label(reading, position, found) for position, found in enumerate(read)]
    if isinstance(reading.params, UnitReading):
        for label, (start, end) in zip(labels, _unit_spans(read, answer), strict=True):
            if end:
                yield Mark(start, end, label)
        return
    for label, found in zip(labels, read, strict=True):
        for start, end in (span for place in found.places for span in place_spans(place, answer)):
            yield Mark(start, end, label)


@singledispatch
def evidence_marks(evidence: Any, answer: Answer) -> Iterable[Mark]:
    """Return where a metric's evidence stands beyond what the readings found; nothing for a kind unknown here."""
    del evidence, answer
    return ()


@evidence_marks.register
def _unit(evidence: UnitJudged, answer: Answer) -> Iterator[Mark]:
    if evidence.hit and evidence.shared_run:
        start = answer.text.find(evidence.unit)  # not there where the JSON block writes it otherwise
        if start >= 0:
            inside = answer.text.index(evidence.shared_run, start)
            yield Mark(inside, inside + len(evidence.shared_run), "run shared with the gold")


@evidence_marks.register
def _source(evidence: SourceJudged, answer: Answer) -> Iterator[Mark]:
    for name in evidence.names_held if evidence.mentioned else ():
        for start, end in find_lowered(answer, name):
            yield Mark(start, end, f"source name {name}")


@evidence_marks.register
def _marker(evidence: MarkerFound, answer: Answer) -> Iterator[Mark]:
    for start, end in find_lowered(answer, evidence.marker):
        yield Mark(start, end, "scope marker")


@evidence_marks.register
def _number(evidence: NumberJudged, answer: Answer) -> Iterator[Mark]:
    for start, end in find_all(answer.text, evidence.found or ""):
        yield Mark(start, end, "number")


@evidence_marks.register
def _pattern(evidence: PatternJudged, answer: Answer) -> Iterator[Mark]:
    for start, end in find_all(answer.text, evidence.found or ""):
        yield Mark(start, end, f"pattern {evidence.pattern}")


@evidence_marks.register
def _text(evidence: TextJudged, answer: Answer) -> Iterator[Mark]:
    if evidence.met:
        for start, end in find_lowered(answer, evidence.reference.lower()):
            yield Mark(start, end, f"reference {evidence.reference}")


def place_spans(place: Place, answer: Answer) -> Iterator[Span]:
    """Yield where the words of a place stand."""
    if place.within == TEXT:
        yield from find_all(answer.text, place.words)
    elif place.within == LOWERED:
        yield from find_lowered(answer, place.words)
    else:
        yield from _block_spans(place, answer.text)


def _unit_spans(read: Read, answer: Answer) -> Iterator[Span]:
    """Yield where each unit stands, (0, 0) for one that the block writes in pieces.

    Sentences follow one another: a text that holds a unit's words before the unit itself is a unit too, and was met.
    """
    end = 0
    for found in read:
        if found.places[0].within in (TEXT, LOWERED):
            start = answer.text.index(found.value, end)
            end = start + len(found.value)
            yield start, end
        else:
            yield next(_block_spans(found.places[0], answer.text), (0, 0))


def find_all(text: str, words: str) -> Iterator[Span]:
    """Yield the first occurrences of `words`, none overlapping the one before."""
    start = text.find(words) if words else -1
    for _ in range(MOST_SPANS):
        if start < 0:
            return
        yield start, start + len(words)
        start = text.find(words, start + len(words))


def find_lowered(answer: Answer, words: str) -> Iterator[Span]:
    """Yield the first occurrences of `words` in the lowercased text, as spans of the text itself.

    The one character that lowercases to two, `İ`, shifts what follows it.
    """
    if len(answer.lowered) == len(answer.text):
        yield from find_all(answer.lowered, words)
        return
    origin = [at for at, character in enumerate(answer.text) for _ in character.lower()]
    for start, end in find_all(answer.lowered, words):
        yield origin[start], origin[end - 1] + 1


def _block_spans(place: Place, text: str) -> Iterator[Span]:
    """Yield where a text of the JSON block stands: under its key, plain or with JSON's escapes."""
    block = block_text(text)
    if block is None:
        return
    offset = text.index(block)
    key = re.escape(re.split(r"[.\[]", place.within)[-1])
    for escapes_all in (False, True):
        written = json.dumps(place.words, ensure_ascii=escapes_all)[1:-1]
        under_key = re.search(rf'"{key}"\s*:\s*"({re.escape(written)})"', block)
        at = under_key.start(1) if under_key else block.find(written)
        if at >= 0:
            yield offset + at, offset + at + len(written)
            return

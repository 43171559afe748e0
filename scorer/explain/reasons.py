"""What the reference found, in sentences: what counted for a metric's value, what did not, and by how little."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import singledispatch
from typing import Any

from scorer.metrics.answers.closed import ChoiceJudged
from scorer.metrics.answers.items import ItemJudged
from scorer.metrics.answers.numbers import NumberJudged
from scorer.metrics.answers.overlap import OverlapJudged
from scorer.metrics.answers.texts import PatternJudged, TextJudged
from scorer.metrics.choices import ChoiceInRange, NameJudged, SetRecall
from scorer.metrics.markers import Marker
from scorer.metrics.sources import SourceJudged, SourceRecall
from scorer.metrics.units import UnitJudged, UnitMatch, UnitPrecision, UnitRecall
from scorer.reference import LOWERED, TEXT, Answer, Gold, Judged, Place, Read


@dataclass(frozen=True)
class Reason:
    """One thing that the metric asks for, or that it looked at."""

    met: bool | None
    """Whether it counts for the metric; null where it is only told."""
    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """All that a metric saw of one attempt, and what it made of it."""

    answer: Answer
    reads: Mapping[str, Read]
    gold: Gold
    judged: Judged


def place_text(answer: Answer, place: Place) -> str:
    """Return a place with how often its words stand there."""
    times = {TEXT: answer.text, LOWERED: answer.lowered}.get(place.within, "").count(place.words)
    return f"{place} ({times} times)" if times > 1 else str(place)


@singledispatch
def reasons(params: Any, seen: Seen) -> Iterable[Reason]:  # noqa: ARG001  (it chooses the function)
    """Return why the metric with these parameters has its value: by default a reason for each piece of evidence."""
    return [evidence_reason(evidence) for evidence in seen.judged.evidence]


@singledispatch
def evidence_reason(evidence: Any) -> Reason:
    """Return one piece of evidence in a sentence; of a kind unknown here, its fields as they stand."""
    values = {field.name: getattr(evidence, field.name) for field in fields(evidence)}
    return Reason(None, ", ".join(f"{name}: {_value(value)}" for name, value in values.items()))


def _value(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple | list):
        return ", ".join(map(_value, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# --- names ------------------------------------------------------------------------------------------------------------


@reasons.register
def _set_recall(params: SetRecall, seen: Seen) -> Iterator[Reason]:
    if not seen.judged.evidence:
        yield Reason(not seen.reads[params.read], f"the gold lists none: right is to name none; {_read(params, seen)}")
    yield from _names(seen)


@reasons.register
def _choice_in_range(params: ChoiceInRange, seen: Seen) -> Iterator[Reason]:
    yield Reason(None, _read(params, seen))
    yield from _names(seen)
    if not seen.judged.evidence:
        yield Reason(False, "the gold allows none")


def _read(params: SetRecall | ChoiceInRange, seen: Seen) -> str:
    return f"read out as {params.read}: {', '.join(found.value for found in seen.reads[params.read]) or 'nothing'}"


def _names(seen: Seen) -> Iterator[Reason]:
    for each in _evidence(seen, NameJudged):
        yield Reason(bool(each.places), each.gold, tuple(place_text(seen.answer, place) for place in each.places))


# --- units ------------------------------------------------------------------------------------------------------------


_HITS_TOLD = 10


@reasons.register
def _unit_recall(params: UnitRecall, seen: Seen) -> Iterator[Reason]:
    statements = params.statements(seen.gold)
    if not statements:
        yield Reason(True, "the gold lists none")
    pairs = _grouped(seen, lambda pair: pair.gold)
    first = {found.value: at + 1 for at, found in reversed(list(enumerate(seen.reads[params.read])))}
    for statement in statements:
        others = [(pair, f"{params.read} {first[pair.unit]} {quoted(pair.unit)}") for pair in pairs[statement]]
        yield _unit_reason(params, statement, others, f"no {params.read} was read out")


@reasons.register
def _unit_precision(params: UnitPrecision, seen: Seen) -> Iterator[Reason]:
    units = seen.reads[params.read]
    if not units:
        yield Reason(True, f"no {params.read} was read out: none is wrong")
    pairs = _grouped(seen, lambda pair: pair.unit)
    for unit in units:
        others = [(pair, f"gold {quoted(pair.gold)}") for pair in pairs[unit.value]]
        yield _unit_reason(params, unit.value, others, "the gold lists nothing that it could hit")


def _grouped(seen: Seen, key: Callable[[UnitJudged], str]) -> Mapping[str, list[UnitJudged]]:
    groups: dict[str, list[UnitJudged]] = defaultdict(list)
    for pair in _evidence(seen, UnitJudged):
        groups[key(pair)].append(pair)
    return groups


def _unit_reason(params: UnitMatch, asked: str, others: Sequence[tuple[UnitJudged, str]], none: str) -> Reason:
    """Tell of one statement (or unit) with which units (or statements) it meets, or which comes nearest."""
    told = [_pair_text(params, pair, other) for pair, other in others[:_HITS_TOLD]] or [none]
    if len(others) > _HITS_TOLD:
        told.append(f"and {len(others) - _HITS_TOLD:,} hits more")
    return Reason(any(pair.hit for pair, _ in others), quoted(asked), tuple(told))


def _pair_text(params: UnitMatch, pair: UnitJudged, other: str) -> str:
    run = f"shared run {quoted(pair.shared_run)}" if pair.shared_run else f"no shared run of {params.run} characters"
    share = overlap_text(pair.overlap, params.overlap, pair.shared_tokens)
    return f"{'hit' if pair.hit else 'nearest miss'}: {other}: {share}; {run}"


# --- sources and markers ----------------------------------------------------------------------------------------------


@reasons.register
def _source_recall(params: SourceRecall, seen: Seen) -> Iterator[Reason]:
    judged = _evidence(seen, SourceJudged)
    if not judged:
        yield Reason(True, "the gold lists none")
    for each in judged:
        names = f"names in the answer: {', '.join(each.names_held) or 'none'}"
        centuries = f"centuries in the answer: {', '.join(each.centuries_held) or 'none'}"
        share = overlap_text(each.overlap, params.overlap, each.shared_tokens)
        yield Reason(each.mentioned, quoted(each.source), (share, f"{names}; {centuries}"))


@reasons.register
def _marker(params: Marker, seen: Seen) -> Iterator[Reason]:
    held = [evidence.marker for evidence in seen.judged.evidence]
    for marker in held:
        yield Reason(True, place_text(seen.answer, Place(marker, LOWERED)))
    if not held:
        yield Reason(False, f"none of the {len(params.markers)} markers occurs: {', '.join(params.markers)}")


# --- answers with references ------------------------------------------------------------------------------------------


@evidence_reason.register
def _text(evidence: TextJudged) -> Reason:
    return Reason(evidence.met, f"reference {quoted(evidence.reference)}", (f"the answer: {quoted(evidence.said)}",))


@evidence_reason.register
def _pattern(evidence: PatternJudged) -> Reason:
    found = "matches nothing" if evidence.found is None else f"matches {quoted(evidence.found)}"
    return Reason(evidence.found is not None, f"pattern {evidence.pattern} {found}")


@evidence_reason.register
def _number(evidence: NumberJudged) -> Reason:
    wanted = f"{evidence.low:.12g}" if evidence.low == evidence.high else f"{evidence.low:.12g} to {evidence.high:.12g}"
    found = "no number" if evidence.found is None else f"{quoted(evidence.found)} = {evidence.value:.12g}"
    return Reason(evidence.met, f"reference {quoted(evidence.reference)} allows {wanted}", (f"the answer: {found}",))


@evidence_reason.register
def _choice(evidence: ChoiceJudged) -> Reason:
    read = evidence.read or "nothing"
    return Reason(
        evidence.read in evidence.references,
        f"reference {', '.join(evidence.references)}",
        (f"the answer: {read} ({evidence.rule})",),
    )


@evidence_reason.register
def _item(evidence: ItemJudged) -> Reason:
    told = {(True, True): "named and wanted", (False, True): "wanted, not named", (True, False): "named, not wanted"}
    return Reason(
        evidence.named and evidence.wanted, f"{quoted(evidence.item)}: {told[evidence.named, evidence.wanted]}"
    )


@evidence_reason.register
def _overlap(evidence: OverlapJudged) -> Reason:
    counts = f"{len(evidence.shared)} tokens shared of {evidence.tokens_said} in the answer"
    return Reason(
        None,
        f"{evidence.value:.4g} against reference {quoted(evidence.reference)}",
        (f"{counts} and {evidence.tokens_wanted} in the reference: {shown(evidence.shared)}",),
    )


# --- words ------------------------------------------------------------------------------------------------------------

_LONG, _LONGEST_READ = 120, 10_000
_TOKENS_SHOWN = 12


def quoted(text: str) -> str:
    """Return the text in quotation marks, on one line, its middle left out where it is long."""
    line = " ".join(text.split()) if len(text) <= _LONGEST_READ else text
    if len(line) > _LONG:
        begin, end = (" ".join(part.split()) for part in (line[: _LONG // 2], line[-_LONG // 2 :]))
        line = f"{begin} […{len(line) - _LONG} characters…] {end}"
    return f"“{line}”"


def overlap_text(share: float, wanted: float, shared: Sequence[str]) -> str:
    """Return an overlap beside the one that would do, with the tokens that make it."""
    relation = "reaches" if share >= wanted else "is below"
    return f"overlap {share:.4g} {relation} {wanted:g} (shared tokens: {shown(shared)})"


def shown(tokens: Sequence[str]) -> str:
    """Return the first tokens, and how many more there are."""
    more = f" and {len(tokens) - _TOKENS_SHOWN} more" if len(tokens) > _TOKENS_SHOWN else ""
    return (", ".join(tokens[:_TOKENS_SHOWN]) or "none") + more


def _evidence(seen: Seen, made: type[Any]) -> list[Any]:
    return [each for each in seen.judged.evidence if isinstance(each, made)]

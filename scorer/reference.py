"""The rules in plain, slow Python for one attempt: what `explain` prints from and what the kernel is held to.

The kernel shares no more of it than the pinned table of word characters and what is done with a JSON block that
Python's own parser has read. Each result says where it was found, not only what.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol

from scorer.parameters import Characters, LoweredTerms, LoweredWords, Terms
from scorer.text import FIRST_HAN, LAST_HAN, keep_surrogates, word_ranges

FENCE = "```json"
MOST_LEVELS = 900
"""A block nested deeper than this counts as none: Python's parser gives up somewhat later, depending on its version."""
_LEVELS_ON_ANY_STACK = 200

_WORD = re.compile(r"\b([A-Za-z][A-Za-z-]{1,40})\b", re.ASCII)


# ---- text ----


def is_word_character(character: str) -> bool:
    r"""Tell whether Python's `\b` of Unicode 14 takes the character as part of a word."""
    after = bisect(word_ranges(), (ord(character), sys.maxunicode))
    return character == "_" or (after > 0 and ord(character) <= word_ranges()[after - 1][1])


def ascii_shape(text: str) -> str:
    r"""Return `text` with each character beyond ASCII as `5` (decimals), `_` (other word characters) or a space.

    Words and years are ASCII but for a year's last two digits, so on this text the ASCII `\b` falls where Python's does
    on the original, and no `5` makes `19` or `20`. A decimal that came after Unicode 14 is no word character here.
    """
    return text.translate({ord(c): _shape(c) for c in set(text) if not c.isascii()})


@lru_cache(maxsize=2**16)
def _shape(character: str) -> str:
    if not is_word_character(character):
        return " "
    return "5" if character.isdecimal() else "_"


def words(text: str) -> set[str]:
    """Return the lowercased words of more than two characters."""
    return {word.lower() for word in _WORD.findall(ascii_shape(text)) if len(word) > 2}


def bigrams(text: str) -> set[str]:
    """Return each two neighbours among the Chinese characters, whatever stood between them."""
    chinese = [c for c in text if FIRST_HAN <= c <= LAST_HAN]
    return {first + second for first, second in pairwise(chinese)}


@lru_cache(maxsize=128)
def tokens(text: str) -> Set[str]:
    """Return the words and the bigrams."""
    return words(text) | bigrams(text)


def overlap(some: Set[str], others: Set[str]) -> float:
    """Return the share of the smaller set's tokens that the sets share; 0 where either is empty."""
    if not some or not others:
        return 0.0
    return len(some & others) / min(len(some), len(others))


def runs(text: str, length: int) -> list[str]:
    """Return every run of `length` characters, in order."""
    return [text[start : start + length] for start in range(len(text) - length + 1)]


# ---- the JSON block ----


def block_text(text: str) -> str | None:
    """Return the text of the first braces that close, counted from the fence on if there is one; strings count too."""
    fence = text.find(FENCE)
    start = text.find("{", fence + len(FENCE) if fence >= 0 else 0)
    if start < 0:
        return None
    depth = 0
    for brace in re.compile("[{}]").finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return text[start : brace.end()]
    return None


def parse_block(text: str) -> dict[str, Any] | None:
    """Return the object that a block's text holds as Python's parser reads it, or None if it is none or too deep."""
    levels = _levels(text)
    if levels > MOST_LEVELS:
        return None
    try:
        if levels > _LEVELS_ON_ANY_STACK:
            # Python counts the parser's levels together with the frames already on the stack: begin on an empty one.
            with ThreadPoolExecutor(1) as fresh:
                content = fresh.submit(json.loads, text).result()
        else:
            content = json.loads(text)
    except ValueError:  # not JSON, or a whole number of over 4,300 digits
        return None
    return content if isinstance(content, dict) else None


def _levels(text: str) -> int:
    """Return how deeply lists and objects nest, as far as it matters: not beyond the first level too many."""
    opened = text.count("{") + text.count("[")
    if opened <= _LEVELS_ON_ANY_STACK:
        return opened
    level = deepest = 0
    in_string = False
    for mark in re.finditer(r'\\.|["{}\[\]]', text, re.DOTALL):
        if mark.group() == '"':
            in_string = not in_string
        elif not in_string:
            level += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark.group(), 0)
            deepest = max(deepest, level)
            if deepest > MOST_LEVELS:
                break
    return deepest


def flatten(value: Any) -> str:
    """Return a JSON value as text: lists and objects' values joined by a space, an empty one as an empty part."""
    if isinstance(value, str):
        return keep_surrogates(value)
    parts: list[str] = []
    left = [value]
    while left:
        item = left.pop()
        inner = list(item.values()) if isinstance(item, dict) else item
        if isinstance(inner, list) and inner:
            left.extend(reversed(inner))
        else:
            parts.append("" if isinstance(inner, list) else str(inner))
    return keep_surrogates(" ".join(parts))


# ---- what is read out of a response ----


@dataclass(frozen=True)
class Answer:
    """One response, with what several rules look at made once."""

    text: str

    @cached_property
    def lowered(self) -> str:
        """The whole text in lowercase."""
        return self.text.lower()

    @cached_property
    def block(self) -> dict[str, Any]:
        """The JSON block; empty where there is none."""
        found = block_text(self.text)
        return (parse_block(found) if found is not None else None) or {}

    @cached_property
    def tokens(self) -> Set[str]:
        """The words and bigrams of the text."""
        return tokens(self.text)


TEXT, LOWERED = "text", "lowercased text"


@dataclass(frozen=True)
class Place:
    """What was found, to the letter, and within what."""

    words: str
    within: str
    """`TEXT`, `LOWERED`, or the key of the JSON block that holds the words."""

    def __str__(self) -> str:
        return f"{self.within}: {self.words}"


@dataclass(frozen=True)
class Found:
    """One thing read out of a response, and where."""

    value: str
    places: tuple[Place, ...]


Read = Sequence[Found]
"""Everything that one reading read, in the order of the table extracts."""


Path = tuple[str | int, ...]
"""The keys and positions that lead to something in a JSON block."""


def _key(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


class ReadingKind(Protocol):
    """A frozen dataclass of parameters, which also validates a pack's TOML, and the plain way to read."""

    def plain(self, answer: Answer) -> Read:
        """Read one answer, slowly, saying where each thing was found."""

    def in_block(self, block: Mapping[str, Any]) -> Iterator[tuple[str, str, Path]]:
        """Yield what the JSON block holds: each value, the words that it was read from and the way to them."""


@dataclass(frozen=True)
class TermReading:
    """Every name of a table that occurs in the text, itself or by another spelling, or stands in the block; sorted."""

    terms: Terms
    block_list: str
    block_key: str

    def plain(self, answer: Answer) -> Read:
        """Read one answer."""
        places: dict[str, list[Place]] = {}
        for name, others in self.terms.items():
            for spelling in (name, *others):
                if spelling in answer.text:
                    places.setdefault(name, []).append(Place(spelling, TEXT))
        for name, spelling, path in self.in_block(answer.block):
            places.setdefault(name, []).append(Place(spelling, _key(path)))
        return [Found(name, tuple(places[name])) for name in sorted(places)]

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Each spelling -> its name."""
        others = {spelling: name for name, spellings in self.terms.items() for spelling in spellings}
        return {**others, **{name: name for name in self.terms}}

    def in_block(self, block: Mapping[str, Any]) -> Iterator[tuple[str, str, Path]]:
        """Yield the names in the block's list; an item of another form is passed by."""
        items = block.get(self.block_list)
        for position, item in enumerate(items if isinstance(items, list) else ()):
            value = item.get(self.block_key) if isinstance(item, dict) else None
            if isinstance(value, str) and (name := self.spellings.get(value)):
                yield name, value, (self.block_list, position, self.block_key)


@dataclass(frozen=True)
class ChoiceReading:
    """One name of a table: the block's, else the first that occurs in the lowercased text, else by other spelling."""

    terms: LoweredTerms
    block_keys: tuple[str, ...]

    def plain(self, answer: Answer) -> Read:
        """Read one answer; at most one thing."""
        for name, words, path in self.in_block(answer.block):
            return [Found(name, (Place(words, _key(path)),))]
        for name in self.terms:
            if name in answer.lowered:
                return [Found(name, (Place(name, LOWERED),))]
        for name, others in self.terms.items():
            for spelling in others:
                if spelling in answer.text:
                    return [Found(name, (Place(spelling, TEXT),))]
        return []

    def in_block(self, block: Mapping[str, Any]) -> Iterator[tuple[str, str, Path]]:
        """Yield the names under the block's keys, the one that counts first."""
        for key in self.block_keys:
            value = block.get(key)
            if isinstance(value, str) and value in self.terms:
                yield value, value, (key,)


@dataclass(frozen=True)
class UnitReading:
    """The items of one of the block's lists, else the sentences whose lowercase holds a hint."""

    block_keys: tuple[str, ...]
    hints: LoweredWords
    separators: Characters

    def plain(self, answer: Answer) -> Read:
        """Read one answer; the units in their order."""
        units = [Found(unit, (Place(words, _key(path)),)) for unit, words, path in self.in_block(answer.block)]
        if units:
            return units
        ends = re.compile("|".join(map(re.escape, self.separators)))
        sentences = [sentence.strip() for sentence in ends.split(answer.text)]
        hints = [[hint for hint in self.hints if hint in sentence.lower()] for sentence in sentences]
        return [
            Found(sentence, tuple(Place(hint, LOWERED) for hint in held))
            for sentence, held in zip(sentences, hints, strict=True)
            if sentence and held
        ]

    def in_block(self, block: Mapping[str, Any]) -> Iterator[tuple[str, str, Path]]:
        """Yield the items, flattened and stripped, of the first list that holds one that is not blank."""
        for key in self.block_keys:
            value = block.get(key)
            units = [flatten(item).strip() for item in value] if isinstance(value, list) else []
            if any(units):
                yield from ((unit, unit, (key, at)) for at, unit in enumerate(units) if unit)
                return


READINGS: Mapping[str, type[ReadingKind]] = {"terms": TermReading, "choice": ChoiceReading, "units": UnitReading}
"""Every reading kind by the name that `kind` has in a pack."""


# ---- one attempt under a pack ----

Gold = Mapping[str, Sequence[str]]
"""One task's gold: each field's items in order."""


@dataclass(frozen=True)
class Judged:
    """One metric of one attempt."""

    value: float | None
    """Null where the gold has nothing that the metric could compare the answer with."""
    evidence: tuple[Any, ...] = ()
    """What decided it: dataclasses, one a gold item or a thing read, as the kind's module defines them."""


@dataclass(frozen=True)
class Attempt:
    """One attempt as a metric sees it."""

    answer: Answer
    reads: Mapping[str, Read]
    gold: Gold


class PlainMetric(Protocol):
    """The parameters of a metric, and the plain way to compute it."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt, slowly and not rounded, with what decided it."""


class NamedReading(Protocol):
    """A reading as a pack declares it."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def params(self) -> ReadingKind: ...  # noqa: D102


class NamedMetric(Protocol):
    """A metric as a pack declares it."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def params(self) -> PlainMetric: ...  # noqa: D102
    @property
    def decimals(self) -> int | None: ...  # noqa: D102


class Rules(Protocol):
    """The part of a pack that says how an attempt is scored."""

    @property
    def readings(self) -> Sequence[NamedReading]: ...  # noqa: D102
    @property
    def metrics(self) -> Sequence[NamedMetric]: ...  # noqa: D102


@dataclass(frozen=True)
class Evaluation:
    """One attempt: what was read out of it, and each metric with its value, rounded, and what decided it."""

    reads: Mapping[str, Read]
    metrics: Mapping[str, Judged]
    """Empty where the task has no gold."""


def evaluate(rules: Rules, response: str, gold: Gold | None) -> Evaluation:
    """Read and score one response under a pack; `gold` maps each field to its items in order, None for no gold."""
    answer = Answer(response)
    reads = {reading.name: reading.params.plain(answer) for reading in rules.readings}
    if gold is None:
        return Evaluation(reads, {})
    attempt = Attempt(answer, reads, gold)
    judged = {}
    for metric in rules.metrics:
        exact = metric.params.plain(attempt)
        value = exact.value
        if value is not None and metric.decimals is not None:
            value = round(value, metric.decimals)
        judged[metric.name] = replace(exact, value=value)
    return Evaluation(reads, judged)

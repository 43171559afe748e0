"""What every kind of this package shares: which part of a response counts, the references, and the best of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import polars as pl

from scorer.errors import InputError, Problem
from scorer.metrics.answers.normalize import Steps, is_punctuation, normalize, normalized
from scorer.metrics.base import Batch, Values
from scorer.parameters import GoldList, Words
from scorer.reference import Attempt
from scorer.text import WHITE_SPACE

Read = TypeVar("Read")


@dataclass(frozen=True, kw_only=True)
class AnswerKind:
    """The parameters that every kind of this package takes."""

    gold: GoldList
    """The references: an answer needs to fit one of them."""
    normalize: Steps
    """What is done to responses and references before they are compared, in this order."""
    marks: Words | None = None
    """What announces the final answer, as `answer:`. What follows the last one counts; all, where nothing follows."""

    # ---- one attempt, plainly ----

    def part(self, response: str) -> str:
        """Return the part of one response that counts."""
        through = re.match(_through_last(self.marks), response) if self.marks else None
        after = response[through.end() :] if through else ""
        return after if any(not (c in WHITE_SPACE or is_punctuation(c)) for c in after) else response

    def said(self, response: str) -> str:
        """Return the part of one response that counts, normalised."""
        return normalize(self.part(response), self.normalize)

    def references(self, attempt: Attempt) -> list[str]:
        """Return the normalised references of one attempt's task that are not blank."""
        return [text for item in attempt.gold.get(self.gold, ()) if (text := normalize(item, self.normalize))]

    # ---- a batch ----

    def parts(self, batch: Batch) -> pl.Series:
        """Return the part of each response that counts."""
        if not self.marks:
            return batch.answers["response"]
        response = pl.col("response")
        after = response.str.replace(_through_last(self.marks), "")
        blank = after.str.contains(rf"^(?:[{WHITE_SPACE}]|\p{{P}})*$")
        return batch.answers.select(pl.when(blank).then(response).otherwise(after))["response"]

    def said_by_all(self, batch: Batch) -> pl.Series:
        """Return the part of each response that counts, normalised."""
        asked = ("said", self.normalize, self.marks)
        if asked not in batch.worked_out:
            said = normalized(pl.col("response"), self.normalize)
            batch.worked_out[asked] = self.parts(batch).to_frame().select(said)["response"]
        said_by_all: pl.Series = batch.worked_out[asked]
        return said_by_all

    def all_references(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return `gold` and `reference`: the normalised references that are not blank, in order."""
        listed = items.select("gold", pl.col(self.gold).alias("reference")).explode("reference").drop_nulls()
        return listed.with_columns(normalized(pl.col("reference"), self.normalize)).filter(pl.col("reference") != "")


@dataclass(frozen=True, kw_only=True)
class BestOfReferences(AnswerKind):
    """A kind whose `match` already gives the value of each answer, null where there is no reference."""

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the column `value`."""
        del batch, compiled
        return matched["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _through_last(marks: Iterable[str]) -> str:
    """Return the pattern of all up to the last mark. A-Z is a-z; both engines read the pattern alike."""
    return f"(?s)^.*(?:{'|'.join(''.join(map(_any_case, mark)) for mark in longest_first(marks))})"


BOUNDARY = "\ue000"
"""In a pattern: the edge of a word of ASCII letters and digits, which the two engines write differently."""


def for_python(pattern: str) -> str:
    """Return a pattern as Python's `re` reads it."""
    return pattern.replace(BOUNDARY, r"(?a:\b)")


def for_polars(pattern: str) -> str:
    """Return a pattern as Polars reads it."""
    return pattern.replace(BOUNDARY, r"(?-u:\b)")


def longest_first(words: Iterable[str]) -> list[str]:
    """Return the words so that of two that begin together a pattern finds the longer one."""
    return sorted(words, key=lambda word: (-len(word), word))


def _any_case(character: str) -> str:
    if character.isascii() and character.isalpha():
        return f"[{character.lower()}{character.upper()}]"
    return re.escape(character)


def read_references(
    items: pl.DataFrame, field: str, read: Callable[[str], Read | None], what: str
) -> list[tuple[int, Read]]:
    """Return (gold, what `read` makes of it) for each item of the field that is not empty; equal ones are read once.

    Raises InputError with every item that `read` makes nothing of; `what` says what it should be.
    """
    found: list[tuple[int, Read]] = []
    problems = []
    read_once = cache(read)
    for gold, task_id, texts in items.select("gold", "task_id", field).iter_rows():
        for position, text in enumerate(texts):
            value = read_once(text) if text else None
            if value is None and text:
                problems.append(Problem("golds", f"{task_id} {field}[{position}]", f"{text!r} is no {what}"))
            elif value is not None:
                found.append((gold, value))
    if problems:
        raise InputError(problems)
    return found

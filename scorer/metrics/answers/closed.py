"""Questions with few possible answers: a letter out of several, or yes and no, out of a free answer."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Annotated

import polars as pl

from scorer.metrics.answers.base import (
    BOUNDARY,
    BestOfReferences,
    for_polars,
    for_python,
    longest_first,
    read_references,
)
from scorer.metrics.answers.normalize import normalize
from scorer.metrics.base import Batch, one_row_each
from scorer.parameters import Between, Terms
from scorer.reference import Attempt, Judged
from scorer.text import WHITE_SPACE

_OPENING = f"""[{WHITE_SPACE}(\\[{{<"'*_（【「『《“‘]*"""
_CLOSING = f"""(?:[)\\]}}>.,:;"'*_、，。：；）】」』》”’\\n]|[{WHITE_SPACE}]*$)"""
_LATIN = "[À-ɏ]"
"""Letters beyond ASCII that make words together with ASCII ones."""


@dataclass(frozen=True)
class ChoiceJudged:
    """Evidence: what the answer was read as, and by which rule, beside the references."""

    read: str | None
    rule: str
    references: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _ClosedKind(BestOfReferences, ABC):
    """1 if the answer, read as one of a few, is one of the references read the same way, else 0."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        read, rule = self.read(self.said(attempt.answer.text))
        wanted = tuple(each for item in attempt.gold.get(self.gold, ()) if (each := self._reference(item)))
        value = float(read in wanted) if wanted else None
        return Judged(value, (ChoiceJudged(read, rule, wanted),) if wanted else ())

    @abstractmethod
    def read(self, said: str) -> tuple[str | None, str]:
        """Return what one answer is read as, and the rule that read it."""

    @abstractmethod
    def read_all(self, said: pl.Expr) -> pl.Expr:
        """Return what each answer is read as, null where nothing fits."""

    @property
    @abstractmethod
    def answers(self) -> str:
        """What a reference may be, for messages."""

    def _reference(self, item: str) -> str | None:
        return self.read(normalize(item, self.normalize))[0]

    @property
    def matcher(self) -> _ClosedKind:
        """The reading itself."""
        return self

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return `reference`: a list of what each gold's references are read as. Raises InputError for others."""
        read = read_references(items, self.gold, self._reference, self.answers)
        listed = pl.DataFrame(read, schema={"gold": pl.UInt32, "reference": pl.String}, orient="row")
        return one_row_each(listed, items.height)

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the column `value`, one row an answer."""
        said = self.said_by_all(batch).alias("said").to_frame()
        wanted = batch.gold(compiled).with_columns(said.select(self.read_all(pl.col("said")).alias("read")))
        held = pl.col("reference").list.contains(pl.col("read")) & pl.col("read").is_not_null()
        return wanted.select(pl.when(pl.col("reference").list.len() > 0).then(held).alias("value"))


@dataclass(frozen=True, kw_only=True)
class MultipleChoice(_ClosedKind):
    """1 if the letter that the answer chooses is one of the references, else 0.

    The letter is the one that the answer begins with, as in `B`, `(b)`, `B. Paris`; else the last capital that stands
    by itself, as in `so it must be B`.
    """

    options: Annotated[int, Between(2, 26)] = 5
    """How many letters there are to choose from, A first."""

    @property
    def answers(self) -> str:
        """The letters."""
        return f"letter from A to {self._letters[-1]}"

    @property
    def _letters(self) -> str:
        return ascii_uppercase[: self.options]

    @property
    def _first(self) -> str:
        return f"^{_OPENING}([{self._letters}{self._letters.lower()}]){_CLOSING}"

    @property
    def _alone(self) -> str:
        return f"{BOUNDARY}[{self._letters}]{BOUNDARY}"

    def read(self, said: str) -> tuple[str | None, str]:
        """Return the letter of one answer, and where it stands."""
        if first := re.search(self._first.replace("$", r"\Z"), said):
            return first.group(1).upper(), "the answer begins with it"
        alone = re.findall(for_python(self._alone), re.sub(_LATIN, "x", said))
        return (alone[-1], "the last letter by itself") if alone else (None, "no letter by itself")

    def read_all(self, said: pl.Expr) -> pl.Expr:
        """Return the letter of each answer."""
        first = said.str.extract(self._first, 1).str.to_uppercase()
        alone = said.str.replace_all(_LATIN, "x").str.extract_all(for_polars(self._alone))
        return first.fill_null(alone.list.last())


YES, NO, NEITHER = "yes", "no", "neither"


@dataclass(frozen=True, kw_only=True)
class YesNo(_ClosedKind):
    """1 if the answer says yes or no as one of the references does, else 0.

    The word that the answer begins with decides; else the last of the words that decide anywhere. Of words that begin
    together the longest counts, so `no doubt` under `neither` is no `no`. The words are looked for in lowercase.
    """

    begins: Terms = field(hash=False)
    """Under `yes` and `no` words that decide at the beginning of an answer, under `neither` others that begin alike."""
    anywhere: Terms = field(hash=False)
    """The same for words that decide wherever they stand."""

    def mistakes(self) -> Iterable[tuple[str, str]]:
        """Return what is wrong with the tables."""
        for key, table in (("begins", self.begins), ("anywhere", self.anywhere)):
            if not {YES, NO} <= set(table) <= {YES, NO, NEITHER}:
                yield key, f"must have the lists {YES} and {NO}, and may have {NEITHER}"
            words = [word for listed in table.values() for word in listed]
            if twice := sorted({word for word in words if words.count(word) > 1}):
                yield key, f"stands under two lists: {', '.join(twice)}"
            if capitals := [word for word in words if word != word.lower()]:
                yield key, f"must be in lowercase: {', '.join(capitals)}"

    @property
    def answers(self) -> str:
        """The two."""
        return "yes or no of the pack's words"

    def read(self, said: str) -> tuple[str | None, str]:
        """Return yes or no as one answer says it, and the word that says so."""
        lowered = said.lower()
        first = re.search(for_python(self._first), lowered)
        if first and (answer := _meanings(self.begins)[first.group(1)]):
            return answer, f"it begins with {first.group(1)}"
        words = re.findall(for_python(_any_word(self.anywhere)), lowered)
        deciding = [word for word in words if _meanings(self.anywhere)[word]]
        if not deciding:
            return None, "no word that decides"
        return _meanings(self.anywhere)[deciding[-1]], f"the last word that decides is {deciding[-1]}"

    def read_all(self, said: pl.Expr) -> pl.Expr:
        """Return yes or no as each answer says it."""
        lowered = said.str.to_lowercase()
        first = lowered.str.extract(for_polars(self._first), 1)
        words = lowered.str.extract_all(for_polars(_any_word(self.anywhere)))
        decides = ~pl.element().is_in(self.anywhere.get(NEITHER, ()))
        deciding = words.list.eval(pl.element().filter(decides))
        return _meaning(first, self.begins).fill_null(_meaning(deciding.list.last(), self.anywhere))

    @property
    def _first(self) -> str:
        return f"^{_OPENING}({_any_word(self.begins)})"


def _meanings(table: Mapping[str, tuple[str, ...]]) -> dict[str, str | None]:
    """Return each word of the table with the answer that it says, null for those that say neither."""
    return {word: None if answer == NEITHER else answer for answer, words in table.items() for word in words}


def _meaning(word: pl.Expr, table: Mapping[str, tuple[str, ...]]) -> pl.Expr:
    return word.replace_strict(_meanings(table), default=None, return_dtype=pl.String)


def _any_word(table: Mapping[str, tuple[str, ...]]) -> str:
    """Return the pattern of the table's words, longer ones first; one in ASCII must not be part of a longer word."""
    words = longest_first(word for words in table.values() for word in words)
    return "|".join(f"{BOUNDARY}{re.escape(w)}{BOUNDARY}" if w.isascii() else re.escape(w) for w in words)

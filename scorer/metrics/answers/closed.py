"""Questions with few possible answers: a letter out of several, or yes and no, out of a free answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from string import ascii_uppercase
from typing import Annotated

import polars as pl

from scorer.metrics.answers.base import BestOfReferences, read_references
from scorer.metrics.answers.normalize import normalize
from scorer.metrics.base import Batch, one_row_each
from scorer.parameters import Between, Terms
from scorer.reference import Attempt, Judged
from scorer.text import WHITE_SPACE

_OPENING = f"""[{WHITE_SPACE}(\\[{{<"'*_（【「『《“‘]*"""
_CLOSING = f"""(?:[)\\]}}>.,:;"'*_、，。：；）】」』》”’\\n]|[{WHITE_SPACE}]*$)"""
_LATIN = "[À-ɏ]"
"""Letters beyond ASCII that make words together with ASCII ones."""
_BOUNDARY = "BOUNDARY"
_PYTHONS_BOUNDARY, _POLARS_BOUNDARY = r"(?a:\b)", r"(?-u:\b)"


@dataclass(frozen=True)
class ChoiceJudged:
    """Evidence: what the answer was read as, and by which rule, beside the references."""

    read: str | None
    rule: str
    references: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _ClosedKind(BestOfReferences):
    """1 if the answer, read as one of a few, is one of the references read the same way, else 0."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        read, rule = self.read(self.said(attempt.answer.text))
        wanted = tuple(each for item in attempt.gold.get(self.gold, ()) if (each := self._reference(item)))
        value = float(read in wanted) if wanted else None
        return Judged(value, (ChoiceJudged(read, rule, wanted),))

    def read(self, said: str) -> tuple[str | None, str]:
        """Return what one answer is read as, and the rule that read it."""
        raise NotImplementedError

    def read_all(self, said: pl.Expr) -> pl.Expr:
        """Return what each answer is read as, null where nothing fits."""
        raise NotImplementedError

    @property
    def answers(self) -> str:
        """What a reference may be, for messages."""
        raise NotImplementedError

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
        return f"{_BOUNDARY}[{self._letters}]{_BOUNDARY}"

    def read(self, said: str) -> tuple[str | None, str]:
        """Return the letter of one answer, and where it stands."""
        if first := re.search(self._first.replace("$", r"\Z"), said):
            return first.group(1).upper(), "the answer begins with it"
        alone = re.findall(self._alone.replace(_BOUNDARY, _PYTHONS_BOUNDARY), re.sub(_LATIN, "x", said))
        return (alone[-1], "the last letter by itself") if alone else (None, "no letter by itself")

    def read_all(self, said: pl.Expr) -> pl.Expr:
        """Return the letter of each answer."""
        first = said.str.extract(self._first, 1).str.to_uppercase()
        alone = said.str.replace_all(_LATIN, "x").str.extract_all(self._alone.replace(_BOUNDARY, _POLARS_BOUNDARY))
        return first.fill_null(alone.list.last())


YES, NO = "yes", "no"


@dataclass(frozen=True, kw_only=True)
class YesNo(_ClosedKind):
    """1 if the answer says yes or no as one of the references does, else 0.

    The word that the answer begins with decides; else the last of the words that decide anywhere. Of words that begin
    together the longest counts, so 不是 is no 是. The words of both tables are looked for in lowercase.
    """

    begins: Terms = field(hash=False)
    """Under `yes` and `no`: words that decide at the beginning of an answer."""
    anywhere: Terms = field(hash=False)
    """Under `yes` and `no`: words that decide wherever they stand."""

    def mistakes(self) -> Iterable[tuple[str, str]]:
        """Return what is wrong with the tables."""
        for key, table in (("begins", self.begins), ("anywhere", self.anywhere)):
            if set(table) != {YES, NO}:
                yield key, f"must have the two lists {YES} and {NO}"
            elif both := sorted(set(table[YES]) & set(table[NO])):
                yield key, f"says both {YES} and {NO} by {', '.join(both)}"
            if capitals := [word for words in table.values() for word in words if word != word.lower()]:
                yield key, f"must be in lowercase: {', '.join(capitals)}"

    @property
    def answers(self) -> str:
        """The two."""
        return "yes or no of the pack's words"

    @cached_property
    def _meanings(self) -> Mapping[str, str]:
        tables = (self.begins, self.anywhere)
        return {word: answer for table in tables for answer in (YES, NO) for word in table[answer]}

    def read(self, said: str) -> tuple[str | None, str]:
        """Return yes or no as one answer says it, and the word that says so."""
        lowered = said.lower()
        if first := re.search(f"^{_OPENING}({_any_word(self.begins, _PYTHONS_BOUNDARY)})", lowered):
            return self._meanings[first.group(1)], f"it begins with {first.group(1)}"
        if words := re.findall(_any_word(self.anywhere, _PYTHONS_BOUNDARY), lowered):
            return self._meanings[words[-1]], f"the last word that decides is {words[-1]}"
        return None, "no word that decides"

    def read_all(self, said: pl.Expr) -> pl.Expr:
        """Return yes or no as each answer says it."""
        lowered = said.str.to_lowercase()
        first = lowered.str.extract(f"^{_OPENING}({_any_word(self.begins, _POLARS_BOUNDARY)})", 1)
        words = lowered.str.extract_all(_any_word(self.anywhere, _POLARS_BOUNDARY))
        word = first.fill_null(words.list.last())
        return word.replace_strict(self._meanings, default=None, return_dtype=pl.String)


def _any_word(table: Terms, boundary: str) -> str:
    """Return the pattern of the table's words, longer ones first; one in ASCII must not be part of a longer word."""
    words = sorted((word for words in table.values() for word in words), key=lambda word: (-len(word), word))
    return "|".join(f"{boundary}{re.escape(word)}{boundary}" if word.isascii() else re.escape(word) for word in words)

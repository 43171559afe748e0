"""Answers compared with references letter by letter: equal, containing one, or matching a pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import polars as pl

from scorer.metrics.answers.base import BestOfReferences, read_references
from scorer.metrics.base import Batch, one_row_each
from scorer.reference import Attempt, Judged


@dataclass(frozen=True)
class TextJudged:
    """Evidence: what counts of the response beside one reference, both normalised."""

    said: str
    reference: str
    met: bool


@dataclass(frozen=True)
class PatternJudged:
    """Evidence: what counts of the response, one pattern, and the first place that it matches; null for none."""

    said: str
    pattern: str
    found: str | None


@dataclass(frozen=True, kw_only=True)
class _TextKind(BestOfReferences, ABC):
    """References are texts."""

    @property
    def matcher(self) -> _TextKind:
        """The comparison itself."""
        return self

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return `reference`: a list of each gold's normalised references."""
        return one_row_each(self.all_references(items), items.height)

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the column `value`, one row an answer."""
        answers = batch.gold(compiled).with_columns(self.said_by_all(batch).alias("said"))
        # Equal references stand together: Polars keeps a few patterns compiled, and compiling one is slow.
        pairs = answers.explode("reference", empty_as_null=True).sort("reference")
        return pairs.select("row", self.test.alias("value")).group_by("row").agg(pl.col("value").max()).sort("row")

    @property
    @abstractmethod
    def test(self) -> pl.Expr:
        """Whether column `said` fits column `reference`."""


@dataclass(frozen=True, kw_only=True)
class ExactMatch(_TextKind):
    """1 if the answer is one of the references, else 0."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        said = self.said(attempt.answer.text)
        return _judged([TextJudged(said, reference, said == reference) for reference in self.references(attempt)])

    @property
    def test(self) -> pl.Expr:
        """Equal texts."""
        return pl.col("said") == pl.col("reference")


@dataclass(frozen=True, kw_only=True)
class Contains(_TextKind):
    """1 if the answer contains one of the references, else 0."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        said = self.said(attempt.answer.text)
        return _judged([TextJudged(said, reference, reference in said) for reference in self.references(attempt)])

    @property
    def test(self) -> pl.Expr:
        """One text within the other."""
        return pl.col("said").str.contains(pl.col("reference"), literal=True)


@dataclass(frozen=True, kw_only=True)
class Matches(_TextKind):
    """1 if one of the references, which are regular expressions, matches somewhere in the answer, else 0.

    The expressions are those of Rust's `regex`, which takes a time in proportion to the text whatever the expression:
    so there are no look-arounds and no back references. Only the answer is normalised. What an expression means is
    this engine's to say, so the plain reference asks it too.
    """

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        said = self.said(attempt.answer.text)
        patterns = [pattern for pattern in attempt.gold.get(self.gold, ()) if pattern]
        found = [pl.Series([said]).str.extract(pattern, 0).item() for pattern in patterns]
        evidence = tuple(PatternJudged(said, *each) for each in zip(patterns, found, strict=True))
        return Judged(float(any(each.found is not None for each in evidence)) if evidence else None, evidence)

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return `reference`: a list of each gold's patterns. Raises InputError for those that are none."""
        patterns = read_references(items, self.gold, _pattern, "regular expression (of Rust's regex)")
        listed = pl.DataFrame(patterns, schema={"gold": pl.UInt32, "reference": pl.String}, orient="row")
        return one_row_each(listed, items.height)

    @property
    def test(self) -> pl.Expr:
        """A pattern found in a text."""
        return pl.col("said").str.contains(pl.col("reference"))


def _pattern(text: str) -> str | None:
    try:
        pl.Series([""]).str.contains(text)
    except pl.exceptions.ComputeError:
        return None
    return text


def _judged(evidence: list[TextJudged]) -> Judged:
    """Return 1 if one reference is met, null if there is none."""
    return Judged(float(any(each.met for each in evidence)) if evidence else None, tuple(evidence))

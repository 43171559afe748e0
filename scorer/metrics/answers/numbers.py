"""Numbers in free answers: one of them must lie within the tolerance of a reference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Annotated

import polars as pl

from scorer.metrics.answers.base import BestOfReferences, read_references
from scorer.metrics.answers.normalize import normalize
from scorer.metrics.answers.numerals import JOINING_HYPHEN, PRECISION, PURE, Number, Units, idiom_or_numeral
from scorer.metrics.base import Batch, one_row_each
from scorer.parameters import Between, OneOf, Terms, Words
from scorer.reference import Attempt, Judged

FIRST, LAST, ANY = "first", "last", "any"
Tolerance = Annotated[float, Between(0, 1e300)]


@dataclass(frozen=True)
class Wanted:
    """A reference as intervals: what a number may be as it is written, and what in the first unit."""

    reference: str
    dimension: str | None
    low: float
    high: float
    pure_low: float
    pure_high: float


@dataclass(frozen=True)
class NumberJudged:
    """Evidence: one number of the answer (null where there is none) beside one reference and what it allows."""

    found: str | None
    value: float | None
    reference: str
    low: float
    high: float
    met: bool


@dataclass(frozen=True, kw_only=True)
class NumberNear(BestOfReferences):
    """1 if a number of the answer is a reference, give or take the tolerance, else 0.

    Where both have a unit of one dimension, the sizes are compared; units of different dimensions are different. Where
    only one has a unit, the numbers are compared as they are written, and a percentage as a share of one too: 50% is
    right for 50 and for 0.5.
    """

    absolute: Tolerance = 0.0
    """How far off an answer may be, in the unit of the reference."""
    relative: Tolerance = 0.0
    """How far off an answer may be, as a share of the reference; the greater of the two tolerances holds."""
    take: Annotated[str, OneOf((FIRST, LAST, ANY))] = LAST
    """Which of several numbers in an answer counts."""
    units: Terms | None = field(default=None, hash=False)
    """Dimensions, each with spellings of units; `km = 1000` counts a thousandfold; dimension 1 is pure numbers."""
    idioms: Words | None = None
    """Words with a number character in them that are no numbers; numbers in characters count only without digits."""

    def mistakes(self) -> Iterable[tuple[str, str]]:
        """Return what is wrong with the table of units."""
        return [("units", message) for message in self.known_units.mistakes()]

    @cached_property
    def known_units(self) -> Units:
        """The units as the patterns need them."""
        return Units.of(self.units)

    # ---- one attempt, plainly ----

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        found = self.known_units.find(self.said(attempt.answer.text), self.idioms or ())
        taken = {FIRST: found[:1], LAST: found[-1:], ANY: found}[self.take]
        numbers = [(each, number) for each in taken if (number := self.known_units.read(each))]
        wanted = [want for item in attempt.gold.get(self.gold, ()) if (want := self.wanted(item))]
        evidence = [
            NumberJudged(each, float(number.value), want.reference, want.low, want.high, _near(number, want))
            for want in wanted
            for each, number in numbers
        ]
        evidence = evidence or [NumberJudged(None, None, want.reference, want.low, want.high, False) for want in wanted]
        return Judged(float(any(each.met for each in evidence)) if evidence else None, tuple(evidence))

    def wanted(self, reference: str) -> Wanted | None:
        """Return what a reference allows; None where it is no number.

        Bounds are exact until they become floating-point numbers, so that 1.1 is 0.1 off 1.
        """
        number = self.known_units.read(normalize(reference, self.normalize))
        if number is None:
            return None
        with localcontext(prec=PRECISION):
            off = max(Decimal(repr(self.absolute)), Decimal(repr(self.relative)) * abs(number.value))
            low, high = number.value - off, number.value + off
            pure_low, pure_high = float(low * number.size), float(high * number.size)
        return Wanted(reference, number.dimension, float(low), float(high), pure_low, pure_high)

    # ---- a batch ----

    @property
    def matcher(self) -> NumberNear:
        """The search itself."""
        return self

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return lists with one entry a reference: what `Wanted` has. Raises InputError for what is no number."""
        wanted = read_references(items, self.gold, self.wanted, "number (with a unit that the pack knows)")
        rows = [{"gold": gold, **vars(want)} for gold, want in wanted]
        return one_row_each(pl.DataFrame(rows, schema={"gold": pl.UInt32, **_WANTED}), items.height)

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the column `value`, one row an answer."""
        wanted = batch.gold(compiled)
        numbers = self._numbers(self._found(batch))
        pairs = wanted.explode(*_WANTED, empty_as_null=True).join(numbers, on="row", how="left", maintain_order="left")
        # No reference is null; no number is a comparison that fails.
        met = pl.when(pl.col("low").is_not_null()).then(_NEAR.fill_null(value=False))
        return pairs.select("row", met.alias("value")).group_by("row", maintain_order=True).agg(pl.col("value").max())

    def _found(self, batch: Batch) -> pl.DataFrame:
        """Return `row` and `number`: the numbers of each answer that count, as they are written."""
        joined = self.said_by_all(batch).str.replace_all(JOINING_HYPHEN, "$1 ")
        digits = batch.answers.select(
            "row", joined.alias("said"), joined.str.extract_all(self.known_units.in_digits).alias("number")
        )
        without = digits.filter(pl.col("number").list.len() == 0)
        said = pl.col("said").str.replace_all(idiom_or_numeral(self.idioms or ()), "$1")
        characters = without.with_columns(said.str.extract_all(self.known_units.in_characters).alias("number"))
        found = pl.concat([digits, characters]).select("row", "number")
        at = {FIRST: pl.col("number").list.head(1), LAST: pl.col("number").list.tail(1), ANY: pl.col("number")}
        return found.select("row", at[self.take]).explode("number").drop_nulls()

    def _numbers(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return `row` with what `Number` has. Equal numbers are read once, and exactly, which is Python's work."""
        written = found["number"].unique().to_list()
        rows = []
        for each in written:
            if number := self.known_units.read(each):
                with localcontext(prec=PRECISION):
                    rows.append((each, float(number.value), number.dimension, float(number.value * number.size)))
        read = pl.DataFrame(rows, schema=_NUMBER, orient="row")
        return found.join(read, on="number").select("row", "written", "unit", "pure")


_WANTED = {
    "reference": pl.String,
    "dimension": pl.String,
    "low": pl.Float64,
    "high": pl.Float64,
    "pure_low": pl.Float64,
    "pure_high": pl.Float64,
}
_NUMBER = {"number": pl.String, "written": pl.Float64, "unit": pl.String, "pure": pl.Float64}

_ONE_WITHOUT = pl.col("dimension").is_null() | pl.col("unit").is_null()
_PURE = pl.coalesce("dimension", "unit") == PURE
_NEAR = (_ONE_WITHOUT & pl.col("written").is_between("low", "high")) | (
    (pl.col("dimension") == pl.col("unit")).fill_null(_ONE_WITHOUT & _PURE.fill_null(value=False))
    & pl.col("pure").is_between("pure_low", "pure_high")
)
"""Whether a number is near enough to a reference; see NumberNear."""


def _near(number: Number, want: Wanted) -> bool:
    """Say the same of one number and one reference."""
    with localcontext(prec=PRECISION):
        written, pure = float(number.value), float(number.value * number.size)
    if None not in (number.dimension, want.dimension):
        return number.dimension == want.dimension and want.pure_low <= pure <= want.pure_high
    as_written = want.low <= written <= want.high
    return as_written or (PURE in (number.dimension, want.dimension) and want.pure_low <= pure <= want.pure_high)

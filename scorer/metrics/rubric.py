"""A rubric: criteria with points, and how a judge's evaluations become one verdict. All of it in whole numbers.

Points are whole hundredths. A normalised score is a fraction of whole numbers until somebody prints it, so no
floating-point number decides a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from scorer.parameters import Between, Count

PLACES = 2
"""Decimal places that points may have."""
UNIT: int = 10**PLACES
"""Points are counted in 1/UNIT of a point."""

POLICIES = ("mean_of_rounded", "mean_exact", "mean_raw_rounded", "median", "majority")
"""How several evaluations of one attempt become one score and one verdict; sql/verdicts.sql has the rules."""
POLICIES_WITHOUT_POINTS = ("mean_of_rounded", "majority")
"""Those that need no more than each evaluation's normalised, rounded score."""

TOTAL, SCORE, PASSED = "total_raw", "score_normalized", "passed"
"""The metrics that every rubric has beside its criteria."""


@dataclass(frozen=True)
class Criterion:
    """One thing that a judge gives points for."""

    name: str
    most: Count
    """The most points; the least is 0."""
    group: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Terms:
    """What a pack says of its rubric beside the criteria; each field is a key of `[rubric]`."""

    total: Count
    """The most points of all criteria together; must be their sum."""
    evaluations: Count
    """Evaluations an attempt needs for a verdict."""
    threshold: Annotated[int, Between(0, 1_000_000)]
    """The normalised score from which on an attempt passes."""
    default_policy: str
    scale: Annotated[int, Between(1, 1_000_000)] = 100
    """A normalised score runs from 0 to this."""
    judges: str | None = None
    """The benchmark whose attempts, already in the store, are judged; null where judgements bring their own."""
    tasks: Annotated[int, Between(0, 1_000_000)] = 0
    """Tasks are numbered from 1 to this; 0 where the rubric does not say what tasks there are."""


@dataclass(frozen=True)
class Rubric:
    """A rubric as a pack declares it."""

    terms: Terms
    criteria: tuple[Criterion, ...]

    @cached_property
    def most(self) -> dict[str, int]:
        """The most points of each criterion, in order."""
        return {criterion.name: criterion.most for criterion in self.criteria}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that this rubric scores: the criteria, then total, normalised score and verdict."""
        return (*self.most, TOTAL, SCORE, PASSED)

    def exact(self, points: int) -> Fraction:
        """Return the normalised score of a total given in whole hundredths of a point."""
        return Fraction(points * self.terms.scale, self.terms.total * UNIT)

    def rounded(self, points: int) -> int:
        """Return the normalised score of a total in whole hundredths, rounded to a whole number, half to even."""
        return round(self.exact(points))

    def mistakes(self) -> list[tuple[str, str]]:
        """Return what does not fit together, as (key, what is wrong)."""
        names = [criterion.name for criterion in self.criteria]
        found = [
            ("criteria", f"there are two criteria {name!r}; rename one")
            for name in sorted({n for n in names if names.count(n) > 1})
        ]
        found += [
            ("criteria", f"{name!r} is a metric that every rubric has; rename the criterion")
            for name in (TOTAL, SCORE, PASSED)
            if name in names
        ]
        if (total := sum(criterion.most for criterion in self.criteria)) != self.terms.total:
            found.append(("total", f"is {self.terms.total}, but the criteria add up to {total}"))
        if self.terms.threshold > self.terms.scale:
            found.append(("threshold", f"lies above the scale, which ends at {self.terms.scale}"))
        if self.terms.default_policy not in POLICIES:
            found.append(
                ("default_policy", f"{self.terms.default_policy!r} is no policy; known: {', '.join(POLICIES)}")
            )
        return found


def hundredths(points: Decimal) -> int | None:
    """Return points as whole hundredths, or None where they have more decimal places than that.

    Looks at the digits instead of multiplying: Decimal arithmetic rounds to 28 digits, which would hide a 29th.
    """
    if points == points.to_integral_value():
        return int(points) * UNIT
    _, digits, exponent = points.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    last_place = int(exponent) + len(digits) - len(significant)
    return int(points.scaleb(PLACES)) if not significant or last_place >= -PLACES else None

"""What a judge said of one attempt, to a status, points, a total and a score; all in whole numbers.

An evaluation is used as it stands or not at all: nothing is clamped, padded or filled with zero, and no part of an
evaluation is added up.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from scorer.ingest.judgement_notes import Notes
from scorer.ingest.judgement_rows import Row
from scorer.ingest.text import type_name
from scorer.metrics.rubric import PLACES, SCORE, TOTAL, UNIT, Rubric, hundredths

OK = "ok"
INVALID = "invalid"
NOTHING = ("no_output", "blank_output")
"""The agent's fault: score 0."""
MISSING = ("render_failed", "refused", "truncated", INVALID, "judge_error", "budget", "pending")
"""Not the agent's fault: no score."""
STATUSES = (OK, *NOTHING, *MISSING)

_SHOWN = 60
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)


class UnusableError(ValueError):
    """A value that cannot be what it should be; the message says why."""


def decimal(value: Any) -> Decimal:
    """Return the finite number that `value` is or spells. Raises UnusableError for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    elif isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = Decimal(value.strip())
    if isinstance(value, Decimal) and value.is_finite():
        return value
    raise UnusableError(f"is {shown(value)}, no number")


def shown(value: Any) -> str:
    """Return a value as a message shows it: not more than a line of it."""
    text = str(value) if isinstance(value, str | int | float | Decimal) else type_name(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class Scoring:
    """One row read against the rubric. What is wrong goes to the notes; `status` says whether the rest can be used."""

    def __init__(self, row: Row, rubric: Rubric, notes: Notes, *, strict: bool) -> None:
        """Read the row. With `strict`, a reported total or score that differs from the points is a mistake."""
        self.row, self.rubric, self.notes, self.strict = row, rubric, notes, strict
        self.points: dict[str, int | None] = dict.fromkeys(rubric.most)
        """Whole hundredths by criterion; null where the criterion was not given or cannot be used."""
        self.total: int | None = None
        """Whole hundredths."""
        self.normalized: int | None = None
        self.flags: list[str] = []
        self._given = [name for name in (*rubric.most, TOTAL, SCORE) if row.values.get(name) is not None]
        self.status = self._stated_status()
        if self.status in NOTHING:
            self._read_nothing()
        elif self.status == OK:
            self._read_points()
        elif self._given and self.status in MISSING:
            self._refuse("", "points not used", f"an evaluation that is {self.status} has no points")

    def _stated_status(self) -> str:
        status = self.row.values.get("status")
        if status is None and not self._given:
            self._refuse("", "nothing given", "has neither a status nor points")
            return INVALID
        if status is not None and status not in STATUSES:
            self._refuse("status", "status unknown", f"is {shown(status)}; known: {', '.join(STATUSES)}")
            return INVALID
        return status or OK

    def _read_nothing(self) -> None:
        """Give 0 for everything; whoever says that nothing was there and gives points contradicts himself."""
        for name in self._given:
            if self._value(name, self._most(name)):
                self._invalid(name, f"points beside {self.status}", f"is {shown(self.row.values[name])}, not 0")
        if self.status != INVALID:
            self.points = dict.fromkeys(self.points, 0)
            self.total = self.normalized = 0

    def _read_points(self) -> None:
        if any(name in self.points for name in self._given):
            self._read_criteria()
        elif TOTAL in self._given:
            self.total = self._value(TOTAL, self._most(TOTAL))
            self.flags.append("total_only")
        elif SCORE in self._given:
            self._read_score()
        else:
            self._invalid("", "nothing given", "is ok, but has no points")
        if self.status == INVALID:
            self.total = self.normalized = None
            self.points = dict.fromkeys(self.points)
            self.flags = []
        elif self.total is not None:
            self.normalized = self.rubric.rounded(self.total)
            self._compare()

    def _read_criteria(self) -> None:
        for name in self.points:
            if name in self._given:
                self.points[name] = self._value(name, self._most(name))
            else:
                self._invalid(name, "criterion missing", "is missing; an evaluation needs every criterion")
        if self.status == OK:
            self.total = sum(points or 0 for points in self.points.values())
            if any((points or 0) % UNIT for points in self.points.values()):
                self.flags.append("decimal_points")

    def _read_score(self) -> None:
        """Take a score for what it is: whole. One with decimals was not rounded, or not by the rubric's rule."""
        score = self._value(SCORE, self._most(SCORE))
        if score is not None and score % UNIT:
            given = self.row.values[SCORE]
            self._invalid(SCORE, "score not whole", f"is {given}; give the whole score, the total or the points")
        elif score is not None:
            self.normalized = score // UNIT
            self.flags.append("normalized_only")

    def _compare(self) -> None:
        """Hold a reported total and score against the points; the points win."""
        computed = {TOTAL: Decimal(self.total or 0) / UNIT, SCORE: Decimal(self.normalized or 0)}
        for name, value in computed.items():
            if name in self._given and not self._agrees(name, value):
                detail = f"is {shown(self.row.values[name])}, but the points give {value}, which counts"
                self.flags.append(f"{name}_differs")
                self._refuse(name, f"{name} differs", detail)
                if self.strict:
                    self.notes.problem(self.row, name, detail)

    def _agrees(self, name: str, value: Decimal) -> bool:
        try:
            return decimal(self.row.values[name]) == value
        except UnusableError:
            return False

    # --- values ------------------------------------------------------------------------------------------------------

    def _most(self, name: str) -> int:
        return {TOTAL: self.rubric.terms.total, SCORE: self.rubric.terms.scale}.get(name) or self.rubric.most[name]

    def _value(self, name: str, most: int) -> int | None:
        """Return points in whole hundredths; None, and an invalid evaluation, where they are none."""
        value = self.row.values[name]
        try:
            number = decimal(value)
            if not 0 <= number <= most:
                raise UnusableError(f"is {shown(value)}, outside 0 to {most}")
            found = hundredths(number)
            if found is None:
                raise UnusableError(f"is {shown(value)}, with more than {PLACES} decimal places")
        except UnusableError as error:
            self._invalid(name, "points unusable", str(error))
            return None
        if isinstance(value, str) and self.row.typed:
            self.notes.count(self.row, "number as text", name)
        return found

    def _invalid(self, name: str, rule: str, detail: str) -> None:
        self.status = INVALID
        self._refuse(name, rule, detail)

    def _refuse(self, name: str, rule: str, detail: str) -> None:
        self.notes.refuse(self.row, name, rule, detail)

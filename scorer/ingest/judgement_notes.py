"""What is wrong with judgements, what was refused and what was repaired, gathered while the rows go by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from scorer.errors import Problem
from scorer.ingest.judgement_rows import Row
from scorer.ingest.sources import Refused

_DONE = {
    "evaluation number absent": "evaluations numbered in file order",
    "number as text": "values converted",
    "same evaluation twice": "dropped",
    "unknown criterion": "values passed over",
    "unknown field": "values passed over",
    "unknown task": "evaluations passed over",
}
"""Repairs that meet whole columns: they are counted, and stand in one line a source. Rule -> what was done."""


@dataclass
class Notes:
    """Mistakes that end the import, refusals a row, and counted repairs."""

    problems: list[Problem] = field(default_factory=list)
    _refused: list[Refused] = field(default_factory=list)
    _counted: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(source, rule, name) -> how often."""
    _first: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def problem(self, row: Row, name: str, message: str) -> None:
        """Note a mistake of the input: nothing will be written."""
        self.problems.append(Problem(row.source, row.at(name), message))

    def refuse(self, row: Row, name: str, rule: str, detail: str) -> None:
        """Note what makes an evaluation invalid, or is passed over in it."""
        self._refused.append(Refused(row.source, row.at(name), rule, detail))

    def count(self, row: Row, rule: str, name: str = "", times: int = 1) -> None:
        """Note a repair that is counted."""
        if times:
            self._counted[row.source, rule, name] += times
            self._first.setdefault((row.source, rule, name), row.place)

    def refused(self) -> list[Refused]:
        """Return the counted repairs and the refusals, one a place: all that is wrong there together."""
        counted = [
            Refused(source, name or rule, rule, f"{count} times, first at {self._first[source, rule, name]}")
            for (source, rule, name), count in self._counted.items()
        ]
        by_place: dict[tuple[str, str], list[Refused]] = {}
        for refusal in [*counted, *self._refused]:
            by_place.setdefault((refusal.source, refusal.place), []).append(refusal)
        return [
            Refused(*place, "; ".join(dict.fromkeys(r.rule for r in here)), "; ".join(r.detail for r in here))
            for place, here in by_place.items()
        ]

    def flags(self) -> list[str]:
        """Return what a reader of the run must know of the repairs, a sentence each."""
        totals: Counter[str] = Counter()
        for (_, rule, _), count in self._counted.items():
            totals[rule] += count
        return [f"{rule}: {count} {_DONE[rule]}" for rule, count in sorted(totals.items())]

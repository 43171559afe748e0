"""What only all attempts together show: how many there are, their common hash, and whether any stands twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import polars as pl

from scorer.errors import InputError, Problem
from scorer.ingest import Attempts, Batch, Refused

_KEYS = (["attempt_id"], ["system", "task_id", "repeat"])
"""What names an attempt, and what makes it a repeat of its own."""

_REASONS_SHOWN = 20


@dataclass
class Survey:
    """Gathers a few bytes of each attempt while the batches go by; of the texts nothing is kept."""

    attempts: Attempts
    rows: int = 0
    systems: set[str] = field(default_factory=set)
    task_ids: set[str] = field(default_factory=set)
    refused: list[Refused] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _hashes: list[pl.Series] = field(default_factory=list)
    _keys: list[pl.DataFrame] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        """Take in one batch."""
        self.rows += batch.attempts.height
        self.systems.update(batch.attempts["system"].unique())
        self.task_ids.update(batch.attempts["task_id"].unique())
        self.refused += batch.refused
        self.problems += batch.problems
        self._hashes.append(batch.attempts["input_hash"].str.decode("hex"))
        self._keys.append(batch.attempts.select(_hash_of(key) for key in _KEYS))

    def check(self) -> None:
        """Raise InputError with every mistake that was met, or that shows only now; an empty run is one."""
        problems = [*self.problems, *self._repeated()]
        if not self.rows:
            names = ", ".join(source.name for source in self.attempts.sources)
            shown = self.refused[:_REASONS_SHOWN]
            problems += [Problem(refused.source, refused.place, refused.detail) for refused in shown]
            problems.append(Problem(names, "", "holds no attempt that can be used"))
        if problems:
            raise InputError(problems)

    @property
    def hash(self) -> str:
        """SHA-256 over the hashes of all attempts; their order does not matter."""
        return attempts_hash(pl.concat(self._hashes) if self._hashes else pl.Series(dtype=pl.Binary))

    def _repeated(self) -> Iterator[Problem]:
        """Yield a problem for each key that stands at two places or more.

        Keys are kept as 64-bit hashes, 16 bytes an attempt. Only where two hashes are equal are the sources read once
        more, for the keys and the places themselves.
        """
        if not self._keys:
            return
        keys = pl.concat(self._keys)
        suspects = {name: keys[name].filter(keys[name].is_duplicated()).unique().implode() for name in keys.columns}
        for key in _KEYS:
            name = _hash_name(key)
            if len(suspects[name][0]):
                yield from self._places(key, suspects[name])

    def _places(self, key: Sequence[str], suspects: pl.Series) -> Iterator[Problem]:
        found = []
        for batch in self.attempts.batches():
            rows = pl.concat([batch.attempts.select(*key), batch.places], how="horizontal")
            found.append(rows.filter(_hash_of(key).is_in(suspects)))
        rows = pl.concat(found)
        groups = rows.group_by(key, maintain_order=True).agg(pl.all(), pl.len().alias("times"))
        for row in groups.filter(pl.col("times") > 1).iter_rows(named=True):
            named = ", ".join(f"{name} {row[name]!r}" for name in key)
            places = list(zip(row["source"], row["place"], strict=True))
            first = " ".join(places[0])
            message = f"{named} stands {row['times']} times, first at {first}; each may stand once"
            yield Problem(*places[1], message)


def attempts_hash(hashes: pl.Series) -> str:
    """Return SHA-256 over the hashes (as bytes) of the attempts of a run, in whatever order they come."""
    digest = sha256()
    for piece in hashes.sort():
        digest.update(piece)
    return digest.hexdigest()


def _hash_name(key: Sequence[str]) -> str:
    return " ".join(key)


def _hash_of(key: Sequence[str]) -> pl.Expr:
    return pl.struct(key).hash().alias(_hash_name(key))

"""The rules in plain, slow Python for one attempt: what `explain` prints from and what the kernel is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from scorer.metrics.parameters import Terms, Words


class ReadingKind(Protocol):
    """A frozen dataclass of parameters, which also validates a pack's TOML, and the plain way to read."""


@dataclass(frozen=True)
class TermReading(ReadingKind):
    """Every name of a table that occurs in the text, itself or by another spelling, or stands in the block."""

    terms: Terms
    block_list: str
    block_key: str


@dataclass(frozen=True)
class ChoiceReading(ReadingKind):
    """One name of a table: the block's, else the first that occurs in the lowercased text, else by other spelling."""

    terms: Terms
    block_keys: tuple[str, ...]


@dataclass(frozen=True)
class UnitReading(ReadingKind):
    """The items of one of the block's lists, else the sentences whose lowercase holds a hint."""

    block_keys: tuple[str, ...]
    hints: Words
    separators: Words


READINGS: Mapping[str, type[ReadingKind]] = {"terms": TermReading, "choice": ChoiceReading, "units": UnitReading}
"""Every reading kind by the name that `kind` has in a pack."""

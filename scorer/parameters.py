"""The types that the parameters of a reading or a metric are written in; a pack's TOML is validated by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable


@dataclass(frozen=True)
class Between:
    """A number from `low` to `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True)
class Refers:
    """What must be declared elsewhere in the pack: a "gold list", a "reading", a word "list" or "table", "metrics"."""

    to: str
    lowered: bool = False
    """The words are looked for in lowercased text, so they must be able to stand in one."""
    longest: int | None = None
    """The most characters that a word may have."""


@runtime_checkable
class Checked(Protocol):
    """Parameters that must fit together, beyond what each must be by itself."""

    def mistakes(self) -> Iterable[tuple[str, str]]:
        """Return what does not fit, as (key, what is wrong)."""


@dataclass(frozen=True)
class OneOf:
    """A text, or each of a list of texts, from these names."""

    names: tuple[str, ...]


Share = Annotated[float, Between(0.001, 1)]
Count = Annotated[int, Between(1, 1000)]
GoldList = Annotated[str, Refers("gold list")]
"""The name of a list field of the golds."""
ReadField = Annotated[str, Refers("reading")]
"""The name of something that the pack reads out of a response."""
Words = Annotated[tuple[str, ...], Refers("list")]
"""In TOML the name of a list in lexicon.toml; in the dataclass its words, in order."""
LoweredWords = Annotated[tuple[str, ...], Refers("list", lowered=True)]
"""Words that are looked for in lowercased text."""
Characters = Annotated[tuple[str, ...], Refers("list", longest=1)]
"""Words of one character each."""
Terms = Annotated[Mapping[str, tuple[str, ...]], Refers("table")]
"""In TOML the name of a table in lexicon.toml; in the dataclass each name with its other spellings, in order."""
LoweredTerms = Annotated[Mapping[str, tuple[str, ...]], Refers("table", lowered=True)]
"""Terms whose names, not their other spellings, are looked for in lowercased text."""

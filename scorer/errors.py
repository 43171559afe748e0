"""One tree of errors. Each class carries the exit code that the command line ends with; messages are for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ends."""

    DONE = 0
    """Everything asked for was done; declared failures and missing golds included."""
    FAILED = 1
    """Scoring, a query or writing failed."""
    USAGE = 2
    """The command or the pack is wrong."""
    BAD_INPUT = 3
    """The input is wrong and nothing was written."""
    PARTLY = 4
    """Done, but some input was unreadable or rejected: the rows say which."""
    GATE_WORSE = 5
    """`gate`: the candidate is worse than the margin allows."""
    GATE_UNDECIDED = 6
    """`gate`: the data cannot tell."""


class ScorerError(Exception):
    """Anything that scorer says is wrong. The message names what, where, and what to do."""

    exit_code = ExitCode.FAILED


class UsageError(ScorerError):
    """The caller asked for something that does not exist or does not fit together."""

    exit_code = ExitCode.USAGE


class QueryError(ScorerError):
    """A SQL query failed, or tried what the session does not allow."""


class WriteError(ScorerError):
    """A result could not be written; what stood there before is untouched."""


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with an input: where it stands and what to do about it."""

    source: str
    """The file (or `<frame>`), as the caller named it."""
    place: str
    """The row, key or position inside the source; empty for the whole source."""
    message: str
    """What is wrong, and what to do."""

    def __str__(self) -> str:
        where = f"{self.source}: {self.place}" if self.place else self.source
        return f"{where}: {self.message}"


_SHOWN = 100


class InputError(ScorerError):
    """Input that cannot be used. Holds every mistake found (its message: the first hundred); nothing was written."""

    exit_code = ExitCode.BAD_INPUT
    noun = "input"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        count = len(self.problems)
        head = f"{count} mistake{'s' if count != 1 else ''} in the {self.noun}:"
        more = [f"  and {count - _SHOWN} more"] if count > _SHOWN else []
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems[:_SHOWN]), *more]))


class PackError(InputError):
    """A pack that does not load. Holds every mistake in it."""

    exit_code = ExitCode.USAGE
    noun = "pack"


def nearest(name: str, known: Sequence[str]) -> str:
    """Return a hint naming the closest known name ("; did you mean 'metrics'?"), or the known ones, or nothing."""
    close = get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(sorted(known))}" if known else ""

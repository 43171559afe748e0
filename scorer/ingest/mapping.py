"""How a foreign file of judgements names things: a TOML file with three tables, none of them required.

[fields]            # the file's name -> ours; a dot reaches into an object: "scores.acc" = "accuracy"
[constants]         # our name -> a value that every row has
[values.status]     # for one of our names: the file's value -> ours
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scorer.errors import InputError, Problem, nearest

_TABLES = ("fields", "constants", "values")


@dataclass(frozen=True)
class Naming:
    """Renames, constants and translated values for the rows of a foreign file."""

    fields: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str = ""
    """The file that says so."""

    def apply(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row under our names; a constant fills only what the row leaves open."""
        named = dict(self.constants)
        for name, value in row.items():
            ours = self.fields.get(name, name)
            if ours not in named or value not in (None, ""):
                named[ours] = self._translated(ours, value)
        return named

    def _translated(self, name: str, value: Any) -> Any:
        known = self.values.get(name)
        if not known:
            return value
        if isinstance(value, list):
            return [self._translated(name, item) for item in value]
        return known.get(str(value), value)


def read_mapping(path: Path) -> Naming:
    """Read a mapping. Raises InputError with every mistake in it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise InputError([Problem(str(path), "", f"cannot be read as TOML: {error}")]) from None
    problems = [
        Problem(str(path), key, f"is no table of a mapping{nearest(key, _TABLES)}")
        for key in content
        if key not in _TABLES
    ]
    fields, constants, values = (content.get(key, {}) for key in _TABLES)
    for key, table in zip(_TABLES, (fields, constants, values), strict=True):
        if not isinstance(table, dict):
            problems.append(Problem(str(path), key, "must be a table"))
    if not problems:
        problems += _wrong_types(path, fields, constants, values)
    if problems:
        raise InputError(problems)
    return Naming(fields, constants, values, str(path))


def _wrong_types(
    path: Path, fields: dict[str, Any], constants: dict[str, Any], values: dict[str, Any]
) -> list[Problem]:
    problems = [
        Problem(str(path), f"fields.{key}", "must be one of our names, as text")
        for key, name in fields.items()
        if not isinstance(name, str)
    ]
    problems += [
        Problem(str(path), f"constants.{key}", "must be text or a number")
        for key, value in constants.items()
        if not isinstance(value, str | int | float)
    ]
    problems += [
        Problem(str(path), f"values.{key}", "must be a table: the file's value = ours")
        for key, table in values.items()
        if not isinstance(table, dict)
    ]
    return problems

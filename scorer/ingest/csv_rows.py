"""Rows of a CSV file, each with the line that it ends on: what attempts, golds and tasks in CSV are read by."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scorer.errors import InputError, Problem
from scorer.formats import csv_mistake


@dataclass(frozen=True)
class CsvRow:
    """One row: a cell a column of the header, an empty one as an empty text."""

    place: str
    cells: dict[str, str]


@dataclass(frozen=True)
class BadRow:
    """One row that is none."""

    place: str
    rule: str
    detail: str


def csv_rows(path: Path) -> Iterator[CsvRow | BadRow]:
    """Yield the rows of a CSV file with a header, in UTF-8 with or without BOM; blank lines are none.

    A row that is not UTF-8, or longer or shorter than the header, is a bad one, and so is all that stands behind a
    quote that nothing closes. Raises InputError where the header cannot be one.
    """
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        reader = csv.reader(text, strict=True)
        header = _header(reader, path)
        while True:
            begins = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                lines = f"lines {begins} to {reader.line_num}" if reader.line_num > begins else f"line {begins}"
                yield BadRow(lines, "broken quotes", f"a quote is not closed, or not doubled inside its cell ({error})")
                continue
            if cells:
                yield _row(f"line {reader.line_num}", header, cells)


def _header(reader: Iterator[list[str]], path: Path) -> list[str]:
    """Return the names of the columns, or raise InputError that says what the file seems to be instead."""
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise InputError([Problem(str(path), "header", f"is no CSV: {error}")]) from None
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError([Problem(str(path), "header", f"names a column twice: {', '.join(twice)}")])
    if seems := csv_mistake(",".join(header)):
        raise InputError([Problem(str(path), "header", seems)])
    return header


def _row(place: str, header: list[str], cells: list[str]) -> CsvRow | BadRow:
    if len(cells) != len(header):
        return BadRow(place, "ragged row", f"{len(cells)} cells under a header of {len(header)}")
    if re.search("[\udc80-\udcff]", "".join(cells)):
        return BadRow(place, "unreadable line", "the row is not UTF-8; save the file as UTF-8 and try again")
    return CsvRow(place, dict(zip(header, cells, strict=True)))

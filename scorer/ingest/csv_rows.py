"""Rows of a CSV file, each with the line that it ends on: what attempts, golds and tasks in CSV are read by."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scorer.errors import InputError, Problem


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

    A row that is not UTF-8, or longer or shorter than the header, is a bad one. Raises InputError where the header
    names a column twice.
    """
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        reader = csv.reader(text)
        header = next(reader, [])
        twice = sorted({name for name in header if header.count(name) > 1})
        if twice:
            raise InputError([Problem(str(path), "header", f"names a column twice: {', '.join(twice)}")])
        for cells in reader:
            place = f"line {reader.line_num}"
            if not cells:
                continue
            if len(cells) != len(header):
                yield BadRow(place, "ragged row", f"{len(cells)} cells under a header of {len(header)}")
            elif re.search("[\udc80-\udcff]", "".join(cells)):
                yield BadRow(place, "unreadable line", "the row is not UTF-8")
            else:
                yield CsvRow(place, dict(zip(header, cells, strict=True)))

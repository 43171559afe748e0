"""What every statistics command prints: a few tables for the eye, sentences, and a notice at the head and the foot."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from scorer.formats import html_table, html_text, json_text, markdown_table, markdown_text, text_table

Row = dict[str, Any]
Columns = Mapping[str, Callable[[Row], Any]]
"""The columns of a table for the eye: each makes its cell from a row."""


def page_text(
    tables: Iterable[tuple[str, pl.DataFrame]], notes: Sequence[str], notice: str | None, width: int | None
) -> str:
    """Return headed tables and sentences for a terminal `width` columns wide (None: as wide as they need)."""
    parts = [f"{heading}\n{'─' * len(heading)}\n{text_table(frame, width)}" for heading, frame in tables]
    lines = [textwrap.fill(f"- {note}", width or 120, subsequent_indent="  ") for note in notes]
    parts.append("\n".join(["In words", "────────", *lines]) + "\n")
    return _between(f"{notice}\n" if notice else None, parts)


def page_markdown(tables: Iterable[tuple[str, pl.DataFrame]], notes: Sequence[str], notice: str | None) -> str:
    """Return headed tables and sentences as Markdown."""
    parts = [f"## {markdown_text(heading)}\n\n{markdown_table(frame)}" for heading, frame in tables]
    parts.append("\n".join(["## In words", "", *(f"- {markdown_text(note)}" for note in notes)]) + "\n")
    return _between(f"**{notice}**\n" if notice else None, parts)


def page_html(tables: Iterable[tuple[str, pl.DataFrame]], notes: Sequence[str], notice: str | None) -> str:
    """Return headed tables and sentences as a piece of HTML, for a notebook."""
    parts = [f"<h4>{html_text(heading)}</h4>{html_table(frame)}" for heading, frame in tables]
    parts.append("<h4>In words</h4><ul>" + "".join(f"<li>{html_text(note)}</li>" for note in notes) + "</ul>")
    return _between(f"<p><strong>{html_text(notice)}</strong></p>" if notice else None, parts)


def page_json(made: Mapping[str, Any], notes: Sequence[str], notice: str | None) -> str:
    """Return one JSON object: what was `made`, frames as lists of rows, and the sentences under `notes`."""
    plain = {name: value.to_dicts() if isinstance(value, pl.DataFrame) else value for name, value in made.items()}
    return json_text(plain | {"notes": list(notes)} | ({"notice": notice} if notice else {}), indent=2) + "\n"


def _between(notice: str | None, parts: list[str]) -> str:
    """Say the notice at the head and at the foot."""
    return "\n".join([notice, *parts, notice] if notice else parts)


def readable(frame: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Return a few columns for the eye; those that hold nothing in any row are left out."""
    rows = [{name: cell(row) for name, cell in columns.items()} for row in frame.iter_rows(named=True)]
    made = pl.DataFrame({name: [row[name] for row in rows] for name in columns}, strict=False)
    return made.select(name for name in made.columns if made[name].is_not_null().any())


def cell(name: str) -> Callable[[Row], Any]:
    """Make a cell of a value as it is."""
    return lambda row: row[name]


def number(name: str) -> Callable[[Row], str | None]:
    """Make a cell of a number to four digits."""
    return lambda row: None if row[name] is None else f"{row[name]:.4g}"


def interval(low: str, high: str) -> Callable[[Row], str | None]:
    """Make a cell of two numbers, empty where one is null."""
    return lambda row: None if row[low] is None or row[high] is None else f"[{row[low]:.3g}, {row[high]:.3g}]"


def flags(row: Row) -> str | None:
    """Make a cell of a row's flags."""
    return " ".join(row["flags"]) or None


def scored_by(row: Row) -> str | None:
    """Make a cell of benchmark and scorer."""
    return " ".join(filter(None, [row["benchmark"], row["scorer"]])) or None


def side(name: str) -> Callable[[Row], str | None]:
    """Make a cell of side `a` or `b` of a pair: the system, with its run where the two sides are of different runs."""

    def named(row: Row) -> str | None:
        run, system = row[f"run_{name}"], row[f"system_{name}"]
        return system if row["run_a"] == row["run_b"] or not run else f"{run}:{system}"

    return named

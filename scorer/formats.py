"""Frames as text: tables for a terminal, Markdown, HTML, CSV, JSON. What a cell holds stays in it, whatever it is."""

from __future__ import annotations

import html
import io
import json
import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from rich.table import Table

BOM = "\ufeff"

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escape_controls(text: str) -> str:
    """Return `text` with control characters (new line and tab aside) and changes of direction written out.

    A terminal obeys them: an answer could move the cursor, rename the window or hide what stands before it.
    """
    return _CONTROLS.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def cell_text(value: Any) -> str:
    """Return one value on one line: null is empty, a number is short, a list is joined by commas."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    if isinstance(value, list):
        return ", ".join(map(cell_text, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return escape_controls(str(value)).replace("\n", "\\n").replace("\t", "\\t")


def rich_table(frame: pl.DataFrame, title: str | None = None) -> Table:
    """Return the frame as a Rich table; numbers stand to the right."""
    from rich import box  # noqa: PLC0415  (only a terminal needs Rich)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, dtype in frame.schema.items():
        table.add_column(
            Text(escape_controls(name)), justify="right" if dtype.is_numeric() else "left", overflow="fold"
        )
    for row in frame.iter_rows():
        table.add_row(*(Text(cell_text(value)) for value in row))
    return table


def text_table(frame: pl.DataFrame, width: int | None = None) -> str:
    """Return the frame as a table of plain text, `width` columns wide (as wide as it needs where None)."""
    from rich.console import Console  # noqa: PLC0415

    out = io.StringIO()
    console = Console(file=out, width=width or 10_000, color_system=None, legacy_windows=False)
    console.print(rich_table(frame))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines() if line.strip()) + "\n"


def markdown_table(frame: pl.DataFrame) -> str:
    """Return the frame as a Markdown table; nothing in a cell can end it or be taken for markup."""
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    lines = [
        [markdown_text(name) for name in frame.columns],
        ["---:" if right else "---" for right in numeric],
        *([markdown_text(cell_text(value)) for value in row] for row in frame.iter_rows()),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def markdown_text(text: str) -> str:
    """Return `text` so that Markdown shows it as it is."""
    escaped = re.sub(r"([\\`*\[\]|<>#~])", r"\\\1", escape_controls(text))
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", escaped).replace("\n", " ")


def html_table(frame: pl.DataFrame) -> str:
    """Return the frame as an HTML table; numbers stand to the right, and nothing in a cell can be markup."""
    sides = ["right" if dtype.is_numeric() else "left" for dtype in frame.dtypes]
    head = "".join(
        f'<th scope="col" style="text-align:{side}">{html_text(name)}</th>'
        for name, side in zip(frame.columns, sides, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{side}">{html_text(cell_text(value))}</td>'
            for value, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in frame.iter_rows()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def html_text(text: str) -> str:
    """Return `text` so that HTML shows it as it is."""
    return html.escape(escape_controls(text))


def csv_text(frame: pl.DataFrame, *, bom: bool = False, safe: bool = False, header: bool = True) -> str:
    """Return the frame as CSV: null is an empty cell, an empty text is `""`, a list is JSON.

    `bom` puts the mark in front by which spreadsheets know UTF-8. `safe` puts `'` before texts (headers too) that a
    spreadsheet would take for a formula; numbers stay numbers.
    """
    flat = frame.with_columns(_as_json(frame, name) for name, dtype in frame.schema.items() if dtype.is_nested())
    if safe:
        texts = [name for name, dtype in flat.schema.items() if dtype == pl.String]
        flat = flat.with_columns(_without_formula(pl.col(name)) for name in texts)
        flat = flat.rename({name: f"'{name}" for name in flat.columns if name.startswith(_FORMULA_STARTS)})
    return (BOM if bom else "") + flat.write_csv(include_header=header)


def _as_json(frame: pl.DataFrame, name: str) -> pl.Series:
    cells = [None if value is None else json_text(value) for value in frame[name].to_list()]
    return pl.Series(name, cells, dtype=pl.String)


def _without_formula(column: pl.Expr) -> pl.Expr:
    formula = pl.any_horizontal(column.str.starts_with(start) for start in _FORMULA_STARTS)
    return pl.when(formula).then(pl.concat_str(pl.lit("'"), column)).otherwise(column).name.keep()


def csv_mistake(header: str) -> str | None:
    """Return what is wrong with a file whose first line is `header`, if it shows that it is no CSV in UTF-8."""
    if "\0" in header or header.startswith(("\udcff\udcfe", "\udcfe\udcff")):
        return "the file seems to be UTF-16; save it as UTF-8 and try again"
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if separator in header and "," not in header:
            return f"the columns seem to be separated by {name}; write them with commas (and numbers with points)"
    return None


def json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON that every reader takes: NaN and infinities are null, dates are text."""
    return json.dumps(_finite(value), ensure_ascii=False, indent=indent, allow_nan=False, default=str)


def json_rows(frame: pl.DataFrame) -> str:
    """Return the frame as a JSON list, an object a row, a row a line."""
    rows = ",\n ".join(json_text(row) for row in frame.iter_rows(named=True))
    return f"[{rows}]\n"


def json_lines(frame: pl.DataFrame) -> str:
    """Return the frame as JSONL: an object a line."""
    return "".join(f"{json_text(row)}\n" for row in frame.iter_rows(named=True))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value

"""`scorer export`: a table of a store, or a benchmark's own result file, to a file for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    store: Annotated[Path, typer.Argument(help="The store.")],
    table: Annotated[str, typer.Argument(help="A table (see scorer sql STORE --tables), evaluation or leaderboard.")],
    to: Annotated[Path, typer.Option(help="The file; .parquet, .csv, .jsonl, .json or .arrow chooses the format.")],
    run: Annotated[str | None, typer.Option(help="One run only; evaluation always is of one.")] = None,
    bom: Annotated[
        bool, typer.Option("--bom", help="CSV: begin with the mark by which spreadsheets know UTF-8.")
    ] = False,
    safe: Annotated[
        bool, typer.Option("--safe", help="CSV: disarm cells that a spreadsheet takes for formulas.")
    ] = False,
) -> None:
    """Write a table to a file for other tools.

    Example: scorer export results scores --to scores.csv --bom --safe
    """
    from scorer.cli.console import say
    from scorer.pipeline import stored

    rows = stored.export(store, table, to, run_id=run, bom=bom, safe=safe)
    say(f"{to}: {rows:,} rows of {table}")

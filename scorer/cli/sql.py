"""`scorer sql`: read-only SQL over every table of every run of a store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("table", "csv", "json", "markdown", "parquet")


def sql(
    store: Annotated[Path, typer.Argument(help="The store.")],
    query: Annotated[str | None, typer.Argument(help="SQL, as DuckDB speaks it; a prompt where absent.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file that holds the SQL.")] = None,
    tables: Annotated[bool, typer.Option("--tables", help="List tables, columns and row counts.")] = False,
    format: Annotated[str, typer.Option(help=" | ".join(FORMATS))] = "table",  # noqa: A002
    to: Annotated[Path | None, typer.Option(help="Write the result to a file.")] = None,
    allow_external: Annotated[
        bool, typer.Option("--allow-external", help="Let the SQL read and write files and reach the network.")
    ] = False,
) -> None:
    """Ask a store anything: the query sees its tables, may change nothing and reach nothing else.

    Without a query there is a prompt, or SQL is read from standard input where that is no terminal.

    Example: scorer sql results "select system, metric, avg(value) from scores group by all order by all"
    """
    from scorer import formats
    from scorer.cli.console import emit, one_of, terminal_width
    from scorer.pipeline import stored

    one_of("--format", format, FORMATS)
    if sum((query is not None, file is not None, tables)) > 1:
        raise UsageError("give one of: a query, -f FILE, --tables; nothing for a prompt")
    if query is None and file is None and not tables:
        if sys.stdin.isatty():
            _prompt(store, allow_external=allow_external)
            return
        query = _decoded(sys.stdin.buffer.read(), "standard input")
    text = _decoded(_read(file), str(file)) if file else query
    rows = stored.sql(store, None if tables else text, allow_external=allow_external)
    if format == "parquet":
        _emit_parquet(rows, to)
        return
    written = {
        "table": lambda: formats.text_table(rows, terminal_width()),
        "csv": lambda: formats.csv_text(rows),
        "json": lambda: formats.json_rows(rows),
        "markdown": lambda: formats.markdown_table(rows),
    }
    emit(written[format](), to)


def _prompt(store: Path, *, allow_external: bool) -> None:
    from scorer.cli.prompt import run_prompt
    from scorer.pipeline import stored

    if not sys.stdout.isatty():
        raise UsageError("a prompt needs a terminal; give a query, -f FILE or --tables")
    with stored.sql_session(store, allow_external=allow_external) as session:
        run_prompt(session, stored.sql(store, None).drop("columns"))


def _read(file: Path) -> bytes:
    if not file.is_file():
        raise UsageError(f"-f {file}: no such file")
    return file.read_bytes()


def _decoded(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: is not UTF-8 at byte {error.start}") from None
    if not text.strip():
        raise UsageError(f"{name}: holds no SQL; give a query, -f FILE or --tables")
    return text


def _emit_parquet(rows: pl.DataFrame, to: Path | None) -> None:
    from scorer.store import write_parquet

    if to is not None:
        write_parquet([rows], to)
    elif sys.stdout.isatty():
        raise UsageError("--format parquet is not for a terminal: add --to FILE")
    else:
        rows.write_parquet(sys.stdout.buffer)

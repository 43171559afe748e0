"""The prompt of `scorer sql STORE`: statements with history and completion, dot-commands, long results page by page."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from scorer.cli.console import say
from scorer.errors import ScorerError, nearest
from scorer.formats import text_table
from scorer.tables import TABLES

if TYPE_CHECKING:
    from scorer.warehouse import LockedSession

MOST_ROWS = 1_000
"""Rows of a result that are shown; LIMIT and OFFSET show others."""
MOST_CHARACTERS = 200
"""Characters of a cell that are shown."""

COMMANDS = {
    ".tables": "list the tables, with their rows",
    ".schema": "list the columns of all tables; of one with .schema TABLE",
    ".help": "list these commands",
    ".quit": "leave, as Ctrl-D does",
}
_COLUMNS = """
    select table_name, column_name, data_type from information_schema.columns
    where table_schema = 'main' order by table_name, ordinal_position
"""
_WORD = re.compile(r"[\w.]+")
_WANTS_TABLE = re.compile(r"\b(from|join|describe|summarize)\s+$", re.IGNORECASE)


def run_prompt(session: LockedSession, tables: pl.DataFrame) -> None:
    """Read statements and run them until the person leaves. `tables` is what `.tables` lists."""
    prompt = _Prompt(session, tables)
    say("SQL ends with a semicolon; .help lists the commands, Ctrl-D leaves")
    while True:
        try:
            text = prompt.ask()
            if text in (".quit", ".exit"):
                return
            prompt.answer(text)
        except KeyboardInterrupt:
            say("interrupted")
        except EOFError:
            return
        except ScorerError as error:
            say(f"error: {error}")


class _Prompt:
    """What one person at one terminal works with."""

    def __init__(self, session: LockedSession, tables: pl.DataFrame) -> None:
        self.session, self.tables = session, tables
        keywords = session.run("select keyword_name from duckdb_keywords()").to_series().to_list()
        self.completer = SqlCompleter(self.columns(), keywords)
        self.input: PromptSession[str] = PromptSession(
            "sql> ",
            history=_history(),
            completer=self.completer,
            complete_while_typing=False,
            auto_suggest=AutoSuggestFromHistory(),
            lexer=PygmentsLexer(SqlLexer),
            multiline=Condition(lambda: not is_complete(get_app().current_buffer.text)),
            prompt_continuation="  -> ",
        )

    def ask(self) -> str:
        """Return what was typed, without white space around it."""
        return self.input.prompt().strip()

    def answer(self, text: str) -> None:
        """Run a statement or a command and show what it gives."""
        name, _, rest = text.partition(" ")
        if not text.startswith("."):
            if text:
                self.show(self.session.run(text))
                self.completer.columns = self.columns()
        elif name == ".tables":
            self.show(self.tables)
        elif name == ".schema":
            self.show(self.schema(rest.strip(" ;")))
        elif name == ".help":
            self.show(pl.DataFrame({"command": list(COMMANDS), "what it does": list(COMMANDS.values())}))
        else:
            say(f"no command {name}{nearest(name, list(COMMANDS))}")

    def columns(self) -> dict[str, list[str]]:
        """Return the columns of every table there is now."""
        grouped = self.session.run(_COLUMNS).group_by("table_name", maintain_order=True).agg("column_name")
        return dict(grouped.iter_rows())

    def schema(self, table: str) -> pl.DataFrame:
        """Return the columns of one table, or of all, with their types and whether they may be null."""
        columns = self.session.run(_COLUMNS).rename({"table_name": "table", "column_name": "column"})
        if table:
            columns = columns.filter(pl.col("table") == table)
            if not columns.height:
                say(f"no table {table}{nearest(table, list(self.columns()))}")
        return columns.with_columns(
            pl.struct("table", "column").map_elements(_null_or_key, pl.String).alias("key or null")
        )

    def show(self, rows: pl.DataFrame) -> None:
        """Print rows as a table, on the terminal or, where they are more lines than it has, page by page."""
        if not rows.width:
            return
        size = shutil.get_terminal_size()
        text = text_table(_cut(rows.head(MOST_ROWS)), size.columns)
        counted = f"{rows.height:,} row{'' if rows.height == 1 else 's'}"
        if rows.height > MOST_ROWS:
            counted = f"the first {MOST_ROWS:,} of {counted}; LIMIT and OFFSET show others, --to FILE takes all"
        _page(f"{text}{counted}\n", size.lines)


def _null_or_key(names: Mapping[str, str]) -> str:
    table, column = TABLES.get(names["table"]), names["column"]
    if table is None:
        return ""
    return "key" if column in table.key else "may be null" if column in table.nullable else ""


def _cut(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with long texts cut and how much of them is left out."""
    texts = [name for name, dtype in rows.schema.items() if dtype == pl.String]
    return rows.with_columns(
        pl.when(pl.col(name).str.len_chars() > MOST_CHARACTERS)
        .then(
            pl.format(
                "{} […{} more]",
                pl.col(name).str.head(MOST_CHARACTERS),
                pl.col(name).str.len_chars().cast(pl.Int64) - MOST_CHARACTERS,
            )
        )
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )


def _page(text: str, lines: int) -> None:
    if text.count("\n") < lines:
        print(text, end="")
        return
    import pydoc

    pydoc.pager(text)


def is_complete(text: str) -> bool:
    """Tell whether Enter is to run what was typed: a statement up to its semicolon, a command, or nothing."""
    stripped = text.strip()
    return not stripped or stripped.endswith(";") or stripped.startswith(".")


def _history() -> History:
    """Return the history in the person's state folder; one of this session only where that cannot be written."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = state / "scorer" / "sql_history"
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        return FileHistory(str(file))
    return InMemoryHistory()


class SqlCompleter(Completer):
    """Completes commands, tables, columns (of one table after `table.`) and keywords, in this order."""

    def __init__(self, columns: Mapping[str, list[str]], keywords: list[str]) -> None:
        """Take the columns of each table, and SQL's keywords in lowercase."""
        self.columns, self.keywords = columns, sorted(keywords)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield what the word before the cursor may become."""
        del complete_event
        word = document.get_word_before_cursor(pattern=_WORD)
        table, dot, start = word.rpartition(".")
        before = document.text_before_cursor.lstrip()
        wants_table = _WANTS_TABLE.search(before.removesuffix(word)) is not None
        if before.startswith("."):
            names = list(self.columns) if " " in before else list(COMMANDS)
            start = word if " " not in before else start
        elif dot:
            names = self.columns.get(table, [])
        elif wants_table:
            names = list(self.columns)
        else:
            names = [*self.columns, *self._columns_of(document.text), *(_like(start, word) for word in self.keywords)]
        if start or dot or wants_table or before.startswith("."):
            for name in dict.fromkeys(names):
                if name.lower().startswith(start.lower()) and name != start:
                    yield Completion(name, -len(start))

    def _columns_of(self, text: str) -> list[str]:
        """Return the columns of the tables that the statement names; of all tables where it names none."""
        words = set(re.findall(r"\w+", text))
        named = [table for table in self.columns if table in words] or list(self.columns)
        return sorted({column for table in named for column in self.columns[table]})


def _like(start: str, keyword: str) -> str:
    """Return the keyword in capitals where the person types capitals."""
    return keyword.upper() if start.isupper() else keyword

"""The only module that imports DuckDB: tables as views, named queries from sql/, SciPy's tails in SQL, ad-hoc SQL.

Numbers must not depend on the thread count or the row order, and DuckDB adds floating-point numbers in whatever order
its threads bring them (`ORDER BY` inside `sum` is optimised away). So the queries add `list_sum(list_sort(list(x)))`:
the list is sorted, and summed one by one. (`list(x ORDER BY x)` is the same at half the speed where lists are short.)
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
from duckdb.func import FunctionNullHandling, PythonUDFType
from duckdb.sqltypes import DOUBLE

from scorer import assets, tables, tails
from scorer.errors import QueryError, UsageError, nearest

Source: TypeAlias = pl.DataFrame | pa.Table | ds.Dataset | str | Path | list[str] | list[Path]
"""What a table may be given as: a frame, or Parquet files by path."""


_WAKE_SECONDS = 0.2


class _Session:
    """A DuckDB connection in memory with tables in it. Python objects are visible only where they are registered."""

    def __init__(self, threads: int | None = None, **config: Any) -> None:
        config["python_enable_replacements"] = False
        if threads is not None:
            config["threads"] = threads
        self._connection = duckdb.connect(":memory:", config=config)

    def register(self, name: str, source: Source) -> None:
        """Make `source` the table `name`, in place of what had that name."""
        self._connection.register(name, _dataset(source))

    def _register_all(self, sources: Mapping[str, Source]) -> None:
        for name, table in tables.TABLES.items():
            if name not in sources:
                self.register(name, table.empty())
        for name, source in sources.items():
            self.register(name, source)

    def close(self) -> None:
        """End the session; its tables are gone."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Warehouse(_Session):
    """The tables of one or more runs, and the named queries over them.

    `sources` maps table names to frames or Parquet files; every table of `scorer.tables` that is not among them is
    there and empty. `threads` is DuckDB's thread count (its own choice where None); no number depends on it.
    """

    def __init__(self, sources: Mapping[str, Source] | None = None, *, threads: int | None = None) -> None:
        super().__init__(threads)
        self._functions: set[str] = set()
        self._register_all(sources or {})

    def query(self, name: str, **parameters: object) -> pl.DataFrame:
        """Run sql/NAME.sql and return its rows.

        `parameters` fill the file's `$name` places, all of them and no others. Raises UsageError for an unknown query
        or parameters that do not fit, QueryError, with the SQL, where DuckDB refuses.
        """
        sql = _read(name)
        try:
            (statement,) = self._connection.extract_statements(sql)
            _check_parameters(name, statement.named_parameters, parameters)
            self._add_functions(sql)
            rows: pl.DataFrame = self._connection.sql(sql, params=parameters or None).pl()
        except (duckdb.Error, ValueError) as error:
            raise QueryError(f"sql/{name}.sql failed: {error}\n{sql}") from error
        return rows

    def _add_functions(self, sql: str) -> None:
        for name in tails.FUNCTIONS.keys() & set(re.findall(r"\w+", sql)) - self._functions:
            function = tails.FUNCTIONS[name]
            self._connection.create_function(
                name,
                _on_arrow(function),
                [DOUBLE] * len(signature(function).parameters),
                DOUBLE,
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
            )
            self._functions.add(name)


def _dataset(source: Source) -> ds.Dataset:
    if isinstance(source, pl.DataFrame):
        return ds.dataset(source.to_arrow())
    if isinstance(source, pa.Table):
        return ds.dataset(source)
    if isinstance(source, ds.Dataset):
        return source
    paths = [source] if isinstance(source, str | Path) else source
    return ds.dataset([str(path) for path in paths], format="parquet")


def query_names() -> list[str]:
    """Return the names of all queries in sql/, in order."""
    return sorted(path.stem for path in assets.sql_folder().glob("*.sql"))


def _read(name: str) -> str:
    path = assets.sql_folder() / f"{name}.sql"
    if not path.is_file():
        raise UsageError(f"no query {name!r}{nearest(name, query_names())}")
    return path.read_text(encoding="utf-8")


def _check_parameters(query: str, wanted: Iterable[str], given: Mapping[str, object]) -> None:
    wanted = set(wanted)
    mistakes = [f"${name} is missing" for name in sorted(wanted - given.keys())]
    mistakes += [f"${name} is unknown{nearest(name, sorted(wanted))}" for name in sorted(given.keys() - wanted)]
    if mistakes:
        raise UsageError(f"parameters of sql/{query}.sql: {'; '.join(mistakes)}")


def _on_arrow(function: Callable[..., tails.Numbers]) -> Callable[..., pa.Array]:
    """Wrap a function over NumPy arrays for DuckDB: null goes in as NaN, NaN comes out as null."""

    def numbers(*columns: pa.ChunkedArray) -> pa.Array:
        values = function(*(column.to_numpy() for column in columns))
        return pa.array(values, type=pa.float64(), from_pandas=True)

    # DuckDB counts the arguments in the signature, and refuses `*columns`: show it the wrapped function's.
    numbers.__signature__ = signature(function)  # type: ignore[attr-defined]
    return numbers


class LockedSession(_Session):
    """A session for SQL that a user typed: it reads the given tables and nothing else, and writes nowhere.

    The order below matters. Spilling needs a folder, and once access is off none can be named: so a private one first,
    removed at the end. Views over files die when access goes off, so tables come in as pyarrow datasets, which Python
    reads. The lock comes last, so that no statement can undo any of it.
    """

    def __init__(self, sources: Mapping[str, Source], *, allow_external: bool = False) -> None:
        self._spill = Path(tempfile.mkdtemp(prefix="scorer-sql-"))
        super().__init__(temp_directory=str(self._spill))
        try:
            if not allow_external:
                self._connection.execute("SET enable_external_access = false")
            self._register_all(sources)
            if not allow_external:
                self._connection.execute("SET lock_configuration = true")
        except BaseException:
            self.close()
            raise

    def run(self, sql: str) -> pl.DataFrame:
        """Run one or more statements and return the last one's rows (none if it gives none).

        Raises QueryError, with DuckDB's words, where a statement fails or reaches outside, KeyboardInterrupt where the
        person at the terminal stops it.
        """
        # Python hears no Ctrl-C while DuckDB works: so that works in a thread, and this one wakes up to hear.
        with ThreadPoolExecutor(1) as worker:
            rows = worker.submit(self._rows, sql)
            try:
                while not rows.done():
                    wait([rows], timeout=_WAKE_SECONDS)
                return rows.result()
            except duckdb.Error as error:
                raise QueryError(str(error)) from error
            except KeyboardInterrupt:
                self._connection.interrupt()
                raise

    def _rows(self, sql: str) -> pl.DataFrame:
        result = self._connection.sql(sql)
        rows: pl.DataFrame = pl.DataFrame() if result is None else result.pl()
        return rows

    def close(self) -> None:
        """End the session and remove its private folder."""
        super().close()
        shutil.rmtree(self._spill, ignore_errors=True)


def open_locked(sources: Mapping[str, Source], *, allow_external: bool = False) -> LockedSession:
    """Open a session for ad-hoc SQL over `sources`; with `allow_external` it may also reach files and the network."""
    return LockedSession(sources, allow_external=allow_external)

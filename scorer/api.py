"""What `import scorer` gives: score, compare, and a store opened for reading, all on Polars frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from scorer import aggregate
from scorer.aggregate import Data
from scorer.errors import UsageError
from scorer.explain import Explainer, Explanation
from scorer.formats import html_table, html_text
from scorer.ingest.sources import arrow_table
from scorer.pipeline import score, stored
from scorer.report import Report
from scorer.report.comparison import comparison_html
from scorer.store import Store
from scorer.tables import TABLES
from scorer.warehouse import open_locked

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Comparison", "Data", "OpenStore", "compare", "open_store", "score"]


class Comparison(aggregate.Comparison):
    """A comparison that a notebook shows as `scorer compare` prints it."""

    def _repr_html_(self) -> str:
        return comparison_html(self.tables, self.notes, self.notice)


def compare(source: Any, *, strata: Sequence[str] = (), **options: Any) -> Comparison:
    """Compare the systems of a store or of scores that any tool made, paired by question.

    `source` is a store or a file of scores by path, an `OpenStore`, a `Data`, or a frame or Arrow stream with the
    columns `system`, `task_id`, `metric`, `value` (others: see `Data.from_scores`). `strata` adds a comparison in each
    level; the `options` are those of `scorer.aggregate.compare`: `systems`, `baseline`, `metric`, `alpha`, … Raises
    InputError for scores that cannot be used, UsageError for names that are unknown.
    """
    made = aggregate.compare(_data(source, strata), strata=strata, **options)
    return Comparison(**vars(made))


def _data(source: Any, strata: Sequence[str]) -> Data:
    if isinstance(source, Data):
        return source
    if isinstance(source, OpenStore):
        return source.data()
    if isinstance(source, str | Path):
        return aggregate.open_scores(source, strata=strata)
    return Data.from_scores(pl.DataFrame(pl.from_arrow(arrow_table(source))), strata=strata)


def open_store(path: str | Path) -> OpenStore:
    """Open a store for reading. Raises InputError where there is none."""
    return OpenStore(path)


class OpenStore:
    """A store as it is when it is opened: each table as a lazy frame (`results.scores`), reports, comparisons, SQL.

    What is read stays as it is while the store is open, also where somebody scores into it. Close it, or use it in a
    `with` statement.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the store at `path`. Raises InputError where there is none."""
        self.path = Path(path)
        self._store = Store(path)
        self.run_ids = list(self._store.runs)

    def __getattr__(self, name: str) -> pl.LazyFrame:
        """Return a table over all runs by its name: `results.scores`."""
        if name not in TABLES:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; its tables: {', '.join(TABLES)}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *TABLES]

    def table(self, name: str, run: str | None = None) -> pl.LazyFrame:
        """Return a table of all runs, or of one, to be collected when it is needed.

        The columns are those of `scorer.tables`. Raises UsageError where there is no such table or run.
        """
        if name not in TABLES:
            raise UsageError(f"no table {name!r}; known: {', '.join(TABLES)}")
        files = self._store.files(name, run)
        return pl.scan_parquet(files, glob=False) if files else TABLES[name].empty().lazy()

    def sql(self, query: str) -> pl.DataFrame:
        """Run SQL over every table of every run; it can change nothing and reach nothing else. Raises QueryError."""
        with open_locked({name: files for name in TABLES if (files := self._store.files(name))}) as session:
            return session.run(query)

    def data(self, run: str | None = None) -> Data:
        """Return what the statistics read (`scorer.aggregate`), of all runs or of one."""
        return Data.from_tables(
            {name: self.table(name, run).collect() for name in ("scores", "runs", "strata", "golds", "metrics")}
        )

    def summary(self, run: str | None = None, **options: Any) -> pl.DataFrame:
        """Return each system's mean on each metric with its interval: see `scorer.aggregate.summary`."""
        return aggregate.summary(self.data(run), **options)

    def compare(self, **options: Any) -> Comparison:
        """Compare systems: see `scorer.compare`."""
        return compare(self, **options)

    def report(self, run: str | None = None, scorer: str | None = None) -> Report:
        """Return the report of a run, its tables as frames. Raises UsageError where a run or scorer must be named."""
        return stored.report(self.path, run_id=run, scorer=scorer)

    def charts(
        self, run: str | None = None, scorer: str | None = None, baseline: str | None = None
    ) -> Mapping[str, alt.ConcatChart]:
        """Return the pictures of a run's report by their names, as Altair charts. Needs the extra `scorer[report]`."""
        from scorer.pipeline.results import results  # noqa: PLC0415  (pictures are for those who ask for them)
        from scorer.report.charts import pictures  # noqa: PLC0415
        from scorer.report.extra import require_extra  # noqa: PLC0415

        require_extra()
        made = results(self.path, run_id=run, scorer=scorer, baseline=baseline)
        return {picture.name: picture.chart for picture in pictures(made)}

    def explain(self, attempt_id: str, run: str | None = None, pack: str | Path | None = None) -> Explanation:
        """Explain one attempt: what decided each value. Raises UsageError where there is no such attempt."""
        return Explainer(self._store.run(run), pack).explain(attempt_id)

    def close(self) -> None:
        """Let the store go: its superseded files may be removed by whoever scores next."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<store {self.path}: {', '.join(self.run_ids)}>"

    def _repr_html_(self) -> str:
        counts = self.attempts.group_by("run_id").agg(
            systems=pl.col("system").n_unique(), tasks=pl.col("task_id").n_unique(), attempts=pl.len()
        )
        named = self.runs.select("run_id", "benchmark", "mode", "origin", "flags")
        runs = named.join(counts, on="run_id", how="left", maintain_order="left").collect()
        sizes = pl.DataFrame({"table": list(TABLES), "rows": [self._store.count(name) for name in TABLES]})
        filled = sizes.filter(pl.col("rows") > 0)
        return f"<p>store <code>{html_text(str(self.path))}</code></p>{html_table(runs)}{html_table(filled)}"

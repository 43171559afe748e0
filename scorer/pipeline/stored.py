"""What is asked of a store: reports, SQL, exports, explanations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from scorer import export as exports
from scorer.explain import Explainer, Explanation
from scorer.pipeline.judged import export_leaderboard
from scorer.pipeline.results import report
from scorer.report.eduevidence import to_eduevidence
from scorer.store import Store
from scorer.tables import TABLES
from scorer.warehouse import LockedSession, open_locked

__all__ = ["eduevidence_report", "explain", "export", "report", "sql", "sql_session"]


def sql(store: str | Path, query: str | None, *, allow_external: bool = False) -> pl.DataFrame:
    """Run ad-hoc SQL over every table of every run; without a query, list the tables, their columns and row counts.

    The session reads the store's tables and can change nothing and reach nothing else, unless `allow_external`.
    Raises QueryError in DuckDB's words, InputError where there is no store.
    """
    if query is None:
        with Store(store) as opened:
            return _table_list(opened)
    with sql_session(store, allow_external=allow_external) as session:
        return session.run(query)


@contextmanager
def sql_session(store: str | Path, *, allow_external: bool = False) -> Iterator[LockedSession]:
    """Open a session for several statements of ad-hoc SQL, as `sql` runs one."""
    with Store(store) as opened:
        sources = {name: paths for name in TABLES if (paths := opened.files(name))}
        with open_locked(sources, allow_external=allow_external) as session:
            yield session


def _table_list(store: Store) -> pl.DataFrame:
    rows = [
        {"table": name, "rows": store.count(name), "columns": ", ".join(table.columns), "one row is": table.grain}
        for name, table in TABLES.items()
    ]
    return pl.DataFrame(rows)


def export(
    store: str | Path, table: str, to: str | Path, *, run_id: str | None = None, bom: bool = False, safe: bool = False
) -> int:
    """Write a table of a store (of all runs, or of one), `evaluation` or `leaderboard` to a file; return the row count.

    The ending of `to` chooses the format. Raises UsageError for an unknown table, run or ending.
    """
    with Store(store) as opened:
        if table == exports.EVALUATION:
            return exports.write_evaluation(opened.run(run_id), Path(to))
        if table == exports.LEADERBOARD:
            return exports.export_frames([export_leaderboard(opened, run_id)], Path(to), bom=bom, safe=safe)
        runs = [opened.run(run_id)] if run_id else list(opened.runs.values())
        return exports.export_frames(exports.stored_frames(runs, table), Path(to), bom=bom, safe=safe)


def eduevidence_report(store: str | Path, *, run_id: str | None = None) -> str:
    """Return EduEvidence's own table of one run, as Markdown. Raises UsageError for a run of another benchmark."""
    with Store(store) as opened:
        run = opened.run(run_id)
        statuses = dict(run.frame("attempts", ["status"])["status"].value_counts().iter_rows())
        return to_eduevidence(exports.evaluation(run), statuses, run.row["notes"])


def explain(
    store: str | Path, attempt_id: str, *, run_id: str | None = None, pack: str | Path | None = None
) -> Explanation:
    """Explain one attempt of a store: for each metric what decided its value, and where in the response it stands.

    `pack` is the folder of the pack that scored the run, where it is not a built-in one. Raises UsageError for an
    unknown run or attempt.
    """
    with Store(store) as opened:
        return Explainer(opened.run(run_id), pack).explain(attempt_id)

"""The only corridor between the stages: sources to a run in the store, a store to reports, exports and answers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from scorer import export as exports
from scorer import ingest, packs
from scorer.errors import InputError, Problem, UsageError, nearest
from scorer.explain import Explainer, Explanation
from scorer.ingest import RunFacts
from scorer.packs import Pack
from scorer.pipeline.judged import export_leaderboard
from scorer.pipeline.results import report
from scorer.pipeline.scoring import Account, Job, Progress
from scorer.report.eduevidence import to_eduevidence
from scorer.store import Store
from scorer.tables import GOLDS, STRATA, TABLES, TASKS
from scorer.warehouse import LockedSession, open_locked

__all__ = ["MODES", "Account", "Progress", "eduevidence_report", "explain", "export", "report", "score", "sql"]

MODES = ("empirical", "simulated", "unknown")

GOLD_FOLDERS = ("golds", "annotations")
TASK_FILES = ("questions.jsonl", "tasks.jsonl", "tasks.json")
"""Where golds and tasks are looked for in a run folder when none are named."""


def score(
    places: Any,
    pack: str | Path | Pack,
    out: str | Path,
    *,
    golds: Any = None,
    tasks: Any = None,
    ruleset: str | None = None,
    run_id: str | None = None,
    mode: str | None = None,
    replace: bool = False,
    update: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Account:
    """Score attempts by a pack and publish the run in the store `out`, whole or not at all.

    `places` is one or a list of run folders, files, `-` (JSONL on standard input), Polars frames or Arrow streams.
    `golds` and `tasks` are paths or frames, and default to what lies in the run folder. `run_id` defaults to the
    manifest's, else comes from the attempts. `update` takes over what the stored run has of attempts and golds that did
    not change; `replace` lets other attempts take the place of a run's. `threads` (default: the cores) changes the
    time, never the bytes.

    A fault of one attempt is the reason on that attempt's rows. Raises InputError, with every mistake of the input,
    and UsageError; then nothing was written.
    """
    loaded = pack if isinstance(pack, Pack) else packs.load(pack, ruleset)
    if not loaded.metrics:
        raise UsageError(
            f"pack {loaded.name} has a rubric and no metrics; bring judgements in with `scorer judge import`"
        )
    with tempfile.TemporaryDirectory(prefix="scorer-") as scratch:
        listed = places if isinstance(places, list | tuple) else [places]
        sources = ingest.open_sources(listed, loaded, Path(scratch))
        facts, flags = _facts([source.facts for source in sources], run_id), list[str]()
        gold_rows, task_rows, strata_rows = _annotations(loaded, facts, golds, tasks)
        job = Job(
            attempts=ingest.Attempts(sources),
            facts=facts,
            pack=loaded,
            golds=gold_rows,
            tasks=task_rows,
            strata=strata_rows,
            mode=_mode(facts.mode, mode, flags),
            flags=flags,
            store=Path(out),
            replace=replace,
            update=update,
            threads=threads or os.cpu_count() or 1,
            progress=progress or _silent,
        )
        return job.run()


def _silent(_done: int, _total: int | None) -> None:
    """Progress that nobody watches."""


def _facts(all_facts: Sequence[RunFacts], run_id: str | None) -> RunFacts:
    """Return what the sources say of their one run; several run folders are one run only where one id is given."""
    told = [facts for facts in all_facts if facts.folder]
    facts = told[0] if told else RunFacts()
    ids = sorted({str(other.run_id) for other in told})
    if len(told) > 1 and run_id is None and len(ids) > 1:
        raise UsageError(f"these folders are {len(ids)} runs: {', '.join(ids)}; score each by itself, or give --run ID")
    if len({other.mode for other in told}) > 1:
        raise UsageError("these folders are of different modes; score each by itself")
    facts.run_id = run_id or facts.run_id
    return facts


def _mode(said: str | None, asked: str | None, flags: list[str]) -> str:
    if asked is not None and asked not in MODES:
        raise UsageError(f"no mode {asked!r}{nearest(asked, MODES)}")
    if said is not None and said not in MODES:
        flags.append(f"the source's run_mode {said!r} is none of {', '.join(MODES)}")
        said = None
    if said and asked and said != asked:
        raise UsageError(f"the source says that the run is {said}, --mode says {asked}; leave --mode out")
    return said or asked or "unknown"


def _annotations(
    pack: Pack, facts: RunFacts, golds: Any, tasks: Any
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the tables golds, tasks and strata, without run_id, from what was named or lies in the run folder."""
    gold_place = beside(facts.folder, GOLD_FOLDERS) if golds is None else golds
    task_place = beside(facts.folder, TASK_FILES) if tasks is None else tasks
    problems: list[Problem] = []
    gold_rows, task_rows, strata_rows = (_empty(table.schema) for table in (GOLDS, TASKS, STRATA))
    if gold_place is None and (pack.golds.lists or pack.golds.texts):
        raise UsageError(f"pack {pack.name} scores against golds; name them with --golds PATH")
    try:
        gold_rows = gold_rows if gold_place is None else ingest.read_golds(gold_place, pack.golds)
    except InputError as error:
        problems += error.problems
    try:
        if task_place is not None and pack.tasks:
            task_rows, strata_rows = ingest.read_tasks(task_place, pack.tasks)
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)
    return gold_rows, task_rows, strata_rows


def beside(folder: Path | None, names: Sequence[str]) -> Path | None:
    """Return the first of the names that lies in the run folder; None where none does, or there is no folder."""
    found = [folder / name for name in names if (folder / name).exists()] if folder else []
    return found[0] if found else None


def _empty(schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame(schema=schema).drop("run_id")


# --- out of a store ---------------------------------------------------------------------------------------------------


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

"""The only corridor between the stages: sources to a run in the store; and in `stored`, a store to what is asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from scorer import ingest, packs
from scorer.errors import InputError, Problem, UsageError, nearest
from scorer.ingest import RunFacts
from scorer.packs import Pack
from scorer.pipeline.scoring import Account, Job, Progress
from scorer.tables import GOLDS, STRATA, TASKS

__all__ = ["MODES", "Account", "Progress", "score"]

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

"""Files to tables: attempts, golds, tasks, and what was refused on the way."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scorer.errors import InputError, Problem, UsageError
from scorer.ingest.attempts import NAMES, Attempts, Batch
from scorer.ingest.golds import read_golds
from scorer.ingest.run_folder import MANIFEST, RunFolder
from scorer.ingest.sources import JsonLines, Names, Refused, RunFacts, Source, from_frame, open_file
from scorer.ingest.tasks import read_tasks
from scorer.packs import Pack

__all__ = [
    "MANIFEST",
    "Attempts",
    "Batch",
    "Refused",
    "RunFacts",
    "Source",
    "open_sources",
    "read_golds",
    "read_tasks",
]

STDIN = "-"


def open_sources(places: Sequence[Any], pack: Pack, scratch: Path) -> list[Source]:
    """Return a source for each place: a run folder, a file, `-` for JSONL on standard input, a frame, an Arrow stream.

    Standard input can be read only once, so it is kept in the folder `scratch`. Raises InputError with the mistakes of
    every place at once, UsageError for what is no place at all.
    """
    names: Names = {name: name for name in NAMES} | dict(pack.fields)
    sources: list[Source] = []
    problems: list[Problem] = []
    for place in places:
        try:
            sources.append(_open(place, names, scratch))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    if not sources:
        raise UsageError("no attempts to read: name a run folder, a file, or - for standard input")
    return sources


def _open(place: Any, names: Names, scratch: Path) -> Source:
    if not isinstance(place, str | Path):
        return from_frame(place, names)
    if str(place) == STDIN:
        kept = scratch / "stdin.jsonl"
        with kept.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        return JsonLines(kept, names, "<stdin>")
    path = Path(place)
    if path.is_dir():
        if not (path / MANIFEST).is_file():
            raise InputError([Problem(str(path), "", f"holds no {MANIFEST}; a run folder does")])
        return RunFolder(path, names)
    return open_file(path, names)

"""All that is wrong with an input at once: read as scoring reads it, but nothing is scored and nothing written."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from scorer import ingest, packs
from scorer.errors import ExitCode, InputError, PackError, Problem, UsageError
from scorer.ingest import Attempts, Refused, Source
from scorer.metrics.choices import NameMatch
from scorer.packs import Golds, Pack
from scorer.pipeline import GOLD_FOLDERS, TASK_FILES, beside
from scorer.pipeline.judging import check_judgements
from scorer.pipeline.survey import Survey
from scorer.reference import ChoiceReading, TermReading
from scorer.score import compile_golds

PACK_FILE = "pack.toml"
_NAMED = 5

_NO_PACK = Pack(
    name="", title="", ruleset="", fields={}, tasks=None, golds=Golds(), readings=(), metrics=(), rubric=None
)
"""What reads attempts under our own names, where no pack says how a benchmark calls them."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or worth knowing."""

    kind: str
    """`pack` or `mistake` (nothing can be scored), `fault` or `rejected` (the rest can), `note`."""
    source: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind:<8}  {Problem(self.source, self.place, self.message)}"


@dataclass
class Checked:
    """Everything found, and what was looked at."""

    findings: list[Finding] = field(default_factory=list)
    looked_at: list[str] = field(default_factory=list)
    """A line for each thing that was checked."""

    @property
    def counts(self) -> Counter[str]:
        """How many findings there are of each kind."""
        return Counter(finding.kind for finding in self.findings)

    @property
    def exit_code(self) -> ExitCode:
        """What the command line ends with: the worst of what was found."""
        counts = self.counts
        if counts["pack"]:
            return ExitCode.USAGE
        if counts["mistake"]:
            return ExitCode.BAD_INPUT
        return ExitCode.PARTLY if counts["fault"] or counts["rejected"] else ExitCode.DONE

    def add(self, kind: str, problems: Sequence[Problem]) -> None:
        """Take in problems of one kind."""
        self.findings += [Finding(kind, problem.source, problem.place, problem.message) for problem in problems]

    def refuse(self, refused: Sequence[Refused]) -> None:
        """Take in what was not used, or only after a repair."""
        self.findings += [Finding("rejected", bad.source, bad.place, bad.detail) for bad in refused]

    def note(self, source: str, message: str) -> None:
        """Take in something worth knowing."""
        self.findings.append(Finding("note", source, "", message))


def check(
    places: Sequence[str],
    *,
    pack: str | None = None,
    golds: str | Path | None = None,
    tasks: str | Path | None = None,
    mapping: str | Path | None = None,
) -> Checked:
    """Check run folders, files of attempts or of judgements, pack folders; and golds and tasks where they are named.

    `places` are judgements where `pack` has a rubric and no metrics, or with a `mapping`; else attempts. Without a
    pack they are read under our own names. Raises UsageError where golds, tasks or a mapping are given without a pack.
    """
    checked = Checked()
    for place in places:
        if (Path(place) / PACK_FILE).is_file():
            _check_pack(place, checked)
    sources = [place for place in places if not (Path(place) / PACK_FILE).is_file()]
    if pack is None and (golds or tasks or mapping):
        raise UsageError("golds, tasks and mappings are read as a pack says: name it with --pack")
    if not places and not (golds or tasks or pack):
        raise UsageError("nothing to check: name run folders, files, or a pack's folder")
    loaded = _check_pack(pack, checked) if pack else _NO_PACK
    if loaded is None:
        checked.note(str(pack), "nothing else was checked, because the pack does not load")
    elif loaded.rubric and (mapping or not loaded.metrics):
        _check_judgements(sources, loaded, mapping, tasks, checked)
    else:
        _Run(loaded, golds, tasks, checked).check(sources)
    return checked


# --- packs ------------------------------------------------------------------------------------------------------------


def _check_pack(place: str, checked: Checked) -> Pack | None:
    """Return the pack under its default ruleset, or None where it does not load; every ruleset is checked."""
    try:
        pack = packs.load(place)
        for ruleset in packs.rulesets(place):
            packs.load(place, ruleset)
    except PackError as error:
        checked.add("pack", error.problems)
        return None
    rules = len(packs.rulesets(place))
    criteria = f", a rubric of {len(pack.rubric.criteria)} criteria" if pack.rubric else ""
    checked.looked_at.append(f"pack {pack.name}: {_counted(rules, 'ruleset')}{criteria}")
    return pack


# --- judgements -------------------------------------------------------------------------------------------------------


def _check_judgements(
    places: Sequence[str], pack: Pack, mapping: str | Path | None, tasks: str | Path | None, checked: Checked
) -> None:
    if not places:
        return
    try:
        read = check_judgements(places, pack, mapping=mapping, tasks=tasks)
    except InputError as error:
        checked.add("mistake", error.problems)
        return
    checked.refuse(read.refused)
    for flag in read.flags:
        checked.note(", ".join(places), flag)
    statuses = read.judgements["status"].value_counts().sort("status").iter_rows()
    listed = ", ".join(f"{count:,} {status}" for status, count in statuses)
    checked.looked_at.append(f"judgements: {_counted(read.judgements.height, 'evaluation')}: {listed}")


# --- attempts, golds, tasks -------------------------------------------------------------------------------------------


@dataclass
class _Run:
    """Attempts with the golds and tasks that belong to them."""

    pack: Pack
    golds: str | Path | None
    tasks: str | Path | None
    checked: Checked

    def check(self, places: Sequence[str]) -> None:
        """Check every place; each run folder with an id of its own is a run, files together are one."""
        with tempfile.TemporaryDirectory(prefix="scorer-") as scratch:
            runs: dict[str | None, list[Source]] = {}
            for place in places:
                for source in self._open(place, Path(scratch)):
                    runs.setdefault(source.facts.run_id, []).append(source)
            folders = [source.facts.folder for sources in runs.values() for source in sources]
            golds, tasks = self._golds(folders), self._tasks(folders)
            for sources in runs.values():
                self._attempts(sources, golds, tasks)

    def _open(self, place: str, scratch: Path) -> list[Source]:
        try:
            return ingest.open_sources([place], self.pack, scratch)
        except InputError as error:
            self.checked.add("mistake", error.problems)
        except UsageError as error:
            self.checked.add("mistake", [Problem(place, "", str(error).removeprefix(f"{place}: "))])
        return []

    def _attempts(self, sources: list[Source], golds: pl.DataFrame | None, tasks: pl.DataFrame | None) -> None:
        """Survey the attempts of one run; a source that cannot be read to its end is left out, the others go on."""
        while sources:
            attempts = Attempts(sources)
            survey, faults, statuses = Survey(attempts), list[Problem](), Counter[str]()
            try:
                for batch in attempts.batches():
                    survey.add(batch)
                    statuses.update(batch.attempts["status"])
                    faults += _faults(batch.attempts, batch.places)
            except InputError as error:
                self.checked.add("mistake", error.problems)
                broken = {problem.source for problem in error.problems}
                sources = [source for source in sources if source.name not in broken]
                continue
            try:
                survey.check()
            except InputError as error:
                self.checked.add("mistake", error.problems)
            self.checked.refuse(survey.refused)
            self.checked.add("fault", faults)
            name = ", ".join(source.name for source in sources)
            for note in _notes(sources, survey, golds, tasks):
                self.checked.note(name, note)
            listed = ", ".join(f"{count:,} {status}" for status, count in sorted(statuses.items()))
            self.checked.looked_at.append(f"attempts in {name}: {survey.rows:,}: {listed or 'none'}")
            return

    def _golds(self, folders: Sequence[Path | None]) -> pl.DataFrame | None:
        place = Path(self.golds) if self.golds else _first(folders, GOLD_FOLDERS)
        if place is None:
            if self.pack.golds.lists or self.pack.golds.texts:
                self.checked.note(self.pack.name, "scores against golds, and none were named: --golds PATH")
            return None
        try:
            golds = ingest.read_golds(place, self.pack.golds)
        except InputError as error:
            self.checked.add("mistake", error.problems)
            return None
        self.checked.findings += _unusable_references(self.pack, golds, str(place))
        for problem in _unreadable_names(self.pack, golds, str(place)):
            self.checked.findings.append(problem)
        self.checked.looked_at.append(f"golds in {place}: {golds['task_id'].n_unique():,}")
        return golds

    def _tasks(self, folders: Sequence[Path | None]) -> pl.DataFrame | None:
        place = Path(self.tasks) if self.tasks else _first(folders, TASK_FILES)
        if place is None or self.pack.tasks is None:
            if self.tasks:
                self.checked.note(str(place), f"was not read: pack {self.pack.name} says nothing of tasks")
            return None
        try:
            tasks, _ = ingest.read_tasks(place, self.pack.tasks)
        except InputError as error:
            self.checked.add("mistake", error.problems)
            return None
        self.checked.looked_at.append(f"tasks in {place}: {tasks.height:,}")
        return tasks


def _first(folders: Sequence[Path | None], names: Sequence[str]) -> Path | None:
    return next((found for folder in folders if (found := beside(folder, names))), None)


def _faults(attempts: pl.DataFrame, places: pl.DataFrame) -> Iterator[Problem]:
    rows = pl.concat([attempts.select("attempt_id", "fault"), places], how="horizontal")
    for row in rows.filter(pl.col("fault").is_not_null()).iter_rows(named=True):
        yield Problem(row["source"], row["place"], f"attempt {row['attempt_id']!r}: {row['fault']}")


def _notes(
    sources: Sequence[Source], survey: Survey, golds: pl.DataFrame | None, tasks: pl.DataFrame | None
) -> Iterator[str]:
    """Yield what does not keep anything from being scored, but may be a slip."""
    if survey.attempts.repeats_numbered:
        yield "repeat is absent: the attempts of a system at a task are numbered in the order of the rows"
    named = {name for source in sources for name in source.facts.systems or ()}
    if named and (more := sorted(survey.systems - named)):
        yield f"systems that the manifest does not name: {_listed(more)}"
    for what, table in (("no gold", golds), ("no row in the file of tasks", tasks)):
        known = set(table["task_id"]) if table is not None else survey.task_ids
        if more := sorted(survey.task_ids - known):
            yield f"{_counted(len(more), 'task')} with {what}: {_listed(more)}"


def _unusable_references(pack: Pack, golds: pl.DataFrame, place: str) -> list[Finding]:
    """Return the references that no metric of the pack can use: a number that is none, a pattern that is none."""
    try:
        compile_golds(pack, golds)
    except InputError as error:
        return [Finding("mistake", place, problem.place, problem.message) for problem in error.problems]
    return []


def _unreadable_names(pack: Pack, golds: pl.DataFrame, place: str) -> Iterator[Finding]:
    """Yield the golds' names that the pack's reading can never find, because its table does not have them."""
    readings = {reading.name: reading.params for reading in pack.readings}
    compared = [metric.params for metric in pack.metrics if isinstance(metric.params, NameMatch)]
    for field_name, read in dict.fromkeys((params.gold, params.read) for params in compared):
        reading = readings[read]
        if not isinstance(reading, TermReading | ChoiceReading):
            continue
        rows = golds.filter(pl.col("field") == field_name, ~pl.col("value").is_in(list(reading.terms)))
        for task_id, position, value in rows.select("task_id", "position", "value").iter_rows():
            message = f"{value!r} is no {read} that the pack can read out; it will never count as found"
            yield Finding("note", place, f"{task_id} {field_name}[{position}]", message)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

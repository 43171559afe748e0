"""From files of judgements to a published run: new attempts that were only judged, or the attempts of a stored run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from scorer import __version__, ingest, packs, rubric
from scorer.errors import InputError, Problem, UsageError
from scorer.ingest.judgements import Judgements, Known, numbered_tasks, read_judgements
from scorer.ingest.mapping import Naming, read_mapping
from scorer.ingest.sources import Refused
from scorer.metrics.rubric import Rubric
from scorer.packs import Pack
from scorer.pipeline.reuse import row_groups
from scorer.pipeline.scoring import frame_hash, with_run_id
from scorer.pipeline.survey import attempts_hash
from scorer.rubric import ATTEMPT, Judging
from scorer.store import ROW_GROUPS_KEY, RunWriter, Store, StoredRun, canonical_json, current_run
from scorer.tables import METRICS, PUBLISHED, REJECTED, RUNS

IMPORTED = "imported"
"""The origin of a run whose attempts are known only by their judgements."""

_ROWS_AT_ONCE = 1 << 19
_EVALUATION = ["attempt_id", "judge_id", "evaluation"]


@dataclass
class JudgeAccount:
    """What an import of judgements did, for the person who asked for it."""

    store: Path
    run_id: str
    mode: str
    scorers: list[str]
    judging: Judging
    statuses: dict[str, int]
    """How many of the evaluations read have each status."""
    unchanged: int
    """Evaluations that the store had already."""
    published: int
    """Figures that came without the evaluations behind them."""
    verdicts: pl.DataFrame
    """Every attempt's verdict under every policy (see `scorer.rubric.verdicts`), with system, task_id and repeat."""
    refused: list[Refused]
    flags: list[str]

    @property
    def complete(self) -> bool:
        """Whether every evaluation could be used."""
        return not self.statuses.get("invalid")


@dataclass(frozen=True)
class _Files:
    """Files of judgements, and how to read them."""

    paths: Sequence[Path]
    pack: Pack
    rubric: Rubric
    naming: Naming
    tasks: Path | None
    skip_unknown_tasks: bool
    strict: bool

    @classmethod
    def of(
        cls,
        paths: Sequence[str | Path],
        pack: str | Path | Pack,
        mapping: str | Path | None,
        tasks: str | Path | None,
        *,
        skip_unknown_tasks: bool,
        strict: bool,
    ) -> _Files:
        """Load the pack and the mapping. Raises UsageError where the pack cannot be used for judgements."""
        loaded = pack if isinstance(pack, Pack) else packs.load(pack)
        if loaded.rubric is None:
            raise UsageError(f"pack {loaded.name} has no rubric; `scorer packs` shows which have one")
        if tasks is not None and loaded.tasks is None:
            raise UsageError(f"pack {loaded.name} says nothing of tasks, so it cannot read a file of tasks")
        naming = read_mapping(Path(mapping)) if mapping else Naming()
        task_file = Path(tasks) if tasks else None
        return cls([Path(path) for path in paths], loaded, loaded.rubric, naming, task_file, skip_unknown_tasks, strict)

    def read(self, stored: StoredRun | None) -> Judgements:
        """Read them against what is known of the run."""
        return read_judgements(
            self.paths,
            self.pack,
            self._known(stored),
            naming=self.naming,
            skip_unknown_tasks=self.skip_unknown_tasks,
            strict=self.strict,
        )

    def _known(self, stored: StoredRun | None) -> Known:
        """Return the tasks and attempts that judgements may speak of: a file's, the stored run's, or the rubric's."""
        attempts = stored.frame("attempts", ATTEMPT) if stored and stored.row["origin"] != IMPORTED else None
        if self.tasks and self.pack.tasks:
            tasks, strata = ingest.read_tasks(self.tasks, self.pack.tasks)
            return Known(tasks, strata, attempts)
        if stored:
            tasks = stored.frame("tasks").drop("run_id")
            if attempts is not None:
                unnamed = attempts.select(pl.col("task_id").unique().sort()).join(tasks, on="task_id", how="anti")
                tasks = pl.concat([tasks, unnamed], how="diagonal")
            return Known(tasks, stored.frame("strata").drop("run_id"), attempts)
        return Known(numbered_tasks(self.rubric.terms.tasks) if self.rubric.terms.tasks else None)


def check_judgements(
    paths: Sequence[str | Path],
    pack: str | Path | Pack,
    *,
    mapping: str | Path | None = None,
    tasks: str | Path | None = None,
    skip_unknown_tasks: bool = False,
    strict: bool = False,
) -> Judgements:
    """Read judgements as `import_judgements` does, and write nothing. Raises as it does."""
    files = _Files.of(paths, pack, mapping, tasks, skip_unknown_tasks=skip_unknown_tasks, strict=strict)
    return files.read(None)


def import_judgements(
    paths: Sequence[str | Path],
    pack: str | Path | Pack,
    out: str | Path,
    *,
    mapping: str | Path | None = None,
    tasks: str | Path | None = None,
    policy: str | None = None,
    min_evaluations: int | None = None,
    run_id: str | None = None,
    mode: str | None = None,
    skip_unknown_tasks: bool = False,
    strict: bool = False,
    replace: bool = False,
) -> JudgeAccount:
    """Read judgements, score them by the pack's rubric and publish the run in the store `out`, whole or not at all.

    Where the store has the run (`run_id`, or the only run of the benchmark that the rubric judges), the judgements join
    its attempts; else each system gets one attempt a task. `policy` and `min_evaluations` default to the rubric's.
    `strict` makes reported sums that differ mistakes. `replace` puts the judgements of these judges in the place of
    those that the run has, or this run in the place of one with other attempts.

    Raises InputError with every mistake of the input, UsageError for what was asked; then nothing was written.
    """
    files = _Files.of(paths, pack, mapping, tasks, skip_unknown_tasks=skip_unknown_tasks, strict=strict)
    judging = Judging.of(files.rubric, policy, min_evaluations)
    store = Path(out)
    with ExitStack() as opened:
        named = run_id or _judged_run(store, files.rubric)
        stored = current_run(store, named) if named else None
        if stored:
            opened.callback(stored.close)
        read = files.read(stored)
        if read.attempts is not None:
            made_id = _run_id(read.attempts, read.published)
            if named is None and (stored := current_run(store, made_id)):
                opened.callback(stored.close)
            named = named or made_id
            stored = _same_attempts(read.attempts, stored, store, replace=replace)
        return _Import(files, read, judging, store, str(named), stored, mode, replace=replace).publish()


def _judged_run(store: Path, rubric_: Rubric) -> str | None:
    """Return the one run of the benchmark that the rubric judges; None where judgements bring their own attempts."""
    judged = rubric_.terms.judges
    if judged is None:
        return None
    with Store(store) as opened:
        found = [run.run_id for run in opened.runs.values() if run.row["benchmark"] == judged]
    if len(found) != 1:
        held = f"{len(found)} runs of {judged}: {', '.join(found)}" if found else f"no run of {judged}"
        raise UsageError(f"{store} holds {held}; name the run that was judged with --run")
    return found[0]


def _same_attempts(attempts: pl.DataFrame, stored: StoredRun | None, store: Path, *, replace: bool) -> StoredRun | None:
    """Return the stored run if the attempts are its own, None if there is none or it is to be replaced."""
    if stored is None or not _others(attempts, stored):
        return stored
    if replace:
        return None
    message = "holds other attempts than these; --replace puts these in their place, --run ID makes a run beside it"
    raise InputError([Problem(str(store), f"run {stored.run_id!r}", message)])


def _others(attempts: pl.DataFrame, stored: StoredRun) -> int:
    return attempts.join(stored.frame("attempts", ["attempt_id"]), on="attempt_id", how="anti").height


@dataclass
class _Import:
    """One import at work: fills a new generation of the run."""

    files: _Files
    read: Judgements
    judging: Judging
    store: Path
    run_id: str
    stored: StoredRun | None
    """The run whose attempts are judged; null for a new one."""
    mode: str | None
    replace: bool

    def publish(self) -> JudgeAccount:
        """Write every table and publish."""
        mode = self._mode()
        self._check_judges()
        attempts = self._attempts()
        judgements, criteria, unchanged = self._together()
        made = self._scorers(judgements)
        signature = self._signature(made, judgements, criteria)
        with RunWriter(self.store, self.run_id) as writer:
            self._write_attempts(writer)
            groups = self._write_scores(writer, made, attempts, judgements, criteria)
            writer.write("metrics", self._metrics(made))
            writer.write("judgements", judgements)
            writer.write("criteria", criteria)
            writer.write("runs", self._run_row(mode, signature))
            writer.write("rejected", self._rejected())
            writer.write("published", self._published())
            writer.publish(signature, {"scores": {ROW_GROUPS_KEY: groups}})
        verdicts = rubric.verdicts(attempts, judgements, self.judging)
        return JudgeAccount(
            store=self.store,
            run_id=self.run_id,
            mode=mode,
            scorers=[name for name, judging in made.items() if judging == self.judging],
            judging=self.judging,
            statuses=dict(self.read.judgements["status"].value_counts().sort("status").iter_rows()),
            unchanged=unchanged,
            published=self.read.published.height,
            verdicts=verdicts.join(attempts, on=["run_id", "attempt_id"], how="left", maintain_order="left"),
            refused=self.read.refused,
            flags=self.read.flags,
        )

    # --- what the run will hold ---

    def _mode(self) -> str:
        """Return the run's mode; sources, --mode and the stored run may not contradict each other."""
        said = {"the judgements say": self.read.mode, "--mode says": self.mode}
        if self.stored and self.stored.row["mode"] != "unknown":
            said["the stored run is"] = self.stored.row["mode"]
        found = {who: mode for who, mode in said.items() if mode is not None}
        if len(set(found.values())) > 1:
            raise UsageError("the mode is unclear: " + ", ".join(f"{who} {mode}" for who, mode in found.items()))
        return next(iter(found.values()), "unknown")

    def _attempts(self) -> pl.DataFrame:
        if self.stored:
            return self.stored.frame("attempts", ATTEMPT)
        assert self.read.attempts is not None  # noqa: S101  (a run without stored attempts brings its own)
        return with_run_id(self.read.attempts, self.run_id).select(ATTEMPT)

    def _together(self) -> tuple[pl.DataFrame, pl.DataFrame, int]:
        """Return all judgements and criteria of the run, and how many of those read it had already.

        Raises InputError where it has an evaluation with other content.
        """
        judgements, criteria = (with_run_id(frame, self.run_id) for frame in (self.read.judgements, self.read.criteria))
        if self.stored is None:
            return judgements, criteria, 0
        stored_judgements, stored_criteria = self.stored.frame("judgements"), self.stored.frame("criteria")
        had = _contents(stored_judgements, stored_criteria).rename({"content": "stored"})
        met = _contents(judgements, criteria).join(had, on=_EVALUATION, how="inner")
        changed = met.filter(pl.col("content") != pl.col("stored"))
        if changed.height and not self.replace:
            raise InputError([self._differs(row) for row in changed.sort(_EVALUATION).iter_rows(named=True)])
        if self.replace:
            gone = judgements.select("judge_id").unique()
            stays = [frame.join(gone, on="judge_id", how="anti") for frame in (stored_judgements, stored_criteria)]
        else:
            stays = [frame.join(met, on=_EVALUATION, how="anti") for frame in (stored_judgements, stored_criteria)]
        both = zip(stays, (judgements, criteria), strict=True)
        judgements, criteria = (pl.concat(frames).sort(_EVALUATION, maintain_order=True) for frames in both)
        return judgements, criteria, met.height - changed.height

    def _differs(self, row: Mapping[str, Any]) -> Problem:
        place = f"attempt {row['attempt_id']!r}, judge {row['judge_id']!r}, evaluation {row['evaluation']}"
        message = f"stands in run {self.run_id!r} with other content; --replace puts this in its place"
        return Problem(str(self.store), place, message)

    def _scorers(self, judgements: pl.DataFrame) -> dict[str, Judging]:
        """Return every scorer that these judgements change: by the policy asked for, and by those that the run has."""
        pack, asked = self.files.pack.name, self.judging
        mine = {name: by for name, by in self._stored_scorers().items() if by["pack"] == pack and "judge" in by}
        judges = {*self.read.judgements["judge_id"], *(by["judge"] for by in mine.values())}
        judges &= {*judgements["judge_id"]}
        before = {
            name: Judging.of(self.files.rubric, by["ruleset"], by["evaluations"])
            for name, by in mine.items()
            if by["judge"] in judges
        }
        return before | {rubric.scorer_name(pack, asked.policy, judge): asked for judge in sorted(judges)}

    def _check_judges(self) -> None:
        """Raise InputError where a judge's name stands for judgements by another rubric: the two would mix."""
        others = {by["judge"]: by["pack"] for by in self._stored_scorers().values() if "judge" in by}
        problems = [
            Problem(
                str(self.store),
                f"judge {judge!r}",
                f"has judged run {self.run_id!r} by the rubric of {others[judge]}; tell the two apart by judge.rubric",
            )
            for judge in sorted({*self.read.judgements["judge_id"]})
            if others.get(judge, self.files.pack.name) != self.files.pack.name
        ]
        if problems:
            raise InputError(problems)

    def _stored_scorers(self) -> Mapping[str, Any]:
        return self.stored.signature["scorers"] if self.stored else {}

    def _signature(
        self, made: Mapping[str, Judging], judgements: pl.DataFrame, criteria: pl.DataFrame
    ) -> dict[str, Any]:
        scorers = {
            name: {
                "version": __version__,
                "pack": self.files.pack.name,
                "ruleset": judging.policy,
                "pack_hash": self.files.pack.hash,
                "golds": None,
                "judge": _judge_of(name),
                "evaluations": judging.needed,
                "judgements": frame_hash(_of_judge(judgements, name), _of_judge(criteria, name)),
                "rubric": asdict(self.files.rubric),
            }
            for name, judging in made.items()
        }
        signature = dict(self.stored.signature) if self.stored else {"scorer": __version__}
        if self.stored is None and self.read.attempts is not None:
            signature["attempts"] = _hash_of(self.read.attempts)
        if self._brings_tasks:
            strata = self.read.strata.sort("task_id", "stratum")
            signature["tasks"] = frame_hash(self.read.tasks.sort("task_id"), strata)
        return {**signature, "scorers": {**self._stored_scorers(), **scorers}}

    @property
    def _brings_tasks(self) -> bool:
        """Whether the run's tasks are those read here: where its attempts are known by their judgements only."""
        return self.stored is None or self.stored.row["origin"] == IMPORTED

    # --- writing ---

    def _write_attempts(self, writer: RunWriter) -> None:
        """Write the attempts and their tasks, or take them over: judgements do not rewrite the texts."""
        if self.stored:
            for name in ("attempts", "golds", "extracts"):
                writer.link(name, self.stored)
        elif self.read.attempts is not None:
            writer.write("attempts", with_run_id(self.read.attempts, self.run_id))
        for name, frame in (("tasks", self.read.tasks), ("strata", self.read.strata)):
            if self._brings_tasks:
                writer.write(name, with_run_id(frame, self.run_id))
            elif self.stored:
                writer.link(name, self.stored)

    def _write_scores(
        self,
        writer: RunWriter,
        made: Mapping[str, Judging],
        attempts: pl.DataFrame,
        judgements: pl.DataFrame,
        criteria: pl.DataFrame,
    ) -> dict[str, list[int]]:
        """Write the scores of every scorer, in the order of their names; return the row groups of each."""
        groups = {}
        for name in sorted({*made, *self._stored_scorers()}):
            first = writer.row_groups("scores")
            if name in made:
                mine = (_of_judge(judgements, name), _of_judge(criteria, name))
                scores = rubric.scores(attempts, *mine, made[name], self.files.pack.name)
                for piece in scores.iter_slices(_ROWS_AT_ONCE):
                    writer.write("scores", piece)
            else:
                self._copy_scores(writer, name)
            groups[name] = [first, writer.row_groups("scores") - first]
        return groups

    def _copy_scores(self, writer: RunWriter, scorer: str) -> None:
        file = self.stored.parquet("scores") if self.stored else None
        if self.stored is None or file is None:
            return
        first, count = row_groups(self.stored, "scores")[scorer]
        with file:
            for number in range(first, first + count):
                writer.write("scores", pl.DataFrame(pl.from_arrow(file.read_row_group(number))))

    def _metrics(self, made: Mapping[str, Judging]) -> pl.DataFrame:
        mine = [rubric.metrics(self.run_id, name, self.files.rubric) for name in made]
        kept = self.stored.frame("metrics") if self.stored else METRICS.empty()
        others = kept.filter(~pl.col("scorer").is_in(list(made)))
        return pl.concat([others, *mine]).sort("scorer", maintain_order=True)

    def _run_row(self, mode: str, signature: Mapping[str, Any]) -> pl.DataFrame:
        new = {"run_id": self.run_id, "benchmark": self.files.pack.name, "origin": IMPORTED, "flags": []}
        row: dict[str, Any] = dict(self.stored.row) if self.stored else dict.fromkeys(RUNS.columns) | new
        flags = [*row["flags"], *(flag for flag in self.read.flags if flag not in row["flags"])]
        row |= {"mode": mode, "flags": flags, "signature": canonical_json(signature)}
        return pl.DataFrame([row], schema=RUNS.schema)

    def _published(self) -> pl.DataFrame:
        mine = with_run_id(self.read.published, self.run_id)
        kept = self.stored.frame("published") if self.stored else PUBLISHED.empty()
        return pl.concat([kept.join(mine, on=list(PUBLISHED.key), how="anti"), mine]).sort(list(PUBLISHED.key))

    def _rejected(self) -> pl.DataFrame:
        rows = [(self.run_id, bad.source, bad.place, bad.rule, bad.detail) for bad in self.read.refused]
        mine = pl.DataFrame(rows, schema=REJECTED.schema, orient="row")
        kept = self.stored.frame("rejected") if self.stored else REJECTED.empty()
        return pl.concat([kept.join(mine, on=list(REJECTED.key), how="anti"), mine])


def _run_id(attempts: pl.DataFrame, published: pl.DataFrame) -> str:
    """Return the id of a run that nobody named: from its attempts, or from figures that came without any."""
    digest = _hash_of(attempts) if attempts.height else frame_hash(published.drop("source"))
    return f"run-{digest[:12]}"


def _hash_of(attempts: pl.DataFrame) -> str:
    return attempts_hash(attempts["input_hash"].str.decode("hex"))


def _contents(judgements: pl.DataFrame, criteria: pl.DataFrame) -> pl.DataFrame:
    """Return one row an evaluation with all that it says as one text, to be compared."""
    given = criteria.group_by(_EVALUATION).agg(pl.struct("criterion", "points", "status").sort_by("criterion"))
    full = judgements.join(given, on=_EVALUATION, how="left")
    return full.select(*_EVALUATION, pl.struct(pl.exclude(*_EVALUATION)).struct.json_encode().alias("content"))


def _judge_of(scorer: str) -> str:
    """Return the judge in the name of a rubric's scorer; neither pack nor policy has an `@`."""
    return scorer.partition("@")[2]


def _of_judge(frame: pl.DataFrame, scorer: str) -> pl.DataFrame:
    return frame.filter(pl.col("judge_id") == _judge_of(scorer))

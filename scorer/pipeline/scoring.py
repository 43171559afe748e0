"""From attempts to a published run: read, score and write in batches, several at work, always in order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from scorer import __version__
from scorer.errors import InputError, Problem
from scorer.formats import html_table
from scorer.ingest import Attempts, Batch, Refused, RunFacts
from scorer.packs import Pack
from scorer.pipeline.reuse import ScoredBefore, merged, row_groups
from scorer.pipeline.survey import Survey
from scorer.score import CompiledGolds, Scored, compile_golds, score_batch
from scorer.steps import Steps
from scorer.store import ROW_GROUPS_KEY, RunWriter, StoredRun, Unfinished, canonical_json, current_run
from scorer.tables import METRICS, REJECTED, RUNS

Progress = Callable[[int, int | None], None]
"""Called with the attempts done so far and, where known, how many there are."""

BY_SCORER = ("scores", "extracts")
"""The tables whose rows belong to one scorer each."""

RowGroups = dict[str, dict[str, list[int]]]
"""For each of those tables, which row groups a scorer wrote: {table: {scorer: [first, count]}}."""


@dataclass
class Account:
    """What scoring did, for the person who asked for it."""

    store: Path
    run_id: str
    mode: str
    scorer: str
    read: int = 0
    scored: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    """Attempts by the reason why they have no value."""
    faults: int = 0
    """Attempts whose response could not be read."""
    refused: list[Refused] = field(default_factory=list)
    """Pieces of input that were not used, or only after a repair."""
    flags: list[str] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    """Where the time went."""

    @property
    def complete(self) -> bool:
        """Whether all input could be read and was used."""
        return not self.faults and not self.refused

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the counts, and a row for each kind of thing that was left out."""
        left_out = Counter({f"unscored: {reason}": count for reason, count in self.unscored.items()})
        left_out.update(f"rejected: {refused.rule}" for refused in self.refused)
        told = [
            ("run", f"{self.run_id} ({self.mode})"),
            ("scored by", self.scorer),
            ("read", f"{self.read:,}"),
            ("scored", f"{self.scored:,}"),
            *((what, f"{count:,}") for what, count in sorted(left_out.items())),
            *(("note", flag) for flag in self.flags),
            ("store", str(self.store)),
        ]
        return html_table(pl.DataFrame(told, schema={"": pl.String, "what": pl.String}, orient="row"))


@dataclass
class Job:
    """Everything that decides what a run will hold."""

    attempts: Attempts
    facts: RunFacts
    pack: Pack
    golds: pl.DataFrame
    tasks: pl.DataFrame
    strata: pl.DataFrame
    mode: str
    flags: list[str]
    store: Path
    replace: bool
    update: bool
    threads: int
    progress: Progress
    steps: Steps = field(default_factory=Steps)

    def run(self) -> Account:
        """Score and publish. Raises InputError before anything of the run is visible.

        A run whose id is not known yet gets it from its attempts, and one that is in the store already is compared
        with them: then the attempts are surveyed first. Else once through them is enough.
        """
        run_id, survey = self.facts.run_id, None
        if run_id is None or current_run(self.store, run_id):
            survey = self._survey()
        run_id = run_id or f"run-{survey.hash[:12] if survey else ''}"
        previous = current_run(self.store, run_id)
        try:
            if previous and survey:
                self._check_identity(previous, survey)
            return _Writing(self, run_id, previous, survey).run()
        finally:
            if previous:
                previous.close()

    def _survey(self) -> Survey:
        survey = Survey(self.attempts)
        for batch in self.steps.each("survey the attempts", self.attempts.batches()):
            survey.add(batch)
        survey.check()
        return survey

    def _check_identity(self, previous: StoredRun, survey: Survey) -> None:
        same = previous.signature["attempts"] == survey.hash
        if not (same or self.replace or self.update):
            hint = "--update scores what changed, --replace starts anew, --run ID makes a run beside it"
            place = f"run {previous.run_id!r}"
            raise InputError([Problem(str(self.store), place, f"holds other attempts than these; {hint}")])


class _Writing:
    """One job at work: fills a new generation of the run, batch after batch."""

    def __init__(self, job: Job, run_id: str, previous: StoredRun | None, survey: Survey | None) -> None:
        self.job, self.run_id, self.previous = job, run_id, previous
        self.total = survey.rows if survey else None
        self.same_attempts = bool(previous and survey and previous.signature["attempts"] == survey.hash)
        self.survey = Survey(job.attempts)
        self.golds_hash = frame_hash(job.golds)
        self.made = self._signature_of_scorer()
        self.unfinished = Unfinished(job.store, run_id)
        self.before = self._scored_before()
        self.account = Account(job.store, run_id, job.mode, job.pack.scorer, steps=job.steps)

    def run(self) -> Account:
        """Write every table and publish."""
        groups: RowGroups = {table: {} for table in BY_SCORER}
        others = self._other_scorers()
        with RunWriter(self.job.store, self.run_id) as writer:
            self._copy(writer, [name for name in others if name < self.job.pack.scorer], groups)
            self._score(writer, groups)
            self._copy(writer, [name for name in others if name > self.job.pack.scorer], groups)
            signature = self._signature(others)
            self._write_small_tables(writer, others, signature)
            writer.publish(signature, {table: {ROW_GROUPS_KEY: groups[table]} for table in BY_SCORER})
        self.unfinished.discard()
        return self.account

    # --- scoring ---

    def _score(self, writer: RunWriter, groups: RowGroups) -> None:
        first = {table: writer.row_groups(table) for table in BY_SCORER}
        for batch, scored in self._scored():
            with self.job.steps("count"):
                self.survey.add(batch)
                self._count(scored, batch)
            with self.job.steps("write the attempts"):
                writer.write("attempts", with_run_id(batch.attempts, self.run_id))
            with self.job.steps("write scores and extracts"):
                writer.write("scores", scored.scores)
                writer.write("extracts", scored.extracts)
            self.job.progress(self.survey.rows, self.total)
        self._check()
        for table in BY_SCORER:
            groups[table][self.job.pack.scorer] = [first[table], writer.row_groups(table) - first[table]]

    def _check(self) -> None:
        """Raise InputError for mistakes that showed on the way; then nothing stays of this work either."""
        try:
            self.survey.check()
        except InputError:
            self.unfinished.discard()
            raise

    def _scored(self) -> Iterator[tuple[Batch, Scored]]:
        """Yield each batch with its rows, in order, while as many batches as there are threads are at work."""
        with self.job.steps("compile the golds"):
            golds = compile_golds(self.job.pack, self.job.golds)
        at_work: deque[tuple[Batch, Future[Scored]]] = deque()
        with ThreadPoolExecutor(self.job.threads) as pool:
            try:
                for batch in self.job.steps.each("read the attempts", self.job.attempts.batches()):
                    at_work.append((batch, pool.submit(self._rows, batch, golds)))
                    if len(at_work) > self.job.threads:
                        done, rows = at_work.popleft()
                        yield done, rows.result()
                for done, rows in at_work:
                    yield done, rows.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _rows(self, batch: Batch, golds: CompiledGolds) -> Scored:
        """Return the rows of one batch: finished earlier, stored earlier, or scored now."""
        attempts = with_run_id(batch.attempts, self.run_id)
        key = _batch_key(self.made, self.run_id, attempts)
        if finished := self.unfinished.load(key, BY_SCORER):
            return Scored(*finished)
        stored = self.before.find(attempts) if self.before else None
        if stored is None:
            rows = score_batch(attempts, golds, self.job.steps)
        else:
            rest = attempts.filter(~pl.col("attempt_id").is_in(stored.scores["attempt_id"].implode()))
            rows = merged([stored, score_batch(rest, golds, self.job.steps)] if rest.height else [stored], attempts)
        with self.job.steps("keep the batch for a next try"):
            self.unfinished.save(key, {"scores": rows.scores, "extracts": rows.extracts})
        return rows

    def _count(self, scored: Scored, batch: Batch) -> None:
        by_attempt = scored.scores.group_by("attempt_id").agg(pl.col("value").is_null().all(), pl.col("reason").first())
        unscored = by_attempt.filter("value")
        self.account.read += batch.attempts.height
        self.account.scored += batch.attempts.height - unscored.height
        self.account.unscored.update(unscored["reason"])
        self.account.faults += batch.attempts["fault"].count()
        self.account.refused += batch.refused

    # --- what stays of the run as it was ---

    def _scored_before(self) -> ScoredBefore | None:
        """Return the rows to take over: asked for by --update, and made by this very scorer."""
        if not (self.job.update and self.previous):
            return None
        made = dict(self.previous.signature["scorers"].get(self.job.pack.scorer, {}))
        if made | {"golds": None} != self.made | {"golds": None}:
            return None
        return ScoredBefore(self.previous, self.job.pack.scorer, self.job.golds)

    def _other_scorers(self) -> dict[str, Any]:
        """Return the signatures of other scorers whose rows stay: made of the same attempts and, if of any, golds."""
        if not (self.previous and self.same_attempts):
            return {}
        known = self.previous.signature["scorers"]
        mine = self.job.pack.scorer
        return {name: made for name, made in known.items() if name != mine and made["golds"] in (None, self.golds_hash)}

    def _copy(self, writer: RunWriter, scorers: Sequence[str], groups: RowGroups) -> None:
        if not (scorers and self.previous):
            return
        for table in BY_SCORER:
            file = self.previous.parquet(table)
            stored = row_groups(self.previous, table)
            if file is None:
                continue
            with file:
                for scorer in sorted(scorers):
                    first, count = stored.get(scorer, [0, 0])  # a rubric reads nothing out, so it has no extracts
                    groups[table][scorer] = [writer.row_groups(table), count]
                    for number in range(first, first + count):
                        writer.write(table, pl.DataFrame(pl.from_arrow(file.read_row_group(number))))

    # --- the rest of the run ---

    def _write_small_tables(self, writer: RunWriter, others: Mapping[str, Any], signature: Mapping[str, Any]) -> None:
        job, account = self.job, self.account
        account.flags = [*job.flags, *self._flags()]
        rejected = [(self.run_id, bad.source, bad.place, bad.rule, bad.detail) for bad in account.refused]
        writer.write("runs", self._run_row(signature))
        for name, frame in (("tasks", job.tasks), ("strata", job.strata), ("golds", job.golds)):
            writer.write(name, with_run_id(frame, self.run_id))
        writer.write("metrics", self._metrics(others))
        writer.write("rejected", pl.DataFrame(rejected, schema=REJECTED.schema, orient="row"))
        for name in ("judgements", "criteria", "published"):
            if self.previous and self.same_attempts:
                writer.link(name, self.previous)

    def _run_row(self, signature: Mapping[str, Any]) -> pl.DataFrame:
        facts = self.job.facts
        row = {
            "run_id": self.run_id,
            "benchmark": self.job.pack.name,
            "mode": self.job.mode,
            "origin": "scored",
            "created_at": facts.created_at,
            "environment": None if facts.environment is None else canonical_json(facts.environment),
            "notes": facts.notes,
            "gold_hash": self.golds_hash,
            "flags": self.account.flags,
            "signature": canonical_json(signature),
        }
        return pl.DataFrame([row], schema=RUNS.schema)

    def _flags(self) -> Iterator[str]:
        if self.job.attempts.repeats_numbered:
            yield "repeat absent: the attempts of a system at a task were numbered in the order of the rows"
        named = self.job.facts.systems
        if named is not None and (more := sorted(self.survey.systems - set(named))):
            yield f"systems that the manifest does not name: {_listed(more)}"
        if self.job.tasks.height and (more := sorted(self.survey.task_ids - set(self.job.tasks["task_id"]))):
            yield f"tasks that the file of tasks does not name: {_listed(more)}"

    def _metrics(self, others: Mapping[str, Any]) -> pl.DataFrame:
        rows = [
            (self.run_id, self.job.pack.scorer, m.name, m.low, m.high, m.higher_is_better, m.decimals, m.primary)
            for m in self.job.pack.metrics
        ]
        mine = pl.DataFrame(rows, schema=METRICS.schema, orient="row")
        kept = self.previous.frame("metrics") if self.previous else METRICS.empty()
        return pl.concat([mine, kept.filter(pl.col("scorer").is_in(list(others)))]).sort("scorer", maintain_order=True)

    def _signature_of_scorer(self) -> dict[str, Any]:
        pack = self.job.pack
        signature = {
            "version": __version__,
            "pack": pack.name,
            "ruleset": pack.ruleset,
            "pack_hash": pack.hash,
            "golds": self.golds_hash,
        }
        return signature | ({"texts": pack.text_rules} if pack.text_rules else {})

    def _signature(self, others: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "scorer": __version__,
            "attempts": self.survey.hash,
            "tasks": frame_hash(self.job.tasks.sort("task_id"), self.job.strata.sort("task_id", "stratum")),
            "scorers": {**others, self.job.pack.scorer: self.made},
        }


_NAMES_LISTED = 10


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_LISTED} more" if len(names) > _NAMES_LISTED else ""
    return ", ".join(names[:_NAMES_LISTED]) + more


def with_run_id(frame: pl.DataFrame, run_id: str) -> pl.DataFrame:
    """Return the frame with the run's id in front."""
    return frame.select(pl.lit(run_id).alias("run_id"), pl.all())


def _batch_key(made: Mapping[str, Any], run_id: str, attempts: pl.DataFrame) -> str:
    """Return the hash of all that decides a batch's rows: who scores, against what, for which run, which attempts."""
    decided_by = canonical_json([made, run_id, attempts["input_hash"].to_list()])
    return sha256(decided_by.encode()).hexdigest()[:32]


def frame_hash(*frames: pl.DataFrame) -> str:
    """Return SHA-256 of the rows of small tables, in their order."""
    digest = sha256()
    for frame in frames:
        digest.update(frame.write_ndjson().encode())
        digest.update(b"\0")
    return digest.hexdigest()

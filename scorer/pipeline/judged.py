"""Out of a store: leaderboards of judged runs, and how good their judges are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from scorer.aggregate.data import Data
from scorer.aggregate.judges import HUMAN, Quality, quality
from scorer.aggregate.leaderboard import leaderboard
from scorer.errors import InputError, Problem, UsageError
from scorer.metrics.rubric import Criterion, Rubric, Terms
from scorer.report import SIMULATED
from scorer.rubric import ATTEMPT, Judging, turned, verdicts
from scorer.store import Store, StoredRun


@dataclass(frozen=True)
class Board:
    """One rubric's leaderboard of one run under one judge and policy, and what must be known to read it."""

    rows: pl.DataFrame
    """See `scorer.aggregate.leaderboard`; with `judge`, `policy`, `evaluations` and `mode`."""
    notes: tuple[str, ...]


@dataclass(frozen=True)
class JudgeReport:
    """What is known of the judges of one run under one rubric."""

    run: Mapping[str, Any]
    """The run's row of the table `runs`."""
    quality: Quality
    notes: tuple[str, ...]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables of the quality by name."""
        return vars(self.quality)

    @property
    def notice(self) -> str | None:
        """What must be said of a simulated run, at the head and at the foot."""
        return SIMULATED if self.run["mode"] == "simulated" else None


@dataclass(frozen=True)
class _Judged:
    """One rubric's scorer in a run, as the run's signature describes it."""

    scorer: str
    pack: str
    judge: str
    judging: Judging


def is_judged(run: StoredRun, scorer: str) -> bool:
    """Tell whether the scores of that name come from a rubric."""
    return scorer in _scorers_of(run)


def export_leaderboard(store: Store, run_id: str | None) -> pl.DataFrame:
    """Return the leaderboards of the run named, or of every run, one under the other. Raises InputError for none."""
    runs = [store.run(run_id)] if run_id else list(store.runs.values())
    boards = [board_of(run, scorer, data_of(run, scorer)).rows for run in runs for scorer in _scorers_of(run)]
    boards += [published for run in runs if (published := published_figures(run)).height]
    if not boards:
        message = "no run here was judged by a rubric; `scorer judge import` brings judgements in"
        raise InputError([Problem(str(store.path), run_id or "", message)])
    return pl.concat(boards, how="diagonal")


def board_of(run: StoredRun, scorer: str, data: Data) -> Board:
    """Return the leaderboard of one scorer of a run."""
    judged = _scorers_of(run)[scorer]
    rows = leaderboard(data, list(judged.judging.rubric.most)).with_columns(
        judge=pl.lit(judged.judge),
        policy=pl.lit(judged.judging.policy),
        evaluations=pl.lit(judged.judging.needed, pl.Int64),
        mode=pl.lit(run.row["mode"]),
    )
    judgements = run.frame("judgements").filter(pl.col("judge_id") == judged.judge)
    found = verdicts(run.frame("attempts", ATTEMPT), judgements, judged.judging)
    return Board(rows, (*_rule_notes(judged, found), *_reading_notes(rows, judgements)))


def published_figures(run: StoredRun) -> pl.DataFrame:
    """Return what others published of systems, a row a source, system and level: shown, never tested."""
    figures = run.frame("published").pivot("figure", index=["run_id", "source", "system", "stratum", "level"])
    empty = [pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in ("stratum", "level")]
    named = figures.rename({"source": "published_by"}).with_columns(
        *empty,
        benchmark=pl.lit(run.row["benchmark"]),
        mode=pl.lit(run.row["mode"]),
        **{name: pl.col(name).cast(pl.Int64) for name in ("n_tasks",) if name in figures.columns},
    )
    return named.sort("published_by", "stratum", "level", "system", nulls_last=False)


def judge_report(store: str | Path, *, run_id: str | None = None, pack: str | None = None) -> JudgeReport:
    """Return how good the judges of a run are.

    Raises UsageError where the store holds several runs, or the run judgements by several rubrics, and none is named.
    """
    with Store(store) as opened:
        run = opened.run(run_id)
        scorers = _scorers_of(run)
        packs = sorted({judged.pack for judged in scorers.values()})
        if pack is None and len(packs) == 1:
            pack = packs[0]
        if pack not in packs:
            known = ", ".join(packs) if packs else "none"
            raise UsageError(f"run {run.run_id!r}: name the rubric with --pack; it was judged by: {known}")
        mine = [judged for judged in scorers.values() if judged.pack == pack]
        judging = _usual(mine)
        same_policy = {judged.scorer: judged.judge for judged in mine if judged.judging.policy == judging.policy}
        judges = list(same_policy.values())
        judgements, criteria = (
            run.frame(name).filter(pl.col("judge_id").is_in(judges)) for name in ("judgements", "criteria")
        )
        scores, metrics = (
            run.frame(name)
            .filter(pl.col("scorer").is_in(list(same_policy)))
            .with_columns(pl.col("scorer").replace_strict(same_policy).alias("judge_id"))
            for name in ("scores", "metrics")
        )
        attempts = run.frame("attempts", ATTEMPT)
        terms = judging.rubric.terms
        found = quality(attempts, judgements, criteria, scores, metrics, threshold=terms.threshold, scale=terms.scale)
        notes = (*_family_notes(judgements, sorted(attempts["system"].unique())), *_human_note(judgements))
        return JudgeReport(run.row, found, notes)


def _usual(judged: list[_Judged]) -> Judging:
    """Return the rubric's default policy if it was used, else the first by name."""
    by_policy = {one.judging.policy: one.judging for one in judged}
    default = judged[0].judging.rubric.terms.default_policy
    return by_policy.get(default) or by_policy[min(by_policy)]


def _scorers_of(run: StoredRun) -> dict[str, _Judged]:
    found = {}
    for name, made in sorted(run.signature["scorers"].items()):
        if "rubric" in made:
            criteria = tuple(Criterion(**criterion) for criterion in made["rubric"]["criteria"])
            rubric = Rubric(Terms(**made["rubric"]["terms"]), criteria)
            judging = Judging(rubric, made["ruleset"], made["evaluations"])
            found[name] = _Judged(name, made["pack"], made["judge"], judging)
    return found


def data_of(run: StoredRun, scorer: str) -> Data:
    """Return one scorer's scores of a run as statistics take them."""
    mine = {name: run.frame(name).filter(pl.col("scorer") == scorer) for name in ("scores", "metrics")}
    return Data.from_tables(mine | {name: run.frame(name) for name in ("runs", "strata")})


# --- notes ------------------------------------------------------------------------------------------------------------


def _rule_notes(judged: _Judged, found: pl.DataFrame) -> list[str]:
    """Say how a verdict comes about, what other rules would change, and which attempts have none."""
    terms, policy = judged.judging.rubric.terms, judged.judging.policy
    mine = found.filter(pl.col("policy") == policy)
    given = mine.filter(pl.col("passed").is_not_null()).height
    others = ", ".join(f"{other} {count}" for other, count in turned(found, policy).items())
    lines = [
        f"judge: {judged.judge}; policy {policy}: an attempt passes from {terms.threshold} of {terms.scale} on, "
        f"and needs {judged.judging.needed} evaluations",
        f"verdicts that other policies would turn, of {given}: {others}",
        "rank: one more than there are systems with a significantly higher pass rate (McNemar's exact test under Holm; "
        "in levels the sign-flip test under Benjamini-Hochberg); not to be told apart is not to be equal",
    ]
    if missing := mine.height - given:
        lines.append(
            f"{missing} of {mine.height} attempts have no verdict; `bounds` is the pass rate had all of them failed, "
            "or passed"
        )
    return lines


def _reading_notes(board: pl.DataFrame, judgements: pl.DataFrame) -> list[str]:
    overall = board.filter(pl.col("stratum").is_null())
    top = overall.filter(pl.col("pass_rate") == 1)["system"].sort().to_list()
    lines = []
    if top:
        lines.append(
            f"every task passed: {', '.join(top)}; at this ceiling the tasks cannot show how much better it could be"
        )
    return [*lines, *_family_notes(judgements, sorted(overall["system"].unique()))]


def _family_notes(judgements: pl.DataFrame, systems: list[str]) -> list[str]:
    """Name the systems that share their first name with the judge's model: judges may favour their own kind."""
    models = judgements.filter(pl.col("provider").is_null() | (pl.col("provider") != HUMAN))["model"]
    families = {model.lower().replace("_", "-").split("-")[0] for model in models.drop_nulls().unique()}
    lines = []
    for family in sorted(families - {""}):
        kin = [system for system in systems if family in system.lower()]
        if kin:
            lines.append(f"the judge is of the same family ({family}) as {', '.join(kin)}, and may favour its own kind")
    return lines


def _human_note(judgements: pl.DataFrame) -> list[str]:
    if judgements.filter(pl.col("provider") == HUMAN).height:
        return []
    return ["no human labels: judgements whose judge.provider is `human` are what judges are held against"]

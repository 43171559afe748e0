"""All that a page or a picture shows of one run under one scorer, as Polars frames: made by the pipeline, read here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from scorer.report import Report

ALPHA = 0.05
"""The level of the tests that a page shows."""


@dataclass(frozen=True)
class Why:
    """One thing that a metric asks for, or that it looked at."""

    met: bool | None
    """Whether it counts for the metric; null where it is only told."""
    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class ValueShown:
    """One metric of an attempt, and what decided it."""

    metric: str
    value: float | None
    """Null where the attempt was not scored."""
    reason: str | None
    """Why it was not scored."""
    why: tuple[Why, ...]


@dataclass(frozen=True)
class AttemptShown:
    """One attempt as a page shows it."""

    attempt_id: str
    task_id: str
    system: str
    repeat: int
    status: str
    trouble: tuple[str, ...]
    """What went wrong with it, and what keeps the explanation from being the whole truth."""
    values: tuple[ValueShown, ...]
    judgements: tuple[str, ...]
    """What judges said of it, a sentence an evaluation."""
    start: str | None
    """The start of the answer; null where none is stored."""
    length: int
    """How many characters the whole answer has."""


@dataclass(frozen=True)
class Compared:
    """The systems two by two, from `scorer.aggregate.compare`."""

    comparisons: pl.DataFrame
    """One pair on one metric a row."""
    mcnemar: pl.DataFrame
    """One pair on one 0/1 metric a row."""
    reliability: pl.DataFrame
    """One k of a system on one 0/1 metric a row."""
    notes: Sequence[str]
    """The sentences."""
    baseline: str | None = None
    """The system that all others are compared with; null where all are compared with all."""


@dataclass(frozen=True)
class JudgeQuality:
    """What is known of the judges of a run, from `scorer.aggregate.judges`."""

    agreement: pl.DataFrame
    fragile: pl.DataFrame
    notes: Sequence[str]


@dataclass(frozen=True)
class Results:
    """One run's results under one scorer."""

    report: Report
    metrics: pl.DataFrame
    """What the scorer declares, in the pack's order: `metric`, `low`, `high`, `higher_is_better`, `primary`."""
    questions: pl.DataFrame
    """One question and metric of a system a row: see `aggregate.questions.question_means`."""
    variance: pl.DataFrame
    """One metric of a system a row: see `aggregate.repeats.variance`."""
    strata: pl.DataFrame
    """The run's table `strata`."""
    tasks: pl.DataFrame
    """A row a task: `task_id`, `prompt`, `language`; the texts null where the run has none."""
    compared: Compared | None = None
    """Null where the run has one system only."""
    quality: JudgeQuality | None = None
    """Where a judge scored by a rubric."""
    attempts: Sequence[AttemptShown] = ()
    """Those that a page shows, in the order of `hardest`."""

    @cached_property
    def headline(self) -> tuple[str, ...]:
        """The metrics that pictures of single questions show: the primary ones, or all where none is named primary."""
        primary = self.metrics.filter(pl.col("primary"))["metric"].to_list()
        return tuple(primary or self.metrics["metric"])

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The systems, by name."""
        return tuple(self.report.attempts["system"].sort())

    @cached_property
    def hardest(self) -> pl.DataFrame:
        """The tasks, hardest first: `task_id`, `goodness`.

        Goodness is the mean over systems and headline metrics on the unit scale, 1 the best. Tasks that nobody has a
        score on come last, their goodness null; equally hard ones stand in natural order.
        """
        found = (
            self.questions.filter(pl.col("metric").is_in(self.headline))
            .group_by("task_id")
            .agg(pl.col("goodness").sort().mean().round(9))
        )
        order = sorted(found.iter_rows(), key=lambda row: (row[1] is None, row[1] or 0.0, natural(row[0])))
        return pl.DataFrame(order, schema=found.schema, orient="row")

    @cached_property
    def task_levels(self) -> pl.DataFrame:
        """The tasks in natural order, each with its level of the first stratum: `level` (`domain history`), `task_id`.

        Without strata all are of the level `all tasks`; a task without one is of an unknown level.
        """
        tasks = sorted(self.questions["task_id"].unique(), key=natural)
        strata = self.report.strata
        level = dict(self.strata.filter(stratum=strata[0]).select("task_id", "level").iter_rows()) if strata else {}
        rows = [(f"{strata[0]} {level.get(task, 'unknown')}" if strata else "all tasks", task) for task in tasks]
        order = sorted(rows, key=lambda row: natural(row[0]))
        return pl.DataFrame(order, schema={"level": pl.String, "task_id": pl.String}, orient="row")

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One question of a pair on one metric a row, where both have scores: `difference` is A - B."""
        schema = {"metric": pl.String, "system_a": pl.String, "system_b": pl.String}
        pairs = self.compared.comparisons.select(list(schema)) if self.compared else pl.DataFrame(schema=schema)
        means = self.questions.select("metric", "system", "task_id", "mean").drop_nulls("mean")
        sides = [means.rename({"system": f"system_{side}", "mean": f"mean_{side}"}) for side in "ab"]
        joined = pairs.join(sides[0], on=["metric", "system_a"], how="inner", maintain_order="left")
        joined = joined.join(sides[1], on=["metric", "system_b", "task_id"], how="inner", maintain_order="left")
        return joined.with_columns((pl.col("mean_a") - pl.col("mean_b")).round(12).alias("difference"))

    @cached_property
    def disagreement(self) -> pl.DataFrame:
        """How often a system disagrees with itself: one metric of a system a row.

        `n_questions` have two scored repeats or more, on `n_differing` of them the values are not all equal, `share` is
        their part; `within_sd` is the spread within a question in the metric's units, `icc1` and `flip_rate` as in the
        table `variance`.
        """
        repeated = self.questions.filter(pl.col("n_attempts") > 1)
        counted = repeated.group_by("metric", "system").agg(
            n_questions=pl.len().cast(pl.Int64), n_differing=(pl.col("least") < pl.col("greatest")).sum().cast(pl.Int64)
        )
        split = self.variance.select(
            "metric", "system", pl.col("var_within").sqrt().alias("within_sd"), "icc1", "flip_rate", "flags"
        )
        shares = counted.with_columns(share=pl.col("n_differing") / pl.col("n_questions"))
        return self.report.in_order(
            shares.join(split, on=["metric", "system"], how="left").with_columns(level=pl.lit(None, pl.String))
        ).drop("level")


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Return a key by which names sort as people count: Q2 before Q10."""
    parts = re.split(r"([0-9]{1,18})", text)
    return tuple((int(part) if odd % 2 else -1, part) for odd, part in enumerate(parts))

"""A pack's metrics over a batch of attempts: one pure function on tables, the heart of scorer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from scorer import tables
from scorer.errors import InputError, Problem
from scorer.extract import extract
from scorer.metrics.base import Batch, Matcher, Values
from scorer.packs import Pack
from scorer.steps import Steps

COMPLETED = "completed"
UNSCORED_STATUSES = ("failed", "budget_stopped")
NO_GOLD = "no gold annotation"
NO_REFERENCE = "the gold has no reference for this metric"


class Scored(NamedTuple):
    """What a batch of attempts comes to."""

    scores: pl.DataFrame
    """The table scores: every attempt with every metric, in the order of the attempts and of the pack's metrics."""
    extracts: pl.DataFrame
    """The table extracts of the attempts whose response could be read, in the order of the attempts and readings."""


@dataclass(frozen=True)
class CompiledGolds:
    """A pack and what its metrics have to know of each gold; made once, used for every batch, and picklable."""

    pack: Pack
    tasks: pl.DataFrame
    """`task_id` and `gold`, the index of the task's gold in every compiled frame."""
    frames: Mapping[Matcher, pl.DataFrame]
    """What each matcher compiled: one row a gold, and a last one for the gold that has nothing in it."""


def compile_golds(pack: Pack, golds: pl.DataFrame) -> CompiledGolds:
    """Compile the table golds (`run_id` may be absent) for a pack. A task has a gold if it has a row of field `id`.

    Raises InputError with every reference that no metric can use: a pattern that is none, a number that is no number.
    """
    tasks = golds.filter(field="id").select("task_id").with_row_index("gold").select("task_id", "gold")
    items = pl.DataFrame({"gold": pl.int_range(tasks.height + 1, dtype=pl.UInt32, eager=True)})
    items = items.join(tasks, on="gold", how="left", maintain_order="left")
    values = golds.join(tasks, on="task_id").sort("gold", "position")
    for field in pack.golds.lists:
        lists = values.filter(field=field).group_by("gold", maintain_order=True).agg(pl.col("value").alias(field))
        items = items.join(lists, on="gold", how="left", maintain_order="left")
    items = items.with_columns(pl.exclude("gold", "task_id").fill_null([]))
    frames = {}
    problems: list[Problem] = []
    for matcher in dict.fromkeys(metric.params.matcher for metric in pack.metrics):
        try:
            frames[matcher] = matcher.compile(items)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(sorted(set(problems)))
    return CompiledGolds(pack, tasks, frames)


def score_batch(attempts: Any, golds: CompiledGolds, steps: Steps | None = None) -> Scored:
    """Score attempts (a frame or Arrow batch with the columns of the table attempts) against compiled golds.

    A score is null, with a reason, where the attempt is not completed, its response could not be read or its task has
    no gold; of the last the extracts are made all the same. A single metric is null where the gold has nothing that it
    could be compared with. The function is pure: no row depends on another. `steps` takes the time of each step.
    """
    pack, steps = golds.pack, steps or Steps()
    attempts = (
        pl.DataFrame(attempts)
        .join(golds.tasks, on="task_id", how="left", maintain_order="left")
        .with_columns(reason=_REASON)
        .with_row_index("at")
    )
    readable = attempts.filter(pl.col("reason").is_null() | (pl.col("reason") == NO_GOLD))
    answers = readable.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"),
        pl.col("gold").fill_null(golds.tasks.height),  # the gold that has nothing in it
        pl.col("response").fill_null(""),
    )
    with steps("read out of the responses"):
        reads = extract(answers, pack.readings)
    values = _values(Batch(answers, reads), golds, steps)
    with steps("lay out scores and extracts"):
        return Scored(_scores(attempts, readable["at"], values, pack), _extracts(readable, reads, pack))


_REASON = (
    pl.when(pl.col("status").is_in(UNSCORED_STATUSES))
    .then(pl.format("status {}", "status"))
    .when(pl.col("status") != COMPLETED)
    .then(pl.format("unknown status {}", "status"))
    .when(pl.col("fault").is_not_null())
    .then("fault")
    .when(pl.col("gold").is_null())
    .then(pl.lit(NO_GOLD))
)
"""Why an attempt has no values; null where it has."""


def _values(batch: Batch, golds: CompiledGolds, steps: Steps) -> list[pl.Series]:
    """Return the values of each metric, rounded, one an answer."""
    matched = {}
    for matcher, frame in golds.frames.items():
        with steps(f"compare with the golds: {type(matcher).__name__}"):
            matched[matcher] = batch.matched(matcher, frame)
    values = []
    for metric in golds.pack.metrics:
        matcher = metric.params.matcher
        exact = metric.params.values(batch, golds.frames[matcher], matched[matcher])
        values.append(pl.Series(exact if metric.decimals is None else _round(exact, metric.decimals)))
    return values


def _round(exact: Values, decimals: int) -> Values:
    """Round as Python does, by the exact binary value; NumPy and Polars differ (1/160 at 4 places), so it is Python.

    A batch has few different values: shares of small counts.
    """
    different, places = np.unique(exact, return_inverse=True)
    return np.array([round(value, decimals) for value in different.tolist()])[places]


def _scores(attempts: pl.DataFrame, scored: pl.Series, values: list[pl.Series], pack: Pack) -> pl.DataFrame:
    """Return the table scores: each attempt's metrics one after another."""
    by_attempt = pl.DataFrame({"at": scored, **{str(number): each for number, each in enumerate(values)}})
    value = pl.concat_list(pl.col(str(number)) for number in range(len(values)))
    names = pl.lit(pl.Series([[metric.name for metric in pack.metrics]])).first()
    return (
        attempts.join(by_attempt, on="at", how="left", maintain_order="left")
        .with_columns(value=value, metric=names, scorer=pl.lit(pack.scorer))
        .select(*tables.SCORES.columns)
        .explode("metric", "value")
        .with_columns(pl.when(pl.col("reason").is_null()).then(pl.col("value").fill_nan(None)).alias("value"))
        .with_columns(
            pl.when(pl.col("value").is_null()).then(pl.coalesce("reason", pl.lit(NO_REFERENCE))).alias("reason")
        )
    )


def _extracts(readable: pl.DataFrame, reads: Mapping[str, pl.DataFrame], pack: Pack) -> pl.DataFrame:
    """Return the table extracts: each attempt's readings one after another."""
    if not reads:
        return tables.EXTRACTS.empty()
    found = pl.concat(
        reads[reading.name].select(
            "row", pl.lit(number).alias("number"), pl.lit(reading.name).alias("field"), "position", "value"
        )
        for number, reading in enumerate(pack.readings)
    ).sort("row", "number", maintain_order=True)
    return found.with_columns(
        readable["run_id"].gather(found["row"]),
        readable["attempt_id"].gather(found["row"]),
        pl.lit(pack.scorer).alias("scorer"),
    ).select(*tables.EXTRACTS.columns)

"""How good a judge is: where it agrees with itself, with others and with people, and where it wavers."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from scorer.aggregate.agreement import LABELS, against_labels, agreement
from scorer.aggregate.compare import compare
from scorer.aggregate.data import GROUP, Data
from scorer.aggregate.printing import printed
from scorer.metrics.rubric import PASSED, SCORE
from scorer.tables import METRICS, STRATA
from scorer.warehouse import Warehouse

HUMAN = "human"
"""The provider of judges who are people: their verdicts are the labels that others are held against."""

_DRIFT = [
    "judge_a",
    "judge_b",
    "metric",
    "n_attempts",
    "n_tasks",
    "mean_a",
    "mean_b",
    "difference",
    "ci_low",
    "ci_high",
    "p_value",
    "p_adjusted",
    "correction",
    "family_size",
]


@dataclass(frozen=True)
class Quality:
    """What is known of the judges of some runs."""

    agreement: pl.DataFrame
    """One criterion (`score_normalized`: the whole) of one system (null: all) and judge a row, judge null: the judges
    against each other. The columns of `agreement`, and `mean`, `max_points`, `share_at_max`, `share_at_zero`."""
    fragile: pl.DataFrame
    """One attempt a row whose verdict a repetition could turn: see sql/fragile_verdicts.sql."""
    drift: pl.DataFrame
    """One metric of two judges a row, paired by attempt, tasks as clusters: `difference` is A - B."""
    drift_verdicts: pl.DataFrame
    """Two judges a row: the attempts that only one of them passes, with McNemar's exact test."""
    labels: pl.DataFrame
    """One judge and system a row: its verdicts against those of people."""


def quality(
    attempts: pl.DataFrame,
    judgements: pl.DataFrame,
    criteria: pl.DataFrame,
    scores: pl.DataFrame,
    metrics: pl.DataFrame,
    *,
    threshold: int,
    scale: int,
) -> Quality:
    """Return what the judgements of one rubric say of its judges.

    `attempts`, `judgements` and `criteria` hold to their contracts (of attempts only run_id, attempt_id, system,
    task_id and repeat are read); `scores` and `metrics` are of the judges' scorers under one policy, with a column
    `judge_id`. Judges of the provider `human` are people: an attempt passes in their eyes where most of their
    evaluations do, and the other judges are held against that.
    """
    with Warehouse({"attempts": attempts, "judgements": judgements, "criteria": criteria}) as warehouse:
        ratings = warehouse.query("judge_ratings", threshold=threshold, scale=scale)
        fragile = printed(warehouse.query("fragile_verdicts", threshold=threshold))
        warehouse.register("ratings", ratings)
        use = printed(warehouse.query("criterion_use"))
    key = ["system", "criterion", "judge_id"]
    agreed = (
        agreement(ratings).join(use, on=key, how="left", nulls_equal=True).sort(*key, nulls_last=[False, True, True])
    )
    models = judgements.filter(pl.col("provider").is_null() | (pl.col("provider") != HUMAN))["judge_id"].unique()
    judged = ratings.filter((pl.col("criterion") == SCORE) & pl.col("judge_id").is_in(models.implode()))
    drift, verdicts = _drift(scores, metrics)
    return Quality(agreed, fragile, drift, verdicts, against_labels(judged, _human_labels(judgements, ratings)))


def _human_labels(judgements: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    people = judgements.filter(pl.col("provider") == HUMAN)["judge_id"].unique()
    votes = ratings.filter(
        pl.col("judge_id").is_in(people.implode()) & (pl.col("criterion") == SCORE) & pl.col("system").is_null()
    )
    passes = (pl.col("category") == "pass").sum() * 2 > pl.len()
    return (
        votes.group_by("criterion", "unit")
        .agg(pl.when(passes).then(pl.lit("pass")).otherwise(pl.lit("fail")).alias("category"))
        .select(list(LABELS))
        .sort("unit")
    )


def _drift(scores: pl.DataFrame, metrics: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare judges as systems are compared: an attempt is the question, and attempts at one task flip together."""
    judges = scores["judge_id"].unique()
    if len(judges) < 2:
        return pl.DataFrame(schema=dict.fromkeys(_DRIFT, pl.String)), pl.DataFrame()
    unit = pl.format("{} {}", "run_id", "attempt_id")
    all_scores = scores.select(
        pl.lit("").alias("benchmark"),
        pl.lit("").alias("run_id"),
        pl.lit("").alias("scorer"),
        pl.col("judge_id").alias("system"),
        unit.alias("task_id"),
        pl.lit(1, pl.Int64).alias("repeat"),
        "metric",
        "value",
        "reason",
    )
    groups = scores.select(
        pl.lit("").alias("run_id"),
        unit.alias("task_id"),
        pl.lit(GROUP).alias("stratum"),
        pl.format("{} {}", "run_id", "task_id").alias("level"),
    ).unique(maintain_order=True)
    scales = metrics.with_columns(pl.lit("").alias("run_id"), pl.lit("").alias("scorer")).select(list(METRICS.columns))
    data = Data(
        all_scores, strata=groups.select(list(STRATA.columns)), metrics=scales.unique("metric", maintain_order=True)
    )
    found = compare(data)
    named = {"system_a": "judge_a", "system_b": "judge_b", "n_questions": "n_attempts", "n_groups": "n_tasks"}
    verdicts = found.mcnemar.filter(pl.col("metric") == PASSED).select(
        pl.col("system_a").alias("judge_a"),
        pl.col("system_b").alias("judge_b"),
        pl.col("n_tasks").alias("n_attempts"),
        "n_dropped",
        "both_pass",
        "a_only",
        "b_only",
        "both_fail",
        "p_exact",
    )
    return found.comparisons.rename(named).select(_DRIFT), verdicts

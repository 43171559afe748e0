"""A judge's evaluations to scores: each criterion, the total, the normalised score and the verdict, by one policy."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from scorer.errors import UsageError, nearest
from scorer.metrics.rubric import PASSED, POLICIES, SCORE, TOTAL, Rubric
from scorer.tables import METRICS, SCORES
from scorer.warehouse import Warehouse

NO_CRITERIA = "criteria not given"
NO_POINTS = "points not given"

ATTEMPT = ["run_id", "attempt_id", "task_id", "system", "repeat"]
"""The columns of the table attempts that matter here."""

_KEY = ["run_id", "attempt_id", "judge_id"]


@dataclass(frozen=True)
class Judging:
    """How a judge's evaluations are put together: everything that decides a verdict but the evaluations."""

    rubric: Rubric
    policy: str
    needed: int
    """Evaluations that a verdict needs."""

    @classmethod
    def of(cls, rubric: Rubric, policy: str | None = None, needed: int | None = None) -> Judging:
        """Fill in what the rubric says where nothing is asked for. Raises UsageError for an unknown policy."""
        policy = policy or rubric.terms.default_policy
        if policy not in POLICIES:
            raise UsageError(f"no policy {policy!r}{nearest(policy, POLICIES)}")
        return cls(rubric, policy, needed or rubric.terms.evaluations)


def scorer_name(pack: str, policy: str, judge_id: str) -> str:
    """Return what stands as `scorer` in the scores of one judge under one policy."""
    return f"{pack}/{policy}@{judge_id}"


def verdicts(attempts: pl.DataFrame, judgements: pl.DataFrame, judging: Judging) -> pl.DataFrame:
    """Return one row an attempt, judge and policy, all policies: see sql/policies.sql.

    `attempts` has the columns of `ATTEMPT`, `judgements` holds to its contract. Columns: run_id, attempt_id, judge_id,
    policy, `n` evaluations that count, `n_passing` of them that pass by themselves, `is_nothing` (nothing was handed
    in), `reason` why there is no verdict, `score` (null then), `passed`, `total_raw` (null also where only scores are
    given).
    """
    terms = judging.rubric.terms
    with Warehouse({"attempts": attempts.select(ATTEMPT), "judgements": judgements}) as warehouse:
        return warehouse.query(
            "policies", total=terms.total, scale=terms.scale, threshold=terms.threshold, needed=judging.needed
        )


def scores(
    attempts: pl.DataFrame, judgements: pl.DataFrame, criteria: pl.DataFrame, judging: Judging, pack: str
) -> pl.DataFrame:
    """Return the table scores under the judging's policy: every attempt and metric, for every judge.

    Rows are in the order of scorer, attempt, metric. What has no value has a reason: too few evaluations, criteria or
    points that were not given. An attempt that handed nothing in has 0 everywhere.
    """
    chosen = verdicts(attempts, judgements, judging).filter(pl.col("policy") == judging.policy)
    with Warehouse({"criteria": criteria}) as warehouse:
        means = warehouse.query("criterion_means")
    names = pl.DataFrame({"metric": list(judging.rubric.metrics)}).with_row_index("place")
    long = chosen.join(names, how="cross").join(means.rename({"criterion": "metric"}), on=[*_KEY, "metric"], how="left")
    own = {SCORE: pl.col("score"), PASSED: pl.col("passed").cast(pl.Float64), TOTAL: pl.col("total_raw")}
    value: pl.Expr = pl.when(pl.col("reason").is_null()).then(pl.col("points"))
    for metric, column in own.items():
        value = pl.when(pl.col("metric") == metric).then(column).otherwise(value)
    unsaid = pl.when(pl.col("metric") == TOTAL).then(pl.lit(NO_POINTS)).otherwise(pl.lit(NO_CRITERIA))
    scored = long.with_columns(
        pl.format("{}/{}@{}", pl.lit(pack), pl.lit(judging.policy), "judge_id").alias("scorer"), value.alias("value")
    ).with_columns(pl.when(pl.col("value").is_null()).then(pl.coalesce("reason", unsaid)).alias("reason"))
    keyed = scored.join(
        attempts.select(ATTEMPT).with_row_index("at"),
        on=["run_id", "attempt_id"],
        how="left",
    )
    return keyed.sort("scorer", "at", "place").select(pl.col(name).cast(dtype) for name, dtype in SCORES.schema.items())


def metrics(run_id: str, scorer: str, rubric: Rubric) -> pl.DataFrame:
    """Return the table metrics for one scorer. The total is the primary metric: raw points, with nothing rounded."""
    ranges = {**rubric.most, TOTAL: rubric.terms.total, SCORE: rubric.terms.scale, PASSED: 1}
    rows = [(run_id, scorer, name, 0.0, float(high), True, None, name == TOTAL) for name, high in ranges.items()]
    return pl.DataFrame(rows, schema=METRICS.schema, orient="row")


def turned(found: pl.DataFrame, policy: str) -> dict[str, int]:
    """Return how many verdicts each other policy would turn, of those that both give; `found` is from `verdicts`."""
    key = [*_KEY, "passed"]
    given = found.filter(pl.col("passed").is_not_null())
    chosen = given.filter(pl.col("policy") == policy).select(key)
    others = given.join(chosen, on=_KEY, how="inner", suffix="_chosen")
    differ = others.filter(pl.col("passed") != pl.col("passed_chosen"))
    return {other: differ.filter(pl.col("policy") == other).height for other in POLICIES if other != policy}

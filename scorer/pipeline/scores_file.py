"""A file of scores that any other tool made, reported on as a run of a store is: there are no answers, only scores."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import polars as pl

from scorer import __version__
from scorer.aggregate import Data, open_scores, summary
from scorer.errors import UsageError, nearest
from scorer.report import Report
from scorer.store import canonical_json
from scorer.tables import METRICS, RUNS


def data_of_file(path: Path, *, run_id: str | None = None, scorer: str | None = None) -> Data:
    """Return the scores of one run and one scorer in a file.

    Raises UsageError where it holds several runs, scorers or benchmarks and none (or an unknown one) is named.
    """
    data = open_scores(path)
    chosen = {"run_id": run_id, "scorer": scorer, "benchmark": None}
    scores = data.scores
    for column, option in (("run_id", "--run"), ("scorer", "--scorer"), ("benchmark", "a file of each")):
        known = scores[column].unique().sort().to_list()
        named = chosen[column]
        if named is None and len(known) > 1:
            raise UsageError(f"{path} holds several values of {column}; choose one with {option}: {', '.join(known)}")
        if named is not None and named not in known:
            raise UsageError(f"{path} holds no {column} {named!r}{nearest(named, known)}")
        scores = scores.filter(pl.col(column) == named) if named is not None else scores
    return replace(data, scores=scores, metrics=_metrics(scores))


def _metrics(scores: pl.DataFrame) -> pl.DataFrame:
    """Return what can be known of metrics that nobody declared: a range of [0, 1] where every value lies there."""
    seen = scores.group_by("run_id", "scorer", "metric").agg(
        (pl.col("value").is_between(0, 1) | pl.col("value").is_null()).all().alias("is_unit")
    )
    declared = seen.sort("metric").with_columns(
        pl.when("is_unit").then(0.0).alias("low"),
        pl.when("is_unit").then(1.0).alias("high"),
        higher_is_better=pl.lit(value=True),
        decimals=pl.lit(None, pl.Int64),
        primary=pl.lit(value=False),
    )
    return declared.select(list(METRICS.columns))


def report_of_file(path: Path, data: Data) -> Report:
    """Summarise the scores that `data_of_file` gave."""
    scores = data.scores
    attempt = pl.struct("task_id", "repeat")
    unscored = scores.filter(pl.col("value").is_null())
    return Report(
        run=_run_row(path, data),
        scorer=str(scores["scorer"].first() or path.name),
        metrics=tuple(data.metrics["metric"]),
        summary=summary(data, strata=data.strata_names()),
        published=summary(data, method="normal_attempts"),
        attempts=scores.group_by("system")
        .agg(
            attempt.n_unique().cast(pl.Int64).alias("attempts"),
            attempt.filter(pl.col("value").is_not_null()).n_unique().cast(pl.Int64).alias("scored"),
            pl.lit(0, pl.Int64).alias("costs_known"),
            pl.lit(None, pl.Float64).alias("cost_usd"),
        )
        .sort("system"),
        unscored=unscored.group_by("system", "reason")
        .agg(attempt.n_unique().cast(pl.Int64).alias("attempts"))
        .sort("system", "reason"),
        tasks=scores["task_id"].n_unique(),
    )


def _run_row(path: Path, data: Data) -> dict[str, object]:
    """Return the scores' run as a row of the table `runs`; the file's name stands for what it does not say."""
    first = data.scores.select("run_id", "benchmark").row(0, named=True) if data.scores.height else {}
    modes = dict(data.runs.select("run_id", "mode").iter_rows())
    signature: dict[str, object] = {
        "scorer": __version__,
        "attempts": None,
        "scores": sha256(path.read_bytes()).hexdigest(),
        "scorers": {},
    }
    return dict.fromkeys(RUNS.columns) | {
        "run_id": first.get("run_id") or path.name,
        "benchmark": first.get("benchmark") or "scores",
        "mode": modes.get(first.get("run_id", ""), "unknown"),
        "origin": "imported",
        "flags": [],
        "signature": canonical_json(signature),
    }

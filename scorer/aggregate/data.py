"""What the statistics read: scores, and by key the runs, strata, golds and metrics. Never the responses.

A store's tables and a file of scores from any other tool come to the same `Data`, checked: each score once, every value
a finite number or null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from scorer import tables
from scorer.errors import InputError, Problem, UsageError, nearest

SCORE = pl.Schema(
    {
        "benchmark": pl.String(),
        "run_id": pl.String(),
        "scorer": pl.String(),
        "system": pl.String(),
        "task_id": pl.String(),
        "repeat": pl.Int64(),
        "metric": pl.String(),
        "value": pl.Float64(),
        "reason": pl.String(),
    }
)
"""The scores as statistics take them: one attempt's value on one metric, null where it was not scored."""

KEY = ("run_id", "scorer", "system", "task_id", "repeat", "metric")
"""What makes a score one score."""

GROUP = "group"
"""The stratum whose levels are clusters of questions (one data set, one template), not a breakdown."""

_REQUIRED = ("system", "task_id", "metric", "value")
_ABSENT = {"benchmark": "", "run_id": "", "scorer": "", "repeat": 1, "reason": None}
_NEVER_NULL = ("system", "task_id", "metric", "repeat")
_LARGEST = 1e100
"""Beyond it a sum of squares would leave what a double can hold."""
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Data:
    """Scores to be summarised and compared.

    `scores` has the columns of `SCORE`; `runs`, `strata`, `golds` and `metrics` those of their contracts in
    `scorer.tables`. Where a metric has no row in `metrics`, its range is [0, 1] if every value lies there, else none,
    and higher is better. Make one with `from_tables` or `from_scores`, which check.
    """

    scores: pl.DataFrame
    runs: pl.DataFrame = field(default_factory=tables.RUNS.empty)
    strata: pl.DataFrame = field(default_factory=tables.STRATA.empty)
    golds: pl.DataFrame = field(default_factory=tables.GOLDS.empty)
    metrics: pl.DataFrame = field(default_factory=tables.METRICS.empty)
    _made: dict[Hashable, pl.DataFrame] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def from_tables(cls, given: Mapping[str, pl.DataFrame]) -> Data:
        """Take the tables of one or more runs (`scores`, `runs`, `strata`, `golds`, `metrics`; others are not read).

        Raises InputError, naming every score, where one stands twice or a value is not finite.
        """
        runs = given.get("runs", tables.RUNS.empty())
        scores = given["scores"].join(
            runs.select("run_id", "benchmark"), on="run_id", how="left", maintain_order="left"
        )
        scores = scores.with_columns(pl.col("benchmark").fill_null(""))
        if problems := _mistakes(scores, "scores", named_by_row=False):
            raise InputError(problems)
        rest = {name: given[name] for name in ("strata", "golds", "metrics") if name in given}
        return cls(scores.select(list(SCORE)), runs, **rest)

    @classmethod
    def from_scores(cls, frame: pl.DataFrame, *, strata: Sequence[str] = (), source: str = "<frame>") -> Data:
        """Take scores made by any tool.

        Columns: `system`, `task_id`, `metric`, `value`; optional `repeat` (1 where absent), `run_id`, `scorer`,
        `benchmark`, `mode`, `reason`, `group`, and those named by `strata`. Others are not read. Raises InputError with
        every mistake: a column missing or of a wrong type, a key that is null, the same score twice, NaN or an infinite
        value, a task with two groups or levels.
        """
        _check_columns(frame, strata, source)
        scores, problems = _cast(frame, source)
        problems += _mistakes(scores, source, named_by_row=True)
        if problems:
            raise InputError(problems)
        named = list(dict.fromkeys([*strata, *([GROUP] if GROUP in frame.columns else [])]))
        levels = [_levels(frame, scores, stratum, source) for stratum in named]
        runs = _runs(frame, scores, source)
        return cls(scores.select(list(SCORE)), runs, pl.concat([tables.STRATA.empty(), *levels]))

    def with_range(
        self, low: float, high: float, *, metric: str | None = None, higher_is_better: bool | None = None
    ) -> Data:
        """Return the data with the range (and direction, if given) of one metric, or of all, replaced.

        Raises UsageError where there is no such metric or `low` is not below `high`.
        """
        known = self.scores["metric"].unique().sort().to_list()
        if metric is not None and metric not in known:
            raise UsageError(f"no metric {metric!r}{nearest(metric, known)}")
        if not -math.inf < low < high < math.inf:
            raise UsageError(f"a range goes from a low number to a high one, not from {low:g} to {high:g}")
        declared = self.scores.select("run_id", "scorer", "metric").unique(maintain_order=True)
        declared = declared.join(self.metrics, on=["run_id", "scorer", "metric"], how="left", maintain_order="left")
        chosen = pl.lit(value=True) if metric is None else pl.col("metric") == metric
        better = pl.col("higher_is_better").fill_null(value=True)
        metrics = declared.with_columns(
            low=pl.when(chosen).then(pl.lit(float(low))).otherwise("low"),
            high=pl.when(chosen).then(pl.lit(float(high))).otherwise("high"),
            higher_is_better=better
            if higher_is_better is None
            else pl.when(chosen).then(higher_is_better).otherwise(better),
            primary=pl.col("primary").fill_null(value=False),
        )
        return replace(self, metrics=metrics.select(list(tables.METRICS.columns)))

    def strata_names(self) -> list[str]:
        """Return the strata that a breakdown may name, in order."""
        return [name for name in self.strata["stratum"].unique().sort().to_list() if name != GROUP]

    def once(self, key: Hashable, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return what `make` gives, made the first time that this key is asked for: several statistics start alike."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def sources(self) -> dict[str, pl.DataFrame]:
        """Return the tables by the names under which the queries read them."""
        return {
            "scores": self.scores,
            "runs": self.runs,
            "strata": self.strata,
            "golds": self.golds,
            "metrics": self.metrics,
        }


def _check_columns(frame: pl.DataFrame, strata: Sequence[str], source: str) -> None:
    wanted = [*_REQUIRED, *strata]
    problems = [
        Problem(source, "", f"no column {name!r}{nearest(name, frame.columns)}; scores need {', '.join(wanted)}")
        for name in wanted
        if name not in frame.columns
    ]
    if problems:
        raise InputError(problems)


def _cast(frame: pl.DataFrame, source: str) -> tuple[pl.DataFrame, list[Problem]]:
    """Give the columns of SCORE their types; a value that does not convert is null and named with its row."""
    columns: list[pl.Series] = []
    problems: list[Problem] = []
    for name, dtype in SCORE.items():
        if name not in frame.columns:
            columns.append(pl.Series(name, [_ABSENT[name]], dtype).new_from_index(0, frame.height))
            continue
        series = frame[name]
        cast = series.cast(pl.String, strict=False) if dtype == pl.String() else _numbers(series, dtype)
        bad = cast.is_null() & (series.is_not_null() | (name in _NEVER_NULL))
        problems += [
            Problem(source, f"row {row + 1}", f"{name} is {series[row]!r}, which is no {_noun(dtype)}")
            for row in bad.arg_true().head(_MOST_SHOWN)
        ]
        columns.append(cast.fill_null(_ABSENT.get(name)) if _ABSENT.get(name) is not None else cast)
    return pl.DataFrame(columns), problems


def _numbers(series: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the series as numbers; null where one is none, or is no whole number where `dtype` asks for that."""
    trimmed = series.str.strip_chars() if series.dtype == pl.String else series
    numbers = trimmed.cast(pl.Float64, strict=False)
    if dtype == pl.Float64():
        return numbers
    return pl.select(pl.when(numbers == numbers.floor()).then(numbers)).to_series().cast(dtype, strict=False)


def _noun(dtype: pl.DataType) -> str:
    if dtype == pl.Float64():
        return "number"
    return "whole number" if dtype == pl.Int64() else "name"


def _mistakes(scores: pl.DataFrame, source: str, *, named_by_row: bool) -> list[Problem]:
    """Name values that nothing can be computed with and scores that stand twice, each by its row or its key."""
    numbered = scores.with_row_index("row", 1)
    infinite = numbered.filter(~(pl.col("value").abs() <= _LARGEST))
    problems = [
        Problem(
            source, _place(row, named_by_row), f"value is {row['value']}; give a finite number, or null with a reason"
        )
        for row in infinite.head(_MOST_SHOWN).iter_rows(named=True)
    ]
    twice = numbered.with_columns(first=pl.col("row").min().over(KEY)).filter(pl.col("row") != pl.col("first"))
    problems += [
        Problem(
            source,
            _place(row, named_by_row),
            f"the same score as in row {row['first']}: {_key(row)}; keep one, or number them in the column repeat",
        )
        for row in twice.head(_MOST_SHOWN).iter_rows(named=True)
    ]
    more = max(0, infinite.height - _MOST_SHOWN) + max(0, twice.height - _MOST_SHOWN)
    if more:
        problems.append(Problem(source, "", f"and {more} more like these"))
    return problems


def _place(row: Mapping[str, object], named_by_row: bool) -> str:
    return f"row {row['row']}" if named_by_row else _key(row)


def _key(row: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {row[name]}" for name in KEY if row[name] != "")


def _levels(frame: pl.DataFrame, scores: pl.DataFrame, stratum: str, source: str) -> pl.DataFrame:
    """Turn a column beside the scores into rows of the table strata; a task must have one level."""
    levels = scores.select(
        "run_id", "task_id", stratum=pl.lit(stratum), level=frame[stratum].cast(pl.String)
    ).drop_nulls("level")
    levels = levels.unique(maintain_order=True)
    several = (
        levels.filter(pl.len().over("run_id", "task_id") > 1).group_by("run_id", "task_id", maintain_order=True).all()
    )
    if several.height:
        raise InputError(
            [
                Problem(source, f"task {row['task_id']}", f"column {stratum!r} holds {row['level']}; a task has one")
                for row in several.iter_rows(named=True)
            ]
        )
    return levels


def _runs(frame: pl.DataFrame, scores: pl.DataFrame, source: str) -> pl.DataFrame:
    mode = frame["mode"].cast(pl.String).fill_null("unknown") if "mode" in frame.columns else pl.lit("unknown")
    found = scores.select("run_id", "benchmark", mode=mode).unique(maintain_order=True)
    several = found.filter(pl.len().over("run_id", "benchmark") > 1)
    if several.height:
        runs = several.get_column("run_id").unique(maintain_order=True).to_list()
        raise InputError(
            [Problem(source, f"run {run!r}", "column 'mode' holds several values; a run has one") for run in runs]
        )
    empty = {name: pl.lit(None, dtype) for name, dtype in tables.RUNS.columns.items() if name not in found.columns}
    return found.with_columns(**empty).select(list(tables.RUNS.columns))


def conflicting_levels(strata: pl.DataFrame, run_ids: Iterable[str]) -> list[str]:
    """Return sentences on tasks whose level differs between the given runs."""
    conflicts = (
        strata.filter(pl.col("run_id").is_in(list(run_ids)))
        .group_by("task_id", "stratum")
        .agg(pl.col("level").unique().sort())
        .filter(pl.col("level").list.len() > 1)
        .sort("task_id", "stratum")
    )
    return [
        f"task {row['task_id']}: {row['stratum']} is {' and '.join(row['level'])} in different runs; the first counts"
        for row in conflicts.iter_rows(named=True)
    ]

"""Two systems at a time: paired by question, tested by sign flips, adjusted for how many comparisons there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from scorer.aggregate.data import Data, conflicting_levels
from scorer.aggregate.mcnemar import mcnemars
from scorer.aggregate.multiplicity import add_families
from scorer.aggregate.printing import printed
from scorer.aggregate.random_bits import random_bits
from scorer.aggregate.repeats import reliabilities, variances
from scorer.aggregate.sentences import (
    comparison_sentence,
    gap_sentences,
    mcnemar_sentence,
    method_sentences,
    verdict_rules,
)
from scorer.aggregate.sides import Sides, find_sides, side_names, sides_of
from scorer.aggregate.signflip import sign_flips
from scorer.aggregate.summary import check_method, check_strata, load_moments, load_questions, summarise
from scorer.errors import UsageError, nearest
from scorer.warehouse import Warehouse

_COLUMNS = [
    "benchmark",
    "scorer",
    "metric",
    "run_a",
    "run_b",
    "system_a",
    "system_b",
    "stratum",
    "level",
    "n_questions",
    "n_groups",
    "n_only_a",
    "n_only_b",
    "mean_a",
    "mean_b",
    "difference",
    "ci_low",
    "ci_high",
    "conf_level",
    "p_value",
    "p_method",
    "n_resamples",
    "p_monte_carlo_error",
    "p_t",
    "primary",
    "family",
    "correction",
    "family_size",
    "n_left_out",
    "p_adjusted",
    "p_smallest",
    "wins",
    "ties",
    "losses",
    "dz",
    "dz_low",
    "dz_high",
    "mde",
    "seed",
    "flags",
]


@dataclass(frozen=True)
class Comparison:
    """What a comparison gives: tables with the columns that their names stand for, and plain sentences."""

    summary: pl.DataFrame
    """One metric of one side a row: see `summary`."""
    comparisons: pl.DataFrame
    """One pair of sides on one metric a row: the paired comparison. `difference` is A - B, in the metric's units."""
    mcnemar: pl.DataFrame
    """One pair of sides on one 0/1 metric a row: McNemar's tests on verdicts."""
    variance: pl.DataFrame
    """One metric of one side a row: see `variance`."""
    reliability: pl.DataFrame
    """One metric of one side and one k a row: see `reliability`."""
    notes: list[str]
    """A sentence for each comparison, then what must be known to read them."""
    about_data: list[str]
    """Those of the notes that speak of the data alone: questions not in common, unscored attempts, runs."""
    notice: str | None
    """What must be said before and after all else: that a run is simulated."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        return {
            "summary": self.summary,
            "comparisons": self.comparisons,
            "mcnemar": self.mcnemar,
            "variance": self.variance,
            "reliability": self.reliability,
        }


def compare(
    data: Data,
    *,
    systems: Sequence[str] | None = None,
    baseline: str | None = None,
    metric: str | None = None,
    strata: Sequence[str] = (),
    method: str = "wilson_t",
    rd_method: str = "bonett_price",
    threshold: float | None = None,
    alpha: float = 0.05,
    pool_runs: bool = False,
    allow_mixed: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> Comparison:
    """Compare systems, paired by question (benchmark, task and the task's gold).

    `systems` names two or more sides (`SYSTEM`, or `RUN:SYSTEM`), compared two by two in the order given; `baseline`
    names one that every other side is compared with, as B; without either all sides are compared, in name order.
    `metric` chooses what is shown, never what p is adjusted over. `strata` adds a comparison in each level. `method` is
    the interval of the summary, `rd_method` that of the risk difference; `threshold` is where an attempt passes, for
    the tables `variance` and `reliability`: see `reliability`. Runs are pooled only with `pool_runs`, and simulated
    runs meet empirical ones only with `allow_mixed`.

    Raises UsageError for names that are unknown or stand for several runs, fewer than two sides, and mixed modes.
    """
    check_method(method, 1 - alpha)
    check_strata(data, strata)
    check_metric(data, metric)
    sides = sides_of(data, pool_runs=pool_runs)
    pairs = pairs_of(sides, systems, baseline)
    sides = sides.keep([*pairs["side_a"], *pairs["side_b"]])
    check_modes(data, sides, pairs, allow_mixed)
    with Warehouse(data.sources(), threads=threads) as warehouse:
        load_questions(warehouse, data, sides, strata)
        warehouse.register("pairs", pairs)
        pairings = warehouse.query("pairings")
        warehouse.register("pairings", pairings)
        flips = sign_flips(pairings, lambda names, blocks: random_bits(warehouse, names, seed, blocks), threads)
        warehouse.register("flips", flips)
        tested = add_families(warehouse, warehouse.query("comparisons", alpha=alpha), alpha)
        tested = printed(_finished(tested, seed))
        shown = pl.col("metric") == metric if metric is not None else pl.lit(value=True)
        mcnemar = mcnemars(warehouse, alpha, rd_method).filter(shown)
        variance = variances(warehouse, threshold).filter(shown)
        load_moments(warehouse, data, sides, strata)
        summary = summarise(warehouse, method, 1 - alpha, seed).filter(shown)
        reliability = reliabilities(warehouse, threshold, None, 1 - alpha).filter(shown)
    comparisons = tested.filter(shown)
    about_data = [
        *gap_sentences(comparisons),
        *_directions(data, summary),
        *_unscored(data, sides, summary),
        *_about_runs(data, sides, pairings),
    ]
    notes = [
        *map(comparison_sentence, comparisons.iter_rows(named=True)),
        *map(mcnemar_sentence, mcnemar.iter_rows(named=True)),
        *method_sentences(summary, tested, interval=method, metric=metric, alpha=alpha),
        *verdict_rules(mcnemar, reliability),
        *about_data,
    ]
    notice = notice_of(data, sides)
    return Comparison(summary, comparisons.select(_COLUMNS), mcnemar, variance, reliability, notes, about_data, notice)


def check_metric(data: Data, metric: str | None) -> None:
    """Raise UsageError where the data have no such metric."""
    known = data.scores["metric"].unique().sort().to_list()
    if metric is not None and metric not in known:
        raise UsageError(f"no metric {metric!r}{nearest(metric, known)}")


def _finished(tested: pl.DataFrame, seed: int) -> pl.DataFrame:
    return tested.with_columns(
        primary="is_primary", seed=pl.when(pl.col("p_method") == "monte_carlo").then(pl.lit(seed, pl.Int64))
    )


def pairs_of(sides: Sides, systems: Sequence[str] | None, baseline: str | None) -> pl.DataFrame:
    """Return the pairs of sides to compare: `pair`, `side_a`, `side_b`; always within one benchmark."""
    if systems is not None and baseline is not None:
        raise UsageError("name the systems to compare or a baseline for all others, not both")
    benchmark = dict(sides.sides.select("side", "benchmark").iter_rows())
    if systems is not None:
        chosen = [side for name in systems for side in find_sides(sides, name)]
        pairs = list(combinations(chosen, 2))
    elif baseline is not None:
        pairs = [(side, base) for base in find_sides(sides, baseline) for side in benchmark if side != base]
    else:
        for name in sides.sides["system"].unique(maintain_order=True):
            find_sides(sides, name)
        pairs = list(combinations(benchmark, 2))
    pairs = [(a, b) for a, b in pairs if benchmark[a] == benchmark[b] and a != b]
    if not pairs:
        raise UsageError(f"a comparison needs two systems; found: {', '.join(side_names(sides)) or 'none'}")
    return pl.DataFrame(pairs, schema={"side_a": pl.Int64, "side_b": pl.Int64}, orient="row").with_row_index("pair", 1)


def check_modes(data: Data, sides: Sides, pairs: pl.DataFrame, allow_mixed: bool) -> None:
    """Refuse to set simulated runs beside empirical ones, in a pair or pooled, unless allowed."""
    if allow_mixed:
        return
    mode = dict(data.runs.select("run_id", "mode").iter_rows())
    modes: dict[int, dict[str, str]] = {}
    for side, run_id in sides.members.select("side", "run_id").iter_rows():
        modes.setdefault(side, {})[mode.get(run_id, "unknown")] = run_id
    for side_a, side_b in pairs.select("side_a", "side_b").iter_rows():
        met = modes[side_a] | modes[side_b]
        if {"simulated", "empirical"} <= met.keys():
            raise UsageError(
                f"run {met['simulated']} is simulated and run {met['empirical']} is empirical: they are not compared "
                "or pooled unless you mean it (--allow-mixed)"
            )


def _directions(data: Data, summary: pl.DataFrame) -> Iterator[str]:
    """Say which metrics nobody declared a direction of, since it decides which system is called better."""
    key = ["scorer", "metric"]
    assumed = summary.select(key).unique().join(data.metrics.select(key), on=key, how="anti")["metric"].unique().sort()
    if len(assumed):
        yield (
            f"No direction is declared for {', '.join(assumed)}: higher is taken as better "
            "(--range METRIC=LOW:HIGH:lower says otherwise)"
        )


def _unscored(data: Data, sides: Sides, summary: pl.DataFrame) -> Iterator[str]:
    """Say of each side how many attempts have no score and why, and where the means would lie with them.

    `summary` has a row for each metric and side that is shown.
    """
    overall = summary.filter(pl.col("stratum").is_null())
    shown = overall.select("benchmark", "scorer", "metric").unique()
    missing = (
        data.scores.filter(pl.col("value").is_null())
        .join(shown, on=["benchmark", "scorer", "metric"], how="semi")
        .join(sides.members, on=["benchmark", "run_id", "system"])
        .group_by("side", "scorer", "metric", pl.col("reason").fill_null("no reason given"))
        .len()
        .sort("side", "scorer", "metric", "reason")
        .group_by("side", "scorer", "metric", maintain_order=True)
        .agg(pl.col("len").sum(), pl.format("{}: {}", "reason", "len").str.join(", ").alias("reasons"))
        .join(sides.sides, on="side", maintain_order="left")
        .join(
            overall.select("benchmark", "scorer", "metric", "run_id", "system", "bound_low", "bound_high"),
            on=["benchmark", "scorer", "metric", "run_id", "system"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
    )
    for _, alike in missing.group_by("side", "scorer", "len", "reasons", maintain_order=True):
        side = alike.row(0, named=True)
        several = sides.sides.filter(pl.col("system") == side["system"]).height > 1
        name = f"{side['run_id']}:{side['system']}" if several and side["run_id"] else side["system"]
        bounded = alike.filter(pl.col("bound_low") < pl.col("bound_high"))
        bounds = ", ".join(
            f"{metric} [{low:.4g}, {high:.4g}]"
            for metric, low, high in bounded.select("metric", "bound_low", "bound_high").iter_rows()
        )
        at_ends = "; over the questions with a score, with them at the worst and at the best the means would lie in: "
        within = f"{at_ends}{bounds}" if bounds else ""
        metrics = "" if bounded.height == alike.height else f" on {', '.join(alike['metric'])}"
        are = "attempt of {} is" if side["len"] == 1 else "attempts of {} are"
        yield (
            f"{side['len']} {are.format(name)} unscored{metrics} and count{'s' * (side['len'] == 1)} in no mean "
            f"({side['reasons']}){within}"
        )


def notice_of(data: Data, sides: Sides) -> str | None:
    """Return what must stand at the head and the foot of a page: that a run is simulated."""
    runs = data.runs.join(sides.members, on="run_id", how="semi")
    simulated = runs.filter(pl.col("mode") == "simulated")["run_id"].unique().sort().to_list()
    if not simulated:
        return None
    named = f" ({', '.join(simulated)})" if any(simulated) and runs["run_id"].n_unique() > 1 else ""
    return f"SIMULATED{named}, harness validation only, not model performance"


def _about_runs(data: Data, sides: Sides, pairings: pl.DataFrame) -> Iterator[str]:
    runs = sides.members["run_id"].unique().sort().to_list()
    for run_id, mode in data.runs.join(sides.members, on="run_id", how="semi").select("run_id", "mode").iter_rows():
        yield f"Run {run_id} is {mode}" if run_id else f"The scores are of mode {mode}"
    if len(runs) > 1:
        yield from conflicting_levels(data.strata, runs)
        several = (
            pairings.filter(pl.col("stratum").is_null()).group_by("pair", "task_id").agg(pl.col("gold").n_unique())
        )
        tasks = several.filter(pl.col("gold") > 1)["task_id"].n_unique()
        if tasks:
            yield f"{tasks} tasks have different golds in these runs: with another gold it is another question"

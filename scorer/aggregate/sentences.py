"""Comparisons in plain words: a sentence for each, and what a reader must know of the whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from scorer.aggregate.multiplicity import EXPLORATORY, PRIMARY, STRATA

CORRECTION_NAMES = {"holm": "Holm", "benjamini_hochberg": "Benjamini-Hochberg"}

_FAMILY_NAMES = {
    PRIMARY: "the primary metrics",
    EXPLORATORY: "the other metrics, exploratory",
    STRATA: "the metrics in each level, exploratory",
}


def comparison_sentence(row: Mapping[str, Any]) -> str:
    """Return one row of the table `comparisons` as a sentence; it names the better system, in the metric's direction.

    `row` has the table's columns and `higher_is_better`.
    """
    a, b = _name(row, "a"), _name(row, "b")
    subject = row["metric"] if row["stratum"] is None else f"{row['metric']}, {row['stratum']} {row['level']}"
    if row["n_questions"] == 0:
        return f"{subject}: {a} and {b} have no scored question in common"
    return f"{subject}: {_finding(row, a, b)}, {_verdict(row)}{_reach(row)}"


def _finding(row: Mapping[str, Any], a: str, b: str) -> str:
    difference, low, high = row["difference"], row["ci_low"], row["ci_high"]
    decimals = _decimals(difference, low, high)
    if "identical" in row["flags"]:
        within = f", the difference may lie within ±{high - difference:.{decimals}f}" if high is not None else ""
        return f"{a} and {b} are the same on all {_count(row['n_questions'], 'question')}{within}"
    gain = difference if row["higher_is_better"] else -difference
    better, worse = (a, b) if gain >= 0 else (b, a)
    interval = ""
    if low is not None:
        ends = sorted((low, high) if difference >= 0 else (-low, -high))
        interval = f" [{', '.join(f'{_positive_zero(end, decimals)}' for end in ends)}]"
    if difference == 0:
        return f"{a} and {b} have the same mean, difference 0{interval}"
    return f"{better} is better than {worse} by {abs(difference):.{decimals}f}{interval}"


def _verdict(row: Mapping[str, Any]) -> str:
    adjusted = ""
    if row["family_size"] > 1:
        name = CORRECTION_NAMES[row["correction"]]
        adjusted = f", {_p(row['p_adjusted'], _alpha(row))} after {name} over {row['family_size']}"
    verdict = "significant" if _is_significant(row) else "not significant"
    return f"p = {_p(row['p_value'], _alpha(row))}{adjusted}: {verdict} at {_alpha(row):g}"


def _alpha(row: Mapping[str, Any]) -> float:
    return round(1 - float(row["conf_level"]), 12)


def _is_significant(row: Mapping[str, Any]) -> bool:
    return bool(row["p_adjusted"] <= _alpha(row))


def _reach(row: Mapping[str, Any]) -> str:
    """Say what the data could have shown, where they showed nothing."""
    if _is_significant(row):
        return ""
    questions = _count(row["n_questions"], "question")
    reach = f"; {questions} could show {row['mde']:.2g} or more" if row["mde"] is not None else ""
    if "smallest_p_above_alpha" in row["flags"]:
        over = (
            f" after {CORRECTION_NAMES[row['correction']]} over {row['family_size']}" if row["family_size"] > 1 else ""
        )
        reach += (
            f"; whatever the signs of its differences, p cannot fall below {_p(row['p_smallest'])}: "
            f"too few for significance{over}"
        )
    return reach


def mcnemar_sentence(row: Mapping[str, Any]) -> str:
    """Return one row of the table `mcnemar` as a sentence."""
    a, b = _name(row, "a"), _name(row, "b")
    if row["n_tasks"] == 0:
        return f"{row['metric']}: no task has a verdict of both {a} and {b}"
    adjusted = f", {_p(row['p_adjusted'])} after Holm over {row['family_size']}" if row["family_size"] > 1 else ""
    dropped = f", {_count(row['n_dropped'], 'task')} dropped for want of a verdict" if row["n_dropped"] else ""
    return (
        f"{row['metric']}: of {_count(row['n_tasks'], 'task')}{dropped}, {row['a_only']} passed with {a} only and "
        f"{row['b_only']} with {b} only, McNemar's exact p = {_p(row['p_exact'])}{adjusted}, mid-p {_p(row['p_midp'])}"
    )


def method_sentences(
    summary: pl.DataFrame, comparisons: pl.DataFrame, *, interval: str, metric: str | None, alpha: float
) -> Iterator[str]:
    """Yield what every report says: what n is, the estimate, interval and test by name, the families.

    `comparisons` holds every comparison that was tested, also those that the choice of `metric` does not show.
    """
    yield from _what_n_is(summary)
    yield (
        f"A system's estimate is the mean of its question means, with the {interval} interval; the difference is that "
        f"of A and B over their common questions, with the paired t interval. Intervals have the level {1 - alpha:g} "
        "and are not adjusted for the number of comparisons"
    )
    yield from _how_tested(comparisons)
    if metric is not None:
        yield f"The metric {metric} is the caller's choice: the families hold all metrics, and p is adjusted over them"
    yield from _families(comparisons, alpha)
    yield "Not significant does not mean equal; the numbers speak of questions like these"


def verdict_rules(mcnemar: pl.DataFrame, reliability: pl.DataFrame) -> Iterator[str]:
    """Yield what passes, wherever passes are counted."""
    if mcnemar.height:
        yield (
            "McNemar's tests take one verdict a task: it passes where more than half of its scored repeats have the "
            "better value of 0 and 1, and a tie fails. The tests are a Holm family; the risk difference has the "
            f"{mcnemar['rd_method'][0]} interval"
        )
    if reliability["k"].max() not in (None, 1):
        passing = " or ".join(f"{x:g}" for x in reliability["threshold"].unique().sort())
        yield (
            f"pass@k is the chance that k repeats hold a pass ({passing} or better), pass^k that all k pass, averaged "
            "over the questions with k scored repeats or more, with the wilson_t interval"
        )


def _what_n_is(summary: pl.DataFrame) -> Iterator[str]:
    overall = summary.filter(pl.col("stratum").is_null() & (pl.col("n_questions") > 0))
    if not overall.height:
        return
    questions = _from_to(overall["n_questions"])
    repeats = _from_to(overall["repeats_min"].append(overall["repeats_max"]))
    groups = overall.filter(pl.col("n_groups") < pl.col("n_questions"))
    clusters = f", in {_from_to(groups['n_groups'])} groups that count as one each" if groups.height else ""
    yield (
        f"n is the number of questions ({questions}{clusters}): the scored attempts of a question ({repeats} of a "
        f"system, {_from_to(overall['n_attempts'])} in all) are averaged first"
    )


def _how_tested(comparisons: pl.DataFrame) -> Iterator[str]:
    test = "p is that of the two-sided sign-flip permutation test of the paired differences"
    sampled = comparisons.filter(pl.col("p_method") == "monte_carlo")
    if not sampled.height:
        yield f"{test}, exact"
        return
    resamples, seed = sampled["n_resamples"][0], sampled["seed"][0]
    exact = "" if sampled.height == comparisons["p_value"].count() else "exact where that can be counted, else "
    yield f"{test}, {exact}by Monte Carlo with {resamples} flips and seed {seed}"


def _families(comparisons: pl.DataFrame, alpha: float) -> Iterator[str]:
    keys = ["benchmark", "scorer", "family"]
    for (benchmark, scorer, number), part in comparisons.group_by(keys, maintain_order=True):
        row = part.row(0, named=True)
        of = " of ".join(filter(None, [scorer, benchmark]))
        left_out = f", {row['n_left_out']} without a p left out" if row["n_left_out"] else ""
        reachable = part["p_smallest"].drop_nulls().to_list()
        if not reachable:
            continue
        all_metrics = number == PRIMARY and not part["primary"].any()
        yield (
            f"Family {number}{f' ({of})' if of else ''}: "
            f"{'all metrics, as none is named primary' if all_metrics else _FAMILY_NAMES[number]}, "
            f"{_count(row['family_size'], 'comparison')}{left_out}, {CORRECTION_NAMES[row['correction']]} at "
            f"{alpha:g}; the smallest p that its data could reach is {_p(min(reachable))}"
        )


def gap_sentences(comparisons: pl.DataFrame) -> Iterator[str]:
    """Yield how many questions two sides have in common, and how many only one has, where there are such."""
    gaps = comparisons.filter(pl.col("stratum").is_null() & ((pl.col("n_only_a") > 0) | (pl.col("n_only_b") > 0)))
    for row in gaps.iter_rows(named=True):
        a, b = _name(row, "a"), _name(row, "b")
        yield (
            f"{row['metric']}: {_count(row['n_questions'], 'question')} in common, {row['n_only_a']} only in {a}, "
            f"{row['n_only_b']} only in {b}"
        )


def _name(row: Mapping[str, Any], side: str) -> str:
    run, system = row[f"run_{side}"], str(row[f"system_{side}"])
    return system if row["run_a"] == row["run_b"] or not run else f"{run}:{system}"


def _from_to(numbers: pl.Series) -> str:
    least, *_, most = sorted([*numbers, *numbers])
    return f"{least}" if least == most else f"{least} to {most}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _p(p: float, alpha: float = 0.05) -> str:
    """Return p in two digits, or in as many as it takes to stand on its side of `alpha`."""
    digits = 2
    while (float(text := f"{p:.{digits}g}") <= alpha) != (p <= alpha):
        digits += 1
    return text


def _decimals(difference: float, low: float | None, high: float | None) -> int:
    """Return how many decimals show two digits of the interval's half width, or of the difference without one."""
    size = abs(difference) if low is None or high is None else (high - low) / 2
    return 2 if size == 0 else max(0, 1 - math.floor(math.log10(size)))


def _positive_zero(x: float, decimals: int) -> str:
    text = f"{x:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text

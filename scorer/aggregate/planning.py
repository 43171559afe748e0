"""`scorer plan`: what the present data could have shown, and the questions and repeats that a difference takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

import polars as pl

from scorer.aggregate import power
from scorer.aggregate.compare import check_metric, check_modes, notice_of, pairs_of
from scorer.aggregate.data import Data
from scorer.aggregate.printing import printed
from scorer.aggregate.sides import sides_of
from scorer.aggregate.summary import load_questions
from scorer.errors import UsageError
from scorer.warehouse import Warehouse

REPEATS = (1, 2, 3, 5, 10)
"""Repeats a question that a plan looks at, unless said."""

PLAN = pl.Schema(
    {
        "benchmark": pl.String(),
        "scorer": pl.String(),
        "metric": pl.String(),
        "run_a": pl.String(),
        "run_b": pl.String(),
        "system_a": pl.String(),
        "system_b": pl.String(),
        "method": pl.String(),  # paired_t, mcnemar
        "repeats_a": pl.Float64(),  # null where one verdict a question counts
        "repeats_b": pl.Float64(),
        "is_present": pl.Boolean(),  # the repeats of the data, or what if
        "n_present": pl.Int64(),  # questions in the data
        "sd_difference": pl.Float64(),  # of one question's difference, with these repeats
        "relative_variance": pl.Float64(),  # of the mean difference, against one repeat a question
        "detectable": pl.Float64(),  # with the questions of the data
        "difference": pl.Float64(),  # to be seen
        "n_questions": pl.Int64(),  # that it takes
        "n_questions_normal": pl.Int64(),  # by Miller's formula
        "n_attempts": pl.Int64(),  # of both systems together
        "alpha": pl.Float64(),
        "power": pl.Float64(),
        "flags": pl.List(pl.String()),
    }
)
"""One row a metric, pair and number of repeats, in the metric's units; null is unknown or out of reach."""


@dataclass(frozen=True)
class Spread:
    """How the differences of one metric vary between two systems; variances in squared units of the metric."""

    variance: float | None
    """Of one question's difference, with the repeats there are; None below two questions."""
    repeats_a: float | None = None
    repeats_b: float | None = None
    var_questions: float | None = None
    """Of the true difference over questions; may come out below 0. None where the repeats cannot tell."""
    var_repeats_a: float | None = None
    """Of a system's repeats of one question."""
    var_repeats_b: float | None = None
    n_questions: int | None = None
    n_groups: int | None = None
    """Clusters of questions; as many as questions where there are no groups."""
    only_a: float | None = None
    """Share of tasks that A alone passes; None for a metric that is not 0/1."""
    only_b: float | None = None
    names: Mapping[str, str | None] = field(default_factory=dict)
    """Benchmark, scorer, metric, runs and systems, as far as they are known."""

    def with_repeats(self, repeats: float) -> float | None:
        """Return the variance of one question's difference with so many repeats for both; None where unknown."""
        if self.var_questions is None or self.var_repeats_a is None or self.var_repeats_b is None:
            return None
        return power.variance_of_difference(
            max(self.var_questions, 0.0), self.var_repeats_a, self.var_repeats_b, repeats, repeats
        )


class Levels(TypedDict):
    """Alpha and power, as the closed forms take them."""

    alpha: float
    power: float


@dataclass(frozen=True)
class Aim:
    """What a plan is to reach."""

    difference: float | None = None
    """The smallest difference that matters, in the metric's units; None asks only what the data could show."""
    repeats: Sequence[int] = REPEATS
    alpha: float = power.ALPHA
    power: float = power.POWER

    def __post_init__(self) -> None:
        power.check_levels(self.alpha, self.power)
        if self.difference is not None:
            power.check_difference(self.difference)
        if min(self.repeats, default=1) < 1:
            raise UsageError(f"repeats are counted from 1; {min(self.repeats)} will not do")

    @property
    def levels(self) -> Levels:
        """Level and power of the test."""
        return {"alpha": self.alpha, "power": self.power}


def plan_table(spreads: Sequence[Spread], aim: Aim) -> pl.DataFrame:
    """Return the plan (see `PLAN`): for each spread its present repeats, those of the aim, and McNemar's test if 0/1.

    `detectable` is what the present number of questions shows with the given power: d_z of the non-central t times the
    standard deviation. `n_questions` is the number at which the paired t test (or McNemar's) sees the aimed difference.
    """
    rows = [row | dict(spread.names) for spread in spreads for row in _rows(spread, aim)]
    return printed(pl.DataFrame(rows, schema=PLAN))


def _rows(spread: Spread, aim: Aim) -> list[dict[str, Any]]:
    rows = [_paired(spread, aim, spread.variance, spread.repeats_a, spread.repeats_b, is_present=True)]
    rows += [
        _paired(spread, aim, variance, repeats, repeats, is_present=False)
        for repeats in sorted(set(aim.repeats))
        if (repeats, repeats) != (spread.repeats_a, spread.repeats_b)
        and (variance := spread.with_repeats(repeats)) is not None
    ]
    if spread.only_a is not None and spread.only_b is not None:
        rows.append(_mcnemar(spread, aim, spread.only_a + spread.only_b))
    return rows


def _paired(
    spread: Spread,
    aim: Aim,
    variance: float | None,
    repeats_a: float | None,
    repeats_b: float | None,
    *,
    is_present: bool,
) -> dict[str, Any]:
    single = spread.with_repeats(1)
    row = _common(spread, aim, "paired_t") | {
        "repeats_a": repeats_a,
        "repeats_b": repeats_b,
        "is_present": is_present,
        "sd_difference": None if variance is None else math.sqrt(variance),
        "relative_variance": variance / single if variance is not None and single else None,
        "flags": _flags(spread, variance),
    }
    if not variance:
        return row
    sd = math.sqrt(variance)
    row["detectable"] = _detectable(spread, sd, aim)
    if aim.difference is not None:
        row["n_questions"] = _whole(power.questions_for_effect(aim.difference / sd, **aim.levels))
        row["n_questions_normal"] = _whole(power.questions_for_difference(aim.difference, variance, **aim.levels))
        if repeats_a is not None and repeats_b is not None:
            row["n_attempts"] = _whole(row["n_questions"] * (repeats_a + repeats_b))
    return row


def _mcnemar(spread: Spread, aim: Aim, discordant: float) -> dict[str, Any]:
    row = _common(spread, aim, "mcnemar") | {"is_present": True, "flags": _size_flags(spread)}
    if spread.n_questions:
        row["detectable"] = power.detectable_pass_difference(spread.n_questions, discordant, **aim.levels)
    if aim.difference is not None and abs(aim.difference) > discordant:
        row["flags"].append("above_discordant")
    elif aim.difference is not None:
        shares = (discordant - aim.difference) / 2, (discordant + aim.difference) / 2
        row["n_questions"] = _whole(power.tasks_for_mcnemar(*shares, **aim.levels))
    return row


def _common(spread: Spread, aim: Aim, method: str) -> dict[str, Any]:
    return dict.fromkeys(PLAN) | {
        "method": method,
        "n_present": spread.n_questions,
        "difference": aim.difference,
        "alpha": aim.alpha,
        "power": aim.power,
    }


def _detectable(spread: Spread, sd: float, aim: Aim) -> float | None:
    if spread.n_questions is None:
        return None
    clusters = spread.n_groups or spread.n_questions
    effect = power.detectable_effect(clusters, **aim.levels)
    return None if math.isnan(effect) else effect * sd * math.sqrt(clusters / spread.n_questions)


def _size_flags(spread: Spread) -> list[str]:
    n = spread.n_groups or spread.n_questions
    return [] if n is None or n >= 30 else ["n<5" if n < 5 else "n<30"]


def _flags(spread: Spread, variance: float | None) -> list[str]:
    flags = _size_flags(spread)
    if variance == 0:
        flags.append("no_variance")
    if spread.var_questions is not None and spread.var_questions < 0:
        flags.append("negative_variance")
    if spread.variance is not None and spread.repeats_a is not None and spread.var_questions is None:
        flags.append("one_repeat")
    return flags


def _whole(number: float) -> int:
    """Round up, but not for the last binary digits of a whole number."""
    return math.ceil(number - 1e-9 * number)


@dataclass(frozen=True)
class Plan:
    """What `scorer plan` gives: the table, and plain sentences."""

    plan: pl.DataFrame
    """One row a metric, pair and number of repeats: see `PLAN`."""
    notes: list[str]
    """A sentence for each metric and pair, then what must be known to read them."""
    notice: str | None = None
    """What must be said before and after all else: that a run is simulated."""


def plan(
    data: Data,
    aim: Aim,
    *,
    systems: Sequence[str] | None = None,
    baseline: str | None = None,
    metric: str | None = None,
    pool_runs: bool = False,
    allow_mixed: bool = False,
    threads: int | None = None,
) -> Plan:
    """Plan from the variance in scores at hand, for each metric and pair of systems, chosen as in `compare`.

    Raises UsageError as `compare` does.
    """
    check_metric(data, metric)
    sides = sides_of(data, pool_runs=pool_runs)
    pairs = pairs_of(sides, systems, baseline)
    sides = sides.keep([*pairs["side_a"], *pairs["side_b"]])
    check_modes(data, sides, pairs, allow_mixed)
    with Warehouse(data.sources(), threads=threads) as warehouse:
        load_questions(warehouse, data, sides, ())
        warehouse.register("pairs", pairs)
        warehouse.register("pairings", warehouse.query("pairings"))
        spreads = warehouse.query("spreads")
    if metric is not None:
        spreads = spreads.filter(pl.col("metric") == metric)
    made = plan_from([_spread(row) for row in spreads.iter_rows(named=True)], aim)
    return replace(made, notice=notice_of(data, sides))


def plan_from(spreads: Sequence[Spread], aim: Aim) -> Plan:
    """Plan from variances that are known otherwise."""
    return Plan(plan_table(spreads, aim), [*(_sentence(spread, aim) for spread in spreads), *_reading(aim)])


def _spread(row: Mapping[str, Any]) -> Spread:
    figures = {name: row[name] for name in row if name in Spread.__dataclass_fields__}
    return Spread(**figures, names={name: row[name] for name in row if name in PLAN and name not in figures})


def _sentence(spread: Spread, aim: Aim) -> str:
    """Say what one metric's data could have shown, and what the aimed difference takes."""
    rows = _rows(spread, aim)
    present, what_if = rows[0], [row for row in rows[1:] if row["method"] == "paired_t"]
    verdicts = [row for row in rows if row["method"] == "mcnemar"]
    parts = [_shown(spread, present)]
    if aim.difference is None:
        parts.append(", ".join(f"{row['detectable']:.2g}{_with(row)}" for row in what_if if row["detectable"]))
    else:
        parts.append(_taken([present, *what_if], aim.difference))
        parts += _endless(spread, aim)
    parts += [_passed(row, aim) for row in verdicts]
    return f"{_subject(spread)}{'; '.join(filter(None, parts))}"


def _subject(spread: Spread) -> str:
    names = spread.names
    if not names.get("metric"):
        return ""
    return f"{names['metric']}, {_side(names, 'a')} against {_side(names, 'b')}: "


def _side(names: Mapping[str, str | None], side: str) -> str:
    run, system = names.get(f"run_{side}"), names.get(f"system_{side}")
    return f"{run}:{system}" if run and names.get("run_a") != names.get("run_b") else f"{system}"


def _shown(spread: Spread, present: Mapping[str, Any]) -> str:
    if spread.n_questions is None:
        return ""
    questions = f"{spread.n_questions} question{'' if spread.n_questions == 1 else 's'}"
    if spread.variance is None:
        return f"{questions} cannot show how differences vary; it takes two or more"
    if spread.variance == 0:
        return f"the differences of {questions} do not vary, so nothing can be planned from them"
    return f"{questions}{_with(present)} could show a difference of {present['detectable']:.2g} or more"


def _with(row: Mapping[str, Any]) -> str:
    a, b = row["repeats_a"], row["repeats_b"]
    if a is None or b is None:
        return ""
    repeats = f"{a:.3g}" if a == b else f"{a:.3g} and {b:.3g}"
    return f" with {repeats} repeat{'' if repeats == '1' else 's'}"


def _taken(rows: Sequence[Mapping[str, Any]], difference: float) -> str:
    ways = [row for row in rows if row["n_questions"] is not None]
    if not ways:
        return ""
    first = f"a difference of {difference:g} takes {ways[0]['n_questions']} questions{_with(ways[0])}"
    return ", ".join([first, *(f"{row['n_questions']} with {row['repeats_a']:g}" for row in ways[1:])])


def _endless(spread: Spread, aim: Aim) -> Iterator[str]:
    """Say what is left when repeats cost nothing: whether more of them can help at all."""
    if aim.difference is None or spread.var_questions is None:
        return
    if spread.var_questions > 0:
        effect = aim.difference / math.sqrt(spread.var_questions)
        yield f"however many repeats, never fewer than {_whole(power.questions_for_effect(effect, **aim.levels))}"
    elif spread.var_questions < 0:
        yield "the noise of repeats alone explains how the differences vary, and other repeats are planned on it alone"


def _passed(row: Mapping[str, Any], aim: Aim) -> str:
    parts = []
    if row["n_present"] is not None:
        shown = "no difference of pass rates" if row["detectable"] is None else f"{row['detectable']:.2g} or more"
        parts.append(f"these tasks could show {shown}")
    if row["n_questions"] is not None:
        parts.append(f"{aim.difference:g} takes {row['n_questions']} tasks")
    return f"as pass or fail (McNemar) {' and '.join(parts)}" if parts else ""


def _reading(aim: Aim) -> Iterator[str]:
    yield (
        f"Each with {aim.power:.0%} power in a two-sided test at {aim.alpha:g}, before any correction for several "
        "comparisons: with m of them, plan with alpha / m"
    )
    yield (
        "The numbers of questions are for the paired t test, by the non-central t; n_questions_normal is Miller's "
        "formula. They are as good as the variance they rest on, which few questions tell only roughly"
    )

"""`scorer gate`: is a candidate no worse than a baseline, but for a margin? An answer with an exit code, for CI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from scorer.aggregate.compare import compare
from scorer.aggregate.data import Data
from scorer.errors import ExitCode, UsageError

PASS, UNDECIDED, WORSE = "pass", "undecided", "worse"

EXIT_CODES = {PASS: ExitCode.DONE, UNDECIDED: ExitCode.GATE_UNDECIDED, WORSE: ExitCode.GATE_WORSE}
"""How the gate ends, from the best verdict to the worst: the worst of all cases decides."""

GATE = pl.Schema(
    {
        "benchmark": pl.String(),
        "scorer": pl.String(),
        "metric": pl.String(),
        "run_baseline": pl.String(),
        "run_candidate": pl.String(),
        "baseline": pl.String(),
        "candidate": pl.String(),
        "n_questions": pl.Int64(),
        "gain": pl.Float64(),  # of the candidate over the baseline: positive is better, whatever the metric's direction
        "gain_low": pl.Float64(),
        "gain_high": pl.Float64(),
        "conf_level": pl.Float64(),
        "margin": pl.Float64(),
        "verdict": pl.String(),
        "flags": pl.List(pl.String()),
        "sentence": pl.String(),
    }
)
"""One metric of one scorer a row, in the metric's units; without an interval the verdict is undecided."""


@dataclass(frozen=True)
class Gate:
    """What `scorer gate` gives."""

    cases: pl.DataFrame
    """One metric a row: see `GATE`."""
    verdict: str
    """The worst of the cases: pass, undecided or worse."""
    notes: list[str]
    """What must be known to read the cases."""

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends."""
        return EXIT_CODES[self.verdict]


def gate(
    data: Data,
    *,
    baseline: str,
    candidate: str,
    margin: float,
    metric: str | None = None,
    alpha: float = 0.05,
    pool_runs: bool = False,
    allow_mixed: bool = False,
    threads: int | None = None,
) -> Gate:
    """Decide, metric by metric, whether `candidate` is worse than `baseline` by more than `margin`.

    With [low, high] the paired interval of the gain, in the metric's units and direction: `pass` where low >= -margin,
    `worse` where high < -margin, else `undecided`. Without `metric` the primary metrics are asked, and where there are
    none all. The sides are named as in `compare`, which makes the intervals.

    Raises UsageError for a margin below 0 or not finite, and as `compare` does.
    """
    if not 0 <= margin < float("inf"):
        raise UsageError(f"the margin is how much worse the candidate may be: a number from 0 up, not {margin:g}")
    compared = compare(
        data,
        systems=[candidate, baseline],
        metric=metric,
        alpha=alpha,
        pool_runs=pool_runs,
        allow_mixed=allow_mixed,
        threads=threads,
    )
    rows = compared.comparisons
    if metric is None and rows["primary"].any():
        rows = rows.filter("primary")
    directions = _directions(data)
    cases = pl.DataFrame(
        [_case(row, directions.get((row["benchmark"], row["scorer"], row["metric"]), True), margin)
         for row in rows.iter_rows(named=True)],
        schema=GATE,
    )  # fmt: skip
    verdicts = set(cases["verdict"])
    worst = next((verdict for verdict in (WORSE, UNDECIDED, PASS) if verdict in verdicts), UNDECIDED)
    about_the_data = compared.notes[compared.comparisons.height + compared.mcnemar.height :]
    return Gate(cases, worst, [*_rules(cases), *about_the_data])


def _directions(data: Data) -> dict[tuple[str, str, str], bool]:
    """Return whether higher is better, by benchmark, scorer and metric, as far as it is declared."""
    declared = data.metrics.join(data.runs.select("run_id", "benchmark"), on="run_id")
    directions = declared.group_by("benchmark", "scorer", "metric").agg(pl.col("higher_is_better").all())
    return {(benchmark, scorer, metric): higher for benchmark, scorer, metric, higher in directions.iter_rows()}


def _case(row: Mapping[str, Any], higher_is_better: bool, margin: float) -> dict[str, Any]:
    gain, low, high = row["difference"], row["ci_low"], row["ci_high"]
    if not higher_is_better:
        gain, low, high = _negative(gain), _negative(high), _negative(low)
    case = {
        **{name: row[name] for name in ("benchmark", "scorer", "metric", "n_questions", "conf_level", "flags")},
        "run_baseline": row["run_b"],
        "run_candidate": row["run_a"],
        "baseline": row["system_b"],
        "candidate": row["system_a"],
        "gain": gain,
        "gain_low": low,
        "gain_high": high,
        "margin": margin,
        "verdict": _verdict(low, high, margin),
    }
    return case | {"sentence": _sentence(case)}


def _negative(x: float | None) -> float | None:
    return None if x is None else 0.0 - x


def _verdict(low: float | None, high: float | None, margin: float) -> str:
    if low is None or high is None:
        return UNDECIDED
    if low >= -margin:
        return PASS
    return WORSE if high < -margin else UNDECIDED


def _sentence(case: Mapping[str, Any]) -> str:
    base, new = (_name(case, side) for side in ("baseline", "candidate"))
    worse = f"worse than {base}" + (f" by more than {case['margin']:g}" if case["margin"] else "")
    finding = {
        PASS: f"{new} is not {worse}",
        WORSE: f"{new} is {worse}",
        UNDECIDED: f"the data cannot tell whether {new} is {worse}",
    }[case["verdict"]]
    n = case["n_questions"]
    if n == 0:
        return f"{case['metric']}: {finding}: no scored question in common"
    questions = f"{n} question{'' if n == 1 else 's'}"
    if case["gain_low"] is None:
        return f"{case['metric']}: {finding}: gain {case['gain']:.4g}, no interval from {questions}"
    interval = f"[{case['gain_low']:.4g}, {case['gain_high']:.4g}]"
    return f"{case['metric']}: {finding}: gain {case['gain']:.4g} {interval} over {questions}"


def _name(case: Mapping[str, Any], side: str) -> str:
    run = case[f"run_{side}"]
    return f"{run}:{case[side]}" if run and case["run_baseline"] != case["run_candidate"] else str(case[side])


def _rules(cases: pl.DataFrame) -> Iterator[str]:
    yield (
        "A gain is an improvement in the metric's direction. A case passes where the whole interval of the gain lies "
        "at -margin or above, and is worse where all of it lies below"
    )
    if cases.height > 1:
        yield f"{cases.height} metrics are asked, each by itself, and the worst verdict decides"

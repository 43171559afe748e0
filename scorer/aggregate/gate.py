"""`scorer gate`: is a candidate no worse than a baseline, but for a margin? An answer with an exit code, for CI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from scorer.aggregate.compare import compare
from scorer.aggregate.data import Data
from scorer.aggregate.sides import find_sides, side_names, sides_of
from scorer.errors import ExitCode, UsageError

PASS, UNDECIDED, WORSE = "pass", "undecided", "worse"

EXIT_CODES = {PASS: ExitCode.DONE, UNDECIDED: ExitCode.GATE_UNDECIDED, WORSE: ExitCode.GATE_WORSE}
"""How the gate ends, from the best verdict to the worst: the worst of all cases decides."""

BASELINE_RUN, CANDIDATE_RUN = "baseline", "candidate"
"""What the runs of two stores are called when their sides are put together."""

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
    notice: str | None
    """What must be said before and after all else: that a run is simulated."""

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
    return Gate(cases, worst, [*_rules(cases), *compared.about_data], compared.notice)


def beside(baseline: tuple[Data, str | None], candidate: tuple[Data, str | None]) -> tuple[Data, str, str]:
    """Put a side of one store beside a side of another: return the scores of both, and the names to ask `gate` for.

    Each side is a store's scores and the name of a side in it (`SYSTEM`, or `RUN:SYSTEM`); None where it has only one.
    Its run is renamed, so that equal run ids in two stores stay two runs. Raises UsageError where a name is unknown, or
    none is given and there are several.
    """
    known = [sorted(data.scores["benchmark"].unique()) for data, _ in (baseline, candidate)]
    if not set(known[0]) & set(known[1]):
        raise UsageError(f"the baseline is of benchmark {known[0]}, the candidate of {known[1]}: nothing is in common")
    old, old_name = _only_side(*baseline, run=BASELINE_RUN)
    new, new_name = _only_side(*candidate, run=CANDIDATE_RUN)
    tables = {name: pl.concat([frame, new.sources()[name]]) for name, frame in old.sources().items()}
    return Data(**tables), old_name, new_name


def _only_side(data: Data, name: str | None, *, run: str) -> tuple[Data, str]:
    sides = sides_of(data)
    if name is None and sides.sides.height != 1:
        raise UsageError(
            f"the {run} holds {sides.sides.height} systems: name one, as PATH:SYSTEM or PATH:RUN:SYSTEM, of "
            f"{', '.join(side_names(sides))}"
        )
    chosen = sides.keep([1] if name is None else find_sides(sides, name)).members
    kept = {"scores": data.scores.join(chosen, on=["benchmark", "run_id", "system"], how="semi", maintain_order="left")}
    for table, frame in data.sources().items():
        if table != "scores":
            kept[table] = frame.join(chosen, on="run_id", how="semi", maintain_order="left")
    renamed = {table: frame.with_columns(run_id=pl.lit(run)) for table, frame in kept.items()}
    return Data(**renamed), f"{run}:{chosen['system'][0]}"


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
        **{name: row[name] for name in ("benchmark", "scorer", "metric", "n_questions", "conf_level")},
        "run_baseline": row["run_b"],
        "run_candidate": row["run_a"],
        "baseline": row["system_b"],
        "candidate": row["system_a"],
        "gain": gain,
        "gain_low": low,
        "gain_high": high,
        "margin": margin,
        "verdict": _verdict(low, high, margin),
        # The gate asks the interval, not a p.
        "flags": [flag for flag in row["flags"] if flag != "smallest_p_above_alpha"],
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
        "A gain is an improvement in the metric's direction, of the candidate's mean over the baseline's on their "
        "common questions, each question's repeats averaged first"
    )
    yield (
        "A case passes where the whole paired t interval of the gain lies at -margin or above, and is worse where all "
        "of it lies below"
    )
    if not cases["n_questions"].sum():
        yield "A common question has the same benchmark, scorer, metric, task and gold in both"
    if cases.height > 1:
        yield f"{cases.height} metrics are asked, each by itself, and the worst verdict decides"

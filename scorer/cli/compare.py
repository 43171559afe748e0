"""`scorer compare`: which system is better, by how much, how sure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.errors import UsageError

if TYPE_CHECKING:
    from scorer.aggregate import Data

FORMATS = ("text", "markdown", "json", "csv")


def compare(
    source: Annotated[
        Path, typer.Argument(metavar="STORE_OR_SCORES", help="A store, or scores as CSV, JSONL, Parquet.")
    ],
    systems: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Two sides, each SYSTEM or RUN:SYSTEM; the figures are A - B."),
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="Compare every other side with this one.")] = None,
    metric: Annotated[str | None, typer.Option(help="Show this metric only; p stays adjusted over all.")] = None,
    stratum: Annotated[
        list[str] | None, typer.Option(help="Compare in each level of this stratum too (of a file: this column).")
    ] = None,
    range: Annotated[  # noqa: A002
        list[str] | None,
        typer.Option(metavar="[METRIC=]LOW:HIGH[:lower]", help="A metric's range; `:lower` where lower is better."),
    ] = None,
    interval: Annotated[str, typer.Option(help="The interval of each system's mean.")] = "wilson_t",
    threshold: Annotated[
        float | None, typer.Option(help="Where a repeat passes, for pass@k and flip rate; else 0/1 metrics only.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="The level of the tests; intervals have 1 - alpha.")] = 0.05,
    seed: Annotated[int, typer.Option(help="The seed of what is drawn at random.")] = 0,
    pool_runs: Annotated[bool, typer.Option("--pool-runs", help="Take a system's runs together.")] = False,
    allow_mixed: Annotated[bool, typer.Option("--allow-mixed", help="Let simulated runs meet empirical ones.")] = False,
    format: Annotated[str, typer.Option(help=" | ".join(FORMATS))] = "text",  # noqa: A002
    to: Annotated[Path | None, typer.Option(help="Write the result to a file.")] = None,
) -> None:
    """Compare systems question by question: differences with intervals, exact tests, adjusted for how many there are.

    CSV holds the table of comparisons; JSON holds every table.

    Example: scorer compare results --baseline B2_standard_agent
    """
    from scorer import aggregate
    from scorer.cli.console import emit, one_of, terminal_width
    from scorer.formats import csv_text
    from scorer.report import comparison as written

    one_of("--format", format, FORMATS)
    strata = stratum or []
    data = with_ranges(aggregate.open_scores(source, strata=strata), range or [])
    made = aggregate.compare(
        data,
        systems=systems,
        baseline=baseline,
        metric=metric,
        strata=strata,
        method=interval,
        threshold=threshold,
        alpha=alpha,
        pool_runs=pool_runs,
        allow_mixed=allow_mixed,
        seed=seed,
    )
    if format == "csv":
        emit(csv_text(made.comparisons), to)
    elif format == "json":
        emit(written.comparison_json(made.tables, made.notes, made.notice), to)
    elif format == "markdown":
        emit(written.comparison_markdown(made.tables, made.notes, made.notice), to)
    else:
        width = terminal_width() if to is None else None
        emit(written.comparison_text(made.tables, made.notes, made.notice, width), to)


def with_ranges(data: Data, ranges: list[str]) -> Data:
    """Give metrics the ranges that were asked for: `0:100`, `points=0:130`, `seconds=0:60:lower`."""
    for text in ranges:
        metric, _, limits = text.rpartition("=")
        low, _, rest = limits.partition(":")
        high, _, direction = rest.partition(":")
        try:
            numbers = float(low), float(high)
        except ValueError:
            numbers = None
        if numbers is None or direction not in ("", "lower"):
            raise UsageError(
                f"--range {text}: write LOW:HIGH, METRIC=LOW:HIGH, or LOW:HIGH:lower where lower is better"
            )
        better = False if direction else None
        data = data.with_range(*numbers, metric=metric or None, higher_is_better=better)
    return data

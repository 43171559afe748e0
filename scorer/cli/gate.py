"""`scorer gate`: for CI, whether a candidate is no worse than a baseline, as an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.errors import UsageError

if TYPE_CHECKING:
    from scorer.aggregate import Data

FORMATS = ("text", "json", "junit")


def gate(
    baseline: Annotated[str, typer.Option(metavar="SIDE", help="What the candidate is held against.")],
    candidate: Annotated[str, typer.Option(metavar="SIDE", help="What is asked about.")],
    margin: Annotated[float, typer.Option(help="How much worse the candidate may be, in the metric's units.")],
    source: Annotated[
        Path | None, typer.Argument(metavar="STORE_OR_SCORES", help="A store, or scores as CSV, JSONL, Parquet.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="This metric; else the primary ones; else all.")] = None,
    range: Annotated[  # noqa: A002
        list[str] | None,
        typer.Option(metavar="[METRIC=]LOW:HIGH[:lower]", help="A metric's range; `:lower` where lower is better."),
    ] = None,
    alpha: Annotated[float, typer.Option(help="The interval of the gain has the level 1 - alpha.")] = 0.05,
    pool_runs: Annotated[bool, typer.Option("--pool-runs", help="Take a system's runs together.")] = False,
    allow_mixed: Annotated[bool, typer.Option("--allow-mixed", help="Let simulated runs meet empirical ones.")] = False,
    format: Annotated[str, typer.Option(help=" | ".join(FORMATS))] = "text",  # noqa: A002
    to: Annotated[Path | None, typer.Option(help="Write the result to a file.")] = None,
) -> None:
    """Decide whether the candidate is worse than the baseline by more than the margin; the worst metric decides.

    A SIDE is SYSTEM or RUN:SYSTEM in the store named first. Without a store each side has its own: PATH, PATH:SYSTEM or
    PATH:RUN:SYSTEM. Ends with 0 where the gain's whole interval is at -margin or above, 5 where it is below, else 6.

    Example: scorer gate results --baseline search_agent --candidate evidence_agent --margin 0.05
    """
    from scorer import aggregate
    from scorer.aggregate.gate import beside
    from scorer.aggregate.gate import gate as decide
    from scorer.cli.compare import with_ranges
    from scorer.cli.console import emit, one_of, terminal_width
    from scorer.report import gate as written

    one_of("--format", format, FORMATS)
    if source is not None:
        data = aggregate.open_scores(source)
    elif pool_runs:
        raise UsageError("--pool-runs goes with one store; of two stores, name a run each: PATH:RUN:SYSTEM")
    else:
        data, baseline, candidate = beside(_side(baseline), _side(candidate))
    made = decide(
        with_ranges(data, range or []),
        baseline=baseline,
        candidate=candidate,
        margin=margin,
        metric=metric,
        alpha=alpha,
        pool_runs=pool_runs,
        allow_mixed=allow_mixed,
    )
    if format == "json":
        emit(written.gate_json(made.cases, made.verdict, made.notes, made.notice), to)
    elif format == "junit":
        emit(written.gate_junit(made.cases, made.notes, made.notice), to)
    else:
        width = terminal_width() if to is None else None
        emit(written.gate_text(made.cases, made.verdict, made.notes, made.notice, width), to)
    raise typer.Exit(made.exit_code)


def _side(text: str) -> tuple[Data, str | None]:
    """Open `PATH`, `PATH:SYSTEM` or `PATH:RUN:SYSTEM`: the longest part that exists is the path."""
    from scorer import aggregate

    parts = text.split(":")
    for length in reversed(range(1, len(parts) + 1)):
        path = Path(":".join(parts[:length]))
        if path.exists():
            return aggregate.open_scores(path), ":".join(parts[length:]) or None
    raise UsageError(
        f"{text}: no store and no file of scores here; without a store named first, a side is PATH[:SYSTEM]"
    )

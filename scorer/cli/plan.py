"""`scorer plan`: what the present data could have shown, and the questions and repeats that a difference takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.errors import UsageError

if TYPE_CHECKING:
    from scorer.aggregate.planning import Aim, Plan, Spread

FORMATS = ("text", "markdown", "json", "csv")


def plan(
    source: Annotated[
        Path | None, typer.Argument(metavar="STORE_OR_SCORES", help="A store, or scores as CSV, JSONL, Parquet.")
    ] = None,
    difference: Annotated[float | None, typer.Option(help="The smallest difference that matters.")] = None,
    systems: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Two sides, each SYSTEM or RUN:SYSTEM.")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="Plan every other side against this one.")] = None,
    metric: Annotated[str | None, typer.Option(help="This metric only.")] = None,
    repeats: Annotated[
        list[int] | None, typer.Option(metavar="K", help="What if there were K repeats; may be given several times.")
    ] = None,
    questions: Annotated[int | None, typer.Option(min=2, help="Without data: what N questions could show.")] = None,
    sd: Annotated[
        float | None, typer.Option(help="Without data: the standard deviation of a question's difference.")
    ] = None,
    variances: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="QUESTIONS REPEATS",
            help="Without data: the variance of the true difference over questions, and of a question's repeats.",
        ),
    ] = None,
    discordant: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A_ONLY B_ONLY", help="Without data: shares of tasks that one side alone passes."),
    ] = None,
    alpha: Annotated[float, typer.Option(help="The level of the two-sided test.")] = 0.05,
    power: Annotated[float, typer.Option(help="The chance to see a difference that is there.")] = 0.8,
    pool_runs: Annotated[bool, typer.Option("--pool-runs", help="Take a system's runs together.")] = False,
    allow_mixed: Annotated[bool, typer.Option("--allow-mixed", help="Let simulated runs meet empirical ones.")] = False,
    format: Annotated[str, typer.Option(help=" | ".join(FORMATS))] = "text",  # noqa: A002
    to: Annotated[Path | None, typer.Option(help="Write the result to a file.")] = None,
) -> None:
    """Say how many questions and repeats it takes to see a difference, and what the present data could have shown.

    The variance comes from scores at hand, or from one of --sd, --variances and --discordant.

    Example: scorer plan results --difference 0.1 --systems evidence_agent search_agent
    """
    from scorer import aggregate
    from scorer.aggregate import planning
    from scorer.cli.console import emit, one_of, terminal_width
    from scorer.formats import csv_text
    from scorer.report import plan as written

    one_of("--format", format, FORMATS)
    if sum(given is not None for given in (source, sd, variances, discordant)) != 1:
        raise UsageError("give one of: a store or file of scores, --sd, --variances, --discordant")
    if discordant is not None and difference is None:
        difference = abs(discordant[0] - discordant[1]) or None
    aim = planning.Aim(difference, tuple(repeats or planning.REPEATS), alpha, power)
    if source is None:
        made = _without_data(_spread(sd, variances, discordant, questions), aim)
    elif questions is not None:
        raise UsageError("--questions goes without data; the questions of data are counted")
    else:
        made = planning.plan(
            aggregate.open_scores(source),
            aim,
            systems=systems,
            baseline=baseline,
            metric=metric,
            pool_runs=pool_runs,
            allow_mixed=allow_mixed,
        )
    if format == "csv":
        emit(csv_text(made.plan), to)
    elif format == "json":
        emit(written.plan_json(made.plan, made.notes, made.notice), to)
    elif format == "markdown":
        emit(written.plan_markdown(made.plan, made.notes, made.notice), to)
    else:
        emit(written.plan_text(made.plan, made.notes, made.notice, terminal_width() if to is None else None), to)


def _without_data(spread: Spread, aim: Aim) -> Plan:
    from scorer.aggregate import planning

    if aim.difference is None and spread.n_questions is None:
        raise UsageError(
            "give --difference, to learn how many questions it takes, or --questions, to learn what they show"
        )
    return planning.plan_from([spread], aim)


def _spread(
    sd: float | None,
    variances: tuple[float, float] | None,
    discordant: tuple[float, float] | None,
    questions: int | None,
) -> Spread:
    from scorer.aggregate.planning import Spread

    if sd is not None:
        if sd <= 0:
            raise UsageError(f"--sd {sd:g}: a standard deviation is above 0")
        return Spread(variance=sd**2, n_questions=questions)
    if variances is not None:
        between, within = variances
        if min(variances) < 0 or max(variances) == 0:
            raise UsageError(f"--variances {between:g} {within:g}: variances are 0 or more, and one of them above 0")
        return Spread(
            variance=between + 2 * within,
            repeats_a=1,
            repeats_b=1,
            var_questions=between,
            var_repeats_a=within,
            var_repeats_b=within,
            n_questions=questions,
        )
    assert discordant is not None  # noqa: S101  (one of the three is given)
    only_a, only_b = discordant
    return Spread(
        variance=only_a + only_b - (only_a - only_b) ** 2, n_questions=questions, only_a=only_a, only_b=only_b
    )

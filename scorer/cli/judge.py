"""`scorer judge`: judgements of a rubric in, and how good the judges are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.errors import ExitCode

if TYPE_CHECKING:
    import polars as pl

    from scorer.pipeline.judging import JudgeAccount

FORMATS = ("text", "markdown", "json", "csv")
UNKNOWN_TASK = ("error", "skip")
_SHOWN = 10

app = typer.Typer(name="judge", help="Judgements by a rubric: import them, and see how good the judges are.")


@app.callback()
def _commands() -> None:
    """Judgements by a rubric: import them, and see how good the judges are."""


@app.command("import")
def import_(
    sources: Annotated[list[Path], typer.Argument(help="Files of judgements: JSONL, JSON array, CSV, Parquet.")],
    pack: Annotated[str, typer.Option(help="A built-in pack with a rubric, or the folder of your own.")],
    out: Annotated[Path, typer.Option(help="The store to put them into; made if absent.")],
    mapping: Annotated[Path | None, typer.Option(help="TOML: what the files call things.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="The file of tasks, with their levels.")] = None,
    policy: Annotated[str | None, typer.Option(help="How evaluations are averaged; the rubric's unless said.")] = None,
    min_evaluations: Annotated[
        int | None, typer.Option(min=1, help="Evaluations that a verdict needs; the rubric's number unless said.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="The run that was judged, or the id of a new one.")] = None,
    mode: Annotated[str | None, typer.Option(help="empirical or simulated, where the source does not say.")] = None,
    unknown_task: Annotated[str, typer.Option(help=" | ".join(UNKNOWN_TASK))] = "error",
    strict: Annotated[bool, typer.Option("--strict", help="Fail where a reported sum is not the sum.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put these in the place of the judges' earlier ones.")
    ] = False,
) -> None:
    """Import judgements and score them by a rubric; into the run that was judged, or as a run of their own.

    Example: scorer judge import judgements.jsonl --pack gis-bench --tasks tasks.jsonl --out results
    """
    from scorer.cli.console import one_of
    from scorer.pipeline.judging import import_judgements

    one_of("--unknown-task", unknown_task, UNKNOWN_TASK)
    account = import_judgements(
        sources,
        pack,
        out,
        mapping=mapping,
        tasks=tasks,
        policy=policy,
        min_evaluations=min_evaluations,
        run_id=run,
        mode=mode,
        skip_unknown_tasks=unknown_task == "skip",
        strict=strict,
        replace=replace,
    )
    tell(account)
    raise typer.Exit(ExitCode.DONE if account.complete else ExitCode.PARTLY)


@app.command("quality")
def quality(
    store: Annotated[Path, typer.Argument(help="The store.")],
    run: Annotated[str | None, typer.Option(help="The run, where the store holds several.")] = None,
    pack: Annotated[str | None, typer.Option(help="The rubric's pack, where the run was judged by several.")] = None,
    format: Annotated[str, typer.Option(help=" | ".join(FORMATS))] = "text",  # noqa: A002
    to: Annotated[Path | None, typer.Option(help="Write to a file; CSV gives the agreement only.")] = None,
) -> None:
    """Say how far judges agree with themselves, each other and people, and which verdicts are fragile.

    Example: scorer judge quality results --format json
    """
    from scorer.cli.console import emit, one_of, terminal_width
    from scorer.formats import csv_text
    from scorer.pipeline.judged import judge_report
    from scorer.report import judged as written

    one_of("--format", format, FORMATS)
    made = judge_report(store, run_id=run, pack=pack)
    if format == "csv":
        emit(csv_text(made.tables["agreement"]), to)
    elif format == "json":
        emit(written.quality_json(made.tables, made.notes, made.notice), to)
    elif format == "markdown":
        emit(written.quality_markdown(made.tables, made.notes, made.notice), to)
    else:
        width = terminal_width() if to is None else None
        emit(written.quality_text(made.tables, made.notes, made.notice, width), to)


def tell(account: JudgeAccount) -> None:
    """Print the account of an import: what was read, what passed, what other rules would turn, what to do next."""
    import shlex

    from scorer.cli.console import say, say_rest
    from scorer.rubric import turned

    statuses = ", ".join(f"{count:,} {status}" for status, count in account.statuses.items())
    say(f"run       {account.run_id} ({account.mode}), scored by {', '.join(account.scorers) or 'nobody'}")
    say(f"read      {sum(account.statuses.values()):,} evaluations: {statuses or 'none'}")
    if account.published:
        say(f"published {account.published:,} figures without evaluations: shown, never tested")
    if account.unchanged:
        say(f"unchanged {account.unchanged:,} of them were in the store")
    for line in coverage(account.verdicts, account.judging.policy):
        say(f"verdicts  {line}")
    if account.scorers:
        counts = turned(account.verdicts, account.judging.policy)
        others = ", ".join(f"{policy} {count}" for policy, count in counts.items())
        say(f"policies  verdicts that others would turn: {others}")
    say_rest([f"{bad.source} {bad.place}: {bad.rule}: {bad.detail}" for bad in account.refused], account.flags)
    place = shlex.quote(str(account.store))
    mine = f" --run {shlex.quote(account.run_id)}" + "".join(f" --scorer {shlex.quote(s)}" for s in account.scorers[:1])
    say(f"store     {account.store}")
    say(f"next      scorer report {place}{mine}; scorer compare {place}; scorer judge quality {place}")


def coverage(verdicts: pl.DataFrame, policy: str) -> list[str]:
    """Return a line for each judge and system: passes, tasks with a verdict, the bounds, and the tasks without one."""
    import polars as pl

    lines = []
    mine = verdicts.filter(pl.col("policy") == policy)
    for (judge, system), rows in mine.group_by("judge_id", "system", maintain_order=True):
        given, passed = rows["passed"].count(), int(rows["passed"].sum() or 0)
        line = f"{system}: {passed} of {given} pass ({judge})"
        if missing := rows.height - given:
            unjudged = rows.filter(pl.col("passed").is_null())["task_id"].unique()
            tasks = sorted(unjudged, key=lambda task: (int(task) if task.isdecimal() else 0, task))
            shown = ", ".join(tasks[:_SHOWN]) + (f" and {len(tasks) - _SHOWN} more" if len(tasks) > _SHOWN else "")
            low, high = passed / rows.height, (passed + missing) / rows.height
            line += (
                f"; {missing} of {rows.height} without a verdict, pass rate in [{low:.3f}, {high:.3f}]: tasks {shown}"
            )
        lines.append(line)
    return lines

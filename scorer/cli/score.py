"""`scorer score`: attempts and golds in, a run in the store out, and a short account of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.errors import ExitCode

if TYPE_CHECKING:
    from scorer.pipeline import Account


def score(
    sources: Annotated[list[str], typer.Argument(help="Run folders or files of attempts; - reads JSONL from stdin.")],
    pack: Annotated[str, typer.Option(help="A built-in pack's name, or the folder of your own.")],
    out: Annotated[Path, typer.Option(help="The store to put the run into; made if absent.")],
    golds: Annotated[Path | None, typer.Option(help="Golds: a folder, JSONL, JSON or Parquet.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="The file of tasks (questions), with their strata.")] = None,
    ruleset: Annotated[str | None, typer.Option(help="One of the pack's rulesets.")] = None,
    run: Annotated[str | None, typer.Option(help="The run's id, where the source names none.")] = None,
    mode: Annotated[str | None, typer.Option(help="empirical or simulated, where the source does not say.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put other attempts in the place of the run's.")] = False,
    update: Annotated[bool, typer.Option("--update", help="Score only what is new or changed.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Workers; as many as cores unless said.")] = None,
    profile: Annotated[bool, typer.Option("--profile", help="Print the share of each step of the work.")] = False,
) -> None:
    """Score stored attempts by a pack and put the run into a store, whole or not at all.

    Example: scorer score run-01/ --pack eduevidence --golds golds/ --out results
    """
    from scorer import pipeline
    from scorer.cli.console import progress_bar

    with progress_bar("scoring") as progress:
        account = pipeline.score(
            sources,
            pack,
            out,
            golds=golds,
            tasks=tasks,
            ruleset=ruleset,
            run_id=run,
            mode=mode,
            replace=replace,
            update=update,
            threads=threads,
            progress=progress,
        )
    tell(account)
    if profile:
        tell_steps(account)
    raise typer.Exit(ExitCode.DONE if account.complete else ExitCode.PARTLY)


def tell(account: Account) -> None:
    """Print the account of a run: what was read, scored, left out and why, where it is, and what to do next."""
    import shlex

    from scorer.cli.console import say, say_rest

    say(f"run       {account.run_id} ({account.mode}), scored by {account.scorer}")
    say(f"read      {account.read:,} attempts")
    say(f"scored    {account.scored:,}")
    for reason, count in sorted(account.unscored.items(), key=lambda item: (-item[1], item[0])):
        say(f"unscored  {count:,}: {reason}")
    say_rest([f"{refused.source} {refused.place}: {refused.detail}" for refused in account.refused], account.flags)
    place = shlex.quote(str(account.store))
    say(f"store     {account.store}")
    say(f"next      scorer report {place}")


def tell_steps(account: Account) -> None:
    """Print where the time went; workers' seconds add up, so the sum may exceed the time that passed."""
    from scorer.cli.console import say

    for name, seconds, share in account.steps.shares():
        say(f"step      {share:6.1%}  {seconds:8.2f} s  {name}")

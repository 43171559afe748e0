"""`scorer check`: all that is wrong with an input, without scoring or writing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def check(
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="Run folders, files of attempts or judgements, folders of packs; - for JSONL on stdin."),
    ] = None,
    pack: Annotated[str | None, typer.Option(help="The pack by which the sources are read.")] = None,
    golds: Annotated[Path | None, typer.Option(help="Golds: a folder, JSONL, JSON or Parquet.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="The file of tasks (questions).")] = None,
    mapping: Annotated[Path | None, typer.Option(help="How a foreign file of judgements names things.")] = None,
) -> None:
    """List everything wrong with an input, one finding a line; nothing is scored and nothing written.

    Example: scorer check run-01/ --pack eduevidence --golds golds/
    """
    from scorer.cli.console import emit, say
    from scorer.pipeline.checking import check as run_check

    checked = run_check(sources or [], pack=pack, golds=golds, tasks=tasks, mapping=mapping)
    emit("".join(f"{finding}\n" for finding in checked.findings), None)
    for line in checked.looked_at:
        say(f"checked   {line}")
    found = ", ".join(f"{count:,} × {kind}" for kind, count in sorted(checked.counts.items()))
    say(f"found     {found or 'nothing wrong'}")
    raise typer.Exit(checked.exit_code)

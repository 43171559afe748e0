"""`scorer report`: one run's results as text, Markdown, JSON or in the benchmark's own form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FORMATS = ("text", "markdown", "json", "eduevidence")


def report(
    store: Annotated[Path, typer.Argument(help="The store.")],
    run: Annotated[str | None, typer.Option(help="The run, where the store holds several.")] = None,
    scorer: Annotated[str | None, typer.Option(help="The scorer, where the run has scores of several.")] = None,
    format: Annotated[str, typer.Option(help=" | ".join(FORMATS))] = "text",  # noqa: A002
    to: Annotated[Path | None, typer.Option(help="Write the report to a file.")] = None,
) -> None:
    """Report a run: each system's mean with an honest interval, by stratum too, what was not scored and why, the cost.

    Example: scorer report results --format markdown --to report.md
    """
    from scorer import pipeline
    from scorer.cli.console import emit, one_of, terminal_width
    from scorer.formats import json_text
    from scorer.report import to_json, to_markdown, to_text

    one_of("--format", format, FORMATS)
    if format == "eduevidence":
        emit(pipeline.eduevidence_report(store, run_id=run), to)
        return
    made = pipeline.report(store, run_id=run, scorer=scorer)
    if format == "text":
        emit(to_text(made, terminal_width() if to is None else None), to)
    else:
        emit(to_markdown(made) if format == "markdown" else json_text(to_json(made), indent=2) + "\n", to)

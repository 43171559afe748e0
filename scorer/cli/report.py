"""`scorer report`: one run's results as text, Markdown, JSON, a page, pictures, or in the benchmark's own form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scorer.errors import UsageError

FORMATS = ("text", "markdown", "json", "html", "eduevidence")


def report(
    source: Annotated[
        Path, typer.Argument(metavar="STORE_OR_SCORES", help="A store, or scores as CSV, JSONL, Parquet.")
    ],
    run: Annotated[str | None, typer.Option(help="The run, where there are several.")] = None,
    scorer: Annotated[str | None, typer.Option(help="The scorer, where the run has scores of several.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="In page and pictures: compare every other system with this one.")
    ] = None,
    format: Annotated[str, typer.Option(help=" | ".join(FORMATS))] = "text",  # noqa: A002
    to: Annotated[Path | None, typer.Option(help="Write the report to a file.")] = None,
    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the page's pictures into this folder too, as SVG and PNG.")
    ] = None,
) -> None:
    """Report a run: each system's mean with an honest interval, by stratum too, what was not scored and why, the cost.

    The format html is one page with pictures, comparisons, questions and answers, without script or network.

    Example: scorer report results --format html --to report.html
    """
    from scorer.cli.console import emit, one_of, terminal_width
    from scorer.formats import json_text
    from scorer.pipeline import stored
    from scorer.report import to_json, to_markdown, to_text

    one_of("--format", format, FORMATS)
    if baseline is not None and format != "html" and charts is None:
        raise UsageError("--baseline goes with --format html or --charts; `scorer compare --baseline` prints the same")
    if format == "html" or charts is not None:
        page = _draw(source, run, scorer, baseline, charts, page=format == "html")
        if page is not None:
            emit(page, to)
            return
    if format == "eduevidence":
        emit(stored.eduevidence_report(source, run_id=run), to)
        return
    made = stored.report(source, run_id=run, scorer=scorer)
    if format == "text":
        emit(to_text(made, terminal_width() if to is None else None), to)
    else:
        emit(to_markdown(made) if format == "markdown" else json_text(to_json(made), indent=2) + "\n", to)


def _draw(
    source: Path, run: str | None, scorer: str | None, baseline: str | None, charts: Path | None, *, page: bool
) -> str | None:
    """Write the pictures where a folder is named, and return the page if it is asked for."""
    from scorer.cli.console import say
    from scorer.report.extra import require_extra

    require_extra()
    from scorer.pipeline.results import results
    from scorer.report.charts import pictures, write_files

    made = results(source, run_id=run, scorer=scorer, baseline=baseline)
    if charts is not None:
        for path in write_files(pictures(made), charts, made.report.notice):
            say(f"wrote {path}")
    if not page:
        return None
    from scorer.report.html import to_html

    return to_html(made)

"""`scorer explain`: why one attempt has the values that it has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

FORMATS = ("text", "json")


def explain(
    store: Annotated[Path, typer.Argument(help="The store.")],
    attempt_id: Annotated[str, typer.Argument(help="The attempt's id; the table attempts lists them.")],
    run: Annotated[str | None, typer.Option(help="The run, where the store holds several.")] = None,
    pack: Annotated[
        str | None, typer.Option(help="The folder of the pack that scored the run, where it is not a built-in one.")
    ] = None,
    format: Annotated[str, typer.Option(help=" | ".join(FORMATS))] = "text",  # noqa: A002
) -> None:
    """Show for each metric of an attempt what decided its value, and where in the answer it stands.

    Example: scorer explain results Q01-B2_standard_agent-a1
    """
    from scorer.cli.console import emit, one_of
    from scorer.explain.printing import explanation_text
    from scorer.formats import json_text
    from scorer.pipeline import stored

    one_of("--format", format, FORMATS)
    explanation = stored.explain(store, attempt_id, run_id=run, pack=pack)
    if format == "json":
        emit(json_text(explanation.as_dict(), indent=2) + "\n", None)
    elif sys.stdout.isatty():
        from rich.console import Console

        Console(soft_wrap=True).print(explanation_text(explanation))
    else:
        emit(explanation_text(explanation).plain, None)

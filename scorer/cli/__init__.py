"""The command line: one module a command; this one owns the app and the exit codes.

Modules import what is heavy inside their functions, so that `scorer --help` answers at once.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from scorer import __version__
from scorer.cli import check, compare, demo, explain, export, gate, judge, packs, plan, report, score, sql
from scorer.errors import ExitCode, ScorerError

app = typer.Typer(
    name="scorer",
    help="Score stored answers of models and agents in batches, and say which system is better, by how much, how sure.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


INTERRUPTED = 130
"""What Typer ends with after Ctrl-C, as shells expect it."""


def _version(asked: bool) -> None:
    if asked:
        print(f"scorer {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before any command."""


app.command("score")(score.score)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("gate")(gate.gate)
app.command("plan")(plan.plan)
app.command("sql")(sql.sql)
app.command("export")(export.export)
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("packs")(packs.packs)
app.add_typer(judge.app)
app.command("demo")(demo.demo)


def main() -> None:
    """Run the command line; every error that is ours ends in its sentence on stderr and its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app()
    except ScorerError as error:
        from scorer.cli.console import say

        say(f"error: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of our output went away: `scorer sql … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.DONE)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            print("interrupted; the same command again goes on where it stopped", file=sys.stderr)
        raise
    except Exception as error:  # the last resort: a person gets a sentence, never a traceback
        from scorer.cli.console import say

        say(f"error: a fault of scorer itself: {type(error).__name__}: {error} ({_where(error)}); please report it")
        sys.exit(ExitCode.FAILED)


def _where(error: Exception) -> str:
    """Return the last place in our own code that the error went through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "scorer" in Path(frame.filename).parts]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "outside scorer"

"""`scorer demo`: the bundled samples scored, summarised and compared, and what to try on them next."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import polars as pl

EDUEVIDENCE, GIS_BENCH = "eduevidence", "gis-bench"
_SYSTEMS = ("evidence_agent", "direct_answer")
"""The two of the first sample that are compared."""


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the results; made if absent.")] = Path("scorer-demo"),
) -> None:
    """Score the bundled samples, print a summary and a comparison, and say what to try next.

    Example: scorer demo
    """
    command = _command()
    _eduevidence(out / EDUEVIDENCE, command)
    _gis_bench(out / GIS_BENCH, command)
    _section("What to try next")
    edu, gis = shlex.quote(str(out / EDUEVIDENCE)), shlex.quote(str(out / GIS_BENCH))
    for line, what in (
        (f"report {edu}", "everything, by stratum too"),
        (f"report {edu} --format html --to report.html", "the same as a page with pictures"),
        (f"explain {edu} E01-evidence_agent-1", "what decided the values of one answer"),
        (f"sql {edu}", "a prompt for any question"),
        (f"compare {gis}", "verdicts pair by pair, with McNemar's test"),
        (f"judge quality {gis}", "how far the judge can be trusted"),
    ):
        print(f"  {command} {line}\n      {what}")


def _eduevidence(store: Path, command: str) -> None:
    from scorer import aggregate, assets, pipeline
    from scorer.cli.console import terminal_width
    from scorer.formats import text_table
    from scorer.pipeline import stored

    sample = assets.datasets_folder() / EDUEVIDENCE / "sample"
    _section("EduEvidence: answers against gold annotations")
    _show(f"{command} score {_short(sample)} --pack {EDUEVIDENCE} --out {store}")
    account = pipeline.score(sample, EDUEVIDENCE, store)
    print(f"read {account.read} attempts, scored {account.scored}; the results lie in {store}")
    for reason, count in sorted(account.unscored.items()):
        print(f"  {count} unscored: {reason}")
    report = stored.report(store)
    print(f"\n{report.notice}\nMean of each question's repeats, then over questions, with its 95% interval:\n")
    print(text_table(_means(report.overall), terminal_width()))
    _show(f"{command} compare {store} --systems {' '.join(_SYSTEMS)}")
    compared = aggregate.compare(aggregate.open_scores(store), systems=_SYSTEMS)
    _sentences(compared.notes[: compared.comparisons.height], report.notice)


def _gis_bench(store: Path, command: str) -> None:
    from scorer import aggregate, assets
    from scorer.cli.console import terminal_width
    from scorer.formats import text_table
    from scorer.pipeline import stored
    from scorer.pipeline.judging import import_judgements
    from scorer.report.judged import leaderboard_tables

    sample = assets.datasets_folder() / GIS_BENCH / "sample"
    judgements, tasks = sample / "judgements.jsonl", sample / "tasks.jsonl"
    _section("GIS-Bench: maps judged on seven criteria, three times each")
    _show(f"{command} judge import {_short(judgements)} --tasks {_short(tasks)} --pack {GIS_BENCH} --out {store}")
    account = import_judgements([judgements], GIS_BENCH, store, tasks=tasks)
    counted = ", ".join(f"{count} {status}" for status, count in sorted(account.statuses.items()))
    print(f"read {sum(account.statuses.values())} evaluations: {counted}; the results lie in {store}")
    report = stored.report(store)
    print(f"\n{report.notice}\n")
    if report.leaderboard is not None:
        title, board = next(iter(leaderboard_tables(report.leaderboard, report.metrics)))
        print(f"{title}\n\n{text_table(board, terminal_width())}")
    _show(f"{command} compare {store} --metric passed")
    compared = aggregate.compare(aggregate.open_scores(store), metric="passed")
    rows = compared.comparisons.height + compared.mcnemar.height
    _sentences(compared.notes[:rows], report.notice)


def _means(overall: pl.DataFrame) -> pl.DataFrame:
    """Return a row a metric and a column a system: the mean and its interval."""
    import polars as pl

    number = (pl.col(name).round(2).map_elements(lambda value: f"{value:.2f}", pl.String) for name in _NUMBERS)
    cells = overall.select("metric", "system", pl.format("{} [{}, {}]", *number).alias("cell"))
    return cells.pivot("system", index="metric", values="cell", maintain_order=True)


_NUMBERS = ("mean", "ci_low", "ci_high")


def _sentences(notes: Sequence[str], notice: str | None) -> None:
    import textwrap

    from scorer.cli.console import terminal_width

    for note in notes:
        width = terminal_width() or 120
        print(textwrap.fill(f"- {note}", width, subsequent_indent="  ", break_on_hyphens=False))
    print(f"\n{notice}")


def _section(title: str) -> None:
    print(f"\n{title}\n{'═' * len(title)}\n")


def _show(command: str) -> None:
    print(f"$ {command}")


def _short(path: Path) -> Path:
    """Return the path as it is called from here, where it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _command() -> str:
    """Return how this command can be called again from here."""
    if shutil.which("scorer"):
        return "scorer"
    called = Path(sys.argv[0])
    return str(called) if called.name == "scorer" else "python -m scorer"

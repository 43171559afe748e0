"""Leaderboards of judged runs and the quality of their judges, for people and programs. Frames in, text out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from scorer.metrics.rubric import SCORE
from scorer.report.page import (
    Columns,
    Row,
    cell,
    flags,
    interval,
    number,
    page_json,
    page_markdown,
    page_text,
    readable,
)

Tables = Mapping[str, pl.DataFrame]
"""The tables of `scorer.aggregate.judges.Quality` by name: agreement, fragile, drift, drift_verdicts, labels."""


def leaderboard_tables(board: pl.DataFrame, metrics: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield a leaderboard as headed tables for the eye: all tasks, the criteria, then each stratum."""
    overall = board.filter(pl.col("stratum").is_null())
    yield "Leaderboard", readable(overall, _BOARD_COLUMNS)
    means: Columns = {"system": cell("system"), **{name: number(name) for name in metrics if name in board.columns}}
    yield "Mean points by criterion", readable(overall, means)
    for stratum in board["stratum"].drop_nulls().unique().sort():
        rows = board.filter(pl.col("stratum") == stratum)
        yield f"Leaderboard by {stratum}", readable(rows, {stratum: cell("level"), **_BOARD_COLUMNS})


def published_table(figures: pl.DataFrame) -> pl.DataFrame:
    """Return published figures for the eye."""
    named = {"published by": "published_by", "system": "system", "stratum": "stratum", "level": "level"}
    numbers = {"passes": "pass_rate", "tasks passed": "passes", "tasks": "n_tasks", "mean score": "mean_score"}
    columns: Columns = {title: cell(name) for title, name in named.items()}
    columns = {**columns, **{title: number(name) for title, name in numbers.items() if name in figures.columns}}
    return readable(figures, columns)


def quality_text(tables: Tables, notes: Sequence[str], notice: str | None, width: int | None) -> str:
    """Return the quality of judges for a terminal `width` columns wide (None: as wide as it needs)."""
    return page_text(_readable_tables(tables), notes, notice, width)


def quality_markdown(tables: Tables, notes: Sequence[str], notice: str | None) -> str:
    """Return the quality of judges as Markdown."""
    return page_markdown(_readable_tables(tables), notes, notice)


def quality_json(tables: Tables, notes: Sequence[str], notice: str | None) -> str:
    """Return one object: the tables as lists of rows under their names, and the sentences under `notes`."""
    return page_json(tables, notes, notice)


def _readable_tables(tables: Tables) -> Iterator[tuple[str, pl.DataFrame]]:
    by_itself = tables["agreement"].filter(pl.col("judge_id").is_not_null())
    together = tables["agreement"].filter(pl.col("judge_id").is_null())
    yield "Judges with themselves: evaluations of one output", readable(by_itself, _REPEAT_COLUMNS)
    yield "Use of the scale", readable(by_itself, _USE_COLUMNS)
    if together.height:
        yield "Judges with each other", readable(together, _JUDGE_COLUMNS)
    if tables["drift"].height:
        yield "From judge to judge: means over the outputs that both judged", readable(tables["drift"], _DRIFT_COLUMNS)
        yield "From judge to judge: verdicts", readable(tables["drift_verdicts"], _TURN_COLUMNS)
    labelled = tables["labels"].filter(pl.col("n_units") > 0)
    if labelled.height:
        yield "Judges against people", readable(labelled, _LABEL_COLUMNS)
    if tables["fragile"].height:
        yield "Fragile verdicts", readable(tables["fragile"], _FRAGILE_COLUMNS)


def _share(name: str) -> Columns:
    return {name.replace("_", " "): lambda row: None if row[name] is None else f"{row[name]:.1%}"}


def _criterion(row: Row) -> str:
    return "score and verdict" if row["criterion"] == SCORE else str(row["criterion"])


def _system(row: Row) -> str:
    return row["system"] or "all"


_BOARD_COLUMNS: Columns = {
    "rank": cell("rank"),
    "system": cell("system"),
    "passes": number("pass_rate"),
    "95% interval": interval("pass_low", "pass_high"),
    "tasks": cell("n_tasks"),
    "no verdict": lambda row: row["n_missing"] or None,
    "bounds": lambda row: interval("pass_bound_low", "pass_bound_high")(row) if row["n_missing"] else None,
    "mean score": number("mean_score"),
    "its interval": interval("score_low", "score_high"),
    "cannot be told from": lambda row: ", ".join(row["tied_with"]) or None,
}

_REPEAT_COLUMNS: Columns = {
    "judge": cell("judge_id"),
    "system": _system,
    "criterion": _criterion,
    "outputs": cell("n_units"),
    "evaluations": cell("n_judgements"),
    "within sd": number("within_sd"),
    "ICC(1,1)": number("icc1"),
    "ICC(1,k)": number("icc1_k"),
    "α": number("alpha_interval"),
    "same verdict": number("percent_agreement"),
    "κ": number("fleiss_kappa"),
    "AC1": number("ac1"),
    "flags": flags,
}

_USE_COLUMNS: Columns = {
    "judge": cell("judge_id"),
    "system": _system,
    "criterion": _criterion,
    "mean": number("mean"),
    "most": number("max_points"),
    **_share("share_at_max"),
    **_share("share_at_zero"),
}

_JUDGE_COLUMNS: Columns = {
    "system": _system,
    "criterion": _criterion,
    "judges": cell("n_judges"),
    "outputs": cell("n_units"),
    "ICC(2,1)": number("icc2"),
    "ICC(2,k)": number("icc2_k"),
    "α": number("alpha_interval"),
    "same verdict": number("percent_agreement"),
    "κ": number("fleiss_kappa"),
    "AC1": number("ac1"),
    "flags": flags,
}

_DRIFT_COLUMNS: Columns = {
    "A": cell("judge_a"),
    "B": cell("judge_b"),
    "metric": cell("metric"),
    "outputs": cell("n_attempts"),
    "tasks": cell("n_tasks"),
    "A - B": number("difference"),
    "t interval": interval("ci_low", "ci_high"),
    "p": number("p_value"),
    "adjusted": number("p_adjusted"),
}

_TURN_COLUMNS: Columns = {
    "A": cell("judge_a"),
    "B": cell("judge_b"),
    "outputs": cell("n_attempts"),
    "both pass": cell("both_pass"),
    "A only": cell("a_only"),
    "B only": cell("b_only"),
    "both fail": cell("both_fail"),
    "exact p": number("p_exact"),
}

_LABEL_COLUMNS: Columns = {
    "judge": cell("judge_id"),
    "system": _system,
    "outputs": cell("n_units"),
    "without label": lambda row: row["n_dropped"] or None,
    "same verdict": number("percent_agreement"),
    "κ": number("kappa"),
    "κ interval": interval("kappa_low", "kappa_high"),
    "sensitivity": number("sensitivity"),
    "its interval": interval("sensitivity_low", "sensitivity_high"),
    "specificity": number("specificity"),
    "interval of it": interval("specificity_low", "specificity_high"),
    "flags": flags,
}

_FRAGILE_COLUMNS: Columns = {
    "judge": cell("judge_id"),
    "system": cell("system"),
    "task": cell("task_id"),
    "attempt": cell("repeat"),
    "passing": lambda row: f"{row['n_passing']} of {row['n_evaluations']}",
    "mean score": number("mean_score"),
    "standard error": number("standard_error"),
    "why": cell("why"),
}

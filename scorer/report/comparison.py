"""A comparison of systems for people and programs: as text, Markdown, JSON and CSV. Frames in, text out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from scorer.formats import cell_text
from scorer.report.page import (
    Columns,
    Row,
    cell,
    flags,
    interval,
    number,
    page_html,
    page_json,
    page_markdown,
    page_text,
    readable,
    scored_by,
    side,
)

Tables = Mapping[str, pl.DataFrame]
"""The tables of a comparison by name: summary, comparisons, mcnemar, variance, reliability."""


def comparison_text(tables: Tables, notes: Sequence[str], notice: str | None, width: int | None) -> str:
    """Return the comparison for a terminal `width` columns wide (None: as wide as it needs)."""
    return page_text(_readable_tables(tables), notes, notice, width)


def comparison_markdown(tables: Tables, notes: Sequence[str], notice: str | None) -> str:
    """Return the comparison as Markdown."""
    return page_markdown(_readable_tables(tables), notes, notice)


def comparison_html(tables: Tables, notes: Sequence[str], notice: str | None) -> str:
    """Return the comparison as a piece of HTML, for a notebook."""
    return page_html(_readable_tables(tables), notes, notice)


def comparison_json(tables: Tables, notes: Sequence[str], notice: str | None) -> str:
    """Return one object: the tables as lists of rows under their names, and the sentences under `notes`."""
    return page_json({name: _by_run(frame) for name, frame in tables.items()}, notes, notice)


def _by_run(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the runs of the two sides where they are the same in every row."""
    if "run_a" in frame.columns and frame["run_a"].eq_missing(frame["run_b"]).all():
        return frame.drop("run_a", "run_b")
    return frame


def _readable_tables(tables: Tables) -> Iterator[tuple[str, pl.DataFrame]]:
    yield _systems(tables["summary"])
    yield from _paired("Comparisons", tables["comparisons"], _COMPARISON_COLUMNS)
    yield from _paired("Tests and effects", tables["comparisons"], _TEST_COLUMNS)
    if tables["mcnemar"].height:
        yield from _paired("McNemar, one verdict a task", tables["mcnemar"], _VERDICT_COLUMNS)
        yield from _paired("McNemar, χ², risk and odds", tables["mcnemar"], _RISK_COLUMNS)
    if tables["summary"].select((pl.col("repeats_max") > 1).any()).item():
        yield "Where scores vary", readable(tables["variance"], _VARIANCE_COLUMNS)
        if tables["reliability"].height:
            yield "Reliability over repeats", readable(tables["reliability"], _RELIABILITY_COLUMNS)


def _systems(summary: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """Give the table of systems; where all intervals are made alike, the heading says how."""
    table = readable(summary, _SYSTEM_COLUMNS)
    methods = table["by"].unique().to_list()
    return (f"Systems: interval {methods[0]}", table.drop("by")) if len(methods) == 1 else ("Systems", table)


def _paired(heading: str, frame: pl.DataFrame, columns: Columns) -> Iterator[tuple[str, pl.DataFrame]]:
    """Give a table of pairs; where there is one pair only, its sides stand in the heading."""
    table = readable(frame, columns)
    sides = table.select("A", "B").unique()
    if sides.height == 1:
        a, b = map(cell_text, sides.row(0))
        yield f"{heading}: A is {a}, B is {b}", table.drop("A", "B")
    else:
        yield heading, table


def _level(row: Row) -> str | None:
    return None if row["stratum"] is None else f"{row['stratum']} {row['level']}"


def _run(row: Row) -> str | None:
    return row["run_id"] or None


def _bounds(name: str) -> Callable[[Row], str | None]:
    """Make a cell of what the missing attempts could make of a share; empty where none is missing."""
    low, high = f"{name}_bound_low", f"{name}_bound_high"
    return lambda row: None if row[low] == row[high] else interval(low, high)(row)


def _p(name: str) -> Callable[[Row], str | None]:
    return lambda row: None if row[name] is None else f"{row[name]:.3g}"


def _tested(row: Row) -> str | None:
    if row["p_method"] is None:
        return None
    if row["p_method"] == "exact":
        return "exact"
    return f"{row['n_resamples']} flips, seed {row['seed']}, ±{row['p_monte_carlo_error']:.2g}"


def _family(row: Row) -> str:
    correction = {"holm": "Holm", "benjamini_hochberg": "BH"}[row["correction"]]
    return f"{row['family']}: {correction} over {row['family_size']}"


_SYSTEM_COLUMNS: Columns = {
    "scored by": scored_by,
    "metric": cell("metric"),
    "level": _level,
    "run": _run,
    "system": cell("system"),
    "questions": cell("n_questions"),
    "groups": lambda row: row["n_groups"] if row["n_groups"] != row["n_questions"] else None,
    "attempts": cell("n_attempts"),
    "unscored": lambda row: row["n_unscored"] or None,
    "mean": number("mean"),
    "interval": interval("ci_low", "ci_high"),
    "by": lambda row: f"{row['ci_method']} {row['conf_level']:g}",
    "mean of attempts": lambda row: None if row["repeats_min"] == row["repeats_max"] else f"{row['mean_attempts']:.4g}",
    "worst to best": lambda row: interval("bound_low", "bound_high")(row) if row["n_unscored"] else None,
    "flags": flags,
}

_COMPARISON_COLUMNS: Columns = {
    "scored by": scored_by,
    "metric": cell("metric"),
    "level": _level,
    "A": side("a"),
    "B": side("b"),
    "questions": cell("n_questions"),
    "only A": lambda row: row["n_only_a"] or None,
    "only B": lambda row: row["n_only_b"] or None,
    "A - B": number("difference"),
    "t interval": interval("ci_low", "ci_high"),
    "p": _p("p_value"),
    "adjusted": _p("p_adjusted"),
    "could show": _p("mde"),
    "flags": flags,
}

_TEST_COLUMNS: Columns = {
    "scored by": scored_by,
    "metric": cell("metric"),
    "level": _level,
    "A": side("a"),
    "B": side("b"),
    "sign flips": _tested,
    "family": _family,
    "p can reach": _p("p_smallest"),
    "p (t)": _p("p_t"),
    "win/tie/loss": lambda row: None if row["p_value"] is None else f"{row['wins']}/{row['ties']}/{row['losses']}",
    "d_z": number("dz"),
    "d_z interval": interval("dz_low", "dz_high"),
}

_VERDICT_COLUMNS: Columns = {
    "metric": cell("metric"),
    "A": side("a"),
    "B": side("b"),
    "tasks": cell("n_tasks"),
    "dropped": lambda row: row["n_dropped"] or None,
    "both": cell("both_pass"),
    "A only": cell("a_only"),
    "B only": cell("b_only"),
    "neither": cell("both_fail"),
    "exact p": _p("p_exact"),
    "adjusted": lambda row: (
        None if row["p_adjusted"] is None else f"{row['p_adjusted']:.3g} (Holm/{row['family_size']})"
    ),
    "mid-p": _p("p_midp"),
    "flags": flags,
}

_RISK_COLUMNS: Columns = {
    "metric": cell("metric"),
    "A": side("a"),
    "B": side("b"),
    "χ²": number("chi2"),
    "p (χ²)": _p("p_chi2"),
    "χ² corrected": number("chi2_cc"),
    "p (corrected)": _p("p_chi2_cc"),
    "risk difference": number("risk_difference"),
    "interval": interval("rd_low", "rd_high"),
    "odds ratio": number("odds_ratio"),
    "odds interval": lambda row: (
        None if row["or_low"] is None else f"[{row['or_low']:.4g}, {_open_end(row['or_high'])}]"
    ),
}

_VARIANCE_COLUMNS: Columns = {
    "metric": cell("metric"),
    "run": _run,
    "system": cell("system"),
    "questions": cell("n_questions"),
    "between questions": number("var_between"),
    "between repeats": number("var_within"),
    "ICC(1)": number("icc1"),
    "design effect": number("design_effect"),
    "flip rate": number("flip_rate"),
    "flags": flags,
}

_RELIABILITY_COLUMNS: Columns = {
    "metric": cell("metric"),
    "run": _run,
    "system": cell("system"),
    "k": cell("k"),
    "passes at": number("threshold"),
    "questions": cell("n_questions"),
    "dropped": lambda row: row["n_dropped"] or None,
    "pass@k": number("pass_at_k"),
    "pass@k interval": interval("pass_at_k_ci_low", "pass_at_k_ci_high"),
    "pass@k worst to best": _bounds("pass_at_k"),
    "pass^k": number("pass_hat_k"),
    "pass^k interval": interval("pass_hat_k_ci_low", "pass_hat_k_ci_high"),
    "pass^k worst to best": _bounds("pass_hat_k"),
    "flags": flags,
}


def _open_end(high: float | None) -> str:
    return "∞" if high is None else f"{high:.4g}"

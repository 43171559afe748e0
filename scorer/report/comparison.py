"""A comparison of systems for people and programs: as text, Markdown, JSON and CSV. Frames in, text out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from scorer.formats import cell_text, json_text, markdown_table, markdown_text, text_table

Tables = Mapping[str, pl.DataFrame]
"""The tables of a comparison by name: summary, comparisons, mcnemar, variance, reliability."""


def comparison_text(tables: Tables, notes: Sequence[str], notice: str | None, width: int | None) -> str:
    """Return the comparison for a terminal `width` columns wide (None: as wide as it needs)."""
    parts = [
        f"{heading}\n{'─' * len(heading)}\n{text_table(frame, width)}" for heading, frame in _readable_tables(tables)
    ]
    lines = [textwrap.fill(f"- {note}", width or 120, subsequent_indent="  ") for note in notes]
    parts.append("\n".join(["In words", "────────", *lines]) + "\n")
    return _between(f"{notice}\n" if notice else None, parts)


def comparison_markdown(tables: Tables, notes: Sequence[str], notice: str | None) -> str:
    """Return the comparison as Markdown."""
    parts = [f"## {markdown_text(heading)}\n\n{markdown_table(frame)}" for heading, frame in _readable_tables(tables)]
    parts.append("\n".join(["## In words", "", *(f"- {markdown_text(note)}" for note in notes)]) + "\n")
    return _between(f"**{notice}**\n" if notice else None, parts)


def comparison_json(tables: Tables, notes: Sequence[str], notice: str | None) -> str:
    """Return one object: the tables as lists of rows under their names, and the sentences under `notes`."""
    made: dict[str, Any] = {name: _by_run(frame).to_dicts() for name, frame in tables.items()}
    return json_text(made | {"notes": list(notes)} | ({"notice": notice} if notice else {}), indent=2) + "\n"


def _between(notice: str | None, parts: list[str]) -> str:
    """Say the notice at the head and at the foot."""
    return "\n".join([notice, *parts, notice] if notice else parts)


def _by_run(frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the runs of the two sides where they are the same in every row."""
    if "run_a" in frame.columns and frame["run_a"].eq_missing(frame["run_b"]).all():
        return frame.drop("run_a", "run_b")
    return frame


def _readable_tables(tables: Tables) -> Iterator[tuple[str, pl.DataFrame]]:
    yield "Systems", _readable(tables["summary"], _SYSTEM_COLUMNS)
    yield from _paired("Comparisons", tables["comparisons"], _COMPARISON_COLUMNS)
    yield from _paired("Tests and effects", tables["comparisons"], _TEST_COLUMNS)
    if tables["mcnemar"].height:
        yield from _paired("McNemar, one verdict a task", tables["mcnemar"], _VERDICT_COLUMNS)
        yield from _paired("McNemar, χ², risk and odds", tables["mcnemar"], _RISK_COLUMNS)
    if tables["summary"].select((pl.col("repeats_max") > 1).any()).item():
        yield "Where scores vary", _readable(tables["variance"], _VARIANCE_COLUMNS)
        if tables["reliability"].height:
            yield "Reliability over repeats", _readable(tables["reliability"], _RELIABILITY_COLUMNS)


_Row = dict[str, Any]


def _paired(
    heading: str, frame: pl.DataFrame, columns: Mapping[str, Callable[[_Row], Any]]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Give a table of pairs; where there is one pair only, its sides stand in the heading."""
    table = _readable(frame, columns)
    sides = table.select("A", "B").unique()
    if sides.height == 1:
        a, b = map(cell_text, sides.row(0))
        yield f"{heading}: A is {a}, B is {b}", table.drop("A", "B")
    else:
        yield heading, table


def _readable(frame: pl.DataFrame, columns: Mapping[str, Callable[[_Row], Any]]) -> pl.DataFrame:
    """Return a few columns for the eye; those that hold nothing in any row are left out."""
    rows = [{name: cell(row) for name, cell in columns.items()} for row in frame.iter_rows(named=True)]
    made = pl.DataFrame({name: [row[name] for row in rows] for name in columns}, strict=False)
    return made.select(name for name in made.columns if made[name].is_not_null().any())


def _cell(name: str) -> Callable[[_Row], Any]:
    return lambda row: row[name]


def _number(name: str) -> Callable[[_Row], str | None]:
    return lambda row: None if row[name] is None else f"{row[name]:.4g}"


def _interval(low: str, high: str) -> Callable[[_Row], str | None]:
    return lambda row: None if row[low] is None or row[high] is None else f"[{row[low]:.4g}, {row[high]:.4g}]"


def _level(row: _Row) -> str | None:
    return None if row["stratum"] is None else f"{row['stratum']} {row['level']}"


def _flags(row: _Row) -> str | None:
    return " ".join(row["flags"]) or None


def _scored_by(row: _Row) -> str | None:
    return " ".join(filter(None, [row["benchmark"], row["scorer"]])) or None


def _run(row: _Row) -> str | None:
    return row["run_id"] or None


def _side(side: str) -> Callable[[_Row], str]:
    def named(row: _Row) -> str:
        run, system = row[f"run_{side}"], str(row[f"system_{side}"])
        return system if row["run_a"] == row["run_b"] or not run else f"{run}:{system}"

    return named


def _p(name: str) -> Callable[[_Row], str | None]:
    return lambda row: None if row[name] is None else f"{row[name]:.3g}"


def _tested(row: _Row) -> str | None:
    if row["p_method"] is None:
        return None
    if row["p_method"] == "exact":
        return "exact"
    return f"{row['n_resamples']} flips, seed {row['seed']}, ±{row['p_monte_carlo_error']:.2g}"


def _family(row: _Row) -> str:
    correction = {"holm": "Holm", "benjamini_hochberg": "BH"}[row["correction"]]
    return f"{row['family']}: {correction} over {row['family_size']}"


_SYSTEM_COLUMNS: Mapping[str, Callable[[_Row], Any]] = {
    "scored by": _scored_by,
    "metric": _cell("metric"),
    "level": _level,
    "run": _run,
    "system": _cell("system"),
    "questions": _cell("n_questions"),
    "groups": lambda row: row["n_groups"] if row["n_groups"] != row["n_questions"] else None,
    "attempts": _cell("n_attempts"),
    "unscored": lambda row: row["n_unscored"] or None,
    "mean": _number("mean"),
    "interval": _interval("ci_low", "ci_high"),
    "by": lambda row: f"{row['ci_method']} {row['conf_level']:g}",
    "mean of attempts": lambda row: None if row["repeats_min"] == row["repeats_max"] else f"{row['mean_attempts']:.4g}",
    "worst to best": lambda row: _interval("bound_low", "bound_high")(row) if row["n_unscored"] else None,
    "flags": _flags,
}

_COMPARISON_COLUMNS: Mapping[str, Callable[[_Row], Any]] = {
    "scored by": _scored_by,
    "metric": _cell("metric"),
    "level": _level,
    "A": _side("a"),
    "B": _side("b"),
    "questions": _cell("n_questions"),
    "only A": lambda row: row["n_only_a"] or None,
    "only B": lambda row: row["n_only_b"] or None,
    "A - B": _number("difference"),
    "t interval": _interval("ci_low", "ci_high"),
    "p": _p("p_value"),
    "adjusted": _p("p_adjusted"),
    "could show": _p("mde"),
    "flags": _flags,
}

_TEST_COLUMNS: Mapping[str, Callable[[_Row], Any]] = {
    "scored by": _scored_by,
    "metric": _cell("metric"),
    "level": _level,
    "A": _side("a"),
    "B": _side("b"),
    "sign flips": _tested,
    "family": _family,
    "p can reach": _p("p_smallest"),
    "p (t)": _p("p_t"),
    "win/tie/loss": lambda row: None if row["p_value"] is None else f"{row['wins']}/{row['ties']}/{row['losses']}",
    "d_z": _number("dz"),
    "d_z interval": _interval("dz_low", "dz_high"),
}

_VERDICT_COLUMNS: Mapping[str, Callable[[_Row], Any]] = {
    "metric": _cell("metric"),
    "A": _side("a"),
    "B": _side("b"),
    "tasks": _cell("n_tasks"),
    "dropped": lambda row: row["n_dropped"] or None,
    "both": _cell("both_pass"),
    "A only": _cell("a_only"),
    "B only": _cell("b_only"),
    "neither": _cell("both_fail"),
    "exact p": _p("p_exact"),
    "adjusted": lambda row: (
        None if row["p_adjusted"] is None else f"{row['p_adjusted']:.3g} (Holm/{row['family_size']})"
    ),
    "mid-p": _p("p_midp"),
    "flags": _flags,
}

_RISK_COLUMNS: Mapping[str, Callable[[_Row], Any]] = {
    "metric": _cell("metric"),
    "A": _side("a"),
    "B": _side("b"),
    "χ²": _number("chi2"),
    "p (χ²)": _p("p_chi2"),
    "χ² corrected": _number("chi2_cc"),
    "p (corrected)": _p("p_chi2_cc"),
    "risk difference": _number("risk_difference"),
    "interval": _interval("rd_low", "rd_high"),
    "odds ratio": _number("odds_ratio"),
    "odds interval": lambda row: (
        None if row["or_low"] is None else f"[{row['or_low']:.4g}, {_open_end(row['or_high'])}]"
    ),
}

_VARIANCE_COLUMNS: Mapping[str, Callable[[_Row], Any]] = {
    "metric": _cell("metric"),
    "run": _run,
    "system": _cell("system"),
    "questions": _cell("n_questions"),
    "between questions": _number("var_between"),
    "between repeats": _number("var_within"),
    "ICC(1)": _number("icc1"),
    "design effect": _number("design_effect"),
    "flip rate": _number("flip_rate"),
    "flags": _flags,
}

_RELIABILITY_COLUMNS: Mapping[str, Callable[[_Row], Any]] = {
    "metric": _cell("metric"),
    "run": _run,
    "system": _cell("system"),
    "k": _cell("k"),
    "passes at": _number("threshold"),
    "questions": _cell("n_questions"),
    "dropped": lambda row: row["n_dropped"] or None,
    "pass@k": _number("pass_at_k"),
    "pass@k interval": _interval("pass_at_k_ci_low", "pass_at_k_ci_high"),
    "pass^k": _number("pass_hat_k"),
    "pass^k interval": _interval("pass_hat_k_ci_low", "pass_hat_k_ci_high"),
    "flags": _flags,
}


def _open_end(high: float | None) -> str:
    return "∞" if high is None else f"{high:.4g}"

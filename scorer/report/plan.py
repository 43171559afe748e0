"""A plan for people and programs: as text, Markdown, JSON. Frames in, text out."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from scorer.report.page import (
    Columns,
    Row,
    cell,
    flags,
    number,
    page_json,
    page_markdown,
    page_text,
    readable,
    scored_by,
    side,
)


def plan_text(plan: pl.DataFrame, notes: Sequence[str], notice: str | None, width: int | None) -> str:
    """Return the plan for a terminal `width` columns wide (None: as wide as it needs)."""
    return page_text([("Plan", readable(plan, _COLUMNS))], notes, notice, width)


def plan_markdown(plan: pl.DataFrame, notes: Sequence[str], notice: str | None) -> str:
    """Return the plan as Markdown."""
    return page_markdown([("Plan", readable(plan, _COLUMNS))], notes, notice)


def plan_json(plan: pl.DataFrame, notes: Sequence[str], notice: str | None) -> str:
    """Return one object: the rows under `plan`, and the sentences under `notes`."""
    return page_json({"plan": plan}, notes, notice)


def _repeats(row: Row) -> str | None:
    a, b = row["repeats_a"], row["repeats_b"]
    if a is None or b is None:
        return None
    count = f"{a:.3g}" if a == b else f"{a:.3g} and {b:.3g}"
    return f"{count}, as now" if row["is_present"] and row["metric"] else count


_COLUMNS: Columns = {
    "scored by": scored_by,
    "metric": cell("metric"),
    "A": side("a"),
    "B": side("b"),
    "test": lambda row: {"paired_t": "paired t", "mcnemar": "McNemar"}[row["method"]],
    "repeats": _repeats,
    "sd": number("sd_difference"),
    "variance to 1 repeat": number("relative_variance"),
    "questions now": cell("n_present"),
    "could show": number("detectable"),
    "to see": number("difference"),
    "questions": cell("n_questions"),
    "by Miller": cell("n_questions_normal"),
    "attempts": cell("n_attempts"),
    "flags": flags,
}

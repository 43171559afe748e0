"""One run's results for people: as text, Markdown, JSON and in the benchmark's own form. Frames in, text out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from scorer.formats import markdown_table, markdown_text, text_table
from scorer.report.judged import leaderboard_tables, published_table
from scorer.report.page import page_html

SIMULATED = "SIMULATED, harness validation only, not model performance"

PUBLISHING = ("eduevidence",)
"""The benchmarks whose published tables have half-widths over attempts."""

METHODS = (
    "mean: each question's repeats reduced to one value, then the mean over questions.",
    "95% interval: {method}, with n the number of questions; repeats of a question are not independent samples.",
    "The figures speak of questions like these. `scorer compare` tells whether systems differ.",
)
PUBLISHED_METHOD = (
    "published ±: 1.96·sd/√attempts, as the benchmark publishes it; it takes repeats for independent samples and is "
    "there to compare with published tables only."
)


@dataclass(frozen=True)
class Report:
    """What a report is made of."""

    run: dict[str, Any]
    """The run's row of the table `runs`."""
    scorer: str
    metrics: tuple[str, ...]
    """The metrics in the pack's order."""
    summary: pl.DataFrame
    """`aggregate.summary` by the honest interval: a row a metric × system × (all | stratum level)."""
    published: pl.DataFrame
    """The same by `normal_attempts`, all questions only."""
    attempts: pl.DataFrame
    """A row a system: `system`, `attempts`, `scored`, `costs_known`, `cost_usd` (their sum; null if none is known)."""
    unscored: pl.DataFrame
    """A row a system × reason: `system`, `reason`, `attempts`."""
    tasks: int
    """How many tasks were attempted."""
    leaderboard: pl.DataFrame | None = None
    """Where a judge scored by a rubric: `aggregate.leaderboard`."""
    elsewhere: pl.DataFrame | None = None
    """Figures that others published, a row a source, system and level: shown, never tested."""
    judging: tuple[str, ...] = ()
    """What must be known of the judge and the rule to read it, a sentence each."""

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the systems and their means, and how they were made."""
        board = self.leaderboard
        tables = list(leaderboard_tables(board, self.metrics)) if board is not None else []
        tables += [("Systems", _systems(self)), ("All questions", _summary_table(self.overall))]
        tables += [(f"By {stratum}", _summary_table(self.by_stratum(stratum))) for stratum in self.strata]
        shown = [(title, frame) for title, frame in tables if frame.height]
        return page_html(shown, [*_head(self), *_foot(self)], self.notice)

    @property
    def notice(self) -> str | None:
        """What must be said of a simulated run, at the head and at the foot."""
        return SIMULATED if self.run["mode"] == "simulated" else None

    @property
    def publishes(self) -> bool:
        """Whether the benchmark publishes tables with half-widths over attempts, to compare with."""
        return self.run["benchmark"] in PUBLISHING

    @cached_property
    def signature(self) -> dict[str, Any]:
        """What made these figures."""
        return dict(json.loads(self.run["signature"]))

    @property
    def input_hashes(self) -> dict[str, str]:
        """SHA-256 of each input that these figures were made of, as far as there was one."""
        made = self.signature.get("scorers", {}).get(self.scorer, {})
        hashes = {name: self.signature.get(name) for name in ("attempts", "scores")}
        hashes |= {"golds": made.get("golds"), "pack": made.get("pack_hash")}
        return {name: value for name, value in hashes.items() if value}

    @cached_property
    def overall(self) -> pl.DataFrame:
        """The summary over all questions, a row a metric × system; beside it the half-width as it is published."""
        half = (pl.col("ci_high") - pl.col("mean_attempts")).alias("published")
        published = self.published.filter(pl.col("stratum").is_null()).select("metric", "system", half)
        rows = self.summary.filter(pl.col("stratum").is_null())
        if not self.publishes:
            return self.in_order(rows)
        return self.in_order(rows.join(published, on=["metric", "system"], how="left", maintain_order="left"))

    def by_stratum(self, stratum: str) -> pl.DataFrame:
        """Return the summary by the levels of one stratum."""
        return self.in_order(self.summary.filter(pl.col("stratum") == stratum))

    @property
    def strata(self) -> list[str]:
        """The strata of the summary, by name."""
        return self.summary["stratum"].drop_nulls().unique().sort().to_list()

    def in_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows by metric in the pack's order, then by level and system."""
        order = pl.col("metric").replace_strict(
            {name: number for number, name in enumerate(self.metrics)}, default=None
        )
        return rows.sort(order, "level", "system", nulls_last=True)


def cost_text(known: int, attempts: int, cost: float | None) -> str:
    """Return a cost in words: never as free where it was not captured."""
    if not known or cost is None:
        return "not captured"
    return f"{cost:.4g}" if known == attempts else f"{cost:.4g} ({known} of {attempts} captured)"


# --- text and Markdown ------------------------------------------------------------------------------------------------


def to_text(report: Report, width: int | None) -> str:
    """Return the report for a terminal `width` columns wide (None: as wide as it needs)."""
    return _page(
        report, heading=lambda text: f"{text}\n{'─' * len(text)}\n", table=lambda frame: text_table(frame, width)
    )


def to_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    return _page(report, lambda text: f"## {markdown_text(text)}\n", markdown_table)


def _page(report: Report, heading: Callable[[str], str], table: Callable[[pl.DataFrame], str]) -> str:
    parts = [heading(f"{report.run['benchmark']} · run {report.run['run_id']}")]
    parts += [f"{report.notice}\n"] if report.notice else []
    parts += ["\n".join(f"- {line}" for line in _head(report)) + "\n"]
    if report.leaderboard is not None:
        for title, frame in leaderboard_tables(report.leaderboard, report.metrics):
            parts += [heading(title), table(frame)]
    if report.elsewhere is not None and report.elsewhere.height:
        parts += [heading("Published elsewhere: shown, never tested"), table(published_table(report.elsewhere))]
    if report.attempts.height:
        parts += [heading("Systems"), table(_systems(report))]
        parts += [heading("All questions"), table(_summary_table(report.overall))]
    for stratum in report.strata:
        parts += [heading(f"By {stratum}"), *_stratum(report.by_stratum(stratum), stratum, table)]
    if report.unscored.height:
        parts += [heading("Not scored"), table(report.unscored)]
    parts += [heading("How this was made"), "\n".join(f"- {line}" for line in _foot(report)) + "\n"]
    parts += [f"{report.notice}\n"] if report.notice else []
    return "\n".join(parts)


def _stratum(rows: pl.DataFrame, stratum: str, table: Callable[[pl.DataFrame], str]) -> list[str]:
    """Return the table of a stratum, but for levels of a single question, which say nothing of their kind."""
    shown = rows.filter(pl.col("n_questions").max().over("level") > 1)
    parts = [table(_summary_table(shown).rename({"level": stratum}, strict=False))] if shown.height else []
    if shown.height < rows.height:
        parts += ["Levels of a single question are left out; --format json has them.\n"]
    return parts


def _head(report: Report) -> list[str]:
    run, totals = report.run, report.attempts.sum()
    environment = json.loads(run["environment"] or "{}")
    named = [f"{key}: {environment[key]}" for key in ("driver", "model_version", "temperature") if key in environment]
    lines = [
        f"mode: {run['mode'].upper()}",
        f"scored by: {report.scorer}",
        f"{report.tasks} questions, {_repeats(report)}, {totals['attempts'][0]} attempts, {totals['scored'][0]} scored",
        f"cost (USD): {cost_text(totals['costs_known'][0], totals['attempts'][0], totals['cost_usd'][0])}",
    ]
    lines += [", ".join(named)] if named else []
    return [*lines, *report.judging, *(f"note: {flag}" for flag in run["flags"])]


def _repeats(report: Report) -> str:
    least = min(report.summary["repeats_min"].drop_nulls().to_list(), default=0)
    most = max(report.summary["repeats_max"].drop_nulls().to_list(), default=0)
    return f"{least} to {most} repeats each" if least < most else f"{most} repeat{'s' if most != 1 else ''} each"


def _systems(report: Report) -> pl.DataFrame:
    rows = [
        {
            "system": row["system"],
            "attempts": row["attempts"],
            "scored": row["scored"],
            "unscored": row["attempts"] - row["scored"],
            "cost (USD)": cost_text(row["costs_known"], row["attempts"], row["cost_usd"]),
        }
        for row in report.attempts.iter_rows(named=True)
    ]
    return pl.DataFrame(rows)


def _summary_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows as a person reads them: a metric is named once, columns without content are left out."""
    columns: dict[str, list[Any]] = {
        "metric": _named_once(rows["metric"].to_list()),
        "level": rows["level"].to_list(),
        "system": rows["system"].to_list(),
        "mean": [_number(mean) for mean in rows["mean"]],
        "95% interval": [_interval(*bounds) for bounds in rows.select("ci_low", "ci_high").iter_rows()],
        "published ±": [_number(half) for half in rows["published"]] if "published" in rows.columns else [],
        "questions": rows["n_questions"].to_list(),
        "attempts": rows["n_attempts"].to_list(),
        "unscored": rows["n_unscored"].to_list(),
        "flags": [", ".join(flags) for flags in rows["flags"]],
    }
    return pl.DataFrame(
        {name: cells for name, cells in columns.items() if any(cell not in (None, "") for cell in cells)}
    )


def _named_once(names: list[str]) -> list[str]:
    return [name if not number or names[number - 1] != name else "" for number, name in enumerate(names)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def _foot(report: Report) -> list[str]:
    methods: list[str] = report.summary["ci_method"].drop_nulls().unique().sort().to_list()
    inputs = ", ".join(f"{name} {value[:12]}" for name, value in report.input_hashes.items())
    lines = [line.format(method=", ".join(methods)) for line in METHODS if report.summary.height]
    lines += [PUBLISHED_METHOD] if report.publishes else []
    return [*lines, f"scorer {report.signature['scorer']}, {report.scorer}; SHA-256 of {inputs}"]


# --- JSON -------------------------------------------------------------------------------------------------------------


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as one object; keys of the tables are the columns of `aggregate.summary`."""
    run = {key: report.run[key] for key in ("run_id", "benchmark", "mode", "origin", "created_at", "notes", "flags")}
    environment = report.run["environment"]
    return {
        **run,
        "notice": report.notice,
        "environment": None if environment is None else json.loads(environment),
        "scorer": report.scorer,
        "n_tasks": report.tasks,
        "systems": report.attempts.to_dicts(),
        "summary": report.in_order(report.summary).to_dicts(),
        "published": report.in_order(report.published).to_dicts(),
        "unscored": report.unscored.to_dicts(),
        **({} if report.leaderboard is None else {"leaderboard": report.leaderboard.to_dicts()}),
        **({"judging": list(report.judging)} if report.judging else {}),
        **({} if report.elsewhere is None else {"published_elsewhere": report.elsewhere.to_dicts()}),
        "signature": report.signature,
    }

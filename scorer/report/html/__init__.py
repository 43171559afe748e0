"""A report as one page: no script, no network, no file beside it. Results in, HTML out.

Everything that comes from a model or a file is text: it is escaped, its control characters are written out, and a
content security policy allows nothing but the page's own style, by its hash. Tables are written by the template, not by
Great Tables: that gives every table the same element ids, a style element of its own with a random id, a title that is
no caption and rows without headings, so neither a screen reader nor the policy could live with it.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
from markupsafe import Markup

from scorer.formats import escape_controls
from scorer.report import cost_text
from scorer.report.charts import Picture, Scale, pictures, scales, svg
from scorer.report.html import tables
from scorer.report.html.images import inline
from scorer.report.html.tables import Table
from scorer.report.results import AttemptShown, Results

MOST_SENTENCES = 100
"""Sentences of a comparison that a page shows."""

_FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Figure:
    """A picture with what it says in words, and the table behind it."""

    title: str
    description: str
    image: Markup
    table: Table | None


@dataclass(frozen=True)
class Question:
    """A question with the attempts that the page shows."""

    place: str
    """Its id in the page."""
    task_id: str
    prompt: str
    goodness: float | None
    attempts: Sequence[AttemptShown]
    values: Table


def to_html(results: Results) -> str:
    """Return the whole report as one page. The same results give the same bytes."""
    style = (_FOLDER / "style.css").read_text(encoding="utf-8")
    hashed = b64encode(sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            style=Markup(style),  # noqa: S704  (our own file)
            policy=f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'",
            **_content(results),
        )
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["language"] = language_of
    return environment


def _visible(value: Any) -> Any:
    """Write out what a browser would obey or drop; nothing from outside reaches the page another way."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return _NO_CHARACTERS.sub("\ufffd", escape_controls(value))


_NO_CHARACTERS = re.compile("[\ufdd0-\ufdef\ufffe\uffff]")


def _content(results: Results) -> dict[str, Any]:
    """Return what the template shows."""
    axes = {scale.name: scale for scale in scales(results)}
    asked = _questions(results, axes)
    places = {question.task_id: question.place for question in asked}
    figures = {picture.name: picture for picture in pictures(results)}
    shown = _figures(results, axes, places, figures)
    every = [*(figure.table for figure in shown.values()), tables.mcnemar(results), *_judge_tables(results).values()]
    return {
        "report": results.report,
        "facts": facts(results),
        "overview": tables.overview(results),
        "unscored": tables.unscored(results) if results.report.unscored.height else None,
        "leaderboard": tables.leaderboard(results),
        "elsewhere": tables.elsewhere(results),
        "reliability": tables.reliability(results),
        "figures": shown,
        "strata": [figure for name, figure in shown.items() if name.startswith("stratum-")],
        "sentences": _sentences(results)[:MOST_SENTENCES],
        "unsaid": max(len(_sentences(results)) - MOST_SENTENCES, 0),
        "baseline": results.compared.baseline if results.compared else None,
        "mcnemar": tables.mcnemar(results),
        "judged": _judge_tables(results),
        "judge_notes": results.quality.notes if results.quality else (),
        "questions": asked,
        "n_attempts": results.report.attempts["attempts"].sum(),
        "n_shown": len(results.attempts),
        "methods": _methods(results),
        "signature": signature_lines(results),
        "flags": tables.explained(flag for table in every if table for flag in table.flags),
        "number": lambda metric, value: axes[metric].number(value),
    }


def facts(results: Results) -> list[tuple[str, str]]:
    """Return what must be known of the run before anything else, as (name, what)."""
    report = results.report
    totals = report.attempts.sum().row(0, named=True)
    environment = json.loads(report.run["environment"] or "{}")
    named = [f"{key} {environment[key]}" for key in ("driver", "model_version", "temperature") if key in environment]
    unscored = totals["attempts"] - totals["scored"]
    repeats = report.summary.select(least=pl.col("repeats_min").min(), most=pl.col("repeats_max").max())
    least, most = repeats.row(0)
    return [
        ("Mode", report.run["mode"]),
        ("Systems", f"{len(results.systems)}"),
        ("Questions", f"{report.tasks:,}"),
        ("Repeats", f"{most or 0} each" if least == most else f"{least} to {most}"),
        ("Attempts", f"{totals['attempts']:,}"),
        ("Unscored", f"{unscored:,}" if unscored else "none"),
        ("Cost (USD)", cost_text(totals["costs_known"], totals["attempts"], totals["cost_usd"])),
        ("Scored by", report.scorer),
        *([("Environment", ", ".join(named))] if named else []),
        *([("Created", report.run["created_at"])] if report.run["created_at"] else []),
    ]


def _figures(
    results: Results, axes: Mapping[str, Scale], places: Mapping[str, str], shown: Mapping[str, Picture]
) -> dict[str, Figure]:
    """Return the pictures by name, each with the table behind it."""
    report = results.report
    behind = {
        "intervals": tables.summary(report.overall, axes, "Means of each metric"),
        "differences": tables.comparisons(results, axes),
        "questions": tables.questions(results, axes, places),
        "repeats": tables.repeats(results, axes),
    }
    for number, stratum in enumerate(report.strata, 1):
        behind[f"stratum-{number}"] = tables.summary(report.by_stratum(stratum), axes, f"Means by {stratum}")
    return {
        name: Figure(
            picture.title,
            picture.description,
            inline(svg(picture.spec), f"{picture.title}. {picture.description}"),
            behind.get(name),
        )
        for name, picture in shown.items()
    }


def _judge_tables(results: Results) -> dict[str, Table]:
    quality = results.quality
    if quality is None:
        return {}
    return {"fragile": tables.fragile(quality), "agreement": tables.agreement(quality)}


def _sentences(results: Results) -> Sequence[str]:
    """Return the sentences of the comparisons themselves, without those on method."""
    if results.compared is None:
        return ()
    return results.compared.notes[: results.compared.comparisons.height + results.compared.mcnemar.height]


def _methods(results: Results) -> list[str]:
    """Return how the figures come about, in sentences."""
    if results.compared is None:
        return [
            "A system's mean is that of its question means; the interval takes questions, not attempts, as n.",
            "The numbers speak of questions like these.",
        ]
    return list(results.compared.notes[len(_sentences(results)) :])


def signature_lines(results: Results) -> list[str]:
    """Return what made these figures: versions, and the hashes of what went in."""
    report = results.report
    return [
        f"scorer {report.signature.get('scorer', 'unknown')}, {report.scorer}",
        *(f"SHA-256 of {name}: {value}" for name, value in report.input_hashes.items()),
    ]


# --- questions and attempts -------------------------------------------------------------------------------------------


def _questions(results: Results, axes: Mapping[str, Scale]) -> list[Question]:
    """Return the questions whose attempts the page shows, hardest first."""
    goodness = dict(results.hardest.iter_rows())
    prompts = dict(results.tasks.select("task_id", "prompt").iter_rows())
    return [
        Question(
            place=f"question-{number}",
            task_id=task_id,
            prompt=prompts.get(task_id) or "",
            goodness=goodness[task_id],
            attempts=attempts,
            values=tables.values(attempts, axes),
        )
        for number, (task_id, attempts) in enumerate(_by_task(results.attempts), 1)
    ]


def _by_task(attempts: Iterable[AttemptShown]) -> list[tuple[str, list[AttemptShown]]]:
    return [(task_id, list(mine)) for task_id, mine in groupby(attempts, lambda attempt: attempt.task_id)]


_SCRIPTS = (
    ("ko", "[\uac00-\ud7a3\u1100-\u11ff]"),
    ("ja", "[\u3040-\u30ff]"),
    ("zh", "[\u3400-\u9fff\U00020000-\U0003ffff]"),
)
_SOME = 0.1
"""The part of a text's characters that must be of a script for the text to be taken for it."""


def language_of(text: str) -> str | None:
    """Return the language tag of a text that is Korean, Japanese or Chinese by its script: the fonts depend on it."""
    head = text[:600]
    return next((tag for tag, script in _SCRIPTS if len(re.findall(script, head)) > _SOME * len(head)), None)

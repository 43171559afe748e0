"""The tables of a page: what their cells say. How they look is up to the template and the style."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

from scorer.formats import cell_text
from scorer.report import cost_text
from scorer.report.charts import MOST_SYSTEMS, Scale, questions_shown
from scorer.report.judged import published_table
from scorer.report.results import ALPHA, AttemptShown, JudgeQuality, Results

MOST_ROWS = 400
"""Rows of a table that a page shows."""

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """One cell."""

    text: str
    is_number: bool = False
    link: str | None = None
    """The id of a place in the page."""
    is_strong: bool = False


@dataclass(frozen=True)
class Line:
    """A row under its heading."""

    heading: Cell
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Group:
    """Rows that belong together, under a heading of their own (null: none)."""

    heading: str | None
    lines: Sequence[Line]


@dataclass(frozen=True)
class Table:
    """A table with a caption; the first column names the rows."""

    caption: str
    columns: Sequence[str]
    groups: Sequence[Group]
    over: Sequence[tuple[str, int]] = ()
    """Headings over several columns: (heading, how many), the first column aside."""
    left_out: int = 0
    """Rows that are not shown."""
    note: str = ""
    """What is said under it."""
    flags: frozenset[str] = field(default_factory=frozenset)
    """The flags in it, to be explained."""

    @property
    def numeric(self) -> set[int]:
        """The columns of numbers, by their place."""
        first = next((group.lines[0].cells for group in self.groups if group.lines), ())
        return {place for place, cell in enumerate(first, 1) if cell.is_number}


_INTERVAL = "95% interval"

Column: TypeAlias = tuple[str, Callable[[Row], Cell]]


def overview(results: Results) -> Table:
    """Return attempts and cost of each system."""
    lines = [
        Line(
            Cell(row["system"]),
            [
                _count(row["attempts"]),
                _count(row["scored"]),
                _count(row["attempts"] - row["scored"]),
                Cell(cost_text(row["costs_known"], row["attempts"], row["cost_usd"])),
            ],
        )
        for row in results.report.attempts.iter_rows(named=True)
    ]
    return _table("Attempts of each system", ["System", "Attempts", "Scored", "Unscored", "Cost (USD)"], lines)


def unscored(results: Results) -> Table:
    """Return why attempts have no score."""
    rows = results.report.unscored.iter_rows(named=True)
    lines = [Line(Cell(row["system"]), [Cell(row["reason"] or ""), _count(row["attempts"])]) for row in rows]
    return _table("Attempts without a score", ["System", "Reason", "Attempts"], lines)


def leaderboard(results: Results) -> Table | None:
    """Return the systems by rank, where a judge scored by a rubric."""
    board = results.report.leaderboard
    if board is None:
        return None
    rate, score = Scale("", 0, 1), Scale("", 0, 100)
    columns: list[Column] = [
        ("Rank", lambda row: _count(row["rank"])),
        ("Pass rate", lambda row: _number(rate.number(row["pass_rate"]), is_strong=True)),
        (_INTERVAL, lambda row: _number(_interval(rate, row["pass_low"], row["pass_high"]))),
        ("Tasks", lambda row: _count(row["n_tasks"])),
        ("No verdict", lambda row: _count(row["n_missing"])),
        ("Mean score", lambda row: _number(score.number(row["mean_score"]))),
        (_INTERVAL, lambda row: _number(_interval(score, row["score_low"], row["score_high"]))),
        ("Cannot be told apart from", lambda row: Cell(", ".join(row["tied_with"]) or "–")),
    ]

    def heading(row: Row) -> str:
        return "All tasks" if row["stratum"] is None else f"{row['stratum']} {row['level']}"

    return _grouped("Leaderboard", board, columns, lines=_SYSTEM, heading=heading)


def elsewhere(results: Results) -> Table | None:
    """Return figures that others published."""
    figures = results.report.elsewhere
    if figures is None or not figures.height:
        return None
    shown = published_table(figures)
    lines = [Line(Cell(cell_text(first)), [_of(value) for value in rest]) for first, *rest in shown.iter_rows()]
    return _table("Published elsewhere: shown, never tested", shown.columns, lines)


def summary(rows: pl.DataFrame, scales: Mapping[str, Scale], caption: str) -> Table:
    """Return rows of `aggregate.summary`, a group a metric (and level); a column `published` is shown where it is."""
    is_published = "published" in rows.columns
    columns: list[Column] = [
        ("Mean", lambda row: _number(scales[row["metric"]].number(row["mean"]), is_strong=True)),
        (_INTERVAL, lambda row: _number(_interval(scales[row["metric"]], row["ci_low"], row["ci_high"]))),
        *([("Published ±", lambda row: _number(_two(row["published"])))] if is_published else []),
        ("Questions", lambda row: _count(row["n_questions"])),
        ("Attempts", lambda row: _count(row["n_attempts"])),
        ("Unscored", lambda row: _count(row["n_unscored"])),
        ("Flags", lambda row: Cell(", ".join(row["flags"]))),
    ]

    def heading(row: Row) -> str:
        return row["metric"] if row["level"] is None else f"{row['metric']} · {row['stratum']} {row['level']}"

    note = (
        "Published ± is 1.96·sd/√attempts: it takes repeats for independent samples, and is there to compare with "
        "published tables only."
    )
    return _grouped(caption, rows, columns, lines=_SYSTEM, heading=heading, note=note if is_published else "")


def comparisons(results: Results, scales: Mapping[str, Scale]) -> Table | None:
    """Return the paired comparisons over all questions, a group a metric."""
    if results.compared is None:
        return None
    columns: list[Column] = [
        ("Difference", lambda row: _number(_signed(scales, row, "difference"), is_strong=_is_significant(row))),
        (_INTERVAL, lambda row: _number(_interval(scales[row["metric"]], row["ci_low"], row["ci_high"]))),
        ("p", lambda row: _number(_p(row["p_value"]))),
        ("p adjusted", lambda row: _number(_p(row["p_adjusted"]), is_strong=_is_significant(row))),
        ("Family", lambda row: Cell(_family(row))),
        ("Detectable", lambda row: _number(scales[row["metric"]].number(row["mde"]))),
        ("Better, same, worse", lambda row: _number(f"{row['wins']}, {row['ties']}, {row['losses']}")),
        ("Questions", lambda row: _count(row["n_questions"])),
        ("Flags", lambda row: Cell(", ".join(row["flags"]))),
    ]
    overall = results.report.in_order(results.compared.comparisons.with_columns(system="system_a"))
    rows = overall.filter(pl.col("stratum").is_null())
    note = (
        f"p decides: the two-sided sign-flip permutation test; significant where the adjusted p is at most {ALPHA:g}, "
        "then it stands in bold. Intervals are not adjusted. Detectable is the difference that these data could have "
        "shown with 80% power. Not significant does not mean equal."
    )
    return _grouped("Paired comparisons", rows, columns, lines=_PAIR, note=note)


def mcnemar(results: Results) -> Table | None:
    """Return McNemar's tests, where a metric is pass or fail."""
    if results.compared is None or not results.compared.mcnemar.height:
        return None
    columns: list[Column] = [
        ("Both pass", lambda row: _count(row["both_pass"])),
        ("First only", lambda row: _count(row["a_only"])),
        ("Second only", lambda row: _count(row["b_only"])),
        ("Both fail", lambda row: _count(row["both_fail"])),
        ("No verdict", lambda row: _count(row["n_dropped"])),
        ("Exact p", lambda row: _number(_p(row["p_exact"]))),
        ("p adjusted (Holm)", lambda row: _number(_p(row["p_adjusted"]))),
        ("Mid-p", lambda row: _number(_p(row["p_midp"]))),
        ("Flags", lambda row: Cell(", ".join(row["flags"]))),
    ]
    rows = results.report.in_order(
        results.compared.mcnemar.with_columns(level=pl.lit(None, pl.String), system="system_a")
    )
    return _grouped("McNemar's test, one verdict a task", rows, columns, lines=_PAIR)


def questions(results: Results, scales: Mapping[str, Scale], places: Mapping[str, str]) -> Table:
    """Return the question means behind the heat map; `places` links questions to their attempts in the page."""
    systems = results.systems[:MOST_SYSTEMS]
    hardest = results.hardest["task_id"].to_list()
    order = hardest[: questions_shown([scales[metric] for metric in results.headline], systems)]
    shown = results.questions.filter(pl.col("task_id").is_in(order))
    means = {(row["task_id"], row["metric"], row["system"]): row["mean"] for row in shown.iter_rows(named=True)}
    lines = [
        Line(
            Cell(task, link=places.get(task)),
            [
                _number(scales[metric].number(means.get((task, metric, system))))
                for metric in results.headline
                for system in systems
            ],
        )
        for task in order
    ]
    columns = ["Question", *(system for _ in results.headline for system in systems)]
    over = [(metric, len(systems)) for metric in results.headline]
    left_out = len(hardest) - len(order)
    return Table("Mean of each question, hardest first", columns, [Group(None, lines)], over, left_out)


def repeats(results: Results, scales: Mapping[str, Scale]) -> Table:
    """Return how often systems disagree with themselves."""
    columns: list[Column] = [
        ("Questions that differ", lambda row: _number(f"{row['n_differing']} of {row['n_questions']}")),
        ("Share", lambda row: _number(f"{row['share']:.0%}")),
        ("Verdicts that flip", lambda row: _number("–" if row["flip_rate"] is None else f"{row['flip_rate']:.0%}")),
        ("Spread within a question", lambda row: _number(scales[row["metric"]].number(row["within_sd"]))),
        ("ICC(1)", lambda row: _number(_two(row["icc1"]))),
        ("Flags", lambda row: Cell(", ".join(row["flags"] or []))),
    ]
    note = (
        "The spread is the standard deviation of the repeats of a question. ICC(1) is the part of all variance that "
        "lies between questions: where it is low, more repeats help; where it is high, only more questions do."
    )
    return _grouped("Repeats", results.disagreement, columns, lines=_SYSTEM, note=note)


def reliability(results: Results) -> Table | None:
    """Return how likely k repeats hold a pass, and are all passes, where a metric is pass or fail."""
    if results.compared is None or not results.disagreement.height or not results.compared.reliability.height:
        return None
    rate = Scale("", 0, 1)
    columns: list[Column] = [
        ("k", lambda row: _count(row["k"])),
        ("One passes", lambda row: _number(rate.number(row["pass_at_k"]))),
        (_INTERVAL, lambda row: _number(_interval(rate, row["pass_at_k_ci_low"], row["pass_at_k_ci_high"]))),
        ("All pass", lambda row: _number(rate.number(row["pass_hat_k"]))),
        (_INTERVAL, lambda row: _number(_interval(rate, row["pass_hat_k_ci_low"], row["pass_hat_k_ci_high"]))),
        ("Questions", lambda row: _count(row["n_questions"])),
    ]
    rows = results.report.in_order(results.compared.reliability.with_columns(level=pl.lit(None, pl.String)))
    return _grouped("The chance that of k repeats one passes, or all", rows, columns, lines=_SYSTEM)


def fragile(quality: JudgeQuality) -> Table:
    """Return the verdicts that a repetition of the judging could turn."""
    score = Scale("", 0, 100)
    lines = [
        Line(
            Cell(f"{row['system']}, {row['task_id']}" + (f", repeat {row['repeat']}" if row["repeat"] > 1 else "")),
            [
                Cell(row["judge_id"]),
                _number(f"{row['n_passing']} of {row['n_evaluations']}"),
                _number(score.number(row["mean_score"])),
                _number(score.number(row["standard_error"])),
                Cell(row["why"]),
            ],
        )
        for row in quality.fragile.iter_rows(named=True)
    ]
    columns = ["Attempt", "Judge", "Evaluations that pass", "Mean score", "Standard error", "Why"]
    return _table("Fragile verdicts", columns, lines)


def agreement(quality: JudgeQuality) -> Table:
    """Return how far judges agree with themselves and with one another, a group a judge."""
    points = Scale("", 0, 100)
    columns: list[Column] = [
        ("Mean", lambda row: _number(points.number(row["mean"]))),
        ("Most", lambda row: _number("–" if row["max_points"] is None else f"{row['max_points']:g}")),
        ("At the most", lambda row: _number("–" if row["share_at_max"] is None else f"{row['share_at_max']:.0%}")),
        ("Spread within", lambda row: _number(_two(row["within_sd"]))),
        ("ICC(1,1)", lambda row: _number(_two(row["icc1"]))),
        ("ICC(1,k)", lambda row: _number(_two(row["icc1_k"]))),
        ("ICC(2,1)", lambda row: _number(_two(row["icc2"]))),
        ("Alpha", lambda row: _number(_two(row["alpha_interval"]))),
        ("Agreement", lambda row: _number(_two(row["percent_agreement"]))),
        ("AC1", lambda row: _number(_two(row["ac1"]))),
        ("Flags", lambda row: Cell(", ".join(row["flags"]))),
    ]

    def heading(row: Row) -> str:
        return "judges against one another" if row["judge_id"] is None else row["judge_id"]

    rows = quality.agreement.filter(pl.col("system").is_null()).sort("judge_id", nulls_last=True, maintain_order=True)
    note = (
        "One row a criterion, over all systems. Spread within is the standard deviation of a judge's repetitions; "
        "alpha is Krippendorff's, for intervals; agreement and Gwet's AC1 are of pass and fail."
    )
    return _grouped("Judge quality", rows, columns, lines=_CRITERION, heading=heading, note=note)


def values(attempts: Sequence[AttemptShown], scales: Mapping[str, Scale]) -> Table:
    """Return the values of the attempts at one question."""
    metrics = [value.metric for value in attempts[0].values]
    lines = [
        Line(
            Cell(f"{attempt.system}, repeat {attempt.repeat}"),
            [Cell(attempt.status), *(_value(scales, value.metric, value.value) for value in attempt.values)],
        )
        for attempt in attempts
    ]
    return _table("Values of the attempts", ["Attempt", "Status", *metrics], lines)


# --- cells ------------------------------------------------------------------------------------------------------------


_SYSTEM = ("System", lambda row: str(row["system"]))
_PAIR = ("Pair", lambda row: f"{row['system_a']} − {row['system_b']}")
_CRITERION = ("Criterion", lambda row: str(row["criterion"]))


def _table(caption: str, columns: Sequence[str], lines: Sequence[Line]) -> Table:
    left_out = max(len(lines) - MOST_ROWS, 0)
    return Table(caption, columns, [Group(None, lines[:MOST_ROWS])], left_out=left_out)


def _grouped(
    caption: str,
    rows: pl.DataFrame,
    columns: Sequence[Column],
    *,
    lines: tuple[str, Callable[[Row], str]],
    heading: Callable[[Row], str] = lambda row: str(row["metric"]),
    note: str = "",
) -> Table:
    """Return a table with a group for each run of rows of one heading; `lines` heads the first column and fills it."""
    groups: list[tuple[str, list[Line]]] = []
    shown = rows.head(MOST_ROWS)
    for row in shown.iter_rows(named=True):
        if not groups or groups[-1][0] != heading(row):
            groups.append((heading(row), []))
        groups[-1][1].append(Line(Cell(lines[1](row)), [cell(row) for _, cell in columns]))
    names = [lines[0], *(column for column, _ in columns)]
    made = [Group(title, rows_) for title, rows_ in groups]
    return Table(caption, names, made, (), rows.height - shown.height, note, frozenset(_flags(shown)))


def _flags(rows: pl.DataFrame) -> Iterator[str]:
    if "flags" not in rows.columns:
        return iter(())
    return (flag for flags in rows["flags"].drop_nulls() for flag in flags)


def _number(text: str, *, is_strong: bool = False) -> Cell:
    return Cell(text, is_number=True, is_strong=is_strong)


def _of(value: Any) -> Cell:
    return Cell(cell_text(value) or "–", is_number=isinstance(value, int | float))


def _count(count: int | None) -> Cell:
    return _number("–" if count is None else f"{count:,}")


def _value(scales: Mapping[str, Scale], metric: str, value: float | None) -> Cell:
    return Cell("not scored") if value is None else _number(scales[metric].number(value))


def _interval(scale: Scale, low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{scale.number(low)} to {scale.number(high)}"


def _signed(scales: Mapping[str, Scale], row: Row, column: str) -> str:
    return scales[row["metric"]].number(row[column], sign=True)


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def _p(p: float | None) -> str:
    return "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def _is_significant(row: Row) -> bool:
    return row["p_adjusted"] is not None and row["p_adjusted"] <= ALPHA


def _family(row: Row) -> str:
    if row["family"] is None:
        return "–"
    name = {"holm": "Holm", "benjamini_hochberg": "Benjamini–Hochberg"}.get(row["correction"], row["correction"])
    return f"{row['family']}, {name} over {row['family_size']}"


def explained(flags: Iterable[str]) -> list[tuple[str, str]]:
    """Return each of the flags that has one with its meaning, in alphabetical order."""
    return [(flag, FLAGS[flag]) for flag in sorted(set(flags)) if flag in FLAGS]


FLAGS = {
    "all_equal": "all values are the same",
    "clamped": "n was held between questions and attempts because a score lies at an end of the range",
    "constant": "every question has the same difference, so there is no spread to make an interval of",
    "identical": "the two are the same on every question",
    "n<5": "fewer than 5 questions: an interval says little",
    "n<30": "fewer than 30 questions",
    "negative_variance": "repeats vary more than questions do",
    "no_common": "no question has a score of both",
    "no_question": "no question has a score",
    "no_range": "the metric has no range, so the interval is a t interval",
    "no_variance": "all questions have the same mean",
    "not_rated_by_all": "not every judge rated every attempt",
    "one_repeat": "one repeat a question: nothing to compare a repeat with",
    "or_unbounded": "no task passed with the second only, so the odds ratio has no upper end",
    "rated_once": "some attempts were rated once only",
    "smallest_p_above_alpha": "so few differences that no p could be significant, whatever their signs",
    "unequal_repeats": "questions have different numbers of repeats",
}

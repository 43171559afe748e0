"""The pictures of a report: frames in, Vega-Lite out, as Altair charts for a notebook and as SVG and PNG for files.

Every picture can be read without colour: positions, lengths, shapes and written figures say all of it. What a model or
a file calls itself is text in them, shortened, with control characters written out. Needs the extra `scorer[report]`.

Charts are put together as plain Vega-Lite, which `altair` turns into an Altair object: Altair copies every part at
every step of putting them together, which takes seconds where a page has ten pictures of twenty panels each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from scorer.formats import escape_controls
from scorer.metrics.rubric import PASSED, SCORE, TOTAL
from scorer.report.results import ALPHA, Results, natural
from scorer.store import whole_file

if TYPE_CHECKING:
    import altair as alt

Spec: TypeAlias = dict[str, Any]
"""A chart as Vega-Lite."""
Row: TypeAlias = Mapping[str, Any]

INK, MUTED, LINE, FAINT, PAPER = "#1b2430", "#566171", "#cdd4dd", "#edf0f4", "#ffffff"
ACCENT = "#1d5d9b"
STEPS = ("#f2f5f9", "#dbe6f2", "#b9d0e8", "#8db4d9", "#5b91c4", "#2f6ca6", "#123f6e")
"""The steps of a heat map from the worst to the best; they differ in lightness, so they hold in grey too."""
ON_MIDDLE, ON_DARK = "#1b2431", "#fefefe"
"""Text on the middle step and on the dark ones. Each colour has one meaning, so that a page can choose its own."""

FONTS = (
    '"Helvetica Neue", Arial, "Liberation Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans SC", "PingFang SC", '
    '"Microsoft YaHei", "Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic", "DejaVu Sans", sans-serif'
)
"""The first three are of one width, so what was measured here fits there; Chinese and Korean come from the others."""

MOST_SYSTEMS = 24
MOST_PAIRS, _MOST_PAIRS_OF_BARS = 12, 6
MOST_METRICS = 12
MOST_LEVELS = 12
MOST_QUESTIONS = 60
_FEWEST_QUESTIONS, _MOST_CELLS = 20, 1200
"""What a picture holds at most; the text beside it says what is left out."""

_WIDTH, _PLOT, _CELL, _LINE = 780, 170, 40, 17
"""Points: a picture, the plot of a panel, a cell's width, a line's height."""
_LONGEST_NAME = 40
_BARS = 60
_SIZE = 11
_TICK, _CROSS = "M-0.9,0.05L-0.3,0.65L0.9,-0.65", "M-0.6,-0.6L0.6,0.6M-0.6,0.6L0.6,-0.6"


@dataclass(frozen=True)
class Picture:
    """One picture of a report."""

    name: str
    """What its file is called."""
    title: str
    description: str
    """What it shows, for those who do not see it, and how it is read."""
    spec: Spec

    @property
    def chart(self) -> alt.ConcatChart:
        """The picture as an Altair chart."""
        return altair(self.spec)


def pictures(results: Results) -> list[Picture]:
    """Return every picture that the results have something for, in the order of a page."""
    return list(_pictures(results))


def _pictures(results: Results) -> Iterator[Picture]:
    metrics = scales(results)
    headline = [metric for metric in metrics if metric.name in results.headline]
    summary, systems = results.report.summary, results.systems
    of_systems, of_metrics = ("systems", len(systems), MOST_SYSTEMS), ("metrics", len(metrics), MOST_METRICS)
    of_headline = ("metrics", len(headline), MOST_METRICS)
    yield Picture(
        "intervals",
        "Means with 95% intervals",
        "One panel a metric, one line a system: the dot is the mean of the question means, the bar its 95% interval."
        + _part(of_systems, of_metrics),
        intervals(summary, metrics, systems),
    )
    if results.compared is not None:
        pairs = results.compared.comparisons.select("system_a", "system_b").n_unique()
        yield Picture(
            "differences",
            "Paired differences",
            "One panel a metric, one line a pair: the dot is the mean difference over the common questions, the thick "
            "bar its 95% interval, not adjusted; the pale band is what these data could have shown with 80% power. A "
            f"filled dot is a difference that is significant at {ALPHA:g} after the adjustment, a hollow one is not."
            + _part(("pairs", pairs, MOST_PAIRS), of_metrics),
            differences(results.compared.comparisons, metrics),
        )
    order = results.hardest["task_id"].to_list()
    yield Picture(
        "questions",
        "Questions and systems, hardest first",
        "One panel a metric, one line a question, one column a system: the figure is the mean of the attempts, and the "
        "more a cell stands out from the paper, the better. A dash is a question without a score."
        + _part(("questions", len(order), questions_shown(headline, systems)), of_systems, of_headline),
        questions(results.questions, headline, systems, order),
    )
    for number, stratum in enumerate(results.report.strata, 1):
        rows = summary.filter(pl.col("stratum") == stratum)
        if levels := several_questions(rows):
            yield Picture(
                f"stratum-{number}",
                f"Means by {_text(stratum)}",
                "One panel a metric, one block a level, one line a system: the mean of the question means with its 95% "
                "interval. Levels of a single question are left out."
                + _part(("levels", len(levels), MOST_LEVELS), of_systems, of_headline),
                by_level(rows, headline, systems),
            )
    if results.differences.height:
        pairs = results.differences.select("system_a", "system_b").n_unique()
        yield Picture(
            "question-differences",
            "Differences question by question",
            "One panel a pair and metric, one bar a question, sorted: a bar upwards is a question on which the first "
            f"system has more than the second; of more than {_BARS} questions {_BARS}, evenly spaced, are drawn."
            + _part(("pairs", pairs, _MOST_PAIRS_OF_BARS), of_headline),
            question_differences(results.differences, headline),
        )
    if results.disagreement.height:
        yield Picture(
            "repeats",
            "How often a system disagrees with itself",
            "One panel a metric, one bar a system: the share of its questions with two scored repeats or more on which "
            "these do not all have the same value." + _part(of_systems, of_metrics),
            disagreement(results.disagreement, metrics, systems),
        )
    if results.quality is not None:
        yield from _of_rubric(results, metrics)


def _of_rubric(results: Results, metrics: Sequence[Scale]) -> Iterator[Picture]:
    points = [metric for metric in metrics if metric.name not in (TOTAL, SCORE, PASSED)]
    of_systems = ("systems", len(results.systems), MOST_SYSTEMS)
    levels = results.task_levels["level"].value_counts()
    largest = ("tasks of the largest level", int(levels["count"].max() or 0), MOST_QUESTIONS)  # type: ignore[arg-type]
    yield Picture(
        "criteria",
        "Criteria",
        "One panel a system, one bar a criterion: the mean points as a part of the most that there are."
        + _part(of_systems),
        criteria(results.report.summary, points, results.systems),
    )
    yield Picture(
        "verdicts",
        "Verdicts by task and level",
        "One block a level, one line a system, one column a task: a filled square with a tick passed, an empty one "
        "with a cross failed, a dash has no verdict."
        + _part(of_systems, ("levels", levels.height, MOST_LEVELS), largest),
        verdicts(results.questions, results.task_levels, results.systems),
    )


def _part(*counts: tuple[str, int, int]) -> str:
    """Say what a picture leaves out, of (what, how many there are, how many it shows at most)."""
    said = [f"{most} of {count:,} {what}" for what, count, most in counts if count > most]
    return f" Shown are the first {' and '.join(said)}; the tables and `scorer sql` have the others." if said else ""


# --- scales -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """A metric as an axis."""

    name: str
    low: float | None = None
    high: float | None = None
    """Its range; null where it has none, and then the axis ends with the data."""
    higher_is_better: bool = True

    @property
    def width(self) -> float | None:
        """The width of the range."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def title(self) -> str:
        """The name as a picture shows it, with the direction where that is not the usual one."""
        return _text(self.name) + ("" if self.higher_is_better else " (lower is better)")

    def number(self, value: float | None, *, sign: bool = False) -> str:
        """Return a value with as many decimals as the range calls for; minus signs are typeset as such."""
        if value is None:
            return "–"
        width = self.width
        decimals = 4 if width is None else 2 if width <= 2 else 1
        text = f"{value:.3g}" if width is None else f"{value:.{decimals}f}"
        text = text.lstrip("-") if float(text) == 0 else text
        return (f"+{text}" if sign and float(text) > 0 else text).replace("-", "−")

    @property
    def axis(self) -> Spec:
        """The Vega-Lite scale over the range."""
        if self.low is None or self.high is None:
            return {"zero": False, "nice": True}
        return {"domain": [self.low, self.high], "nice": False}


def scales(results: Results) -> list[Scale]:
    """Return the metrics of the results as axes, in the pack's order."""
    columns = results.metrics.select("metric", "low", "high", "higher_is_better")
    return [Scale(*row) for row in columns.iter_rows()]


# --- charts -----------------------------------------------------------------------------------------------------------


def intervals(summary: pl.DataFrame, metrics: Sequence[Scale], systems: Sequence[str]) -> Spec:
    """Return the means of the systems with their intervals, a panel a metric; rows of `aggregate.summary`."""
    overall = summary.filter(pl.col("stratum").is_null())
    names = _names(systems)
    panels = [
        _forest(
            [_mean_line(metric, names[row["system"]], row) for row in _of_metric(overall, metric, names)],
            list(names.values()),
            metric.title,
            metric.axis,
            labels=number % 2 == 0,
        )
        for number, metric in enumerate(metrics[:MOST_METRICS])
    ]
    return _grid(panels, columns=2)


def by_level(summary: pl.DataFrame, metrics: Sequence[Scale], systems: Sequence[str]) -> Spec:
    """Return means with intervals by the levels of one stratum, a panel a metric; rows of `aggregate.summary`.

    Levels of a single question are left out.
    """
    names = _names(systems)
    levels = _names(several_questions(summary), MOST_LEVELS)
    lines = [f"{level}{_UNDER}{name}" for level in levels.values() for name in ("", *names.values())]
    panels = [
        _forest(
            [
                _mean_line(metric, f"{levels[row['level']]}{_UNDER}{names[row['system']]}", row)
                for row in _of_metric(summary, metric, names)
                if row["level"] in levels
            ],
            lines,
            metric.title,
            metric.axis,
            labels=number % 2 == 0,
        )
        for number, metric in enumerate(metrics[:MOST_METRICS])
    ]
    return _grid(panels, columns=2)


def several_questions(summary: pl.DataFrame) -> list[str]:
    """Return the levels that hold two scored questions or more, in natural order; rows of one stratum."""
    counted = summary.group_by("level").agg(pl.col("n_questions").max())
    return sorted(counted.filter(pl.col("n_questions") > 1)["level"].drop_nulls(), key=natural)


def _mean_line(metric: Scale, name: str, row: Row) -> Row:
    text = _interval(metric, row["mean"], row["ci_low"], row["ci_high"])
    return {"name": name, "text": text, "at": row["mean"], "low": row["ci_low"], "high": row["ci_high"], "sure": True}


def differences(comparisons: pl.DataFrame, metrics: Sequence[Scale]) -> Spec:
    """Return the paired differences with their intervals, a panel a metric; rows of `aggregate.compare`."""
    overall = comparisons.filter(pl.col("stratum").is_null())
    names = _pair_names(overall)
    lines = {
        metric: [
            {
                "name": names[row["system_a"], row["system_b"]],
                "text": _interval(metric, row["difference"], row["ci_low"], row["ci_high"], sign=True),
                "at": row["difference"],
                "low": row["ci_low"],
                "high": row["ci_high"],
                "reach": row["mde"],
                "no_reach": None if row["mde"] is None else -row["mde"],
                "sure": row["p_adjusted"] is not None and row["p_adjusted"] <= ALPHA,
            }
            for row in overall.filter(pl.col("metric") == metric.name).iter_rows(named=True)
            if (row["system_a"], row["system_b"]) in names
        ]
        for metric in metrics[:MOST_METRICS]
    }
    reach = _reach(lines)
    panels = [
        _forest(
            rows,
            list(names.values()),
            metric.title,
            {"domain": [-reach[metric.width], reach[metric.width]], "nice": False},
            labels=number % 2 == 0,
            zero=True,
        )
        for number, (metric, rows) in enumerate(lines.items())
    ]
    return _grid(panels, columns=2)


def _reach(lines: Mapping[Scale, Sequence[Row]]) -> dict[float | None, float]:
    """Return how far axes of differences reach to either side: alike for metrics whose ranges are of one width."""
    reach: dict[float | None, float] = {}
    for metric, rows in lines.items():
        ends = [abs(row[end]) for row in rows for end in ("at", "low", "high", "reach") if row[end] is not None]
        reach[metric.width] = max(max(ends, default=0.0) * 1.04, reach.get(metric.width, 0.0))
    return {width: most or width or 1.0 for width, most in reach.items()}


def _forest(
    rows: Sequence[Row], names: Sequence[str], title: str, axis: Spec, *, labels: bool, zero: bool = False
) -> Spec:
    """Return one panel of a forest plot: dot, interval and figures a line."""
    x = {"field": "low", "type": "quantitative", "scale": axis, "title": None}
    to_high = {"x": x | {"axis": {"tickCount": 4, "grid": True, "labelOverlap": True}}, "x2": {"field": "high"}}
    dot = {"type": "point", "shape": "circle", "size": 46, "opacity": 1, "stroke": ACCENT, "strokeWidth": 1.5}
    at = {"x": x | {"field": "at"}}
    layers: list[Spec] = [
        {"mark": {"type": "rule", "strokeWidth": 2.5, "color": ACCENT}, "encoding": to_high},
        {"mark": dot | {"fill": ACCENT}, "encoding": at, "transform": [{"filter": "datum.sure"}]},
        {"mark": dot | {"fill": PAPER}, "encoding": at, "transform": [{"filter": "!datum.sure"}]},
        _figures(),
    ]
    y = {"y": _lines(names, labels=labels)}
    parts: list[Spec] = [{"layer": layers, "encoding": y}]
    if zero:
        band = {"x": x | {"field": "no_reach"}, "x2": {"field": "reach"}} | y
        none = {"x": {"datum": 0, "type": "quantitative"}}
        parts.insert(0, {"mark": {"type": "rule", "color": MUTED}, "encoding": none})
        parts.insert(0, {"mark": {"type": "bar", "height": 11, "color": FAINT}, "encoding": band})
    step = 2 * _LINE - 4 if any("\n" in name for name in names) else _LINE
    return _panel(rows, parts, title, {}, {"width": _PLOT, "height": step * max(len(names), 1)})


def questions(means: pl.DataFrame, metrics: Sequence[Scale], systems: Sequence[str], order: Sequence[str]) -> Spec:
    """Return a heat map of questions and systems, a panel a metric; rows of `aggregate.questions.question_means`.

    `order` is that of the questions, of which the first `questions_shown` are shown.
    """
    tasks, names = _names(order, questions_shown(metrics, systems)), _names(systems)
    shown_means = means.filter(pl.col("task_id").is_in(list(tasks)))
    shown = metrics[:MOST_METRICS]
    widest = max([_CELL * len(names) + 4 * _longest(names.values()), 7 * _longest(metric.title for metric in shown)])
    columns = _balanced(len(shown), max(1, (_WIDTH - 60) // (widest + 14)))
    ink = [MUTED, *[INK] * 4, ON_MIDDLE, ON_DARK, ON_DARK]
    cell = {"color": _stepped([PAPER, *STEPS])}
    figure = {"color": _stepped(ink), "text": {"field": "text"}}
    layers: list[Spec] = [
        {"mark": {"type": "rect", "stroke": PAPER, "strokeWidth": 1}, "encoding": cell},
        {"mark": {"type": "text", "fontSize": 10}, "encoding": figure},
    ]
    panels = []
    for number, metric in enumerate(shown):
        rows = [
            {
                "task": tasks[row["task_id"]],
                "name": names[row["system"]],
                "text": metric.number(row["mean"]),
                "step": _step(None if row["mean"] is None else row["goodness"]),
            }
            for row in _of_metric(shown_means, metric, names)
        ]
        encoding = {
            "y": _lines(list(tasks.values()), labels=number % columns == 0, field="task"),
            "x": _columns(list(names.values()), orient="top", angle=-40),
        }
        panel = _panel(rows, layers, metric.title, encoding, {"width": {"step": _CELL}, "height": {"step": _LINE}})
        panels.append(panel | {"resolve": {"scale": {"color": "independent"}}})
    return _grid(panels, columns=columns, spacing=14)


def questions_shown(metrics: Sequence[Scale], systems: Sequence[str]) -> int:
    """Return how many questions a heat map shows at most: fewer where each has a cell in many panels and columns."""
    cells = len(metrics[:MOST_METRICS]) * len(systems[:MOST_SYSTEMS])
    return min(MOST_QUESTIONS, max(_FEWEST_QUESTIONS, _MOST_CELLS // max(cells, 1)))


def _stepped(colours: Sequence[str]) -> Spec:
    """Return a colour for no score and for each step."""
    scale = {"domain": list(range(-1, len(STEPS))), "range": list(colours)}
    return {"field": "step", "type": "ordinal", "scale": scale, "legend": None}


def _step(goodness: float | None) -> int:
    return -1 if goodness is None else min(int(max(goodness, 0.0) * len(STEPS)), len(STEPS) - 1)


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _balanced(count: int, most: int) -> int:
    """Return how many of `count` panels to set side by side, at most `most`, so that the rows are as full as can be."""
    rows = -(-count // min(most, max(count, 1)))
    return -(-count // max(rows, 1)) or 1


def question_differences(differences_: pl.DataFrame, metrics: Sequence[Scale]) -> Spec:
    """Return each question's difference, sorted, a panel a pair and metric; rows of `Results.differences`.

    Of more than _BARS questions so many are drawn, evenly spaced among the sorted.
    """
    shown, names = metrics[:MOST_METRICS], _pair_names(differences_, _MOST_PAIRS_OF_BARS)
    columns = _balanced(len(shown), 3)
    values = differences_.select("metric", "system_a", "system_b", "difference").partition_by(
        "metric", "system_a", "system_b", as_dict=True, include_key=False
    )
    none = differences_.clear()
    panels = []
    for first in range(0, len(shown), columns):
        for line, (pair, name) in enumerate(names.items()):
            for number, metric in enumerate(shown[first : first + columns]):
                mine = values.get((metric.name, *pair), none)["difference"]
                panels.append(_sorted_bars(mine, metric, "" if line else metric.title, "" if number else name))
    return _grid(panels, columns=columns, spacing=16)


def _sorted_bars(values: pl.Series, metric: Scale, title: str, name: str) -> Spec:
    """Return one panel of question_differences: the metric's title over the first, the pair's name before it."""
    ordered = values.sort(descending=True)
    if len(ordered) > _BARS:
        ordered = ordered.gather([number * (len(ordered) - 1) // (_BARS - 1) for number in range(_BARS)])
    rows = [{"place": place, "difference": value} for place, value in enumerate(ordered)]
    limit = metric.width or max(map(abs, ordered), default=1.0) or 1.0
    axis = {"values": [-limit, 0, limit], "labels": bool(name), "ticks": bool(name), "domain": False}
    turned = {"titleAngle": 0, "titleAlign": "right", "titleBaseline": "middle", "titleY": 28, "titlePadding": 8}
    bars = {
        "x": {"field": "place", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0.25, "paddingOuter": 0}},
        "y": {
            "field": "difference",
            "type": "quantitative",
            "scale": {"domain": [-limit, limit], "nice": False},
            "title": name.split("\n") if name else None,
            "axis": axis | turned,
        },
    }
    up, same, down = (values > 0).sum(), (values == 0).sum(), (values < 0).sum()
    told = {"type": "text", "align": "left", "baseline": "bottom", "color": MUTED, "fontSize": 10}
    place = {"x": {"value": 0}, "y": {"value": -2}, "text": {"value": f"{up} higher · {same} equal · {down} lower"}}
    layers: list[Spec] = [
        {"mark": {"type": "bar", "color": ACCENT}, "encoding": bars},
        {"mark": told, "encoding": place, "data": {"values": [{}]}},
    ]
    return _panel(rows, layers, title, {}, {"width": 190, "height": 56})


def disagreement(shares: pl.DataFrame, metrics: Sequence[Scale], systems: Sequence[str]) -> Spec:
    """Return how often each system disagrees with itself, a panel a metric; rows of `Results.disagreement`."""
    names = _names(systems)
    panels = []
    for number, metric in enumerate(metrics[:MOST_METRICS]):
        rows = [
            {
                "name": names[row["system"]],
                "part": row["share"],
                "text": f"{row['share']:.0%}, {row['n_differing']} of {row['n_questions']}",
            }
            for row in _of_metric(shares, metric, names)
        ]
        panels.append(_bars(rows, list(names.values()), metric.title, labels=number % 2 == 0))
    return _grid(panels, columns=2)


def criteria(summary: pl.DataFrame, metrics: Sequence[Scale], systems: Sequence[str]) -> Spec:
    """Return each criterion's mean points as a part of the most, a panel a system; `metrics` are the criteria."""
    names, overall = _names(systems), summary.filter(pl.col("stratum").is_null())
    criterion = _names([metric.name for metric in metrics])
    panels = []
    for number, system in enumerate(names):
        means = dict(overall.filter(system=system).select("metric", "mean").iter_rows())
        rows = [
            {
                "name": criterion[metric.name],
                "part": None if means.get(metric.name) is None else means[metric.name] / metric.high,
                "text": f"{metric.number(means.get(metric.name))} of {metric.high:g}",
            }
            for metric in metrics
            if metric.high
        ]
        panels.append(_bars(rows, list(criterion.values()), names[system], labels=number % 2 == 0))
    return _grid(panels, columns=2)


def _bars(rows: Sequence[Row], names: Sequence[str], title: str, *, labels: bool) -> Spec:
    """Return one panel of bars from 0 to 1, with their figures."""
    scale = {"domain": [0, 1], "nice": False}
    x = {
        "type": "quantitative",
        "scale": scale,
        "title": None,
        "axis": {"format": "%", "values": [0, 0.5, 1], "grid": False},
    }
    bar = {"type": "bar", "height": 9}
    layers: list[Spec] = [
        {"mark": bar | {"color": FAINT}, "encoding": {"x": x | {"datum": 1}}},
        {"mark": bar | {"color": ACCENT}, "encoding": {"x": x | {"field": "part"}}},
        _figures(),
    ]
    return _panel(rows, layers, title, {"y": _lines(names, labels=labels)}, {"width": _PLOT, "height": {"step": _LINE}})


def verdicts(means: pl.DataFrame, levels: pl.DataFrame, systems: Sequence[str]) -> Spec:
    """Return the grid of verdicts: a block a level, a line a system, a column a task.

    `means` has the metric `passed`, rows of `aggregate.questions.question_means`; `levels` is `Results.task_levels`.
    """
    names = _names(systems)
    passed = {
        (row["task_id"], row["system"]): row["mean"]
        for row in means.filter(pl.col("metric") == PASSED).iter_rows(named=True)
    }
    blocks = []
    for (level,), block in levels.group_by("level", maintain_order=True):
        tasks = _names(block["task_id"].to_list(), MOST_QUESTIONS)
        rows = [
            {"task": label, "name": name, "verdict": _verdict(passed.get((task, system)))}
            for task, label in tasks.items()
            for system, name in names.items()
        ]
        blocks.append(_verdict_block(rows, list(tasks.values()), list(names.values()), _text(str(level))))
    return _grid(blocks[:MOST_LEVELS], columns=1, spacing=10)


def _verdict(mean: float | None) -> str:
    """Return the verdict of a task: that of most of its attempts; a tie fails."""
    return "none" if mean is None else "pass" if mean > 0.5 else "fail"


def _verdict_block(rows: Sequence[Row], tasks: Sequence[str], names: Sequence[str], title: str) -> Spec:
    sign = {"type": "point", "size": 50, "opacity": 1, "strokeWidth": 1.5}
    square = {"type": "square", "opacity": 1}
    marks = [
        ("pass", square | {"size": 190, "color": ACCENT}),
        ("pass", sign | {"shape": _TICK, "stroke": PAPER}),
        ("fail", square | {"size": 170, "filled": False, "stroke": LINE, "strokeWidth": 1}),
        ("fail", sign | {"shape": _CROSS, "stroke": INK}),
        ("none", {"type": "text", "text": "–", "color": MUTED}),
    ]
    layers: list[Spec] = [
        {"mark": mark, "transform": [{"filter": f"datum.verdict === '{verdict}'"}]} for verdict, mark in marks
    ]
    angle = -60 if any(len(task) > 3 for task in tasks) else 0
    encoding = {"x": _columns(tasks, orient="bottom", angle=angle, field="task"), "y": _lines(names, labels=True)}
    return _panel(rows, layers, title, encoding, {"width": {"step": 19}, "height": {"step": 18}})


# --- what the charts share --------------------------------------------------------------------------------------------

_UNDER = "\x1f"
"""Stands between a heading and a name under it; no shown text holds it, because control characters are written out."""


def _panel(rows: Sequence[Row], layers: Sequence[Spec], title: str, encoding: Spec, size: Spec) -> Spec:
    panel: Spec = {"data": {"values": list(rows)}, "layer": list(layers), **size}
    return panel | ({"title": title} if title else {}) | ({"encoding": encoding} if encoding else {})


def _figures() -> Spec:
    """Return the layer that writes each line's figures to the right of a panel."""
    mark = {"type": "text", "align": "left", "baseline": "middle", "color": INK}
    return {"mark": mark, "encoding": {"x": {"value": _PLOT + 8}, "text": {"field": "text"}}}


def _lines(names: Sequence[str], *, labels: bool, field: str = "name") -> Spec:
    """Return a y axis with a line a name, in the order given.

    `heading UNDER name` shows the name; a heading without a name is a line of its own, in bold. A name with a line
    break stands on two lines.
    """
    bold = {"condition": {"test": r"slice(datum.label, -1) === '\x1f'", "value": "bold"}, "value": "normal"}
    label = r"split(split(datum.label, '\x1f')[1] || split(datum.label, '\x1f')[0], '\n')"
    two = any("\n" in name for name in names)
    axis = {"domain": False, "ticks": False, "labels": labels, "labelLimit": 260, "labelExpr": label}
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(names)},
        "title": None,
        "axis": axis | {"labelFontWeight": bold, "labelOffset": -_SIZE / 2 - 1 if two else 0},
    }


def _columns(names: Sequence[str], *, orient: str, angle: int, field: str = "name") -> Spec:
    """Return an x axis with a column a name, in the order given."""
    axis = {"orient": orient, "labelAngle": angle, "domain": False, "ticks": False, "labelLimit": 130}
    scale = {"domain": list(names)}
    return {"field": field, "type": "nominal", "sort": None, "scale": scale, "title": None, "axis": axis}


def _of_metric(frame: pl.DataFrame, metric: Scale, names: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows of one metric that are of the systems shown."""
    for row in frame.filter(pl.col("metric") == metric.name).iter_rows(named=True):
        if row["system"] in names:
            yield row


def _names(texts: Sequence[str], most: int = MOST_SYSTEMS) -> dict[str, str]:
    """Return what the first `most` of the texts are called in a picture: short, and no two alike."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for text in list(dict.fromkeys(texts))[:most]:
        name, number = _text(text), 1
        while name in taken:
            number += 1
            name = f"{_text(text)} ({number})"
        taken.add(name)
        names[text] = name
    return names


def _pair_names(pairs: pl.DataFrame, most: int = MOST_PAIRS) -> dict[tuple[str, str], str]:
    """Return what the first pairs are called: `A − B`, on two lines."""
    found = pairs.select("system_a", "system_b").unique(maintain_order=True).head(most)
    names = _names([*found["system_a"], *found["system_b"]], 2 * most)
    return {(a, b): f"{names[a]}\n− {names[b]}" for a, b in found.iter_rows()}


_NOT_XML = re.compile("[\ufffe\uffff]")


def _text(text: str) -> str:
    """Return a text of unknown origin as a short label on one line."""
    line = " ".join(_NOT_XML.sub("\ufffd", escape_controls(text)).split()) or "(empty)"
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def _interval(metric: Scale, middle: float | None, low: float | None, high: float | None, *, sign: bool = False) -> str:
    if middle is None:
        return "–"
    if low is None or high is None:
        return metric.number(middle, sign=sign)
    ends = ", ".join(metric.number(end, sign=sign) for end in (low, high))
    return f"{metric.number(middle, sign=sign)} [{ends}]"


def _grid(panels: Sequence[Spec], *, columns: int, spacing: int = 20) -> Spec:
    apart = {"scale": {"x": "independent", "y": "independent", "color": "independent"}}
    return {"concat": list(panels), "columns": columns, "spacing": spacing, "resolve": apart, "config": _CONFIG}


_TEXT = {"font": FONTS, "fontSize": _SIZE, "color": INK}
_TITLE = {"fontWeight": 600, "anchor": "start", "frame": "group", "offset": 8}
_CONFIG: Spec = {
    "aria": False,  # the page says in words what a picture shows; a thousand unnamed marks would say nothing
    "background": PAPER,
    "font": FONTS,
    "padding": 4,
    "view": {"stroke": None},
    "text": _TEXT,
    "title": _TEXT | _TITLE,
    "axis": {
        "labelFontSize": _SIZE,
        "labelColor": INK,
        "titleFontSize": _SIZE,
        "titleFontWeight": "normal",
        "titleColor": INK,
        "gridColor": FAINT,
        "domainColor": LINE,
        "tickColor": LINE,
    },
}


# --- out --------------------------------------------------------------------------------------------------------------


def altair(spec: Spec) -> alt.ConcatChart:
    """Return a chart as an Altair object, checked against the schema of Vega-Lite."""
    import altair as alt  # noqa: PLC0415  (files and pages do without it)

    return alt.ConcatChart.from_dict(spec)


def svg(spec: Spec) -> str:
    """Return a chart as SVG; nothing is fetched for it."""
    import vl_convert  # noqa: PLC0415  (a notebook does without it)

    return vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])


def png(spec: Spec, scale: float = 2.0) -> bytes:
    """Return a chart as PNG, `scale` pixels a point; letters come from the fonts that this machine has."""
    import vl_convert  # noqa: PLC0415

    config = spec["config"] | {"font": fonts_for(spec)}
    for part in ("text", "title"):
        config[part] = config[part] | {"font": config["font"]}
    return vl_convert.vegalite_to_png(spec | {"config": config}, allowed_base_urls=[], scale=scale)


def fonts_for(spec: Spec) -> str:
    """Return the fonts for a picture, those of its own script first.

    A browser looks through the list for each letter; the renderer of PNG takes the first font that there is, and any
    at all for letters which that one lacks.
    """
    text = json.dumps(spec["concat"], ensure_ascii=False, default=str)
    families = FONTS.split(", ")
    first = _KOREAN_FONTS if _HANGUL.search(text) else _CHINESE_FONTS if _HAN.search(text) else ()
    return ", ".join(dict.fromkeys([*first, *families]))


_HANGUL, _HAN = re.compile("[\uac00-\ud7a3]"), re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")
_KOREAN_FONTS = ('"Noto Sans CJK KR"', '"Apple SD Gothic Neo"', '"Malgun Gothic"')
_CHINESE_FONTS = ('"Noto Sans CJK SC"', '"Noto Sans SC"', '"PingFang SC"', '"Microsoft YaHei"')


def write_files(shown: Sequence[Picture], folder: Path, notice: str | None) -> list[Path]:
    """Write each picture as NAME.svg and NAME.png, each file whole or not at all; return what was written.

    A picture's title stands in it, and above everything the notice of a simulated run. Raises WriteError.
    """
    written = []
    for picture in shown:
        lines = [notice, picture.title] if notice else [picture.title]
        spec = picture.spec | {"title": {"text": lines, "fontSize": 14, "offset": 16, "frame": "bounds"}}
        for name, content in ((f"{picture.name}.svg", svg(spec).encode()), (f"{picture.name}.png", png(spec))):
            with whole_file(folder / name) as draft:
                draft.write_bytes(content)
            written.append(folder / name)
    return written

"""An explanation as text: what was read out, why each value is what it is, and the answer with the places marked.

The marks are brackets with a number, so that nothing is lost without colour: ⟦3 … ⟧. On a terminal they are coloured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING

from scorer.explain import Explanation, Judgement, Mark, MetricExplained, ReadOut, ScorerExplained
from scorer.explain.reasons import place_text, quoted
from scorer.formats import cell_text, escape_controls, html_text
from scorer.reference import Answer

if TYPE_CHECKING:
    from rich.text import Text

MOST_LISTED = 40
"""Of things read, and of reasons for one value, only so many are listed."""
MOST_MARKED = 100
"""Only the first so many labels are marked in the answer."""
LONGEST_WHOLE = 4_000
"""An answer of more characters than this is shown in excerpts."""
_AROUND = 80
"""Characters of the answer shown before and after a mark in an excerpt."""
_MOST_OF_A_MARK = 240
"""Characters of a mark shown in an excerpt."""

_COLOURS = ("cyan", "magenta", "yellow", "green", "bright_blue", "bright_red")
_SIGNS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "")}

_CSS = {
    "bold": "font-weight:bold",
    "dim": "opacity:.75",
    "cyan": "color:#0a7d8c",
    "magenta": "color:#a3359b",
    "yellow": "color:#8a6d00",
    "green": "color:#1f7a33",
    "red": "color:#b3261e",
    "bright_blue": "color:#2f5fd0",
    "bright_red": "color:#c2410c",
}
"""What a page makes of the styles above: colours that stand out from a light and from a dark page."""

Piece = tuple[str, str]
"""Some text and its style, as Rich names styles; empty for none."""


def explanation_text(explanation: Explanation) -> Text:
    """Return the explanation as Rich text; its `plain` says the same without a terminal."""
    from rich.text import Text  # noqa: PLC0415  (only printing needs Rich)

    text = Text()
    for words, style in _pieces(explanation):
        text.append(escape_controls(words), style or None)
    return text


def explanation_html(explanation: Explanation) -> str:
    """Return the explanation as a piece of HTML, for a notebook; nothing in it but text."""
    spans = [
        f'<span style="{_CSS[style]}">{html_text(words)}</span>' if style in _CSS else html_text(words)
        for words, style in _pieces(explanation)
    ]
    return f'<pre style="white-space:pre-wrap">{"".join(spans)}</pre>'


def _pieces(explanation: Explanation) -> Iterator[Piece]:
    numbers = _numbers(explanation.marks)
    yield from _head(explanation)
    for scorer in explanation.scorers:
        yield from _scorer(scorer, Answer(explanation.response or ""), numbers)
    for judge_id, judgements in groupby(explanation.judgements, lambda judgement: judgement.judge_id):
        yield f"\njudged by {judge_id}\n", "bold"
        for judgement in judgements:
            yield from _judgement(judgement)
    yield from _answer(explanation, numbers)


def _numbers(marks: Iterable[Mark]) -> dict[str, int]:
    """Return a number for each of the first labels, in the order in which they come in the answer."""
    labels = dict.fromkeys(mark.label for mark in marks)
    return {label: number for number, label in enumerate(islice(labels, MOST_MARKED), 1)}


def _head(explanation: Explanation) -> Iterator[Piece]:
    prompt = f": {quoted(explanation.prompt)}" if explanation.prompt else ""
    yield f"{explanation.attempt_id}\n", "bold"
    yield f"run     {explanation.run_id} ({explanation.mode})\n", ""
    yield f"task    {explanation.task_id}{prompt}\n", ""
    yield f"system  {explanation.system}, repeat {explanation.repeat}, {explanation.status}\n", ""
    for name, value in (("fault", explanation.fault), ("error", explanation.error)):
        if value:
            yield f"{name}   {quoted(value)}\n", "red"


# --- scores -----------------------------------------------------------------------------------------------------------


def _scorer(scorer: ScorerExplained, answer: Answer, numbers: dict[str, int]) -> Iterator[Piece]:
    yield f"\nscored by {scorer.scorer}\n", "bold"
    for note in scorer.notes:
        yield f"  note: {note}\n", "yellow"
    for field, group in groupby(scorer.reads, lambda read: read.field):
        reads = list(group)
        for read in reads[:MOST_LISTED]:
            yield f"  {field} {read.position + 1}: {quoted(read.value)} ", ""
            yield f"⟦{numbers[read.label]}⟧ " if read.label in numbers else "", "dim"
            yield f"{_places(read, answer)}\n", "dim"
        yield from _more(len(reads), f"  … and {{:,}} more of {field}\n")
    silent = [metric for metric in scorer.metrics if metric.stored is None and not metric.reasons]
    for metric in scorer.metrics:
        if metric not in silent:
            yield from _metric(metric)
    for reason in dict.fromkeys(metric.reason for metric in silent):
        names = ", ".join(metric.metric for metric in silent if metric.reason == reason)
        yield f"\n  not scored: {names}\n", "bold"
        yield f"    {reason}\n", "yellow"


def _places(read: ReadOut, answer: Answer) -> str:
    """Return where something was read; of a unit, which stands before it, its hints or its key in the block."""
    if read.kind != "units":
        return "; ".join(place_text(answer, place) for place in read.places)
    if read.places[0].words == read.value:
        return read.places[0].within
    return f"for its {', '.join(place.words for place in read.places)}"


def _metric(metric: MetricExplained) -> Iterator[Piece]:
    stored = "not scored" if metric.stored is None else cell_text(metric.stored)
    yield f"\n  {metric.metric} = {stored}", "bold"
    yield f"  {metric.kind or ''}\n", "dim"
    if metric.reason:
        yield f"    {metric.reason}\n", "yellow"
    if not metric.agrees:
        yield f"    these rules give {cell_text(metric.value)}\n", "red"
    for reason in metric.reasons[:MOST_LISTED]:
        sign, style = _SIGNS[reason.met]
        yield f"    {sign} ", style
        yield f"{reason.text}\n", ""
        for detail in reason.details:
            yield f"        {detail}\n", "dim"
    yield from _more(len(metric.reasons), "    … and {:,} more\n")


def _more(count: int, words: str) -> Iterator[Piece]:
    """Say how many are left out where a list is longer than what is shown."""
    if count > MOST_LISTED:
        yield words.format(count - MOST_LISTED), "yellow"


def _judgement(judgement: Judgement) -> Iterator[Piece]:
    total = "no total" if judgement.total_raw is None else f"total {cell_text(judgement.total_raw)}"
    score = "" if judgement.score_normalized is None else f", score {cell_text(judgement.score_normalized)}"
    yield f"  evaluation {judgement.evaluation}: {judgement.status}, {total}{score}\n", ""
    for each in judgement.criteria:
        points = each.status if each.points is None else cell_text(each.points)
        yield f"    {each.criterion}: {points} of {cell_text(each.max_points)}\n", ""
    for flag in judgement.flags:
        yield f"    note: {flag}\n", "yellow"
    if judgement.reason:
        yield f"    the judge: {judgement.reason}\n", ""


# --- the answer -------------------------------------------------------------------------------------------------------


def _answer(explanation: Explanation, numbers: dict[str, int]) -> Iterator[Piece]:
    text = explanation.response
    if text is None:
        yield "\nno answer is stored\n", "bold"
        return
    yield "\nanswer\n", "bold"
    for label, number in numbers.items():
        yield f"  ⟦{number}⟧ {label}\n", _colour(number)
    if len({mark.label for mark in explanation.marks}) > len(numbers):
        yield f"  only the first {MOST_MARKED} are marked; --format json has all\n", "yellow"
    yield "\n", ""
    marks = _nested([mark for mark in explanation.marks if mark.label in numbers])
    windows = [(0, len(text))] if len(text) <= LONGEST_WHOLE else _windows(marks, len(text))
    shown = end = 0
    for start, stop in windows:
        yield from _left_out(start - end)
        yield from _marked(text, marks, numbers, start, stop)
        shown, end = shown + stop - start, stop
    yield from _left_out(len(text) - end)
    yield "\n", ""
    if shown < len(text):
        yield f"shown: {shown:,} of {len(text):,} characters; --format json gives the whole answer\n", "yellow"


def _left_out(count: int) -> Iterator[Piece]:
    if count:
        yield f"\n[… {count:,} characters left out …]\n", "yellow"


def _nested(marks: Sequence[Mark]) -> list[Mark]:
    """Return the marks, the longer first where they start together; one that crosses another's end ends with it."""
    nested: list[Mark] = []
    open_ends: list[int] = []
    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        while open_ends and open_ends[-1] <= mark.start:
            open_ends.pop()
        end = min(mark.end, open_ends[-1]) if open_ends else mark.end
        open_ends.append(end)
        nested.append(Mark(mark.start, end, mark.label))
    return nested


def _windows(marks: Sequence[Mark], length: int) -> list[tuple[int, int]]:
    """Return the parts of a long answer to show: its beginning, and around where each label stands first."""
    first = {mark.label: mark for mark in reversed(marks)}.values()
    wanted = [(0, 2 * _AROUND)]
    wanted += [(mark.start - _AROUND, min(mark.end, mark.start + _MOST_OF_A_MARK) + _AROUND) for mark in first]
    windows: list[tuple[int, int]] = []
    for start, stop in sorted((max(start, 0), min(stop, length)) for start, stop in wanted):
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], max(stop, windows[-1][1]))
        else:
            windows.append((start, stop))
    return windows


def _marked(text: str, marks: Sequence[Mark], numbers: dict[str, int], start: int, stop: int) -> Iterator[Piece]:
    """Yield the characters from `start` to `stop` with a bracket where a mark begins and one where it ends."""
    inside = [mark for mark in marks if mark.start < stop and mark.end > start]
    open_marks: list[Mark] = []
    at = start
    for mark in [*inside, Mark(stop, stop, "")]:
        while open_marks and open_marks[-1].end <= mark.start:
            done = open_marks.pop()
            yield text[at : done.end], _colour(numbers[done.label])
            yield "⟧", _colour(numbers[done.label])
            at = done.end
        opens = max(mark.start, start)
        yield text[at:opens], _colour(numbers[open_marks[-1].label]) if open_marks else ""
        at = opens
        if mark.label:
            yield f"⟦{numbers[mark.label]} ", _colour(numbers[mark.label])
            open_marks.append(mark)
    for mark in reversed(open_marks):
        yield "…⟧", _colour(numbers[mark.label])


def _colour(number: int) -> str:
    return _COLOURS[(number - 1) % len(_COLOURS)]

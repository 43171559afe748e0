"""A gate's answer for people and for CI: as text, JSON and JUnit XML. Frames in, text out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

import polars as pl

from scorer.report.page import Columns, cell, flags, interval, number, page_json, page_text, readable, scored_by

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold, not even escaped."""

_JUNIT = {"worse": "failure", "undecided": "error"}
"""The element by which JUnit XML says that a case did not pass: it failed, or could not be decided."""


def gate_text(cases: pl.DataFrame, verdict: str, notes: Sequence[str], notice: str | None, width: int | None) -> str:
    """Return the answer for a terminal `width` columns wide (None: as wide as it needs)."""
    tables = [(f"Gate: {verdict}", readable(cases, _COLUMNS))]
    return page_text(tables, [*cases["sentence"], *notes], notice, width)


def gate_json(cases: pl.DataFrame, verdict: str, notes: Sequence[str], notice: str | None) -> str:
    """Return one object: `verdict`, the rows under `cases`, and `notes`."""
    return page_json({"verdict": verdict, "cases": cases}, notes, notice)


def gate_junit(cases: pl.DataFrame, notes: Sequence[str], notice: str | None) -> str:
    """Return JUnit XML: a test case a metric, `failure` where it is worse, `error` where it is undecided."""
    verdicts = cases["verdict"].to_list()
    counts = {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("worse")),
        "errors": str(verdicts.count("undecided")),
    }
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "scorer gate", **counts})
    for row in cases.iter_rows(named=True):
        group = ".".join(filter(None, ["gate", row["benchmark"], row["scorer"]]))
        case = ElementTree.SubElement(suite, "testcase", {"classname": _xml(group), "name": _xml(row["metric"])})
        sentence = _xml(row["sentence"])
        if row["verdict"] in _JUNIT:
            ElementTree.SubElement(case, _JUNIT[row["verdict"]], {"type": row["verdict"], "message": sentence})
        else:
            ElementTree.SubElement(case, "system-out").text = sentence
    said = [notice, *notes] if notice else notes
    ElementTree.SubElement(suite, "system-out").text = _xml("\n".join(said))
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Write out what XML cannot hold as its escape."""
    return _NO_XML.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def _side(name: str) -> Columns:
    return {name: lambda row: row[name] if row["run_baseline"] == row["run_candidate"] else _with_run(row, name)}


def _with_run(row: dict[str, str], name: str) -> str:
    return f"{row[f'run_{name}']}:{row[name]}" if row[f"run_{name}"] else row[name]


_COLUMNS: Columns = {
    "scored by": scored_by,
    "metric": cell("metric"),
    **_side("baseline"),
    **_side("candidate"),
    "questions": cell("n_questions"),
    "gain": number("gain"),
    "interval": interval("gain_low", "gain_high"),
    "margin": number("margin"),
    "verdict": cell("verdict"),
    "flags": flags,
}

"""A picture inside a page: SVG of a few known elements and attributes, its colours as classes that the page decides."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup

from scorer.report.charts import ACCENT, FAINT, INK, LINE, MUTED, ON_DARK, ON_MIDDLE, PAPER, STEPS

ROLES = {INK: "ink", MUTED: "muted", LINE: "line", FAINT: "faint", PAPER: "paper", ACCENT: "accent"} | {
    ON_MIDDLE: "on-middle",
    ON_DARK: "on-dark",
    **{colour: f"step-{number}" for number, colour in enumerate(STEPS)},
}
"""What each colour of a picture is for."""

_ELEMENTS = {"svg", "g", "path", "rect", "line", "text", "tspan"}
_KEPT = {"d", "x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "width", "height", "viewBox", "transform"} | {
    "stroke-width",
    "text-anchor",
    "font-size",
    "font-weight",
}
_USUAL = {("font-size", "11px"), ("font-weight", "normal"), ("text-anchor", "start"), ("stroke-width", "1")}
"""What the page's style says of every picture: saying it again is only bytes."""
_ROOM = 8
"""Points on either side."""
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-\d+)?")


def inline(svg: str, label: str) -> Markup:
    """Return an SVG file as an element of a page, `label` its text for those who do not see it.

    What is not known to be harmless is left out: no other element or attribute gets into a page.
    """
    root = ElementTree.fromstring(svg)  # noqa: S314  (made a moment ago, from data, by the renderer)
    picture = _cleaned(root)
    _give_room(picture)
    picture.set("role", "img")
    picture.set("aria-label", label)
    return Markup(ElementTree.tostring(picture, encoding="unicode"))  # noqa: S704  (serialised, so escaped)


def _give_room(picture: ElementTree.Element) -> None:
    """Widen a picture a little: letters may be wider where it is shown than where it was measured."""
    width, height = float(picture.get("width", "0")), float(picture.get("height", "0"))
    picture.set("width", f"{width + 2 * _ROOM:g}")
    picture.set("viewBox", f"{-_ROOM} 0 {width + 2 * _ROOM:g} {height:g}")


def _cleaned(element: ElementTree.Element) -> ElementTree.Element:
    """Return a copy with what is known and visible only."""
    clean = ElementTree.Element(element.tag.rpartition("}")[2], _attributes(element))
    clean.text = element.text
    for child in element:
        if child.tag.rpartition("}")[2] not in _ELEMENTS or _is_invisible(child):
            continue
        inner = _cleaned(child)
        if inner.tag == "g" and not inner.attrib:
            clean.extend(inner)
        elif inner.tag != "g" or len(inner):
            clean.append(inner)
    return clean


def _is_invisible(element: ElementTree.Element) -> bool:
    """Tell whether a shape paints nothing, or is the paper behind the whole picture."""
    tag = element.tag.rpartition("}")[2]
    painted = {element.get(paint) for paint in ("fill", "stroke")} & ROLES.keys()
    return element.get("display") == "none" or (tag in ("path", "rect", "line") and (not painted or _is_paper(element)))


def _is_paper(element: ElementTree.Element) -> bool:
    return element.tag.endswith("rect") and element.get("fill") == PAPER and "transform" not in element.attrib


def _attributes(element: ElementTree.Element) -> dict[str, str]:
    kept = {
        name: _LONG_NUMBER.sub(_shortened, value)
        for name, value in element.attrib.items()
        if name in _KEPT and (name, value) not in _USUAL and value != "translate(0,0)"
    }
    paints = [(paint, element.get(paint)) for paint in ("fill", "stroke")]
    classes = [f"{paint}-{ROLES[colour]}" for paint, colour in paints if colour in ROLES]
    return kept | ({"class": " ".join(classes)} if classes else {})


def _shortened(number: re.Match[str]) -> str:
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")

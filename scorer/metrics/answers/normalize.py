"""Normalisation by named steps: each twice, over a column of texts and over one text, and both give the same.

A pack lists the steps that a metric takes, in order, so what is done to a text before it is compared is never a secret
of the code. Letters and marks that are younger than Python's Unicode tables are the one exception to "the same".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import polars as pl

from scorer.parameters import OneOf
from scorer.text import WHITE_SPACE

FULL_WIDTH = {chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F)} | {"\u3000": " "}
"""Each full-width form of an ASCII character -> that character."""
_ASCII_SYMBOLS = "$+<=>^`|~"
"""What Unicode calls symbols and other languages' keyboards call punctuation."""
_NO_END = "#%&*@‰‱"
"""Punctuation that belongs to what stands before it: C#, 50%."""
_ARTICLE = r"(^| )(?:a|an|the)( |\z)"


@dataclass(frozen=True)
class Step:
    """One normalisation step, for a column and for one text."""

    meaning: str
    batch: Callable[[pl.Expr], pl.Expr]
    plain: Callable[[str], str]


def _one_class(characters: str) -> str:
    """Return a pattern of one of the characters, which Python's and Polars' patterns read alike."""
    return "[" + "".join(map(re.escape, characters)) + "]"


_SPACES = f"{_one_class(WHITE_SPACE)}+"


def _without_punctuation(text: str) -> str:
    return "".join(c for c in text if not (is_punctuation(c) or c in _ASCII_SYMBOLS))


def _without_end(text: str) -> str:
    while text and (text[-1] in WHITE_SPACE or (is_punctuation(text[-1]) and text[-1] not in _NO_END)):
        text = text[:-1]
    return text


def is_punctuation(character: str) -> bool:
    """Tell whether Unicode calls the character punctuation."""
    return unicodedata.category(character).startswith("P")


def _without_articles(text: str) -> str:
    # A second space before each word, so that of two neighbouring articles neither takes the other's space.
    return re.sub(_ARTICLE.replace(r"\z", r"\Z"), " ", text.replace(" ", "  "))


STEPS: Mapping[str, Step] = {
    "nfc": Step(
        "letters and their accents, or the parts of a Hangul syllable, become one character",
        lambda text: text.str.normalize("NFC"),
        lambda text: unicodedata.normalize("NFC", text),
    ),
    "width": Step(
        "full-width letters, digits and marks become ASCII: Ａ１： is A1:",
        lambda text: text.str.replace_many(list(FULL_WIDTH), list(FULL_WIDTH.values())),
        lambda text: "".join(FULL_WIDTH.get(c, c) for c in text),
    ),
    "lowercase": Step("letters become small", lambda text: text.str.to_lowercase(), str.lower),
    "spaces": Step(
        "each run of white space becomes one space, at the ends none",
        lambda text: text.str.replace_all(_SPACES, " ").str.strip_chars(" "),
        lambda text: re.sub(_SPACES, " ", text).strip(" "),
    ),
    "end_marks": Step(
        f"punctuation and white space at the end are dropped, but not {' '.join(_NO_END)}",
        lambda text: text.str.replace(rf"(?:{_one_class(WHITE_SPACE)}|[\p{{P}}--{_one_class(_NO_END)}])+$", ""),
        _without_end,
    ),
    "punctuation": Step(
        f"all punctuation is dropped, and {' '.join(_ASCII_SYMBOLS)}",
        lambda text: text.str.replace_all(rf"\p{{P}}|{_one_class(_ASCII_SYMBOLS)}", ""),
        _without_punctuation,
    ),
    "articles": Step(
        "a, an, the between spaces become a space; letters must be small",
        lambda text: text.str.replace_all(" ", "  ", literal=True).str.replace_all(_ARTICLE, " "),
        _without_articles,
    ),
}
"""Every normalisation step by its name in a pack."""

Steps = Annotated[tuple[str, ...], OneOf(tuple(STEPS))]
"""In a pack a list of names of steps, taken in that order."""


def normalized(text: pl.Expr, steps: Iterable[str]) -> pl.Expr:
    """Return a column of texts after the steps."""
    for step in steps:
        text = STEPS[step].batch(text)
    return text


def normalize(text: str, steps: Iterable[str]) -> str:
    """Return one text after the steps."""
    for step in steps:
        text = STEPS[step].plain(text)
    return text

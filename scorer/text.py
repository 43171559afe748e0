"""Text on Polars columns: words, bigrams, runs of characters, overlap. Knows no table and no pack."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FIRST_HAN, LAST_HAN = "\u4e00", "\u9fff"
"""The Chinese characters that make bigrams."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_PRIVATE_PLANE = 0x100000


def keep_surrogates(text: str) -> str:
    """Return `text` with each lone surrogate U+D800-DFFF as U+10D800-10DFFF: UTF-8, and so Arrow, cannot hold one.

    No rule of any metric tells the two apart: neither is a word character, a space or a Chinese character.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub(lambda found: chr(ord(found.group()) + _PRIVATE_PLANE), text)


@cache
def word_ranges() -> tuple[tuple[int, int], ...]:
    """Return the first and last code of each range of alphanumeric characters, as word_characters.txt pins them."""
    lines = Path(__file__).with_name("word_characters.txt").read_text(encoding="ascii").splitlines()
    ranges = []
    last = -1
    for item in " ".join(line for line in lines if not line.startswith("#")).split():
        skipped, _, more = item.partition("+")
        first = last + 1 + int(skipped, 36)
        last = first + int(more or "0", 36)
        ranges.append((first, last))
    return tuple(ranges)

r"""Text on Polars columns: words, bigrams, runs of characters, overlap. Knows no table and no pack.

Everything here agrees with Python to the character: what a word is, what lowercase is, what white space is. `\b` is the
delicate one. Python's depends on its Unicode version, Rust's is another and slow on Chinese text. So word characters
beyond ASCII are replaced by ASCII ones after a pinned table, and then the ASCII `\b` falls right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

FIRST_HAN, LAST_HAN = "\u4e00", "\u9fff"
"""The Chinese characters that make bigrams."""
WHITE_SPACE = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What Python's `str.strip` takes away."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_PRIVATE_PLANE = 0x100000
_WORD = r"(?-u:\b)[a-z][a-z-]{2,40}(?-u:\b)"
_YEAR = r"(?-u:\b)(?:19|20)[0-9]{2}(?-u:\b)"


def keep_surrogates(text: str) -> str:
    """Return `text` with each lone surrogate U+D800-DFFF as U+10D800-10DFFF: UTF-8, and so Arrow, cannot hold one.

    No rule of any metric tells the two apart: neither is a word character, a space or a Chinese character.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: chr(ord(found.group()) + _PRIVATE_PLANE), text)
    return text


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


# ---- patterns ----


def any_of(terms: Iterable[str]) -> str:
    """Return the pattern of a text that holds one of the terms."""
    return "|".join(map(re.escape, terms))


def any_of_lowered(terms: Iterable[str]) -> str:
    """Return the pattern of a text whose lowercase holds one of the terms, which are lowercase themselves.

    It saves lowercasing the text, which costs more than all the searching. Beside A-Z two characters have ASCII in
    their lowercase: U+212A becomes `k`, and U+0130 becomes `i` and U+0307, so it can only be the last of a term. Terms
    may hold characters beyond ASCII that have no case; any other is refused with a ValueError.
    """
    return "|".join(map(_lowered_pattern, terms))


def _lowered_pattern(term: str) -> str:
    for character in term:
        if not character.isascii() and (character.lower() != character.upper() or character == "\u0307"):
            raise ValueError(f"{term!r} cannot be looked for in lowercased text: {character!r} has case")
        if character.isupper():
            raise ValueError(f"{term!r} cannot be found in lowercased text: {character!r} is a capital")
    return "".join(_lowered_character(c, last=at == len(term) - 1) for at, c in enumerate(term))


def _lowered_character(character: str, *, last: bool) -> str:
    if not ("a" <= character <= "z"):
        return re.escape(character)
    also = {"k": "\u212a", "i": "\u0130" if last else ""}.get(character, "")
    return f"[{character}{character.upper()}{also}]"


@cache
def _word_class() -> str:
    """Word characters beyond ASCII, as what stands between the brackets of a pattern's class."""
    return "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in word_ranges() if first > 0x7F)


# ---- texts ----


def utf8(texts: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the bytes of all texts, one after another, and where each begins, the end of the last included.

    A null has no byte.
    """
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    if not offsets or data is None:
        return np.zeros(len(texts) + 1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    return ends, np.frombuffer(data, dtype=np.uint8)


def word_shape(text: pl.Expr) -> pl.Expr:
    r"""Return `text` with each run of word characters beyond ASCII as one `0`, which the ASCII `\b` takes for a word.

    Any other character beyond ASCII is none for it already.
    """
    return text.str.replace_all(f"[{_word_class()}]+", "0")


def year_shape(text: pl.Expr) -> pl.Expr:
    """Return `text` with decimals beyond ASCII as `5`, so that they end a year but begin none, other letters as `_`."""
    decimals = text.str.replace_all(rf"[\d&&[{_word_class()}]]", "5")
    return decimals.str.replace_all(f"[{_word_class()}]+", "_")


def chinese(text: pl.Expr) -> pl.Expr:
    """Return the Chinese characters of `text`, in order, joined.

    For long texts this is done byte by byte, which costs half of what replacing all else by a pattern does.
    """
    return text.map_batches(_chinese, return_dtype=pl.String())


_LONG = 500
"""Bytes a text: above that, counting what is left of each text costs less than the pattern does."""
_BYTES_AT_ONCE = 1 << 17
"""How much text is worked on at once: what fits a processor's cache."""


def _chinese(texts: pl.Series) -> pl.Series:
    offsets, data = utf8(texts)
    if offsets[-1] - offsets[0] <= _LONG * len(texts) or texts.null_count():
        return texts.str.replace_all(f"[^{FIRST_HAN}-{LAST_HAN}]+", "")
    kept = []
    lengths = [0]
    for first, stop in _few_rows(offsets):
        characters = data[offsets[first] : offsets[stop]]
        chinese = _is_chinese(characters)
        kept.append(characters[chinese])
        bounds = (offsets[first : stop + 1] - offsets[first]).tolist()
        lengths += [int(np.count_nonzero(chinese[start:end])) for start, end in pairwise(bounds)]
    buffers = [pa.py_buffer(np.cumsum(lengths, dtype=np.int64)), pa.py_buffer(np.concatenate(kept))]
    return pl.Series(texts.name, pa.LargeStringArray.from_buffers(len(texts), *buffers))


def _few_rows(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    first = 0
    while first < len(offsets) - 1:
        stop = int(np.searchsorted(offsets, offsets[first] + _BYTES_AT_ONCE))
        stop = min(max(stop, first + 1), len(offsets) - 1)
        yield first, stop
        first = stop


def _is_chinese(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell which bytes of UTF-8 belong to Chinese characters.

    U+4E00-9FFF are the characters of three bytes from E4 B8 80 to E9 BF BF, and no other byte looks like their first.
    """
    begins = (data - np.uint8(0xE4)) <= 0xE9 - 0xE4
    begins[:-1] &= (data[:-1] != 0xE4) | (data[1:] >= 0xB8)
    belongs = begins.copy()
    belongs[1:] |= begins[:-1]
    belongs[2:] |= begins[:-2]
    return belongs


def lowered(texts: pl.Series) -> pl.Series:
    """Return `texts` with their ASCII letters in lowercase, as far as Python's lowercase is ASCII.

    Unicode lowercasing costs more than ten times as much on Chinese text. Only two characters beyond ASCII have ASCII
    in their lowercase: those are put in first.
    """
    if texts.str.contains("\u212a|\u0130").any():
        texts = texts.str.replace_many(["\u212a", "\u0130"], ["k", "i\u0307"])
    return pl.Series(texts.name, pc.ascii_lower(texts.to_arrow(compat_level=pl.CompatLevel.oldest())))


def apart(text: pl.Expr) -> pl.Expr:
    """Return the lowered ASCII `text` with a blank for all that is beside words: no letter, digit, `_` or `-`."""
    return pl.concat_str(pl.lit(" "), text.str.replace_all("[^a-z0-9_ -]+", " "), pl.lit(" "))


def is_ascii(text: pl.Expr) -> pl.Expr:
    """Return whether `text` holds ASCII alone."""
    return text.str.len_bytes() == text.str.len_chars()


# ---- lists of what a text holds ----


def words(text: pl.Expr) -> pl.Expr:
    """Return the lowercased words of `text`, a list without repetition.

    The seed of the rule takes words of two characters too and drops them afterwards. Asking for three at once gives the
    same: where the longer pattern fails, the second character is a letter after a letter or a hyphen, and no word
    begins there.
    """
    return word_shape(text).str.to_lowercase().str.extract_all(_WORD).list.unique(maintain_order=True)


def bigrams(text: pl.Expr) -> pl.Expr:
    """Return each two neighbours among the Chinese characters of `text`, a list without repetition."""
    return runs(chinese(text), 2)


def runs(text: pl.Expr, length: int) -> pl.Expr:
    """Return every run of `length` characters of `text`, a list without repetition."""
    window = f"(?s:.{{{length}}})"
    return (
        pl.concat_list(text.str.slice(start).str.extract_all(window) for start in range(length))
        .list.unique(maintain_order=True)
    )  # fmt: skip


def centuries(text: pl.Expr) -> pl.Expr:
    """Return `19` or `20` for each year of those centuries in `text`, a list."""
    return year_shape(text).str.extract_all(_YEAR).list.eval(pl.element().str.slice(0, 2)).list.unique()


def has_bigram(text: pl.Expr) -> pl.Expr:
    """Return whether `text` holds two Chinese characters, whatever stands between them."""
    chinese = f"[{FIRST_HAN}-{LAST_HAN}]"
    return text.str.contains(f"(?s){chinese}.*{chinese}")


def token_count(text: pl.Expr) -> pl.Expr:
    """Return how many different tokens `text` holds."""
    return bigrams(text).list.len() + words(text).list.len()


def different_characters(text: pl.Expr) -> pl.Expr:
    """Return how many different characters `text` holds."""
    return text.str.split("").list.n_unique()

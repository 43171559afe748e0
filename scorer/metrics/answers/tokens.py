"""Tokenizers, each with a name and a version: what is one token of a text in any language, Chinese to English.

A tokenizer never changes under its name. The characters that it tells apart are listed by their codes, so neither a new
Python nor a new Polars moves a token; a better tokenizer gets the next number.

A column is cut as one array of character codes: a token is a span of it, and all spans become texts at once. Asking
Polars for each token by a pattern and joining neighbours afterwards takes ten times as long on Chinese text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from scorer.metrics.answers.normalize import FULL_WIDTH, normalize
from scorer.parameters import OneOf
from scorer.text import WHITE_SPACE, word_ranges

HAN = (
    (0x2E80, 0x2FD5),  # radicals
    (0x3005, 0x3007),  # 々 〆 〇
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFD),  # the planes beyond the first
)
BOPOMOFO = ((0x3105, 0x312F), (0x31A0, 0x31BF))
KANA = (
    (0x3041, 0x3096),
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),
    (0x30FC, 0x30FF),  # ー among them
    (0x31F0, 0x31FF),
    (0xFF66, 0xFF9F),  # half width
    (0x1AFF0, 0x1B16F),
)
HANGUL = (
    (0x1100, 0x11FF),
    (0x3131, 0x318E),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7A3),
    (0xD7B0, 0xD7FB),
    (0xFFA0, 0xFFDC),
)
SYLLABIC = (*HAN, *BOPOMOFO, *KANA, *HANGUL)
"""First and last code of what is written with few spaces or none: here characters make tokens, not spaces."""

GAP, SYLLABLE, WORD = 0, 1, 2
"""The three kinds of characters: what is between tokens, what makes tokens by its neighbours, what makes words."""

_CODES = 0x110000
_LAST_CASED = 0x20000
"""No letter beyond this code has case."""

Codes = NDArray[np.uint32]
Places = NDArray[np.signedinteger]
Spans = tuple[Places, Places]
"""Where each token starts among the codes, and how many it holds."""


@dataclass(frozen=True)
class Tokenizer:
    """One way to cut texts into tokens: over a column as spans of its codes, and of one text plainly."""

    meaning: str
    folds: bool
    """Whether case, full width and composition make no difference."""
    spans: Callable[[Codes], Spans]
    plain: Callable[[str], list[str]]


def tokens(texts: pl.Series, tokenizer: str) -> pl.DataFrame:
    """Return the columns `row` (the text's place in the series) and `token`, in order; a blank text has no row."""
    rules = TOKENIZERS[tokenizer]
    codes, rows = _codes(texts, composed=rules.folds)
    codes = _fold_table()[codes] if rules.folds else codes
    starts, lengths = rules.spans(codes)
    places = np.arange(lengths.sum()) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return pl.DataFrame({"row": rows[starts], "token": _texts(codes[places], lengths)})


def plain_tokens(text: str, tokenizer: str) -> list[str]:
    """Return the tokens of one text, in order."""
    return TOKENIZERS[tokenizer].plain(text)


# ---- texts to codes and back ----


def _codes(texts: pl.Series, *, composed: bool) -> tuple[Codes, NDArray[np.uint32]]:
    """Return the codes of all characters of all texts, a gap after each text, and the row that each is of."""
    joined = _joined(texts)
    if composed and not unicodedata.is_normalized("NFC", joined):
        texts = texts.str.normalize("NFC")
        joined = _joined(texts)
    lengths = texts.str.len_chars().to_numpy() + 1
    rows = np.repeat(np.arange(len(texts), dtype=np.uint32), lengths)
    return np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32), rows


def _joined(texts: pl.Series) -> str:
    return "".join([f"{text}\n" for text in texts])


def _texts(characters: Codes, lengths: Places) -> pl.Series:
    """Return one text for each of `lengths`, the number of `characters` that it takes."""
    utf8 = characters.tobytes().decode("utf-32-le").encode()
    widths = np.ones(len(characters), dtype=np.uint8)
    for least in (0x80, 0x800, 0x10000):
        widths += (characters >= least).view(np.uint8)
    ends = np.zeros(len(lengths) + 1, dtype=np.int64)
    ends[1:] = np.cumsum(widths, dtype=np.int64)[np.cumsum(lengths) - 1]
    return pl.Series(pa.LargeStringArray.from_buffers(len(lengths), pa.py_buffer(ends), pa.py_buffer(utf8)))


# ---- characters ----


@cache
def _kind_table() -> NDArray[np.uint8]:
    """Return the kind of each code."""
    kinds = np.zeros(_CODES, dtype=np.uint8)
    for ranges, kind in ((word_ranges(), WORD), (SYLLABIC, SYLLABLE)):
        for first, last in ranges:
            kinds[first : last + 1] = kind
    return kinds


@cache
def _fold_table() -> Codes:
    """Return what each code is once case and full width are folded away."""
    folded = np.arange(_CODES, dtype=np.uint32)
    for code in range(_LAST_CASED):
        folded[code] = ord(_fold(chr(code)))
    return folded


def _fold(character: str) -> str:
    """Return the character without full width and case, where that is one character again."""
    narrow = FULL_WIDTH.get(character, character)
    small = narrow.casefold()
    return small if len(small) == 1 else narrow


# ---- spans of an array of codes ----


def _runs(inside: NDArray[np.bool_]) -> Spans:
    """Return where each run of true values starts, and how long it is."""
    edges = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0, append=0))
    return edges[::2], edges[1::2] - edges[::2]


def _character_spans(codes: Codes) -> Spans:
    """Each syllabic character, each word."""
    kinds = _kind_table()[codes]
    return _with_words(kinds, (kinds == SYLLABLE).astype(np.int32))


def _bigram_spans(codes: Codes) -> Spans:
    """Each syllabic character with the next one where there is one, a lone one by itself; each word."""
    kinds = _kind_table()[codes]
    syllabic = kinds == SYLLABLE
    followed = syllabic.copy()
    followed[:-1] &= syllabic[1:]  # the last code is a gap: it ends the last text
    lone = syllabic & ~followed
    lone[1:] &= ~syllabic[:-1]
    return _with_words(kinds, followed * np.int32(2) + lone)


def _with_words(kinds: NDArray[np.uint8], lengths: Places) -> Spans:
    """Return the spans that `lengths` has (0 where none starts) and those of the words, in order."""
    starts, word_lengths = _runs(kinds == WORD)
    lengths[starts] = word_lengths
    starts = np.flatnonzero(lengths)
    return starts, lengths[starts]


def _space_spans(codes: Codes) -> Spans:
    """Each run of what is no white space."""
    return _runs(~np.isin(codes, [ord(c) for c in WHITE_SPACE]))


# ---- one text, plainly ----


def _plain_runs(text: str) -> list[list[str]]:
    """Return the runs of a text: each a run of syllabic characters, or one word."""
    runs: list[list[str]] = []
    before = GAP
    for character in map(_fold, normalize(text, ["nfc"])):
        kind = _plain_kind(ord(character))
        if kind == before == SYLLABLE:
            runs[-1].append(character)
        elif kind == before == WORD:
            runs[-1][0] += character
        elif kind != GAP:
            runs.append([character])
        before = kind
    return runs


@cache
def _plain_kind(code: int) -> int:
    if _within(code, SYLLABIC):
        return SYLLABLE
    return WORD if _within(code, word_ranges()) else GAP


def _within(code: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= code <= last for first, last in ranges)


def _plain_characters(text: str) -> list[str]:
    return [token for run in _plain_runs(text) for token in run]


def _plain_bigrams(text: str) -> list[str]:
    return [token for run in _plain_runs(text) for token in (map("".join, pairwise(run)) if len(run) > 1 else run)]


TOKENIZERS: Mapping[str, Tokenizer] = {
    "bigrams/1": Tokenizer(
        "each two neighbours of Chinese characters, kana and Hangul syllables, a lone one by itself; words and numbers "
        "of other scripts; case, full width and composition make no difference, other characters are dropped",
        True,
        _bigram_spans,
        _plain_bigrams,
    ),
    "characters/1": Tokenizer(
        "like bigrams/1, but each Chinese character, kana and Hangul syllable is a token",
        True,
        _character_spans,
        _plain_characters,
    ),
    "spaces/1": Tokenizer("what stands between white space, as it is", False, _space_spans, str.split),
}
"""Every tokenizer by its name and version."""

TokenizerName = Annotated[str, OneOf(tuple(TOKENIZERS))]

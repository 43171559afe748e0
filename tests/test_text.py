"""The pinned table of word characters, and what has to happen to texts before Arrow can hold them."""

from __future__ import annotations

import hashlib
import sys
import unicodedata

import polars as pl
import pytest

from scorer import text
from scorer.reference import is_word_character


def test_word_characters_are_those_of_python_3_11() -> None:
    """The pinned ranges are str.isalnum() of Unicode 14, whatever Python runs the tests."""
    codes = [code for first, last in text.word_ranges() for code in range(first, last + 1)]
    assert len(text.word_ranges()) == 733
    assert sum(first > 0x7F for first, _ in text.word_ranges()) == 730
    digest = hashlib.sha256(",".join(map(str, codes)).encode()).hexdigest()
    assert digest == "b27f549a19e09cb47fecc36a162ccbb9fcee6982e5864c0b2c64ce634c0b52f7"
    if unicodedata.unidata_version == "14.0.0":
        assert codes == [code for code in range(sys.maxunicode + 1) if chr(code).isalnum()]


@pytest.mark.parametrize("character", ["a", "Z", "0", "_", "研", "①", "²", "Ⅳ", "２", "가", "é", "\U00020000"])
def test_word_characters_beside_a_word_join_it(character: str) -> None:
    """Reference and kernel take the same characters for a part of a word."""
    assert is_word_character(character)
    assert _words(f"{character}Copilot") != ["copilot"]


@pytest.mark.parametrize("character", [" ", "-", "，", "（", "\u0301", "Ⓐ", "\u00a0", "😀", "\U0010d800", "\x00", "·"])
def test_other_characters_beside_a_word_part_it(character: str) -> None:
    """Marks, symbols and blanks leave a word as it is."""
    assert not is_word_character(character)
    assert _words(f"{character}Copilot{character}") == ["copilot"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("ab abc ABC aBc", ["abc"]),
        ("foo-bar1", ["foo-"]),
        ("foo- bar", ["foo", "bar"]),
        ("a-b a-bc1", ["a-b"]),
        ("x" * 41 + " " + "y" * 42, ["x" * 41]),
        ("z-" * 21, ["-".join("z" * 21)]),
        ("a" * 39 + "-bc", ["a" * 39 + "-"]),
        ("Kelvin \u212aelvin", ["kelvin"]),
    ],
)
def test_words_backtrack_as_python_does(given: str, words: list[str]) -> None:
    """At the limit of 41 characters and at hyphens the longest beginning that ends at a boundary is the word."""
    assert _words(given) == words


def test_a_lone_surrogate_is_kept_in_the_private_plane() -> None:
    """What UTF-8 cannot hold is moved, one to one, and nothing else is touched."""
    assert text.keep_surrogates("a\ud800研\udfff😀") == "a\U0010d800研\U0010dfff😀"
    assert text.keep_surrogates("研😀\x00") == "研😀\x00"


@pytest.mark.parametrize("term", ["Only", "été", "ΑΒ", "i\u0307"])
def test_terms_with_case_are_refused(term: str) -> None:
    """A term that cannot be looked for in lowercased text by a pattern is an error, not a silent miss."""
    with pytest.raises(ValueError, match="lowercased text"):
        text.any_of_lowered([term])


def _words(given: str) -> list[str]:
    found: list[str] = pl.DataFrame({"text": [given]}).select(text.words(pl.col("text")))["text"][0].to_list()
    return found

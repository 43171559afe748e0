"""Kernel and reference agree on whatever answers hold, and no answer's result depends on its neighbours."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import polars as pl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from scorer import reference, text
from scorer.metrics.pairs import bigrams_shared, compile_tokens, tokens_within, with_chinese, words_shared
from scorer.metrics.sources import find_centuries
from scorer.score import Scored, compile_golds, score_batch
from tests.parity import vectors
from tests.properties.hostile import ODD, PACK, Maker

ANSWERS = 500
"""Answers an example; 40 examples make 20,000."""

Case = tuple[str, dict[str, list[str]]]
NOT_SHRUNK = (Phase.reuse, Phase.generate)
"""A smaller seed number makes no simpler answers."""
NO_HURRY = settings(deadline=None, suppress_health_check=list(HealthCheck))


def score(cases: list[Case]) -> Scored:
    """Score cases as one batch."""
    attempts, golds = vectors.tables_of(cases)
    return score_batch(attempts, compile_golds(PACK, golds))


def by_kernel(cases: list[Case]) -> list[dict[str, Any]]:
    """Return each case's metrics and what was read, by the kernel."""
    found = vectors.by_attempt(score(cases))
    return [found[str(number)] for number in range(len(cases))]


def by_reference(case: Case) -> dict[str, Any]:
    """Return the same by the reference."""
    evaluation = reference.evaluate(PACK, *case)
    reads = {name: [found.value for found in read] for name, read in evaluation.reads.items() if read}
    return {name: judged.value for name, judged in evaluation.metrics.items()} | {"reads": reads}


@settings(NO_HURRY, max_examples=40, phases=NOT_SHRUNK)
@given(st.integers(0, 2**32))
def test_kernel_agrees_with_reference(seed: int) -> None:
    """Every metric and everything read of 500 hostile answers, scored as one batch, equals the plain reference."""
    maker = Maker(seed)
    cases = [maker.case() for _ in range(ANSWERS)]
    for case, found in zip(cases, by_kernel(cases), strict=True):
        expected = by_reference(case)
        if found != expected:
            alone = by_kernel([case])[0]
            raise AssertionError(f"{case!r}\nkernel:    {found}\nalone:     {alone}\nreference: {expected}")


@settings(NO_HURRY, max_examples=5, phases=NOT_SHRUNK)
@given(st.integers(0, 2**32), st.sampled_from((1, 7, 64)))
def test_neither_order_nor_batch_size_changes_a_row(seed: int, size: int) -> None:
    """The same answers shuffled, or in batches of any size, have the same rows in the order of the attempts."""
    maker = Maker(seed)
    attempts, golds = vectors.tables_of(maker.case() for _ in range(100))
    compiled = compile_golds(PACK, golds)
    whole = score_batch(attempts, compiled)
    parts = [score_batch(attempts[first : first + size], compiled) for first in range(0, attempts.height, size)]
    assert_frame_equal(pl.concat(part.scores for part in parts), whole.scores)
    assert_frame_equal(pl.concat(part.extracts for part in parts), whole.extracts)

    order = random.Random(seed).sample(range(attempts.height), attempts.height)
    shuffled = score_batch(attempts[order], compile_golds(PACK, golds.sample(fraction=1.0, shuffle=True, seed=size)))
    assert (
        shuffled.scores["attempt_id"].unique(maintain_order=True).to_list() == attempts[order]["attempt_id"].to_list()
    )
    key = ["attempt_id", "metric"]
    assert_frame_equal(shuffled.scores.sort(key), whole.scores.sort(key))
    key = ["attempt_id", "field", "position"]
    assert_frame_equal(shuffled.extracts.sort(key), whole.extracts.sort(key))


texts = st.text(st.one_of(st.sampled_from(ODD + "abkiI-z0_ 19的研究"), st.characters(exclude_categories=["Cs"])))


@settings(NO_HURRY, max_examples=100)
@given(st.lists(texts, min_size=1, max_size=100))
def test_text_expressions_agree_with_reference(some: list[str]) -> None:
    """Words, bigrams, runs and centuries of any text are those of the plain functions."""
    column = pl.col("text")
    found = pl.DataFrame({"text": some}).select(
        words=text.words(column),
        bigrams=text.bigrams(column),
        runs=text.runs(column, 4),
        centuries=text.centuries(column),
        count=text.token_count(column),
    )
    for each, row in zip(some, found.iter_rows(named=True), strict=True):
        assert set(row["words"]) == reference.words(each)
        assert set(row["bigrams"]) == reference.bigrams(each)
        assert set(row["runs"]) == set(reference.runs(each, 4))
        assert set(row["centuries"]) == set(find_centuries(each))
        assert row["count"] == len(reference.tokens(each))


at_the_borders = st.text(st.sampled_from("a。\u4dff\u4e00的\u9fff\ua000\U00010e00"))


@settings(NO_HURRY, max_examples=200)
@given(st.lists(st.one_of(texts, at_the_borders)), st.sampled_from((1, 8, 1 << 17)))
def test_chinese_characters_are_found_byte_by_byte(some: list[str], at_once: int) -> None:
    """What is left of long texts are their characters U+4E00-9FFF, however many bytes are worked on at once."""
    with patch.object(text, "_LONG", -1), patch.object(text, "_BYTES_AT_ONCE", at_once):
        found = pl.DataFrame({"text": some}, schema={"text": pl.String}).select(text.chinese(pl.col("text")))
    assert found["text"].to_list() == ["".join(c for c in each if "\u4e00" <= c <= "\u9fff") for each in some]


words = st.text(st.sampled_from("abc-_1 .,K\u212aé"))


@settings(NO_HURRY, max_examples=200)
@given(
    st.one_of(st.lists(texts, min_size=1, max_size=50), st.lists(words, min_size=1, max_size=50)),
    st.one_of(st.lists(texts, min_size=1, max_size=5), st.lists(words, min_size=1, max_size=5)),
)
def test_shared_tokens_are_counted_without_cutting_the_text(units: list[str], statements: list[str]) -> None:
    """Looking in a text for the tokens of another finds as many as both hold."""
    frame = (
        pl.DataFrame({"text": units}).with_row_index("text_at").with_columns(text.lowered(pl.Series("lowered", units)))
    )
    items = compile_tokens(pl.DataFrame({"statement": statements}), "statement")
    pairs = frame.join(items, how="cross").with_row_index("pair")
    pairs = with_chinese(pairs).sort("pair")
    shared = bigrams_shared(pairs) + words_shared(pairs, tokens_within(pairs, "words", "lowered"))
    for unit, statement, found in zip(pairs["text"], pairs["statement"], shared, strict=True):
        assert found == len(reference.tokens(unit) & reference.tokens(statement))


terms = st.text(st.sampled_from("kiazs -但然"), min_size=1, max_size=4)


@settings(NO_HURRY, max_examples=200)
@given(
    st.lists(terms, min_size=1, max_size=4),
    st.lists(st.text(st.sampled_from("kKiIzZsSſ -但然\u212a\u0130\u0307\u0131"))),
)
def test_lowered_pattern_finds_what_lowercase_holds(wanted: list[str], some: list[str]) -> None:
    """A pattern for lowercased text matches a text exactly where Python's lowercase of it holds one of the terms."""
    pattern = text.any_of_lowered(wanted)
    found = pl.DataFrame({"text": some}, schema={"text": pl.String}).select(pl.col("text").str.contains(pattern))
    assert found["text"].to_list() == [any(term in each.lower() for term in wanted) for each in some]


@settings(NO_HURRY, max_examples=100)
@given(st.lists(texts, max_size=50))
def test_lowered_text_holds_the_same_words(some: list[str]) -> None:
    """Lowering ASCII alone leaves the letters of A to Z that Python's lowercase has, in the same places."""
    lowered = text.lowered(pl.Series("text", some, dtype=pl.String)).to_list()
    for each, ours in zip(some, lowered, strict=True):
        assert [c for c in ours if c.isascii()] == [c for c in each.lower() if c.isascii()]

"""Pairs of a text and an item of its gold: how many tokens both hold.

A frame of pairs has the columns `pair` (unique), `text`, `lowered`, and of the item `bigrams`, `words` (lists) and
`wanted` (how many tokens it has). A text is never cut into tokens: the item's few are looked for in it. What a text has
to be made into for that is made once for each text, and only for those that still need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import polars as pl

from scorer import text


def compile_tokens(items: pl.DataFrame, item: str) -> pl.DataFrame:
    """Return `items` with the columns `bigrams`, `words` and `wanted` of the texts in column `item`."""
    # In two steps, because an expression for runs makes the text that it looks at anew for each place to start from.
    tokens = items.with_columns(bigrams=text.chinese(pl.col(item)), words=text.words(pl.col(item)))
    tokens = tokens.with_columns(text.runs(pl.col("bigrams"), 2))
    wanted = pl.col("bigrams").list.len() + pl.col("words").list.len()
    return tokens.with_columns(wanted=wanted.cast(pl.Int64))


def enough(shared: pl.Expr, smaller: pl.Expr, least: float) -> pl.Expr:
    """Tell whether `shared` tokens, one at least, of `smaller` make an overlap of `least`, in whole numbers."""
    fraction = Fraction(str(least))
    return (shared > 0) & (shared * fraction.denominator >= smaller * fraction.numerator)


def split(pairs: pl.DataFrame, condition: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the pairs that meet the condition, and the others."""
    meets = pairs.select(condition).to_series()
    return pairs.filter(meets), pairs.filter(~meets)


def tokens_within(pairs: pl.DataFrame, tokens: str, within: str) -> pl.DataFrame:
    """Return the pairs' `tokens`, one a row, that stand anywhere in the text `within`: those two columns and `pair`."""
    each = pairs.select("pair", tokens, within).explode(tokens)
    return each.filter(pl.col(within).str.contains(pl.col(tokens), literal=True))


def number(found: pl.DataFrame, pairs: pl.DataFrame) -> pl.Series:
    """Return for each pair how many rows of `found` are its own."""
    numbers = found.group_by("pair").agg(number=pl.len().cast(pl.Int64))
    return pairs.select("pair").join(numbers, on="pair", how="left", maintain_order="left")["number"].fill_null(0)


def by_text(pairs: pl.DataFrame, **made: pl.Expr) -> pl.DataFrame:
    """Return `pairs` with the columns `made` from a text's columns, each different text being worked on once."""
    return _with_made(pairs, pairs, made)


def with_chinese(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return `pairs` with the column `chinese`: the text's Chinese characters, null if no item of it has a bigram."""
    needing = pairs.filter(pl.col("bigrams").list.len() > 0)
    return _with_made(pairs, needing, {"chinese": text.chinese(pl.col("text"))})


def _with_made(pairs: pl.DataFrame, needing: pl.DataFrame, made: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Return `pairs` with columns made from the texts of the pairs in `needing`, null for other texts."""
    needed = {name for expression in made.values() for name in expression.meta.root_names()}
    texts = needing.select("text_at", *needed - {"text_at"}).unique("text_at").select("text_at", **made)
    columns = pairs.select("text_at").join(texts, on="text_at", how="left", maintain_order="left").drop("text_at")
    return pairs.with_columns(columns)


def bigrams_shared(pairs: pl.DataFrame) -> pl.Series:
    """Return for each pair, which has the column `chinese`, how many bigrams the text and the item share."""
    return number(tokens_within(pairs, "bigrams", "chinese"), pairs)


def words_shared(pairs: pl.DataFrame, words_within: pl.DataFrame) -> pl.Series:
    """Return for each pair how many words are shared, of those given that stand anywhere in the lowered text.

    Where no hyphen stands beside a word and all else is ASCII, it is one of the text's words if neither a letter, a
    digit nor `_` stands beside it. Only elsewhere the text is cut into words, at ten times the cost.
    """
    tests = words_within.join(pairs.select("pair", "text_at", "text"), on="pair")
    clear, other = split(tests, _clear())
    apart = by_text(clear, apart=text.apart(pl.col("lowered")))
    blank = pl.lit(" ")
    has = apart.filter(pl.col("apart").str.contains(pl.concat_str(blank, "words", blank), literal=True))
    cut = by_text(other, has=text.words(pl.col("text")))
    return number(pl.concat([has.select("pair"), cut.filter(pl.col("words").is_in("has")).select("pair")]), pairs)


def _clear() -> pl.Expr:
    lowered, word, hyphen = pl.col("lowered"), pl.col("words"), pl.lit("-")
    beside_hyphen = lowered.str.contains(pl.concat_str(hyphen, word), literal=True) | lowered.str.contains(
        pl.concat_str(word, hyphen), literal=True
    )
    return text.is_ascii(lowered) & ~beside_hyphen & ~word.str.ends_with("-")

"""Which of the gold's sources a response mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from scorer import text
from scorer.metrics.base import Batch, Values, count, not_blank, one_row_each, share
from scorer.metrics.pairs import (
    bigrams_shared,
    by_text,
    compile_tokens,
    enough,
    number,
    split,
    tokens_within,
    with_chinese,
    words_shared,
)
from scorer.parameters import GoldList, Share, Words
from scorer.reference import Answer, Attempt, Judged, ascii_shape, overlap, tokens, words

FIRST_CHINESE, FIRST_CHARACTERS = 32, 250
"""How much of a response is looked at for a proof that it has more tokens than a source."""

_CENTURY = re.compile(r"\b(19|20)[0-9]{2}\b", re.ASCII)


@dataclass(frozen=True)
class SourceJudged:
    """Evidence: one source of the gold, and what of it the response holds."""

    source: str
    mentioned: bool
    shared_tokens: tuple[str, ...]
    overlap: float
    names_held: tuple[str, ...]
    centuries_held: tuple[str, ...]


@dataclass(frozen=True)
class SourceRecall:
    """The share of the gold's sources that are mentioned; 1 where the gold list is empty.

    A source is mentioned if response and source overlap enough, or if the lowercased response holds one of the source's
    names and the response one of the centuries of the source's years.
    """

    gold: GoldList
    overlap: Share
    """The overlap of response and source from which the source counts as mentioned."""
    no_names: Words
    """Words of a source that are nobody's name."""

    @property
    def matcher(self) -> SourceRecall:
        """The sources mentioned."""
        return self

    # ---- one attempt, plainly ----

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        judged = tuple(
            self._judge(attempt.answer, source) for source in attempt.gold.get(self.gold, ()) if source.strip()
        )
        value = sum(each.mentioned for each in judged) / len(judged) if judged else 1.0
        return Judged(value, judged)

    def _judge(self, answer: Answer, source: str) -> SourceJudged:
        wanted = tokens(source)
        share = overlap(answer.tokens, wanted)
        names = tuple(name for name in sorted(words(source) - set(self.no_names)) if name in answer.lowered)
        centuries = tuple(century for century in sorted(set(find_centuries(source))) if century in answer.text)
        mentioned = share >= self.overlap or bool(names and centuries)
        return SourceJudged(source, mentioned, tuple(sorted(answer.tokens & wanted)), share, names, centuries)

    # ---- a batch ----

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return lists with one entry a source: its `bigrams`, `words`, `wanted`, and its years' `centuries`."""
        sources = compile_tokens(not_blank(items, self.gold, "source"), "source")
        dated = sources.with_columns(centuries=text.centuries(pl.col("source"))).drop("source")
        return one_row_each(dated, items.height)

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the share of each answer."""
        sources = batch.gold(compiled)["wanted"].list.len().to_numpy()
        return share(count(matched["text_at"], batch.size), sources, where_empty=1.0)

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the column `text_at`: the answer's row, once for each source that it mentions.

        Each step sees only the pairs of response and source that the cheaper ones before it left open.
        """
        pairs = (
            batch.gold(compiled).explode("bigrams", "words", "wanted", "centuries").rename({"row": "text_at"})
        ).with_row_index("pair")
        rows = pairs["text_at"]
        pairs = pairs.with_columns(
            batch.answers["response"].gather(rows).alias("text"), batch.lowered.gather(rows).alias("lowered")
        )
        within = tokens_within(pairs, "words", "lowered")
        named = within.filter(~pl.col("words").is_in(self.no_names)).join(
            tokens_within(pairs, "centuries", "text"), on="pair", how="semi"
        )
        mentioned, left = split(pairs, pl.col("pair").is_in(named["pair"].unique().implode()))
        found = [mentioned]

        # Bounds first. A bigram that stands in the response itself is one of its Chinese characters alone too.
        left = left.with_columns(shared=number(tokens_within(left, "bigrams", "text"), left))
        mentioned, left = split(left, self._enough(pl.col("shared"), pl.col("wanted")))
        found.append(mentioned)

        left = with_chinese(left)
        left = left.with_columns(shared=bigrams_shared(left), words_open=number(within, left))
        mentioned, left = split(left, self._enough(pl.col("shared"), pl.col("wanted")))
        found.append(mentioned)

        # Most are left because they share too little, whatever the open words are: so says a proof that the response
        # has more tokens than the source. Only what escapes it is counted exactly.
        left = by_text(left, least=_least_tokens())
        smaller = pl.min_horizontal("least", "wanted")
        left = left.filter(self._enough(pl.col("shared") + pl.col("words_open"), smaller))
        left = left.with_columns(pl.col("shared") + words_shared(left, within))
        mentioned, left = split(left, self._enough(pl.col("shared"), pl.col("wanted")))
        found.append(mentioned)
        left = left.filter(pl.col("least") < pl.col("wanted"))
        left = by_text(left, has=text.token_count(pl.col("text")).cast(pl.Int64))
        found.append(left.filter(self._enough(pl.col("shared"), pl.col("has"))))
        return pl.concat(each.select("text_at") for each in found)

    def _enough(self, shared: pl.Expr, smaller: pl.Expr) -> pl.Expr:
        return enough(shared, smaller, self.overlap)


def _least_tokens() -> pl.Expr:
    """Return a lower bound of a text's tokens, from its beginning.

    Each different Chinese character but the first ends a different bigram; letters between blanks are a word.
    """
    characters = text.different_characters(pl.col("chinese").str.head(FIRST_CHINESE)).cast(pl.Int64).fill_null(0)
    words = pl.col("text").str.head(FIRST_CHARACTERS).str.extract_all(" [a-z]{3,40} ").list.n_unique().cast(pl.Int64)
    return pl.max_horizontal(characters - 1, 0) + words


def find_centuries(source: str) -> list[str]:
    """Return `19` or `20` for each year of those centuries in the source."""
    return _CENTURY.findall(ascii_shape(source))

"""Which of the gold's sources a response mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from scorer import text
from scorer.metrics.base import Batch, Values, count, not_blank, one_row_each, reaches, share
from scorer.parameters import GoldList, Share, Words
from scorer.reference import Answer, Attempt, Judged, ascii_shape, overlap, tokens, words

PREFIX = 400
"""Characters of a response that are looked at first for a proof that it holds more tokens than a source."""

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
        """Return lists with one entry a source: `words`, `bigrams`, `wanted` (how many of both), `centuries`."""
        source = pl.col("source")
        sources = not_blank(items, self.gold, "source").select(
            "gold", words=text.words(source), bigrams=text.bigrams(source), centuries=text.centuries(source)
        )
        wanted = pl.col("words").list.len() + pl.col("bigrams").list.len()
        return one_row_each(sources.with_columns(wanted=wanted.cast(pl.Int64)), items.height)

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the share of each answer."""
        sources = batch.gold(compiled)["wanted"].list.len().to_numpy()
        return share(count(matched["row"], batch.size), sources, where_empty=1.0)

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the column `row` with one row for each source that an answer mentions.

        The response is never cut into tokens: the source's few are looked for in it. Each step sees only the pairs of
        response and source that the cheaper ones before it left open.
        """
        pairs = batch.gold(compiled).explode("words", "bigrams", "centuries", "wanted").with_row_index("pair")
        rows = pairs["row"]
        pairs = pairs.with_columns(response=batch.answers["response"].gather(rows), lowered=batch.lowered.gather(rows))
        words_held = _words_held(pairs)
        named = words_held.filter(~pl.col("words").is_in(self.no_names)).join(_dated(pairs), on="pair", how="semi")
        mentioned, left = _split(pairs, pl.col("pair").is_in(named["pair"].unique().implode()))
        found = [mentioned["row"]]

        # Bounds first. What the response itself holds of the bigrams, its Chinese characters alone hold too. A word
        # between blanks is a word of the response, if it ends in a letter; elsewhere it may be a part of another.
        bounds = left.with_columns(
            shared=_number_held(left, "bigrams", "response") + _number(words_held.filter("alone"), left),
            words_open=_number(words_held.filter(~pl.col("alone")), left),
        )
        mentioned, left = _split(bounds, self._enough(pl.col("wanted")))
        found.append(mentioned["row"])

        left = left.with_columns(shared=_number_shared(left))
        mentioned, left = _split(left.filter(pl.col("shared") > 0), self._enough(pl.col("wanted")))
        found.append(mentioned["row"])

        # What is left is mentioned only if the response has fewer tokens than the source. The last word of a prefix may
        # be a part of a longer one: one token less is proven.
        response = pl.col("response")
        left = left.filter(text.token_count(response.str.head(PREFIX)) - 1 < pl.col("wanted"))
        mentioned = left.filter(self._enough(pl.min_horizontal(text.token_count(response), pl.col("wanted"))))
        found.append(mentioned["row"])
        return pl.concat(found).to_frame()

    def _enough(self, smaller: pl.Expr) -> pl.Expr:
        return (pl.col("shared") > 0) & reaches(pl.col("shared"), smaller, self.overlap)


def _words_held(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the words of the sources that stand anywhere in the lowercased response: `pair`, `words`, `alone`."""
    word = pl.col("words")
    spaced = pl.col("lowered").str.contains(pl.concat_str(pl.lit(" "), word, pl.lit(" ")), literal=True)
    return (
        pairs.select("pair", "lowered", "words")
        .explode("words")
        .filter(pl.col("lowered").str.contains(word, literal=True))
        .with_columns(alone=spaced & ~word.str.ends_with("-"))
        .select("pair", "words", "alone")
    )


def _dated(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return `pair` of those whose response holds a century of the source's years."""
    dates = pairs.select("pair", "response", "centuries").explode("centuries")
    return dates.filter(pl.col("response").str.contains(pl.col("centuries"), literal=True)).select("pair")


def _number_shared(pairs: pl.DataFrame) -> pl.Series:
    """Return how many tokens response and source share, exactly."""
    bigrams = _number_held(pairs.with_columns(chinese=text.chinese(pl.col("response"))), "bigrams", "chinese")
    words = pairs.select("pair", "words", has=text.words(pl.col("response"))).explode("words")
    return bigrams + _number(words.filter(pl.col("words").is_in(pl.col("has"))), pairs)


def _number_held(pairs: pl.DataFrame, tokens: str, texts: str) -> pl.Series:
    """Return for each pair how many of its list `tokens` its text holds."""
    tests = pairs.select("pair", tokens, texts).explode(tokens)
    return _number(tests.filter(pl.col(texts).str.contains(pl.col(tokens), literal=True)), pairs)


def _number(found: pl.DataFrame, pairs: pl.DataFrame) -> pl.Series:
    """Return for each pair how many rows of `found` are its own."""
    numbers = found.group_by("pair").agg(number=pl.len().cast(pl.Int64))
    return pairs.select("pair").join(numbers, on="pair", how="left", maintain_order="left")["number"].fill_null(0)


def _split(pairs: pl.DataFrame, condition: pl.Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the pairs that meet the condition, and the others."""
    meets = pairs.select(condition).to_series()
    return pairs.filter(meets), pairs.filter(~meets)


def find_centuries(source: str) -> list[str]:
    """Return `19` or `20` for each year of those centuries in the source."""
    return _CENTURY.findall(ascii_shape(source))

"""Free answers against reference texts: shared tokens, and the longest common subsequence of tokens (ROUGE-L)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from scorer.metrics.answers import subsequences
from scorer.metrics.answers.base import AnswerKind
from scorer.metrics.answers.measures import Measure, measure_of, measures
from scorer.metrics.answers.tokens import TokenizerName, plain_tokens, tokens
from scorer.metrics.base import Batch, Values, one_row_each
from scorer.reference import Attempt, Judged


@dataclass(frozen=True)
class OverlapJudged:
    """Evidence: one reference, and what of its tokens the answer has."""

    reference: str
    shared: tuple[str, ...]
    """The tokens that count as shared."""
    tokens_said: int
    tokens_wanted: int
    value: float


# ---- what both kinds start from ----


@dataclass(frozen=True, kw_only=True)
class TokenMatch(AnswerKind):
    """The tokens of each answer that its references have too."""

    tokenizer: TokenizerName

    @property
    def matcher(self) -> TokenMatch:
        """The shared tokens, for every metric that asks for the same."""
        return TokenMatch(gold=self.gold, normalize=self.normalize, marks=self.marks, tokenizer=self.tokenizer)

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return `wanted`, how many tokens each reference has, and `vocabulary`, the different tokens of them all.

        An entry of the vocabulary has `reference` (its number), `token`, `places` (where it stands) and `times`. A
        reference without tokens is none.
        """
        references = self.all_references(items).with_row_index("row")
        found = tokens(references["reference"], self.tokenizer).join(references.select("row", "gold"), on="row")
        number = pl.col("row").rank("dense").over("gold").cast(pl.UInt32) - 1
        placed = found.with_columns(place=pl.int_range(pl.len(), dtype=pl.UInt32).over("row"), reference=number)
        by_token = placed.group_by("gold", "reference", "token", maintain_order=True)
        entries = by_token.agg(places="place", times=pl.len())
        wanted = entries.group_by("gold", "reference", maintain_order=True).agg(wanted=pl.col("times").sum())
        vocabulary = entries.select("gold", vocabulary=pl.struct("reference", "token", "places", "times"))
        columns = [one_row_each(each, items.height) for each in (wanted.select("gold", "wanted"), vocabulary)]
        return pl.concat(columns, how="horizontal")

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return a row for each answer and reference: `row`, `reference`, `said`, `wanted`, `entries`.

        `said` and `wanted` are how many tokens each has; `entries` are the answer's tokens that the reference has too,
        in order, each by its place in the batch's `vocabulary`.
        """
        said = tokens(self.said_by_all(batch), self.tokenizer)
        gold = batch.answers["gold"]
        vocabulary = self.vocabulary(batch, compiled).select("gold", "token", "reference", "entry")
        shared = (
            said.with_columns(gold=gold.gather(said["row"]))
            .join(vocabulary, on=["gold", "token"], maintain_order="left")
            .group_by("row", "reference", maintain_order=True)
            .agg(entries="entry")
        )
        wanted = batch.gold(compiled).select("row", "wanted").explode("wanted")
        pairs = wanted.with_columns(reference=pl.int_range(pl.len(), dtype=pl.UInt32).over("row"))
        return (
            pairs.join(said.group_by("row").agg(said=pl.len()), on="row", how="left", maintain_order="left")
            .join(shared, on=["row", "reference"], how="left", maintain_order="left")
            .with_columns(pl.col("said").fill_null(0), pl.col("entries").fill_null([]))
        )

    def vocabulary(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return the vocabulary of all golds of the batch: `gold`, `entry` (0, 1, …) and what each entry has."""
        golds = batch.answers["gold"].unique().sort()
        entries = compiled[golds].select(pl.Series("gold", golds), "vocabulary").explode("vocabulary")
        return entries.unnest("vocabulary").with_row_index("entry")

    def best(self, measure: str, batch: Batch, matched: pl.DataFrame, shared: Values) -> Values:
        """Return each answer's best measure over its references, from how much of each pair is shared; NaN for none."""
        said, wanted = (matched[name].to_numpy().astype(np.float64) for name in ("said", "wanted"))
        best = np.full(batch.size, np.nan)
        np.fmax.at(best, matched["row"].to_numpy(), measures(measure, shared, said, wanted))
        return best


# ---- the two kinds ----


@dataclass(frozen=True, kw_only=True)
class TokenOverlap(TokenMatch):
    """Precision, recall or F1 of the answer's tokens against a reference's, each as often as both have it.

    F1 over `spaces/1` with the steps lowercase, punctuation, articles, spaces is that of SQuAD.
    """

    measure: Measure

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        said = Counter(plain_tokens(self.said(attempt.answer.text), self.tokenizer))
        judged = []
        for reference in self.references(attempt):
            wanted = Counter(plain_tokens(reference, self.tokenizer))
            if wanted:
                shared = tuple((said & wanted).elements())
                judged.append(_judged(self.measure, reference, shared, said.total(), wanted.total()))
        return _best(judged)

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the best measure of each answer."""
        times = self.vocabulary(batch, compiled)["times"]
        pairs = matched.select("entries").with_row_index("pair").explode("entries")
        held = pairs.group_by("pair", "entries").agg(held=pl.len())
        both = np.minimum(held["held"].to_numpy(), times.gather(held["entries"]).to_numpy())
        shared = np.bincount(held["pair"].to_numpy(), weights=both, minlength=matched.height).astype(np.float64)
        return self.best(self.measure, batch, matched, shared)


@dataclass(frozen=True, kw_only=True)
class RougeL(TokenMatch):
    """Precision, recall or F1 of the longest common subsequence of the answer's and a reference's tokens (Lin 2004)."""

    measure: Measure

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        said = plain_tokens(self.said(attempt.answer.text), self.tokenizer)
        judged = []
        for reference in self.references(attempt):
            wanted = plain_tokens(reference, self.tokenizer)
            if wanted:
                judged.append(_judged(self.measure, reference, common(said, wanted), len(said), len(wanted)))
        return _best(judged)

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the best measure of each answer."""
        vocabulary = self.vocabulary(batch, compiled)
        short = matched["wanted"] <= subsequences.WORD_BITS
        shared = np.zeros(matched.height)
        shared[short.to_numpy()] = _short_lengths(matched.filter(short), vocabulary)
        shared[~short.to_numpy()] = _long_lengths(matched.filter(~short), vocabulary)
        return self.best(self.measure, batch, matched, shared)


def _short_lengths(pairs: pl.DataFrame, vocabulary: pl.DataFrame) -> subsequences.Lengths:
    placed = vocabulary.select("entry", "places").explode("places").filter(pl.col("places") < subsequences.WORD_BITS)
    bits = np.zeros(vocabulary.height, dtype=np.uint64)
    np.bitwise_or.at(bits, placed["entry"].to_numpy(), np.uint64(1) << placed["places"].to_numpy().astype(np.uint64))
    entries = pairs.select("entries").explode("entries")["entries"].to_numpy()
    return subsequences.short_lengths(bits[entries], pairs["entries"].list.len().to_numpy().astype(np.int64))


def _long_lengths(pairs: pl.DataFrame, vocabulary: pl.DataFrame) -> list[int]:
    """Return the same for references of more tokens than an array's number has bits."""
    used = pairs.select("entries").explode("entries")["entries"].unique()
    places = dict(vocabulary[used].select("entry", "places").iter_rows())
    bits = {entry: sum(1 << place for place in stands) for entry, stands in places.items()}
    return [
        subsequences.length((bits[entry] for entry in entries), wanted)
        for entries, wanted in pairs.select("entries", "wanted").iter_rows()
    ]


# ---- one attempt, plainly ----


def common(some: list[str], others: list[str]) -> tuple[str, ...]:
    """Return a longest common subsequence by the textbook's table, row by row; a cell keeps its tokens as a chain."""
    row: list[tuple[int, object]] = [(0, None)] * (len(others) + 1)
    for token in some:
        above, row = row, [(0, None)]
        for at, other in enumerate(others):
            grown = (above[at][0] + 1, (token, above[at][1]))
            row.append(grown if token == other else max(above[at + 1], row[at], key=lambda cell: cell[0]))
    return tuple(_unchained(row[-1][1]))


def _unchained(chain: object) -> list[str]:
    found: list[str] = []
    while isinstance(chain, tuple):
        token, chain = chain
        found.append(token)
    return found[::-1]


def _judged(measure: str, reference: str, shared: tuple[str, ...], said: int, wanted: int) -> OverlapJudged:
    return OverlapJudged(reference, shared, said, wanted, measure_of(measure, len(shared), said, wanted))


def _best(judged: list[OverlapJudged]) -> Judged:
    """Return the best value with the evidence of every reference, the best one first; null where there is none."""
    judged.sort(key=lambda each: -each.value)
    return Judged(judged[0].value if judged else None, tuple(judged))

"""Units of a response (sentences, list items) against the gold's statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl
from polars import selectors as cs

from scorer import text
from scorer.metrics.base import Batch, Values, count, not_blank, one_row_each, share
from scorer.metrics.pairs import (
    bigrams_shared,
    by_text,
    compile_tokens,
    enough,
    split,
    tokens_within,
    with_chinese,
    words_shared,
)
from scorer.parameters import Count, GoldList, ReadField, Share
from scorer.reference import Attempt, Gold, Judged, overlap, runs, tokens

MOST_TESTS = 2_000_000
"""Searches of one thing in one unit that are laid out at once: what bounds the memory of an answer full of units."""
FIRST_RUNS = 8
"""How many of a statement's runs are tried before the others."""
FIRST_CHINESE = 24
"""How many of a unit's Chinese characters are looked at for a proof that it has more tokens than would make a hit."""


@dataclass(frozen=True)
class UnitJudged:
    """Evidence: one unit beside one statement of the gold: a hit and by what, or of several misses the nearest."""

    unit: str
    gold: str
    hit: bool
    shared_tokens: tuple[str, ...]
    overlap: float
    shared_run: str | None
    """The first run of the statement that the unit holds too."""


@dataclass(frozen=True)
class UnitMatch:
    """When a unit hits a gold statement: enough overlap, or a shared run of characters."""

    gold: GoldList
    read: ReadField
    overlap: Share
    run: Count

    @property
    def matcher(self) -> UnitMatch:
        """The hits, for every metric that asks for the same."""
        return UnitMatch(self.gold, self.read, self.overlap, self.run)

    # ---- one attempt, plainly ----

    def statements(self, gold: Gold) -> list[str]:
        """Return the gold's statements that are not blank."""
        return [item for item in gold.get(self.gold, ()) if item.strip()]

    def judge(self, attempt: Attempt, each: Literal["unit", "gold"]) -> tuple[UnitJudged, ...]:
        """Return the hits of each unit or each statement, or of one that has none its nearest miss.

        Equal units and equal statements are judged once.
        """
        decisive: dict[str, list[_Pair]] = {}
        for pair in self._pairs(attempt):
            kept = decisive.setdefault(getattr(pair, each), [])
            if kept and not kept[0].hit and (pair.hit or pair.overlap > kept[0].overlap):
                kept.clear()
            if pair.hit or not kept:
                kept.append(pair)
        return tuple(pair.judged() for kept in decisive.values() for pair in kept)

    def _pairs(self, attempt: Attempt) -> Iterator[_Pair]:
        statements = {item: (tokens(item), runs(item, self.run)) for item in self.statements(attempt.gold)}
        for unit in dict.fromkeys(found.value for found in attempt.reads[self.read]):
            unit_tokens, unit_runs = tokens(unit), set(runs(unit, self.run))
            for statement, (wanted, wanted_runs) in statements.items():
                share = overlap(unit_tokens, wanted)
                run = next((run for run in wanted_runs if run in unit_runs), None)
                yield _Pair(unit, statement, share >= self.overlap or run is not None, share, run)

    # ---- a batch ----

    def compile(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return lists with one entry a statement: `statement`, its id and its tokens, `bigrams`, `words`, `wanted`."""
        statements = compile_tokens(not_blank(items, self.gold, "statement"), "statement")
        return one_row_each(statements.with_row_index("statement_id"), items.height)

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return a row a hit: `row`, `text_at` (the unit), `repeats` (how often the answer has it), `statement_at`."""
        units = (
            batch.reads[self.read]
            .group_by("row", "value", maintain_order=True)
            .agg(repeats=pl.len())
            .rename({"value": "text"})
            .with_row_index("text_at")
        )
        units = units.with_columns(lowered=text.lowered(units["text"]))
        statements = batch.gold(compiled)
        weights = statements.select("row", tests=pl.col("statement").list.join("").str.len_chars())
        statements = statements.explode(cs.exclude("row")).with_row_index("statement_at")
        hits = [
            self._hits(some.join(statements, on="row", maintain_order="left"))
            for some in _slices(units.join(weights, on="row", maintain_order="left"))
        ]
        return pl.concat(hits)

    def _hits(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return the pairs of unit and statement that are hits: each test sees what the cheaper ones left open.

        A run with a bigram makes the texts share that bigram, since its Chinese characters are neighbours once all else
        is dropped. So such runs come after the tokens, and few pairs share enough to be tried. Runs without one come
        first: two English sentences mostly share one, and then their words need not be compared.
        """
        left = pairs.with_row_index("pair")
        chinese, other = split(self._runs(left), pl.col("chinese"))
        hits = []
        for some in _commonest_first(other):
            hit, left = _split_by_run(left, some)
            hits.append(hit)

        left = with_chinese(left)
        shared = bigrams_shared(left) + words_shared(left, tokens_within(left, "words", "lowered"))
        left = left.with_columns(shared=shared).filter(shared > 0)
        hit, left = split(left, self._enough(pl.col("wanted")))
        hits.append(hit)
        hit, left = _split_by_run(left, chinese)
        hits.append(hit)

        # What is left is a hit only if the unit has fewer tokens than the statement: rare, so a bound first. Each
        # different character but the first of all ends a different bigram.
        characters = text.different_characters(pl.col("chinese").str.head(FIRST_CHINESE))
        left = by_text(left, least=characters.cast(pl.Int64).fill_null(0) - 1)
        left = by_text(left.filter(self._enough(pl.col("least"))), has=text.token_count(pl.col("text")).cast(pl.Int64))
        hits.append(left.filter(self._enough(pl.min_horizontal("has", "wanted"))))
        return pl.concat(hit.select("row", "text_at", "repeats", "statement_at") for hit in hits)

    def _enough(self, smaller: pl.Expr) -> pl.Expr:
        return enough(pl.col("shared"), smaller, self.overlap)

    def _runs(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return each statement's runs: `statement_id`, `run`, and whether it is `chinese`: holds a bigram itself."""
        runs = text.runs(pl.col("statement"), self.run).alias("run")
        statements = pairs.select("statement_id", "statement").unique("statement_id")
        return (
            statements.select("statement_id", runs).explode("run").with_columns(chinese=text.has_bigram(pl.col("run")))
        )


class _Pair(NamedTuple):
    unit: str
    gold: str
    hit: bool
    overlap: float
    shared_run: str | None

    def judged(self) -> UnitJudged:
        shared = tuple(sorted(tokens(self.unit) & tokens(self.gold)))
        return UnitJudged(self.unit, self.gold, self.hit, shared, self.overlap, self.shared_run)


def _commonest_first(runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return of each statement's runs the few that most statements have, and the others.

    Those stand in most units too, so few tests decide most pairs.
    """
    by_number = runs.with_columns(number=pl.len().over("run")).sort("number", descending=True, maintain_order=True)
    return split(by_number, pl.int_range(pl.len()).over("statement_id") < FIRST_RUNS)


def _split_by_run(pairs: pl.DataFrame, runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the pairs whose unit holds one of the statement's runs, and the others."""
    if runs.is_empty():
        return pairs.clear(), pairs
    tests = pairs.select("pair", "text", "statement_id").join(runs.select("statement_id", "run"), on="statement_id")
    hit = tests.filter(pl.col("text").str.contains(pl.col("run"), literal=True)).select("pair")
    return pairs.join(hit, on="pair", how="semi"), pairs.join(hit, on="pair", how="anti")


def _slices(units: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield `units`, at least once, in slices of about MOST_TESTS `tests` each."""
    part = (units["tests"].cum_sum() // MOST_TESTS).alias("part")
    parts = units.with_columns(part).partition_by("part", include_key=False, maintain_order=True)
    yield from parts or [units]


@dataclass(frozen=True)
class UnitRecall(UnitMatch):
    """The share of the gold's statements that some unit hits; 1 where the gold list is empty."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        judged = self.judge(attempt, "gold")
        statements = self.statements(attempt.gold)
        hit = {each.gold for each in judged if each.hit}
        value = sum(statement in hit for statement in statements) / len(statements) if statements else 1.0
        return Judged(value, judged)

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the share of each answer."""
        statements = batch.gold(compiled)["statement"].list.len().to_numpy()
        hit = matched.unique("statement_at")["row"]
        return share(count(hit, batch.size), statements, where_empty=1.0)


@dataclass(frozen=True)
class UnitPrecision(UnitMatch):
    """The share of units that hit some gold statement; 1 where there are no units."""

    def plain(self, attempt: Attempt) -> Judged:
        """Compute the metric for one attempt."""
        judged = self.judge(attempt, "unit")
        units = [found.value for found in attempt.reads[self.read]]
        hitting = {each.unit for each in judged if each.hit}
        return Judged(sum(unit in hitting for unit in units) / len(units) if units else 1.0, judged)

    def values(self, batch: Batch, compiled: pl.DataFrame, matched: pl.DataFrame) -> Values:
        """Return the share of each answer."""
        del compiled
        hitting = matched.unique("text_at").select(pl.col("row").repeat_by("repeats").explode())["row"]
        units = count(batch.reads[self.read]["row"], batch.size)
        return share(count(hitting, batch.size), units, where_empty=1.0)

"""Units of a response (sentences, list items) against the gold's statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

from scorer import text
from scorer.metrics.base import Batch, Values, count, not_blank, one_row_each, reaches, share
from scorer.parameters import Count, GoldList, ReadField, Share
from scorer.reference import Attempt, Gold, Judged, overlap, runs, tokens

MOST_TESTS = 4_000_000
"""Searches of one thing in one unit that are laid out at once: what bounds the memory of an answer full of units."""
FIRST_RUNS = 8
"""How many of a statement's runs are tried before the others."""


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
        """Return lists with one entry a statement: `statement`, its `marks` (tokens) and `wanted` (how many)."""
        statements = not_blank(items, self.gold, "statement")
        marked = statements.with_columns(marks=text.token_marks(pl.col("statement")))
        return one_row_each(marked.with_columns(wanted=pl.col("marks").list.len()), items.height)

    def match(self, batch: Batch, compiled: pl.DataFrame) -> pl.DataFrame:
        """Return a row a hit: `row`, `statement_at`, `repeats` (how often the answer has the unit), `unit_at`."""
        units = (
            batch.reads[self.read]
            .group_by("row", "value", maintain_order=True)
            .agg(repeats=pl.len())
            .with_row_index("unit_at")
            .with_columns(tokens=text.token_text(pl.col("value")))
        )
        statements = batch.gold(compiled).explode("statement", "marks", "wanted").with_row_index("statement_at")
        pairs = units.join(statements, on="row", maintain_order="left")
        hits = [self._hits(part) for part in _slices(pairs, pl.col("marks").list.len())]
        return pl.concat(hits) if hits else self._hits(pairs)

    def _hits(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return the pairs of unit and statement that are hits: each test sees what the cheaper ones left open."""
        pairs = pairs.with_row_index("pair")
        held = pairs.select("pair", "tokens", "marks").explode("marks")
        held = held.filter(pl.col("tokens").str.contains(pl.col("marks"), literal=True))
        pairs = pairs.with_columns(shared=pl.Series(count(held["pair"], pairs.height), dtype=pl.UInt32))

        # The statement's own tokens are an upper bound of the smaller set.
        enough = reaches(pl.col("shared"), pl.col("wanted"), self.overlap)
        hits = [pairs.filter(pl.col("shared") > 0, enough)]
        pairs = pairs.filter((pl.col("shared") == 0) | ~enough)

        runs = self._runs(pairs)
        for some in (runs.filter(pl.col("rank") < FIRST_RUNS), runs.filter(pl.col("rank") >= FIRST_RUNS)):
            holding = _holding_run(pairs, some)
            hits.append(pairs.join(holding, on="pair", how="semi"))
            pairs = pairs.join(holding, on="pair", how="anti")

        # What is left is a hit only if the unit is the smaller set.
        smaller = pl.min_horizontal(pl.col("wanted"), text.token_count(pl.col("value")))
        hits.append(pairs.filter(pl.col("shared") > 0).filter(reaches(pl.col("shared"), smaller, self.overlap)))
        return pl.concat(hits).select("row", "unit_at", "repeats", "statement_at")

    def _runs(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return the runs of the statements in `pairs`, ranked within each, the commonest among all statements first.

        A run that many statements hold is likely to stand in a unit too, so few tests decide most pairs.
        """
        run = pl.col("run")
        return (
            pairs.select("statement")
            .unique()
            .with_columns(run=text.runs(pl.col("statement"), self.run))
            .explode("run")
            .with_columns(
                # Two Chinese characters of a run are neighbours once all else is dropped: the texts share a bigram.
                needs_token=run.str.count_matches(f"[{text.FIRST_HAN}-{text.LAST_HAN}]") >= 2,
                common=pl.len().over("run"),
            )
            .with_columns(rank=pl.col("common").rank("ordinal", descending=True).over("statement") - 1)
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


def _holding_run(pairs: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return `pair` of those whose unit holds one of the statement's runs."""
    few, many = runs.filter(~pl.col("needs_token")), runs.filter(pl.col("needs_token"))
    tests = pl.concat(
        pairs.filter(condition)
        .select("pair", "value", "statement")
        .join(some.select("statement", "run"), on="statement")
        for condition, some in ((pl.lit(value=True), few), (pl.col("shared") > 0, many))
    )
    return tests.filter(pl.col("value").str.contains(pl.col("run"), literal=True)).select("pair")


def _slices(pairs: pl.DataFrame, tests: pl.Expr) -> Iterator[pl.DataFrame]:
    """Yield `pairs` in slices of about MOST_TESTS tests each, where `tests` says how many a pair needs."""
    part = pairs.select(part=tests.cum_sum() // MOST_TESTS)["part"]
    yield from pairs.with_columns(part).partition_by("part", include_key=False, maintain_order=True)


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
        hitting = matched.unique("unit_at").select(pl.col("row").repeat_by("repeats").explode())["row"]
        units = count(batch.reads[self.read]["row"], batch.size)
        return share(count(hitting, batch.size), units, where_empty=1.0)

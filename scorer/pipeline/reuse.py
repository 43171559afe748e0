"""Rows that need not be made again: those that a stored run has of attempts and golds that did not change."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import polars as pl

from scorer import tables
from scorer.score import Scored
from scorer.store import ROW_GROUPS_KEY, StoredRun


class ScoredBefore:
    """The rows of one scorer in a stored run, found by the attempts' hashes.

    Row group k of scores and extracts holds the rows of row group k of attempts, so an attempt's rows are read without
    reading the others'. Of each stored attempt 12 bytes are held: the head of its hash and its row group.
    """

    def __init__(self, run: StoredRun, scorer: str, golds: pl.DataFrame) -> None:
        """Look into `run`; `golds` are today's: an attempt at a task whose gold changed counts as not scored."""
        self._run = run
        self._groups = {name: row_groups(run, name).get(scorer, [0, 0]) for name in ("scores", "extracts")}
        self._heads, self._group_of = _index(run)
        self._changed = _changed_tasks(run.frame("golds"), golds)
        self._read = lru_cache(maxsize=2)(self._read_group)

    def find(self, attempts: pl.DataFrame) -> Scored | None:
        """Return the stored rows of those attempts that did not change; None where there is none of them."""
        at = np.searchsorted(self._heads, _heads(attempts["input_hash"]))
        at = np.minimum(at, len(self._heads) - 1) if len(self._heads) else at
        same = np.zeros(attempts.height, dtype=bool)
        if len(self._heads):
            same = self._heads[at] == _heads(attempts["input_hash"])
        unchanged = attempts.filter(pl.Series(same, dtype=pl.Boolean) & ~pl.col("task_id").is_in(self._changed))
        if not unchanged.height:
            return None
        groups = sorted(set(self._group_of[at[same]].tolist()))
        scores, extracts = (self._rows(name, groups, unchanged["attempt_id"]) for name in ("scores", "extracts"))
        return Scored(scores, extracts) if scores.height else None

    def _rows(self, table: str, groups: list[int], attempt_ids: pl.Series) -> pl.DataFrame:
        rows = pl.concat([tables.TABLES[table].empty(), *(self._read(table, group) for group in groups)])
        return rows.filter(pl.col("attempt_id").is_in(attempt_ids.implode()))

    def _read_group(self, table: str, group: int) -> pl.DataFrame:
        first, count = self._groups[table]
        file = self._run.parquet(table)
        if file is None or group >= count:
            return tables.TABLES[table].empty()
        with file:
            return pl.DataFrame(pl.from_arrow(file.read_row_group(first + group)))


def merged(parts: list[Scored], attempts: pl.DataFrame) -> Scored:
    """Return the rows of all parts in the order of the attempts; rows of one attempt keep theirs."""
    order = attempts.select("attempt_id").with_row_index("order")

    def together(frames: list[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat(frames).join(order, on="attempt_id", how="left", maintain_order="left")
        return rows.sort("order", maintain_order=True).drop("order")

    return Scored(together([part.scores for part in parts]), together([part.extracts for part in parts]))


def row_groups(run: StoredRun, table: str) -> dict[str, list[int]]:
    """Return which row groups of a stored table each scorer wrote: {scorer: [first, count]}."""
    file = run.parquet(table)
    if file is None:
        return {}
    with file:
        return dict(json.loads((file.metadata.metadata or {}).get(ROW_GROUPS_KEY.encode(), b"{}")))


def _index(run: StoredRun) -> tuple[np.ndarray, np.ndarray]:
    """Return the heads of the stored attempts' hashes, sorted, and the row group of each."""
    file = run.parquet("attempts")
    if file is None:
        return np.array([], dtype=np.uint64), np.array([], dtype=np.int32)
    with file:
        groups = range(file.num_row_groups)
        hashes = [pl.Series(file.read_row_group(group, ["input_hash"])["input_hash"]) for group in groups]
    heads = np.concatenate([_heads(piece) for piece in hashes])
    group_of = np.repeat(np.arange(len(hashes), dtype=np.int32), [len(piece) for piece in hashes])
    order = np.argsort(heads)
    return heads[order], group_of[order]


def _heads(hashes: pl.Series) -> np.ndarray:
    return hashes.str.slice(0, 16).str.to_integer(base=16, dtype=pl.UInt64).to_numpy()


def _changed_tasks(before: pl.DataFrame, now: pl.DataFrame) -> pl.Series:
    """Return the tasks whose gold is not what it was, as one list (to be asked `is_in`)."""
    columns = ["task_id", "field", "position", "value"]
    before, now = before.select(columns), now.select(columns)
    gone = before.join(now, on=columns, how="anti", nulls_equal=True)
    new = now.join(before, on=columns, how="anti", nulls_equal=True)
    return pl.concat([gone["task_id"], new["task_id"]]).unique().implode()

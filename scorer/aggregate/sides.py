"""Who is summarised and compared: a side is one system in one run, or in several runs that the caller pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from scorer.aggregate.data import Data
from scorer.errors import UsageError, nearest


@dataclass(frozen=True)
class Sides:
    """The sides of a call.

    `sides` has one row a side: `side` (a number from 1), `benchmark`, `run_id` (null where several runs are pooled),
    `system`, in the order of benchmark, system, run. `members` has one row a run of a side: `side`, `benchmark`,
    `run_id`, `system`.
    """

    sides: pl.DataFrame
    members: pl.DataFrame

    def keep(self, numbers: Sequence[int]) -> Sides:
        """Return the sides with these numbers only."""
        kept = pl.col("side").is_in(list(numbers))
        return Sides(self.sides.filter(kept), self.members.filter(kept))


def sides_of(data: Data, *, pool_runs: bool = False) -> Sides:
    """Return every side that the data hold: each system in each run, or with `pool_runs` in all its runs together."""
    found = data.once("members", lambda: _found(data.scores))
    if pool_runs:
        key = ["benchmark", "system"]
        sides = found.group_by(key, maintain_order=True).agg(
            run_id=pl.when(pl.len() == 1).then(pl.col("run_id").first())
        )
    else:
        key = ["benchmark", "system", "run_id"]
        sides = found
    sides = sides.with_row_index("side", 1).with_columns(pl.col("side").cast(pl.Int64))
    members = found.join(sides.select("side", *key), on=key, how="inner", maintain_order="left")
    return Sides(
        sides.select("side", "benchmark", "run_id", "system"), members.select("side", "benchmark", "run_id", "system")
    )


def _found(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.select("benchmark", "run_id", "system").unique().sort("benchmark", "system", "run_id")


def find_sides(sides: Sides, name: str) -> list[int]:
    """Return the numbers of the sides that `name` (`SYSTEM`, or `RUN:SYSTEM`) means: one in each benchmark that has it.

    Raises UsageError where nothing is so named, and where a system is found in several runs of a benchmark.
    """
    found = sides.sides.filter(pl.col("system") == name)
    if not found.height:
        run, _, system = name.partition(":")
        found = sides.sides.filter((pl.col("run_id") == run) & (pl.col("system") == system))
    if not found.height:
        raise UsageError(f"no system {name!r}{nearest(name, side_names(sides))}")
    several = found.filter(pl.len().over("benchmark") > 1)
    if several.height:
        choices = ", ".join(f"{row['run_id']}:{row['system']}" for row in several.iter_rows(named=True))
        raise UsageError(f"system {name!r} is found in several runs: name one of {choices}, or pool them (--pool-runs)")
    return found["side"].to_list()


def side_names(sides: Sides) -> list[str]:
    """Return the names under which sides can be asked for: systems, and runs with systems where one has several."""
    names: dict[str, None] = {}
    counts = sides.sides["system"].value_counts()
    repeated = set(counts.filter(pl.col("count") > 1)["system"])
    for row in sides.sides.iter_rows(named=True):
        names[f"{row['run_id']}:{row['system']}" if row["system"] in repeated else row["system"]] = None
    return list(names)

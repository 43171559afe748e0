"""How long the statistics take: the sign flips alone, and whole comparisons, on scores made up from a fixed seed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import polars as pl

from scorer.aggregate import Data, compare, summary
from scorer.aggregate.random_bits import random_bits
from scorer.aggregate.signflip import RESAMPLES, Differences, sampled_p
from scorer.warehouse import Warehouse

QUESTIONS = 1_000
REPEATS = 3
METRICS = 6


def scores(systems: int) -> pl.DataFrame:
    """Scores of 4 decimals: harder and easier questions, better and worse systems, repeats that differ."""
    rng = np.random.default_rng(systems)
    shape = (systems, QUESTIONS, REPEATS, METRICS)
    question = rng.uniform(size=(1, QUESTIONS, 1, METRICS))
    system = rng.normal(0, 0.03, size=(systems, 1, 1, METRICS))
    values = np.clip(question + system + rng.normal(0, 0.2, size=shape), 0, 1).round(4)
    index = np.indices(shape).reshape(4, -1)
    names = {"system": index[0], "task_id": index[1], "repeat": index[2] + 1, "metric": index[3]}
    return pl.DataFrame(names | {"value": values.ravel()})


def flips(pairs: int) -> float:
    """Return the seconds that the sign flips of so many pairs on every metric take, random bits included."""
    rng = np.random.default_rng(0)
    tests = [
        Differences(
            clusters=np.arange(QUESTIONS),
            sums=np.round(rng.normal(200, 5000, QUESTIONS)),
            slack=0.0,
            n_above=0,
            n_below=0,
            n_tied=0,
            is_identical=False,
            is_constant=False,
        )
        for _ in range(pairs * METRICS)
    ]
    names = pl.Series([f"q{number}" for number in range(QUESTIONS)])
    with Warehouse() as warehouse:
        started = time.perf_counter()
        sampled_p(tests, names, lambda clusters, blocks: random_bits(warehouse, clusters, 0, blocks))
        return time.perf_counter() - started


def measured() -> Iterator[tuple[str, float]]:
    """Yield what was done and the seconds that it took."""
    size = f"{QUESTIONS:,} questions × {METRICS} metrics"
    for pairs in (15, 190):
        yield f"sign flips alone: {RESAMPLES:,} flips × {size} × {pairs} pairs", flips(pairs)
    for systems in (6, 20):
        data = Data.from_scores(scores(systems))
        for name, work in (("summary", summary), ("compare", compare)):
            started = time.perf_counter()
            work(data)
            yield f"{name}: {systems} systems × {size} × {REPEATS} repeats", time.perf_counter() - started


if __name__ == "__main__":
    for done, seconds in measured():
        print(f"{seconds:8.2f} s  {done}")

"""Simulations with a fixed seed: how often the test errs where nothing differs, and how often an interval covers.

Each simulated data set is a metric of one call, so that hundreds are one pass through the queries.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from scorer.aggregate import Data, compare, summary

REPEATS = 3
LEVEL = 0.05

Chances = Callable[[np.random.Generator, int], NDArray[np.float64]]
"""Draws the chance of passing each of so many questions."""

CELLS: dict[str, Chances] = {
    "spread out": lambda rng, n: rng.beta(0.5, 0.5, n),
    "middling": lambda rng, n: rng.beta(2, 2, n),
    "mostly passed": lambda rng, n: rng.beta(8, 2, n),
    "all alike": lambda _rng, n: np.full(n, 0.7),
}
MEANS = {"spread out": 0.5, "middling": 0.5, "mostly passed": 0.8, "all alike": 0.7}


def simulated(systems: int, questions: int, sets: int, chances: Chances, seed: int) -> pl.DataFrame:
    """0/1 attempts: each system has its own chance on each question, drawn from one distribution."""
    rng = np.random.default_rng(seed)
    chance = chances(rng, sets * systems * questions)
    passed = rng.random((len(chance), REPEATS)) < chance[:, None]
    index = np.indices((sets, systems, questions, REPEATS)).reshape(4, -1)
    names = {"metric": index[0], "system": index[1], "task_id": index[2], "repeat": index[3] + 1}
    return pl.DataFrame(names | {"value": passed.ravel().astype(np.float64)})


def test_the_deciding_test_errs_at_most_at_its_level_and_the_attempts_test_more() -> None:
    """No true difference, but systems differ question by question: what takes attempts for independent finds one."""
    sets = 300
    data = Data.from_scores(simulated(2, 20, sets, CELLS["spread out"], seed=11))
    p = compare(data).comparisons["p_value"]
    errs = (p <= LEVEL).mean()
    assert errs <= LEVEL + 2.5 * (LEVEL * (1 - LEVEL) / sets) ** 0.5

    attempts = summary(data, method="normal_attempts").with_columns(
        ((pl.col("ci_high") - pl.col("ci_low")) / 2).alias("half")
    )
    a, b = (attempts.filter(pl.col("system") == system) for system in ("0", "1"))
    assert a["metric"].equals(b["metric"])
    beyond = (a["mean_attempts"] - b["mean_attempts"]).abs() > (a["half"] ** 2 + b["half"] ** 2).sqrt()
    assert beyond.mean() > 2 * LEVEL
    assert beyond.mean() > 2 * errs


def test_p_values_are_spread_evenly_where_nothing_differs() -> None:
    """An exact test is not only honest at 5%: no level is passed more often than it says."""
    sets = 300
    p = compare(Data.from_scores(simulated(2, 15, sets, CELLS["middling"], seed=5))).comparisons["p_value"]
    for level in (0.01, 0.1, 0.2, 0.5):
        assert (p <= level).mean() <= level + 2.5 * (level * (1 - level) / sets) ** 0.5, level


@pytest.mark.parametrize("questions", [10, 30, 100])
def test_wilson_t_covers_the_true_mean(questions: int) -> None:
    covered, published = [], []
    for number, (name, chances) in enumerate(CELLS.items()):
        data = Data.from_scores(simulated(1, questions, 150, chances, seed=100 * questions + number))
        for method, found in (("wilson_t", covered), ("normal_attempts", published)):
            rows = summary(data, method=method)
            found.append(rows.select(pl.lit(MEANS[name]).is_between("ci_low", "ci_high")).to_series().mean())
    assert np.mean(covered) >= 0.93
    assert min(covered) >= 0.9
    assert published[0] < 0.9, "what takes attempts for independent is too narrow where questions differ"

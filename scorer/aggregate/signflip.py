"""The test that decides: the two-sided sign-flip permutation of paired differences, on whole numbers.

If neither system is better, each question's difference could as well have had the other sign. The p value is the share
of all ways to set the signs whose sum is at least as far from zero as the one observed. Differences come as whole
numbers of the last decimal, so that two sums are equal or not, without a doubt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from scorer.tails import Numbers

RESAMPLES = 9_999
"""Random settings of the signs where all of them are too many."""

MOST_COUNTED = 1_000_000
"""Up to this sum of sizes the distribution of the sum is counted exactly."""

MOST_ENUMERATED = 20
"""Up to so many non-zero differences every setting of the signs is tried."""

_MOST_EXACT = 2**50
"""Sums up to here are whole numbers in double precision too, with room to add."""

_LONG = 30_000
"""From this sum of sizes on threads share the counting; short counts wait for one another longer than they take."""

_ROWS_AT_ONCE = 1_000

_SCHEMA = {
    "row_id": pl.Int64(),
    "p_value": pl.Float64(),
    "p_method": pl.String(),
    "n_resamples": pl.Int64(),
    "n_nonzero": pl.Int64(),
    "n_above": pl.Int64(),
    "n_below": pl.Int64(),
    "n_tied": pl.Int64(),
    "is_identical": pl.Boolean(),
    "is_constant": pl.Boolean(),
}

Bits = Callable[[pl.Series, int], NDArray[np.uint64]]
"""Gives 64 random bits for each of the named clusters and so many blocks: clusters x blocks."""


@dataclass(frozen=True)
class Differences:
    """The paired differences of one test as whole numbers, in one unit."""

    clusters: NDArray[np.int64]
    """What flips its sign together, the questions or their groups, by number."""
    sums: Numbers
    """The difference of each cluster, whole numbers."""
    slack: float
    """How far short of the observed sum a sum may fall and still count: rounding can break a true tie by so much."""
    n_above: int
    """Questions with a difference above zero, beyond rounding."""
    n_below: int
    n_tied: int
    is_identical: bool
    """No question has a difference, up to rounding."""
    is_constant: bool
    """There are differences, but the clusters' means do not vary, up to rounding."""

    @property
    def sizes(self) -> Numbers:
        """The sizes of the differences that are not zero, ascending."""
        return np.sort(np.abs(self.sums[self.sums != 0]))

    @property
    def threshold(self) -> float:
        """What a sum must reach in size to count against the null hypothesis."""
        return float(math.ceil(abs(self.sums.sum()) - self.slack))


def sign_flips(pairings: pl.DataFrame, bits: Bits, threads: int | None = None) -> pl.DataFrame:
    """Return one row for each `row_id` of `pairings` (as the query of that name gives them): its sign-flip test.

    Columns: `row_id`, `p_value` (null without a common question), `p_method` (exact, monte_carlo), `n_resamples`,
    `n_nonzero` (clusters with a difference), `n_above`, `n_below`, `n_tied` (questions), `is_identical`, `is_constant`.
    """
    common = pairings.filter("is_common").sort("row_id", maintain_order=True)
    names = common["cluster"].unique().sort()
    tests = dict(_tests(common))
    with ThreadPoolExecutor(threads) as pool:
        long = {row_id: pool.submit(exact_p, test) for row_id, test in tests.items() if test.sizes.sum() > _LONG}
    counted = {row_id: long[row_id].result() if row_id in long else exact_p(test) for row_id, test in tests.items()}
    exact = {row_id: p for row_id, p in counted.items() if p is not None}
    left = {row_id: test for row_id, test in tests.items() if row_id not in exact}
    sampled = dict(zip(left, sampled_p(list(left.values()), names, bits), strict=True))
    rows = [
        {
            "row_id": row_id,
            "p_value": exact.get(row_id, sampled.get(row_id)),
            "p_method": "exact" if row_id in exact else "monte_carlo",
            "n_resamples": None if row_id in exact else RESAMPLES,
            "n_nonzero": len(test.sizes),
            "n_above": test.n_above,
            "n_below": test.n_below,
            "n_tied": test.n_tied,
            "is_identical": test.is_identical,
            "is_constant": test.is_constant,
        }
        for row_id, test in tests.items()
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _tests(common: pl.DataFrame) -> Iterator[tuple[int, Differences]]:
    """Yield each test's differences; `common` is in the order of `row_id`."""
    columns = {name: common[name].to_numpy() for name in ("points_a", "n_a", "points_b", "n_b", "is_rounded")}
    columns["cluster"] = common["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1
    for row_id, start, length in (
        common["row_id"]
        .rle()
        .struct.unnest()
        .select("value", start=pl.col("len").cum_sum() - pl.col("len"), length="len")
        .iter_rows()
    ):
        part = {name: column[start : start + length] for name, column in columns.items()}
        yield row_id, differences(**part)


def differences(
    *,
    points_a: NDArray[np.int64],
    n_a: NDArray[np.int64],
    points_b: NDArray[np.int64],
    n_b: NDArray[np.int64],
    cluster: NDArray[np.int64],
    is_rounded: NDArray[np.bool_],
) -> Differences:
    """Bring the common questions of one test to whole numbers of one unit, and those of a cluster together.

    `points` are totals in units of the last decimal and `n` the scored attempts behind them, for either side. The unit
    of the differences is the last decimal over the least common multiple of the attempts.
    """
    unit, d = _whole_differences(points_a, n_a, points_b, n_b)
    rounding = unit if is_rounded[0] else 0.0
    clusters, position, counts = np.unique(cluster, return_inverse=True, return_counts=True)
    deviations = np.bincount(position, weights=d, minlength=len(clusters)) - counts * d.mean()
    is_level = bool(np.all(np.abs(deviations) <= counts * rounding + 1e-12 * np.abs(d).max()))
    # Two means that differ by no more than the last decimal may be equal: a tie.
    d = np.where(np.abs(d) <= rounding, 0.0, d)
    sums = np.bincount(position, weights=d, minlength=len(clusters))
    divisor = max(math.gcd(*sums.astype(np.int64).tolist()), 1)
    return Differences(
        clusters=clusters,
        sums=sums / divisor,
        slack=float(len(d) * rounding // divisor),
        n_above=int(np.sum(d > 0)),
        n_below=int(np.sum(d < 0)),
        n_tied=int(np.sum(d == 0)),
        is_identical=not d.any(),
        is_constant=is_level and bool(d.any()),
    )


def _whole_differences(
    points_a: NDArray[np.int64], n_a: NDArray[np.int64], points_b: NDArray[np.int64], n_b: NDArray[np.int64]
) -> tuple[float, Numbers]:
    """Return what one last decimal is worth in the unit, and the differences in it: whole numbers in doubles."""
    repeats = math.lcm(*np.unique(np.concatenate([n_a, n_b])).tolist())
    largest = int(max(np.abs(points_a).max(), np.abs(points_b).max())) * repeats
    # Many unequal repeats make a large multiple: then Python's whole numbers, which have no largest.
    kind: Any = np.int64 if largest < _MOST_EXACT else np.object_
    d = points_a.astype(kind) * (repeats // n_a.astype(kind)) - points_b.astype(kind) * (repeats // n_b.astype(kind))
    total = int(np.abs(d).sum())
    if total <= _MOST_EXACT:
        return float(repeats), d.astype(np.float64)
    # Beyond exact doubles: a coarser unit, still far finer than anything measured.
    coarse = -(-total // _MOST_EXACT)
    return max(repeats / coarse, 1.0), np.array([float(round(Fraction(int(x), coarse))) for x in d])


def exact_p(test: Differences) -> float | None:
    """Return the exact p value, or None where there are too many differences, and too large ones, to count."""
    sizes = test.sizes
    if test.threshold <= 0:
        return 1.0
    if sizes.sum() <= MOST_COUNTED:
        # The sum is the total less twice what is flipped, and its distribution is symmetric.
        return 2 * _flipped_at_most(sizes.astype(np.int64), int((sizes.sum() - test.threshold) // 2))
    if len(sizes) <= MOST_ENUMERATED:
        return _share_by_enumeration(sizes, test.threshold)
    return None


def _flipped_at_most(sizes: NDArray[np.int64], most: int) -> float:
    """Return the probability that the sizes whose coin shows heads add up to at most `most`.

    Dynamic programming: after each size, `ways[s]` is the number of ways in which the heads so far add up to s. Sums
    beyond `most` never come back, so they are not kept. Every 64 sizes the numbers are divided by 2^64, which loses no
    digit, so that they stay within what a double can hold.
    """
    ways, grown = np.zeros(most + 1), np.zeros(most + 1)
    ways[0] = 1.0
    reach = 0
    for count, size in enumerate(np.minimum(sizes, most + 1).tolist(), 1):
        reach = min(most, reach + size)
        grown[:size] = ways[:size]
        np.add(ways[size : reach + 1], ways[: reach + 1 - size], out=grown[size : reach + 1])
        ways, grown = grown, ways
        if count % 64 == 0:
            ways[: reach + 1] *= 2.0**-64
    return float(ways.sum()) * 2.0 ** -(len(sizes) % 64)


def _share_by_enumeration(sizes: Numbers, threshold: float) -> float:
    """Return the share of all settings of the signs whose sum is `threshold` or more in size.

    The largest keeps its sign: the other half mirrors this one.
    """
    sums = sizes[-1:]
    for size in sizes[:-1]:
        sums = np.concatenate([sums + size, sums - size])
    return float(np.mean(np.abs(sums) >= threshold))


def sampled_p(tests: Sequence[Differences], names: pl.Series, bits: Bits) -> list[float]:
    """Return (1 + b) / (B + 1) for each test, b of B random settings of the signs being as extreme as the observed one.

    `names` are those of the clusters. A cluster has the same random signs in every test, so all tests are one product
    of matrices; of whole numbers, so that it comes out the same in whatever order a machine adds.
    """
    if not tests:
        return []
    sums = np.zeros((len(names), len(tests)))
    for column, test in enumerate(tests):
        sums[test.clusters, column] = test.sums
    thresholds = np.array([test.threshold for test in tests])
    blocks = bits(names, -(-RESAMPLES // 64))
    flips = np.unpackbits(blocks.astype("<u8").view(np.uint8), axis=1, bitorder="little")[:, :RESAMPLES]
    extreme = np.zeros(len(tests))
    for start in range(0, RESAMPLES, _ROWS_AT_ONCE):
        signs = 1.0 - 2.0 * flips[:, start : start + _ROWS_AT_ONCE].T
        extreme += np.sum(np.abs(signs @ sums) >= thresholds, axis=0)
    return [float(p) for p in (1 + extreme) / (RESAMPLES + 1)]

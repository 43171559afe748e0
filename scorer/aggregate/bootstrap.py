"""The cluster bootstrap: whole questions (or groups of them) drawn again with replacement, percentile or BCa limits."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from scorer import tails
from scorer.aggregate.random_bits import random_bits
from scorer.tails import Numbers
from scorer.warehouse import Warehouse

BOOTSTRAPS = ("cluster_bootstrap", "cluster_bootstrap_bca")
"""Percentile limits, and bias-corrected and accelerated ones (Efron 1987), on the same resamples."""

RESAMPLES = 9_999

_SCHEMA = {
    "row_id": pl.Int64(),
    "n_eff": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "ci_method": pl.String(),
    "flags": pl.List(pl.String()),
}


def bootstrap_intervals(warehouse: Warehouse, method: str, conf: float, seed: int) -> pl.DataFrame:
    """Return the interval of each row of `moments` that has two clusters or more, as the interval queries do."""
    totals = warehouse.query("cluster_totals")
    names = totals["cluster"].unique().sort()
    # Two draws of 32 bits out of each block of 64.
    words = random_bits(warehouse, names, seed, (RESAMPLES + 1) // 2).view("<u4")[:, :RESAMPLES]
    position = {name: i for i, name in enumerate(names)}
    rows = []
    for (row_id,), part in totals.group_by("row_id", maintain_order=True):
        if part.height > 1:
            own = words[[position[name] for name in part["cluster"]]]
            low, high = _limits(part["total"].to_numpy(), part["n_questions"].to_numpy(), own, method, conf)
            rows.append((row_id, None, low, high, method, [f"resamples={RESAMPLES}", f"seed={seed}"]))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _limits(totals: Numbers, counts: np.ndarray, words: np.ndarray, method: str, conf: float) -> tuple[float, float]:
    """Return the two limits: `words` (clusters x resamples) are 32 random bits for each draw."""
    # A draw is the cluster whose share of [0, 2^32) the word falls into.
    drawn = (words.astype(np.uint64) * np.uint64(len(totals))) >> np.uint64(32)
    means = np.sort(totals[drawn].sum(axis=0) / counts[drawn].sum(axis=0))
    tail = np.array([(1 - conf) / 2, 1 - (1 - conf) / 2])
    if method == "cluster_bootstrap_bca":
        tail = _corrected(tail, totals, counts, means)
    low, high = np.quantile(means, tail)
    return float(low), float(high)


def _corrected(tail: Numbers, totals: Numbers, counts: np.ndarray, means: Numbers) -> Numbers:
    """Move the two tail probabilities by the bias and the acceleration, the latter from leaving each cluster out."""
    estimate = totals.sum() / counts.sum()
    # Resamples equal to the estimate count half, or the bias would show where values are few and tied.
    below = (np.sum(means < estimate - 1e-12) + np.sum(means <= estimate + 1e-12)) / (2 * len(means))
    without = (totals.sum() - totals) / (counts.sum() - counts)
    centred = without.mean() - without
    spread = np.sum(centred**2)
    if spread == 0 or not 0 < below < 1:
        return tail
    acceleration = np.sum(centred**3) / (6 * math.pow(spread, 1.5))
    bias = tails.normal_quantile(below)
    z = bias + tails.normal_quantile(tail)
    return tails.normal_cdf(bias + z / (1 - acceleration * z))

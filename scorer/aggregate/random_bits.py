"""Random bits that are the same for the same seed and question, on any machine and in any order."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from scorer.warehouse import Warehouse


def random_bits(warehouse: Warehouse, clusters: pl.Series, seed: int, blocks: int) -> NDArray[np.uint64]:
    """Return 64 random bits for each of the `clusters` (names of questions or groups) and blocks: clusters x blocks."""
    warehouse.register("clusters", pl.DataFrame({"cluster": clusters}).with_row_index("position"))
    bits = warehouse.query("random_bits", seed=seed, blocks=blocks)["bits"]
    return bits.to_numpy().astype("<u8").reshape(clusters.len(), blocks)

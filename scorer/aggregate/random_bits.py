"""Random bits that are the same for the same seed and question, on any machine and in any order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from scorer.warehouse import Warehouse

_PIECE = 1_000


def random_bits(warehouse: Warehouse, clusters: pl.Series, seed: int, blocks: int) -> NDArray[np.uint64]:
    """Return 64 random bits for each of the `clusters` (names of questions or groups) and blocks: clusters x blocks."""
    named = pl.DataFrame({"cluster": clusters}).with_row_index("position").to_arrow()
    # In pieces, for DuckDB's threads to share: a table in one piece is hashed by one of them.
    warehouse.register("clusters", pa.Table.from_batches(named.to_batches(max_chunksize=_PIECE), named.schema))
    bits = warehouse.query("random_bits", seed=seed, blocks=blocks)["bits"]
    return bits.to_numpy().astype("<u8").reshape(clusters.len(), blocks)

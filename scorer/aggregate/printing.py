"""How figures leave this package: 12 significant digits, so that the last binary digits never show."""

from __future__ import annotations

import polars as pl

SIGNIFICANT_DIGITS = 12


def printed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with every floating-point number rounded to 12 significant digits, NaN as null, -0 as 0."""
    return frame.with_columns(
        pl.Series(name, [_rounded(x) for x in frame[name]], pl.Float64)
        for name, dtype in frame.schema.items()
        if dtype == pl.Float64
    )


def _rounded(x: float | None) -> float | None:
    if x is None or x != x:  # noqa: PLR0124  (only NaN differs from itself)
        return None
    return float(f"{x:.{SIGNIFICANT_DIGITS}g}") + 0.0

"""How figures leave this package: 12 significant digits, so that the last binary digits never show."""

from __future__ import annotations

import polars as pl

SIGNIFICANT_DIGITS = 12


def printed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with every floating-point number rounded to 12 significant digits, NaN as null, -0 as 0."""
    return frame.with_columns(_printed(frame[name]) for name, dtype in frame.schema.items() if dtype == pl.Float64)


def _printed(numbers: pl.Series) -> pl.Series:
    """Return the numbers rounded; each different one once, because many questions have few different means."""
    distinct = numbers.unique()
    return numbers.replace_strict(distinct, [_rounded(x) for x in distinct], return_dtype=pl.Float64)


def _rounded(x: float | None) -> float | None:
    if x is None or x != x:  # noqa: PLR0124  (only NaN differs from itself)
        return None
    return float(f"{x:.{SIGNIFICANT_DIGITS}g}") + 0.0

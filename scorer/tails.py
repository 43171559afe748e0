"""Tails and quantiles of the distributions that intervals and tests need, from SciPy, over NumPy arrays.

Every function takes and gives float arrays of one length (or numbers, which broadcast). NaN goes in and comes out for
*unknown*. `FUNCTIONS` names those that SQL may call: the warehouse registers them when a query mentions them. SciPy is
imported on first use, because it is slow to load and most commands never need it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Some = Numbers | float


def t_quantile(p: Some, df: Some) -> Numbers:
    """Return the `p` quantile of Student's t with `df` degrees of freedom."""
    from scipy.special import stdtrit  # noqa: PLC0415

    return np.asarray(stdtrit(df, p), dtype=np.float64)


def t_two_sided(t: Some, df: Some) -> Numbers:
    """Return P(|T| >= |t|) for Student's t with `df` degrees of freedom."""
    from scipy.special import stdtr  # noqa: PLC0415

    return np.asarray(2.0 * stdtr(df, -np.abs(t)), dtype=np.float64)


def normal_quantile(p: Some) -> Numbers:
    """Return the `p` quantile of the standard normal distribution."""
    from scipy.special import ndtri  # noqa: PLC0415

    return np.asarray(ndtri(p), dtype=np.float64)


def normal_cdf(z: Some) -> Numbers:
    """Return P(Z <= z) of the standard normal distribution."""
    from scipy.special import ndtr  # noqa: PLC0415

    return np.asarray(ndtr(z), dtype=np.float64)


def chi2_upper(x: Some, df: Some) -> Numbers:
    """Return P(X >= x) of the chi-squared distribution with `df` degrees of freedom."""
    from scipy.special import chdtrc  # noqa: PLC0415

    return np.asarray(chdtrc(df, x), dtype=np.float64)


def beta_quantile(p: Some, a: Some, b: Some) -> Numbers:
    """Return the `p` quantile of Beta(a, b); NaN where `a` or `b` is not above 0."""
    from scipy.special import betaincinv  # noqa: PLC0415

    return np.asarray(betaincinv(a, b, p), dtype=np.float64)


def noncentral_t_cdf(t: float, df: float, nc: float) -> float:
    """Return P(T <= t) of the non-central t; in tails so far out that SciPy gives NaN, the limit (0 or 1)."""
    from scipy.special import nctdtr  # noqa: PLC0415

    probability = float(nctdtr(df, nc, t))
    if math.isnan(probability):
        return 1.0 if nc < t else 0.0
    return probability


def noncentrality(p: Some, t: Some, df: Some) -> Numbers:
    """Return the non-centrality at which P(T <= t) = p: a confidence limit for it, by inversion at the observed `t`."""
    return _each(_noncentrality, p, t, df)


def _noncentrality(p: float, t: float, df: float) -> float:
    def excess(nc: float) -> float:
        return noncentral_t_cdf(t, df, nc) - p

    # P(T <= t) falls from 1 to 0 as the non-centrality grows past t, so the root lies around t.
    low = high = t
    width = 1.0
    while excess(low) < 0:
        low, width = low - width, 2 * width
    width = 1.0
    while excess(high) > 0:
        high, width = high + width, 2 * width
    return _root(excess, low, high)


def t_power(effect: float, n: float, alpha: float) -> float:
    """Return the power of the two-sided paired t test at level `alpha` with `n` pairs; the true mean is `effect` sd."""
    critical = float(t_quantile(1 - alpha / 2, n - 1))
    shift = effect * math.sqrt(n)
    return 1 - noncentral_t_cdf(critical, n - 1, shift) + noncentral_t_cdf(-critical, n - 1, shift)


def detectable_effect(n: Some, alpha: Some, power: Some) -> Numbers:
    """Return the effect, in standard deviations of the differences, that `n` pairs show with the given power.

    It is where the two-sided non-central t test at level `alpha` reaches `power`; NaN below two pairs.
    """
    return _each(_detectable_effect, n, alpha, power)


def _detectable_effect(n: float, alpha: float, power: float) -> float:
    if n < 2 or power <= alpha:
        return math.nan

    def shortfall(effect: float) -> float:
        return t_power(effect, n, alpha) - power

    high = 1.0
    while shortfall(high) < 0:
        high *= 2
    return _root(shortfall, 0.0, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq  # noqa: PLC0415

    return low if low == high else float(brentq(function, low, high, xtol=1e-14, rtol=1e-14))


def _each(function: Callable[..., float], *arguments: Some) -> Numbers:
    rows = np.broadcast(*(np.asarray(argument, dtype=np.float64) for argument in arguments))
    once = cache(function)  # many pairs of systems have the same number of questions, and a root costs milliseconds
    values = [math.nan if any(math.isnan(x) for x in row) else once(*map(float, row)) for row in rows]
    return np.array(values, dtype=np.float64).reshape(rows.shape)


FUNCTIONS: Mapping[str, Callable[..., Numbers]] = {
    function.__name__: function
    for function in (
        t_quantile,
        t_two_sided,
        normal_quantile,
        normal_cdf,
        chi2_upper,
        beta_quantile,
        noncentrality,
        detectable_effect,
    )
}
"""What SQL may call by name; every argument is a DOUBLE."""

"""Tails and quantiles: inversions hold where they are checked, and far out in the tails too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from scorer import tails


@pytest.mark.parametrize("t", [-50.0, -2.0, 0.0, 0.3, 4.0, 37.0, 400.0, 1e6, 1e12])
@pytest.mark.parametrize("df", [1, 9, 999])
def test_noncentrality_is_found_in_far_tails_too(t: float, df: int) -> None:
    low, high = tails.noncentrality(np.array([0.975, 0.025]), t, df)
    assert low < t < high or t == pytest.approx(low)
    if abs(t) < 30:
        assert tails.noncentral_t_cdf(t, df, low) == pytest.approx(0.975, abs=1e-9)
        assert tails.noncentral_t_cdf(t, df, high) == pytest.approx(0.025, abs=1e-9)


def test_detectable_effect_has_the_power_asked_for() -> None:
    for n in (2, 3, 10, 100, 1000):
        effect = float(tails.detectable_effect(n, 0.05, 0.8))
        shift = effect * math.sqrt(n)
        critical = stats.t.ppf(0.975, n - 1)
        # The far tail adds nothing; SciPy gives NaN there for few degrees of freedom.
        power = stats.nct.sf(critical, n - 1, shift) + np.nan_to_num(stats.nct.cdf(-critical, n - 1, shift))
        assert power == pytest.approx(0.8, abs=1e-9)


def test_unknown_goes_in_and_comes_out() -> None:
    assert math.isnan(tails.noncentrality(0.975, math.nan, 9))
    assert math.isnan(tails.detectable_effect(1, 0.05, 0.8))
    assert np.isnan(tails.beta_quantile(0.5, 0, 3))


def test_no_power_below_the_level_can_be_asked_for() -> None:
    assert math.isnan(tails.detectable_effect(10, 0.05, 0.05))


def test_arrays_broadcast_with_numbers() -> None:
    effects = tails.detectable_effect(np.array([10.0, 100.0, math.nan]), 0.05, 0.8)
    assert effects[:2].tolist() == pytest.approx([0.996001, 0.282913], abs=1e-6)
    assert math.isnan(effects[2])

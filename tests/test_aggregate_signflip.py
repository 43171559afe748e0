"""The sign-flip test: counted, tried out and sampled ways agree with the definition, on whole numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.aggregate import signflip
from scorer.aggregate.random_bits import random_bits
from scorer.aggregate.signflip import RESAMPLES, Differences, differences, exact_p, sampled_p
from scorer.warehouse import Warehouse


def by_definition(sums: Sequence[int], slack: int = 0) -> float:
    """The share of all settings of the signs whose sum is as far from zero as the observed one, or nearly."""
    observed = abs(sum(sums))
    settings = list(product((1, -1), repeat=len(sums)))
    extreme = sum(abs(sum(s * d for s, d in zip(signs, sums, strict=True))) >= observed - slack for signs in settings)
    return float(Fraction(extreme, len(settings)))


def a_test(sums: Sequence[float], slack: float = 0) -> Differences:
    flags = {"is_identical": False, "is_constant": False}
    return Differences(np.arange(len(sums)), np.array(sums, dtype=np.float64), slack, 0, 0, 0, **flags)


whole = st.lists(st.integers(-40, 40), min_size=1, max_size=10)


@given(whole, st.integers(0, 3))
def test_counting_is_the_definition(sums: list[int], slack: int) -> None:
    assert exact_p(a_test(sums, slack)) == pytest.approx(by_definition(sums, slack), rel=1e-12)


@given(whole, st.integers(0, 3))
def test_trying_every_setting_is_the_definition(sums: list[int], slack: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signflip, "MOST_COUNTED", -1)
        assert exact_p(a_test(sums, slack)) == pytest.approx(by_definition(sums, slack), rel=1e-12)


def seeded(seed: int) -> signflip.Bits:
    def bits(names: pl.Series, blocks: int) -> np.ndarray:
        with Warehouse() as warehouse:
            return random_bits(warehouse, names, seed, blocks)

    return bits


def test_sampling_comes_near_the_exact_p() -> None:
    rng = np.random.default_rng(7)
    tests = [a_test(rng.integers(-900, 1000 + shift, size=60).tolist()) for shift in (0, 200, 400, 700)]
    names = pl.Series([f"q{i}" for i in range(60)])
    for p, test in zip(sampled_p(tests, names, seeded(3)), tests, strict=True):
        exact = exact_p(test)
        assert exact is not None
        assert p == pytest.approx(exact, abs=5 * (exact * (1 - exact) / RESAMPLES) ** 0.5 + 2 / RESAMPLES)


def test_sampling_depends_on_the_seed_and_the_names_and_nothing_else() -> None:
    sums = np.random.default_rng(1).integers(-50, 60, size=30).tolist()
    names = pl.Series([f"q{i:02}" for i in range(30)])
    alone = sampled_p([a_test(sums)], names, seeded(1))
    assert alone == sampled_p([a_test(sums), a_test(sums[::-1])], names, seeded(1))[:1]
    assert alone != sampled_p([a_test(sums)], names, seeded(2))
    backwards = replace(a_test(sums[::-1]), clusters=np.arange(30)[::-1])
    assert alone == sampled_p([backwards], names, seeded(1))


def test_a_sampled_p_is_never_zero() -> None:
    names = pl.Series([f"q{i:03}" for i in range(200)])
    assert sampled_p([a_test([1000] * 200)], names, seeded(0)) == [1 / (RESAMPLES + 1)]


def test_random_bits_are_fair_and_fixed() -> None:
    names = pl.Series([f"task q{i}" for i in range(50)])
    bits = seeded(0)(names, 20)
    share = np.unpackbits(bits.view(np.uint8)).mean()
    assert share == pytest.approx(0.5, abs=4 * 0.5 / (50 * 20 * 64) ** 0.5)
    digest = hashlib.md5(b"0\x1ftask q0\x1f0").digest()
    assert int(bits[0, 0]) == int.from_bytes(digest[8:], "little"), "the same on every machine, in every release"


def of_points(
    a: Sequence[int], n_a: Sequence[int], b: Sequence[int], n_b: Sequence[int], *, rounded: bool = False
) -> Differences:
    return differences(
        points_a=np.array(a, dtype=np.int64),
        n_a=np.array(n_a, dtype=np.int64),
        points_b=np.array(b, dtype=np.int64),
        n_b=np.array(n_b, dtype=np.int64),
        cluster=np.arange(len(a)),
        is_rounded=np.full(len(a), rounded),
    )


def test_unequal_repeats_come_to_one_unit() -> None:
    """1/2 - 1/3, 2/3 - 1/1 and 0 in sixths, their common divisor taken out."""
    found = of_points([1, 2, 0], [2, 3, 1], [1, 1, 0], [3, 1, 5])
    assert found.sums.tolist() == [1, -2, 0]
    assert (found.n_above, found.n_below, found.n_tied) == (1, 1, 1)


@given(st.lists(st.tuples(*[st.integers(0, 10_000), st.integers(1, 60)] * 2), min_size=1, max_size=12))
def test_differences_keep_their_proportions_whatever_the_repeats(rows: list[tuple[int, int, int, int]]) -> None:
    a, n_a, b, n_b = map(list, zip(*rows, strict=True))
    sums = of_points(a, n_a, b, n_b).sums
    exact = [Fraction(x, n) - Fraction(y, m) for x, n, y, m in rows]
    largest = max(map(abs, exact))
    if largest == 0:
        assert not sums.any()
        return
    assert np.abs(sums).max() > 0
    shares = sums / np.abs(sums).max()
    assert shares.tolist() == pytest.approx([float(x / largest) for x in exact], abs=1e-12)


def test_values_rounded_to_the_last_decimal_keep_their_ties() -> None:
    """0.3333 + 0.6667 - 1.0000 is no difference; counted to the last digit, true ties would be broken."""
    a, b = [6667, 0, 6667, 10000], [0, 3333, 10000, 3333]
    exact = [2, -1, -1, 2]
    assert exact_p(of_points(a, [1] * 4, b, [1] * 4, rounded=True)) == by_definition(exact)
    assert exact_p(of_points(a, [1] * 4, b, [1] * 4)) != by_definition(exact)


def test_a_difference_of_one_last_decimal_is_a_tie_where_values_are_rounded() -> None:
    found = of_points([3334, 5000, 2], [1] * 3, [3333, 4000, 1], [1] * 3, rounded=True)
    assert (found.n_above, found.n_tied) == (1, 2)
    assert of_points([3334, 5000, 2], [1] * 3, [3333, 4000, 1], [1] * 3).n_tied == 0


def test_what_does_not_differ_and_what_differs_by_one_thing() -> None:
    identical = of_points([1, 2], [1, 2], [1, 1], [1, 1])
    assert identical.is_identical
    assert exact_p(identical) == 1
    constant = of_points([2, 3, 4], [1] * 3, [1, 2, 3], [1] * 3)
    assert constant.is_constant
    assert exact_p(constant) == 2**-2
    nearly = of_points([3334, 6667, 3333], [1] * 3, [0, 3333, 0], [1] * 3, rounded=True)
    assert nearly.is_constant


def test_groups_that_do_not_vary_are_constant_though_their_questions_do() -> None:
    ones, zeros = np.ones(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    found = differences(
        points_a=np.array([1, 3, 3, 1]),
        n_a=ones,
        points_b=zeros,
        n_b=ones,
        cluster=np.array([0, 0, 1, 1]),
        is_rounded=zeros.astype(np.bool_),
    )
    assert found.is_constant
    assert not found.is_identical


def test_groups_flip_together() -> None:
    found = differences(
        points_a=np.array([3, 5, 9, 1]),
        n_a=np.ones(4, dtype=np.int64),
        points_b=np.zeros(4, dtype=np.int64),
        n_b=np.ones(4, dtype=np.int64),
        cluster=np.array([0, 0, 1, 2]),
        is_rounded=np.zeros(4, dtype=np.bool_),
    )
    assert found.sums.tolist() == [8, 9, 1]
    assert exact_p(found) == by_definition([8, 9, 1])


def test_differences_too_large_for_exact_doubles_are_coarsened_not_lost() -> None:
    big = 10**14
    found = of_points([big, 3 * big, -2 * big], [7, 11, 13], [0, 0, 0], [17, 19, 23])
    assert np.abs(found.sums).sum() <= 2**50 + 3
    ratio = found.sums[1] / found.sums[0]
    assert ratio == pytest.approx((3 / 11) / (1 / 7), rel=1e-9)


def test_many_large_differences_are_sampled() -> None:
    test = a_test(list(range(50_000, 50_060)))
    assert exact_p(test) is None


def test_a_thousand_questions_do_not_run_out_of_digits() -> None:
    """The chance that all of 1,200 equal signs agree is 2^-1199: far below what 1 / 2^n counted down would keep."""
    assert exact_p(a_test([1] * 1000)) == pytest.approx(2.0**-999, rel=1e-9)
    even = exact_p(a_test([1] * 650 + [-1] * 550))
    assert even is not None
    assert even == pytest.approx(0.0042, abs=0.0005)

"""Lengths of longest common subsequences for many pairs at once, a bit for each place of the reference.

The method is Crochemore, Iliopoulos, Pinzon and Reid (2001): the state has a 1 at each place of the reference; each
token of the answer, given as the places where the reference has it, clears one 1 for each step that the subsequence
grows by: state = (state + (state & places)) | (state - (state & places)).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 64
FEW = 8
"""With fewer pairs than this left, Python's whole numbers are quicker than arrays."""

Lengths = NDArray[np.int64]


def short_lengths(places: NDArray[np.uint64], lengths: Lengths) -> Lengths:
    """Return the length of each pair's longest common subsequence; references have at most 64 tokens.

    `places` holds, one pair after another, the places of each token of the answer as bits; `lengths` says how many of
    them each pair has. Step by step all pairs that have a token left take it; longer ones stand first.
    """
    order = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[order]
    left = lengths[order]
    state = np.full(len(lengths), ~np.uint64(0))
    step = 0
    while (active := int(np.searchsorted(-left, -step))) >= FEW:
        here = state[:active]
        both = here & places[starts[:active] + step]
        state[:active] = (here + both) | (here - both)
        step += 1
    found = np.zeros(len(lengths), dtype=np.int64)
    found[order] = np.bitwise_count(~state)
    for at in range(active):
        rest = places[starts[at] + step : starts[at] + left[at]].tolist()
        found[order[at]] = length(rest, WORD_BITS, int(state[at]))
    return found


def length(places: Iterable[int], size: int, state: int | None = None) -> int:
    """Return the same for one pair, whose reference has `size` tokens, going on from `state`."""
    every = (1 << size) - 1
    state = every if state is None else state
    for here in places:
        both = state & here
        state = ((state + both) | (state - both)) & every
    return size - state.bit_count()

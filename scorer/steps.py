"""Where the time goes: seconds by the name of a step, added up over all workers."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Steps:
    """A stopwatch for each step; steps may run in several threads at once, and must not lie in one another."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = threading.Lock()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time of the block to the step `name`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[name] += time.perf_counter() - started

    def each(self, name: str, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, adding the time that it takes to get each to the step `name`."""
        iterator = iter(items)
        while True:
            with self(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def shares(self) -> list[tuple[str, float, float]]:
        """Return each step with its seconds and its share of all steps' seconds, the longest first."""
        total = sum(self.seconds.values()) or 1.0
        longest_first = sorted(self.seconds.items(), key=lambda step: -step[1])
        return [(name, seconds, seconds / total) for name, seconds in longest_first]

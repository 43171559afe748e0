"""A command as a process of its own: how long it takes and how much memory; and rows as a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

REPO = Path(__file__).resolve().parents[2]


_LAUNCHER = """
import json, os, subprocess, sys, time
started = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(child.pid, 0)
seconds = time.perf_counter() - started
json.dump([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, status], sys.stdout)
"""
"""A small process in between: Linux counts the memory of whoever starts a process as that process's own."""


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


def run(*arguments: object, environment: dict[str, str] | None = None) -> Cost:
    """Run `scorer` with these arguments and wait for it; raise with what it said if it fails."""
    command = [sys.executable, "-m", "scorer", *map(str, arguments)]
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as installed
    launched = subprocess.run(
        [sys.executable, "-S", "-c", _LAUNCHER, *command],
        env=inherited | {"PYTHONPATH": str(REPO)} | (environment or {}),
        capture_output=True,
        text=True,
        check=True,
    )
    *cost, failed = json.loads(launched.stdout)
    if failed:
        raise SystemExit(f"{' '.join(command)}\n{launched.stderr}")
    return Cost(*cost)


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long a piece of work takes in this process."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def median_cost(costs: Sequence[Cost]) -> Cost:
    """Return the median of each figure; of memory the most."""
    return Cost(
        median(cost.seconds for cost in costs),
        median(cost.cpu_seconds for cost in costs),
        max(cost.peak_mb for cost in costs),
    )


class Tables:
    """Prints tables as they are ready, and keeps them as Markdown."""

    def __init__(self) -> None:
        self.markdown: list[str] = []

    def text(self, *lines: str) -> None:
        """Print lines of prose."""
        print(*lines, sep="\n", flush=True)
        self.markdown += [*lines, ""]

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print one table."""
        widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
            for row in (head, *rows)
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        print(f"\n{title}\n", *lines, sep="\n", flush=True)
        self.markdown += [f"## {title}", "", *lines, ""]

"""A command as a process of its own: how long it takes and how much memory; and rows as a table."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

REPO = Path(__file__).resolve().parents[2]


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
    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdout=said,
            stderr=said,
            env=inherited | {"PYTHONPATH": str(REPO)} | (environment or {}),
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{said.read().decode()}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


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

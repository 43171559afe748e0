"""What several test modules need: the command line run as a user runs it, and the bundled samples."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
SAMPLE = REPO / "datasets" / "eduevidence" / "sample"
SHARED = REPO.parent / "shared"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def run_scorer(*arguments: object, cwd: Path | None = None, stdin: bytes | None = None) -> Ended:
    """Run the command line in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "scorer", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(REPO), "COLUMNS": "120"},
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@pytest.fixture(scope="session")
def real_run() -> Path:
    """Return the folder of the published EduEvidence run, where it lies beside the checkout."""
    folder = SHARED / "data" / "eduevidence"
    if not folder.is_dir():
        pytest.skip("the published run is not beside this checkout (../shared/data/eduevidence)")
    return folder


@pytest.fixture
def ctrl_c_heard() -> Iterator[None]:
    """Let SIGINT interrupt Python and its children: a process that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

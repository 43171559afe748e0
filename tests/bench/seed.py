"""The evaluator that the project started from, taken at run time from the patch that holds it."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def load() -> Callable[[str, dict[str, Any]], dict[str, Any]] | None:
    """Return the evaluator's `evaluate_attempt(response, gold)`, or None where the patch is absent."""
    patches = [path.read_text(encoding="utf-8") for path in sorted(SEEDS.glob("*.txt"))] if SEEDS.is_dir() else []
    code = next(("\n".join(_added(patch)) for patch in patches if "def evaluate_attempt" in patch), None)
    if code is None:
        return None
    # The patch imports the taxonomy from a module that is not in it: the distinct values of its own descriptor map.
    descriptors = re.search(r"ZH_OUTCOME_MAP = \{(.*?)\n\}", code, re.DOTALL)
    assert descriptors is not None
    taxonomy = types.ModuleType("benchmark")
    taxonomy.OUTCOME_SET = set(re.findall(r':\s*"(\w+)"', descriptors.group(1)))  # type: ignore[attr-defined]
    evaluator = types.ModuleType("evaluator")
    evaluator.__file__ = str(SEEDS / "evaluator.py")
    sys.modules["benchmark"] = taxonomy
    path = list(sys.path)
    try:
        exec(compile(code, "evaluator", "exec"), evaluator.__dict__)
    finally:
        sys.path[:] = path
        del sys.modules["benchmark"]
    evaluate: Callable[[str, dict[str, Any]], dict[str, Any]] = evaluator.__dict__["evaluate_attempt"]
    return evaluate


def _added(patch: str) -> list[str]:
    return [line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++")]

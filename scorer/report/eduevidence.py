"""EduEvidence's own table: a row a baseline, each metric as mean and half-width over attempts, as it is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scorer.formats import markdown_text
from scorer.report import SIMULATED

_COLUMNS = {
    "outcome_sep": "outcome_separation_accuracy",
    "decision_cal": "decision_calibration",
    "contra_recall": "contradiction_recall",
    "contra_precision": "contradiction_precision",
    "citation_recall": "citation_support_recall",
    "scope_cal": "scope_calibration",
}


def to_eduevidence(evaluation: Mapping[str, Any], statuses: Mapping[str, int], notes: str | None) -> str:
    """Return the benchmark's table from `export.evaluation(run)`; `statuses` counts all attempts by status."""
    mode = evaluation["run_mode"] or "unknown"
    environment = evaluation["environment"] or {}
    systems = evaluation["per_baseline"]
    costs = any(attempt.get("cost_usd") is not None for attempt in evaluation["per_attempt"])
    lines = [
        "# EduEvidence Benchmark Report (v3)",
        "",
        f"- run_id: {markdown_text(str(evaluation['run_id']))}",
        f"- mode: **{SIMULATED if mode == 'simulated' else mode.upper()}**",
        f"- {_environment(environment)}",
        f"- attempts: {sum(statuses.values())} total | {_counts(statuses)}",
        f"- notes: {markdown_text(notes or 'none')}",
        f"- cost: {'USD, over the attempts whose cost was captured' if costs else 'not captured (0.0 is not free)'}",
        "- +- is 1.96·sd/√n over attempts, as published; repeats are not independent, so it is too narrow",
        "",
        f"| Baseline | n | {' | '.join(_COLUMNS)} | cost_usd |",
        "|---|---|" + "---|" * (len(_COLUMNS) + 1),
    ]
    lines += [_row(name, systems[name]) for name in sorted(systems)]
    if mode == "simulated":
        lines += ["", f"> **{SIMULATED}**"]
    return "\n".join(lines) + "\n"


def _row(name: str, system: Mapping[str, Any]) -> str:
    metrics = system["metrics"]
    cells = [f"{metrics[metric]['mean']:.3f}+-{metrics[metric]['ci95']:.3f}" for metric in _COLUMNS.values()]
    return f"| {' | '.join([markdown_text(name), str(system['n']), *cells, str(system['total_cost_usd'])])} |"


def _environment(environment: Mapping[str, Any]) -> str:
    shown = {
        "driver": environment.get("driver"),
        "model": f"{environment.get('model_family')} ({environment.get('model_version')})",
        "temperature": environment.get("temperature"),
        "tools": ", ".join(map(str, environment.get("tools") or [])) or "none",
        "search_provider": environment.get("search_provider"),
        "agent_mcp_used": environment.get("agent_mcp_used"),
    }
    return markdown_text(" / ".join(f"{key}: {value}" for key, value in shown.items()))


def _counts(statuses: Mapping[str, int]) -> str:
    return " | ".join(f"{name}: {statuses.get(name, 0)}" for name in ("failed", "budget_stopped"))

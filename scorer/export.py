"""Tables of a store to files of other tools, and a run to its benchmark's own result file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from scorer.errors import UsageError, nearest
from scorer.formats import csv_text, json_lines, json_rows, json_text
from scorer.store import StoredRun, to_arrow, whole_file, write_parquet
from scorer.tables import TABLES

EVALUATION = "evaluation"
"""The name under which `scorer export` gives EduEvidence's own result file."""

EVALUATION_SCORER = "eduevidence/eduevidence-v3"
"""The scorer whose rules that file is defined for."""

LEADERBOARD = "leaderboard"
"""The name under which `scorer export` gives judged systems with their ranks."""

ENDINGS = (".parquet", ".csv", ".jsonl", ".json", ".arrow")


def export_frames(frames: Iterable[pl.DataFrame], to: Path, *, bom: bool = False, safe: bool = False) -> int:
    """Write frames of one schema, one after another, to the file `to` in the format that its ending names.

    `bom` and `safe` concern CSV (see `formats.csv_text`). Returns the number of rows. Whole or not at all; never more
    than one frame is held. Raises UsageError for another ending, WriteError.
    """
    ending = to.suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{to}: the ending chooses the format: {', '.join(ENDINGS)}{nearest(ending, ENDINGS)}")
    if (bom or safe) and ending != ".csv":
        raise UsageError("--bom and --safe are for .csv only")
    counted = _Counted(frames)
    if ending == ".parquet":
        write_parquet(counted, to)
    elif ending == ".arrow":
        _write_arrow(counted, to)
    else:
        with whole_file(to) as draft, draft.open("w", encoding="utf-8", newline="") as out:
            out.writelines(_texts(counted, ending, bom=bom, safe=safe))
    return counted.rows


def _texts(frames: Iterable[pl.DataFrame], ending: str, *, bom: bool, safe: bool) -> Iterator[str]:
    if ending == ".json":
        yield json_rows(pl.concat(frames))
    elif ending == ".jsonl":
        yield from map(json_lines, frames)
    else:
        for number, frame in enumerate(frames):
            yield csv_text(frame, bom=bom and not number, safe=safe, header=not number)


class _Counted:
    """Counts the rows of frames on their way."""

    def __init__(self, frames: Iterable[pl.DataFrame]) -> None:
        self.frames = frames
        self.rows = 0

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for frame in self.frames:
            self.rows += frame.height
            yield frame


def _write_arrow(frames: Iterable[pl.DataFrame], to: Path) -> None:
    with whole_file(to) as draft:
        writer = None
        for frame in frames:
            table = to_arrow(frame)
            writer = writer or pa.ipc.new_file(draft, table.schema)
            writer.write_table(table)
        if writer:
            writer.close()


def stored_frames(runs: Iterable[StoredRun], table: str) -> Iterator[pl.DataFrame]:
    """Yield a table of the runs row group by row group; one empty frame where there are no rows at all.

    Raises UsageError where there is no such table.
    """
    if table not in TABLES:
        raise UsageError(f"no table {table!r}{nearest(table, [*TABLES, EVALUATION, LEADERBOARD])}")
    yield TABLES[table].empty()
    for run in runs:
        if file := run.parquet(table):
            with file:
                for number in range(file.num_row_groups):
                    yield pl.DataFrame(pl.from_arrow(file.read_row_group(number)))


# --- EduEvidence's evaluation.json ------------------------------------------------------------------------------------


def evaluation(run: StoredRun) -> dict[str, Any]:
    """Return the run as EduEvidence's evaluator writes it: run, per_baseline, per_attempt in the manifest's order.

    Means and half-widths (1.96·sd/√n over attempts) are of the rounded values, rounded to 4 places again; unknown
    costs add 0. Raises UsageError where the run was not scored under eduevidence-v3.
    """
    scorers = run.signature["scorers"]
    if EVALUATION_SCORER not in scorers:
        raise UsageError(f"run {run.run_id!r} has no scores of {EVALUATION_SCORER}; it has: {', '.join(scorers)}")
    attempts = list(_evaluated(run))
    systems: dict[str, list[dict[str, Any]]] = {}
    for attempt in attempts:
        if attempt.get("metrics"):
            systems.setdefault(attempt["baseline"], []).append(attempt)
    mode, environment = run.row["mode"], run.row["environment"]
    return {
        "run_id": run.run_id,
        "run_mode": None if mode == "unknown" else mode,
        "environment": None if environment is None else json.loads(environment),
        "per_baseline": {system: _per_baseline(scored) for system, scored in systems.items()},
        "per_attempt": attempts,
    }


def _evaluated(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Yield one object an attempt: who it is, and what the evaluator found if there was something to evaluate."""
    columns = ["attempt_id", "task_id", "system", "repeat", "status", "cost_usd", "fault"]
    scores = run.frame("scores").filter(pl.col("scorer") == EVALUATION_SCORER)
    metrics: dict[str, dict[str, float | None]] = {}
    for attempt_id, metric, value in scores.select("attempt_id", "metric", "value").iter_rows():
        metrics.setdefault(attempt_id, {})[metric] = value
    read = run.frame("extracts").filter((pl.col("scorer") == EVALUATION_SCORER) & (pl.col("field") == "action"))
    actions = dict(read.select("attempt_id", "value").iter_rows())
    for attempt_id, task_id, system, repeat, status, cost, fault in run.frame("attempts", columns).iter_rows():
        attempt: dict[str, Any] = {
            "attempt_id": attempt_id,
            "question_id": task_id,
            "baseline": system,
            "attempt": repeat,
            "status": status,
        }
        values = metrics[attempt_id]
        if None not in values.values():
            attempt |= {"metrics": values, "detected_action": actions.get(attempt_id), "cost_usd": cost}
        elif status == "completed" and fault is None:
            attempt |= {"metrics": None, "error": "no gold annotation"}
        yield attempt


def _per_baseline(attempts: list[dict[str, Any]]) -> dict[str, Any]:
    names = attempts[0]["metrics"]
    return {
        "metrics": {name: _mean_and_width([attempt["metrics"][name] for attempt in attempts]) for name in names},
        "n": len(attempts),
        "total_cost_usd": round(math.fsum(attempt["cost_usd"] or 0.0 for attempt in attempts), 4),
    }


def _mean_and_width(values: list[float]) -> dict[str, float]:
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1) if n > 1 else 0.0
    return {"mean": round(mean, 4), "ci95": round(1.96 * math.sqrt(variance) / math.sqrt(n), 4), "n": n}


def write_evaluation(run: StoredRun, to: Path) -> int:
    """Write `evaluation(run)` to a .json file; return the number of attempts in it."""
    if to.suffix.lower() != ".json":
        raise UsageError(f"{to}: evaluation is written as .json")
    content = evaluation(run)
    with whole_file(to) as draft:
        draft.write_text(json_text(content, indent=2) + "\n", encoding="utf-8")
    return len(content["per_attempt"])

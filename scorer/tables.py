"""The contracts between the stages: each table's grain, key, columns and which of them may be null.

Tables are long and narrow. A stage takes tables and gives tables; `check` holds a frame to its contract where it leaves
a stage, and says everything that is wrong with it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from scorer.errors import ScorerError

TEXT = pl.String()
WHOLE = pl.Int64()
NUMBER = pl.Float64()
TEXTS = pl.List(pl.String())


@dataclass(frozen=True)
class Table:
    """One table's contract."""

    name: str
    grain: str
    """What one row is."""
    key: tuple[str, ...]
    """Columns that together name a row; never null."""
    columns: Mapping[str, pl.DataType]
    """Every column in its order, the key first."""
    nullable: frozenset[str]
    """Columns that may hold null; any other never does."""

    @property
    def schema(self) -> pl.Schema:
        """The Polars schema: column names and dtypes in order."""
        return pl.Schema(self.columns)

    def empty(self) -> pl.DataFrame:
        """Return a frame of this table with no rows."""
        return pl.DataFrame(schema=self.schema)


def _table(name: str, grain: str, key: str, columns: Mapping[str, pl.DataType], nullable: str = "") -> Table:
    return Table(name, grain, tuple(key.split()), columns, frozenset(nullable.split()))


RUNS = _table(
    "runs",
    "one run: one set of attempts at one benchmark",
    "run_id",
    {
        "run_id": TEXT,
        "benchmark": TEXT,
        "mode": TEXT,  # empirical, simulated, unknown
        "origin": TEXT,  # scored, imported
        "created_at": TEXT,  # as the source gives it
        "environment": TEXT,  # JSON
        "notes": TEXT,
        "gold_hash": TEXT,
        "flags": TEXTS,  # what a reader must know, in plain words: "repeat absent: 60 attempts numbered in order"
        "signature": TEXT,  # JSON, as in the Parquet metadata
    },
    "created_at environment notes gold_hash",
)

TASKS = _table(
    "tasks",
    "one task (question) of a run",
    "run_id task_id",
    {"run_id": TEXT, "task_id": TEXT, "prompt": TEXT, "language": TEXT},
    "prompt language",
)

STRATA = _table(
    "strata",
    "one task's value in one stratum",
    "run_id task_id stratum",
    {"run_id": TEXT, "task_id": TEXT, "stratum": TEXT, "level": TEXT},
)

GOLDS = _table(
    "golds",
    "one item of one field of a task's gold; every gold has the field `id`, so that an empty gold is still there",
    "run_id task_id field position",
    {"run_id": TEXT, "task_id": TEXT, "field": TEXT, "position": WHOLE, "value": TEXT},
)

ATTEMPTS = _table(
    "attempts",
    "one stored attempt of a system at a task",
    "run_id attempt_id",
    {
        "run_id": TEXT,
        "attempt_id": TEXT,
        "task_id": TEXT,
        "system": TEXT,
        "repeat": WHOLE,  # from 1
        "status": TEXT,  # completed, or the source's word for why not
        "response": TEXT,
        "fault": TEXT,  # why the response could not be read
        "output_path": TEXT,
        "cost_usd": NUMBER,
        "latency_s": NUMBER,
        "tokens": WHOLE,
        "error": TEXT,
        "input_hash": TEXT,  # of everything above but run_id
    },
    "response fault output_path cost_usd latency_s tokens error",
)

JUDGEMENTS = _table(
    "judgements",
    "one evaluation of one attempt by one judge",
    "run_id attempt_id judge_id evaluation",
    {
        "run_id": TEXT,
        "attempt_id": TEXT,
        "judge_id": TEXT,
        "evaluation": WHOLE,  # from 1
        "status": TEXT,  # ok; no_output, blank_output (score 0); any other: missing, with total and scores null
        "total_raw": NUMBER,  # sum of the points
        "total_reported": NUMBER,  # the sum as the source gives it
        "score_exact": NUMBER,  # total_raw on the rubric's scale
        "score_normalized": NUMBER,  # the same rounded to a whole number, half to even
        "reason": TEXT,
        "provider": TEXT,  # with model, prompt_hash, rubric_hash and renderer: the judge_id
        "model": TEXT,
        "prompt_hash": TEXT,
        "rubric_hash": TEXT,
        "renderer": TEXT,
        "image_hash": TEXT,
        "cost_usd": NUMBER,
        "tokens": WHOLE,
        "latency_s": NUMBER,
        "created_at": TEXT,
        "flags": TEXTS,
    },
    "total_raw total_reported score_exact score_normalized reason provider model prompt_hash rubric_hash renderer "
    "image_hash cost_usd tokens latency_s created_at",
)

CRITERIA = _table(
    "criteria",
    "one criterion of one evaluation",
    "run_id attempt_id judge_id evaluation criterion",
    {
        "run_id": TEXT,
        "attempt_id": TEXT,
        "judge_id": TEXT,
        "evaluation": WHOLE,
        "criterion": TEXT,
        "points": NUMBER,
        "max_points": NUMBER,
        "status": TEXT,
    },
    "points",
)

EXTRACTS = _table(
    "extracts",
    "one thing that a scorer read out of a response",
    "run_id attempt_id scorer field position",
    {
        "run_id": TEXT,
        "attempt_id": TEXT,
        "scorer": TEXT,
        "field": TEXT,  # action, outcome, unit, ...
        "position": WHOLE,  # from 0
        "value": TEXT,
    },
)

METRICS = _table(
    "metrics",
    "what a scorer declares of one metric",
    "run_id scorer metric",
    {
        "run_id": TEXT,
        "scorer": TEXT,
        "metric": TEXT,
        "low": NUMBER,
        "high": NUMBER,
        "higher_is_better": pl.Boolean(),
        "decimals": WHOLE,  # places that values were rounded to
        "primary": pl.Boolean(),
    },
    "low high decimals",
)

SCORES = _table(
    "scores",
    "one attempt's value on one metric; null where it was not scored, and then with a reason",
    "run_id attempt_id scorer metric",
    {
        "run_id": TEXT,
        "attempt_id": TEXT,
        "scorer": TEXT,  # pack/ruleset, rubric with policy and judge, or an imported file
        "metric": TEXT,
        "task_id": TEXT,
        "system": TEXT,
        "repeat": WHOLE,
        "value": NUMBER,
        "reason": TEXT,
    },
    "value reason",
)

PUBLISHED = _table(
    "published",
    "one figure that somebody published of one system, without the evaluations behind it: shown, never tested",
    "run_id source system stratum level figure",
    {
        "run_id": TEXT,
        "source": TEXT,
        "system": TEXT,
        "stratum": TEXT,  # empty, like level, for all tasks
        "level": TEXT,
        "figure": TEXT,  # pass_rate, mean_score, passes, n_tasks
        "value": NUMBER,
    },
)

REJECTED = _table(
    "rejected",
    "one piece of input that was not used, or only after a repair",
    "run_id source place rule",
    {"run_id": TEXT, "source": TEXT, "place": TEXT, "rule": TEXT, "detail": TEXT},
)

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        RUNS,
        TASKS,
        STRATA,
        GOLDS,
        ATTEMPTS,
        JUDGEMENTS,
        CRITERIA,
        EXTRACTS,
        METRICS,
        SCORES,
        PUBLISHED,
        REJECTED,
    )
}


def check(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return `frame` unchanged if it keeps the contract of `table`; else raise ScorerError with every breach.

    Columns must be the table's, in order and dtype; a column that is not nullable must hold no null. Keys are not
    searched for duplicates here: that is the business of the stage that makes them.
    """
    breaches = _column_breaches(frame.schema, table)
    if not breaches:
        breaches = [
            f"column {name!r} holds {count} nulls"
            for name in table.columns
            if name not in table.nullable and (count := frame[name].null_count())
        ]
    if breaches:
        raise ScorerError(f"{len(breaches)} breaches of the contract of table {table.name}: " + "; ".join(breaches))
    return frame


def _column_breaches(schema: pl.Schema, table: Table) -> list[str]:
    missing = [name for name in table.columns if name not in schema]
    unknown = [name for name in schema if name not in table.columns]
    breaches = []
    if missing:
        breaches.append(f"{len(missing)} missing columns: {', '.join(missing)}")
    if unknown:
        breaches.append(f"{len(unknown)} unknown columns: {', '.join(unknown)}")
    breaches += [
        f"column {name!r} is {schema[name]}, not {dtype}"
        for name, dtype in table.columns.items()
        if name in schema and schema[name] != dtype
    ]
    if not breaches and list(schema) != list(table.columns):
        breaches.append(f"columns stand in the order {', '.join(schema)}, not {', '.join(table.columns)}")
    return breaches

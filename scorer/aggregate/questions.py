"""One question at a time: what each system's attempts came to, and how much they differ from one another."""

from __future__ import annotations

import polars as pl

from scorer.aggregate.data import Data
from scorer.aggregate.printing import printed
from scorer.aggregate.sides import sides_of
from scorer.aggregate.summary import load_questions
from scorer.warehouse import Warehouse


def question_means(data: Data, *, threads: int | None = None) -> pl.DataFrame:
    """Return one row a question and metric of each system in each run.

    Columns: `benchmark`, `scorer`, `metric`, `run_id`, `system`, `task_id`, `n_attempts` (scored ones), `n_unscored`,
    `mean`, `least` and `greatest` of the scored attempts in the metric's units (null where none was scored), and
    `goodness`: the mean on the unit scale, 1 the best in the metric's direction; see sql/question_means.sql.
    """
    with Warehouse(data.sources(), threads=threads) as warehouse:
        load_questions(warehouse, data, sides_of(data), ())
        return printed(warehouse.query("question_means"))

"""`scorer packs`: which benchmarks are built in, and what is in one."""

from __future__ import annotations

from typing import Annotated

import typer


def packs(
    name: Annotated[
        str | None, typer.Argument(help="A pack's name or folder; all built-in packs where absent.")
    ] = None,
) -> None:
    """List the built-in packs, or show one: its metrics, their kinds, ranges and parameters.

    Example: scorer packs eduevidence
    """
    import polars as pl

    from scorer import formats
    from scorer import packs as known
    from scorer.cli.console import emit, terminal_width

    if name is None:
        rows = [
            {"pack": pack.name, "ruleset": pack.ruleset, "title": pack.title}
            for pack in map(known.load, known.available())
        ]
    else:
        pack = known.load(name)
        rows = [
            {
                "metric": metric.name,
                "kind": metric.kind,
                "range": f"{metric.low:g} to {metric.high:g}",
                "better": "higher" if metric.higher_is_better else "lower",
                "parameters": ", ".join(f"{key} = {_short(value)}" for key, value in vars(metric.params).items()),
            }
            for metric in pack.metrics
        ]
    emit(formats.text_table(pl.DataFrame(rows), terminal_width()), None)


def _short(value: object) -> str:
    return f"{len(value)} words" if isinstance(value, tuple) else str(value)

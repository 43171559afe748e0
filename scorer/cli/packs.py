"""`scorer packs`: which benchmarks are built in, what is in one, and a new one to start from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scorer.errors import UsageError

if TYPE_CHECKING:
    from scorer.packs import Pack

NEW = "new"

Rows = list[dict[str, Any]]


def packs(
    name: Annotated[
        str | None, typer.Argument(help="A pack's name or folder; all built-in packs where absent; or: new.")
    ] = None,
    folder: Annotated[Path | None, typer.Argument(help="After new: the folder of the pack to make.")] = None,
) -> None:
    """List the built-in packs; show one: its metrics, ranges, parameters, words; or make a new one in a folder.

    Example: scorer packs qa

    Example: scorer packs new my-benchmark
    """
    from scorer import packs as known

    if name == NEW and folder is not None:
        _make(folder)
    elif name == NEW:
        raise UsageError("name the folder of the pack to make: scorer packs new DIR")
    elif folder is not None:
        raise UsageError(f"two arguments are for a new pack: scorer packs new {folder}")
    elif name is None:
        loaded = map(known.load, known.available())
        _print([("", [{"pack": pack.name, "ruleset": pack.ruleset, "title": pack.title} for pack in loaded])])
    else:
        pack = known.load(name)
        _print(_sections(pack, known.word_lists(name)))


def _make(folder: Path) -> None:
    import shlex

    from scorer import packs as known
    from scorer.cli.console import say

    for path in known.create(folder):
        say(f"made      {path}")
    questions, attempts = (shlex.quote(str(folder / "sample" / file)) for file in ("questions.csv", "attempts.csv"))
    files = f"--golds {questions} --tasks {questions}"
    say(f"next      scorer score {attempts} --pack {shlex.quote(str(folder))} {files} --mode simulated --out results")


def _print(sections: Iterator[tuple[str, Rows]] | list[tuple[str, Rows]]) -> None:
    """Print tables under their titles."""
    import polars as pl

    from scorer import formats
    from scorer.cli.console import emit, terminal_width

    tables = [
        (f"{title}\n" if title else "")
        + formats.text_table(pl.DataFrame(rows, infer_schema_length=None), terminal_width())
        for title, rows in sections
        if rows
    ]
    emit("\n".join(tables), None)


def _sections(pack: Pack, words: Mapping[str, Any]) -> Iterator[tuple[str, Rows]]:
    """Yield what there is to know of a pack, a titled table each."""
    named = {_hashable(value): f"{key} (below)" for key, value in words.items()}
    yield (
        f"{pack.title} · {pack.scorer} · {pack.hash[:12]}",
        [
            {
                "metric": metric.name,
                "kind": metric.kind,
                "range": f"{metric.low:g} to {metric.high:g}",
                "better": "higher" if metric.higher_is_better else "lower",
                "decimals": "all" if metric.decimals is None else metric.decimals,
                "primary": "primary" if metric.primary else "",
            }
            for metric in pack.metrics
        ],
    )
    taking: list[tuple[str, Any]] = [(reading.name, reading.params) for reading in pack.readings]
    taking += [(metric.name, metric.params) for metric in pack.metrics]
    yield (
        "Parameters",
        [
            {"metric or reading": name, "parameter": key, "value": _shown(value, named, pack)}
            for name, params in taking
            for key, value in _parameters(params).items()
        ],
    )
    yield (
        "Normalisation steps and tokenizers",
        [{"name": name, "meaning": meaning} for name, meaning in _meanings().items() if _names(pack, name)],
    )
    yield (
        "Words",
        [
            {"list": f"{key}.{inner}" if inner else key, "words": ", ".join(map(_quoted, listed))}
            for key, value in words.items()
            for inner, listed in (value.items() if isinstance(value, dict) else [("", value)])
        ],
    )
    if pack.rubric:
        yield (
            f"Criteria of the rubric ({pack.rubric.terms.total} points, policy {pack.rubric.terms.default_policy})",
            [
                {"criterion": each.name, "points": f"0 to {each.most}", "group": each.group, "meaning": each.meaning}
                for each in pack.rubric.criteria
            ],
        )


def _parameters(params: Any) -> dict[str, Any]:
    from dataclasses import fields

    return {field.name: getattr(params, field.name) for field in fields(params)}


def _shown(value: Any, named: Mapping[Any, str], pack: Pack) -> str:
    """Return a parameter's value; words by the name of their list, other metrics by theirs."""
    if value and _hashable(value) in named:
        return named[_hashable(value)]
    if isinstance(value, tuple):
        metrics = [(metric.params, metric.name) for metric in pack.metrics]
        return (
            ", ".join(next((name for params, name in metrics if params == item), str(item)) for item in value) or "none"
        )
    return "none" if value is None else str(value)


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((key, tuple(words)) for key, words in value.items())
    return tuple(value) if isinstance(value, list | tuple) else value


def _meanings() -> dict[str, str]:
    from scorer.metrics.answers.normalize import STEPS
    from scorer.metrics.answers.tokens import TOKENIZERS

    steps = {name: step.meaning for name, step in STEPS.items()}
    return steps | {name: tokenizer.meaning for name, tokenizer in TOKENIZERS.items()}


def _names(pack: Pack, name: str) -> bool:
    """Tell whether a metric of the pack has the step or tokenizer among its parameters."""
    values = [value for metric in pack.metrics for value in _parameters(metric.params).values()]
    return any(value == name or (isinstance(value, tuple) and name in value) for value in values)


def _quoted(word: str) -> str:
    return word if word.strip() == word and word.isprintable() else repr(word)

"""What each clever step of the kernel saves: the kernel without it, on the same answers, in turn with the kernel."""

from __future__ import annotations

import time
from contextlib import ExitStack
from statistics import median
from types import ModuleType
from typing import Any
from unittest.mock import patch

import polars as pl

from scorer import packs, text
from scorer.metrics import pairs, sources, units
from scorer.score import compile_golds, score_batch
from tests.bench.corpora import Corpus

ANSWERS, BATCH, TURNS = 4_000, 2_000, 5
WITHOUT_LIMIT = 10**9

Change = tuple[ModuleType, str, Any]


def _lowercase_of_all(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase()


def _chinese_of_all(some: pl.DataFrame) -> pl.DataFrame:
    return pairs.by_text(some, chinese=text.chinese(pl.col("text")))


def _never() -> pl.Expr:
    return pl.lit(value=False)


def _no_token() -> pl.Expr:
    return pl.lit(0, dtype=pl.Int64)


ABLATIONS: dict[str, list[Change]] = {
    "lowercase of the ASCII bytes alone": [(text, "lowered", _lowercase_of_all)],
    "a statement's commonest runs before its others": [(units, "FIRST_RUNS", WITHOUT_LIMIT)],
    "Chinese characters only for golds that have bigrams": [
        (sources, "with_chinese", _chinese_of_all),
        (units, "with_chinese", _chinese_of_all),
    ],
    "Chinese characters of long texts byte by byte": [(text, "_LONG", WITHOUT_LIMIT)],
    "a word of ASCII text that nothing touches is a word": [(pairs, "_clear", _never)],
    "a proof that the response has tokens enough": [(sources, "_least_tokens", _no_token)],
}


def rows() -> list[list[str]]:
    """Return a row a step: what the kernel takes without it, beside what it takes, in Chinese and in English."""
    found = [[step] for step in ABLATIONS]
    for language in ("chinese", "english"):
        corpus = Corpus(language, ANSWERS)
        attempts = pl.concat(corpus.batches())
        batches = [attempts[first : first + BATCH] for first in range(0, ANSWERS, BATCH)]
        compiled = compile_golds(packs.load("eduevidence"), corpus.golds())
        for row, changes in zip(found, ABLATIONS.values(), strict=True):
            whole, less = [], []
            for _ in range(TURNS):
                whole.append(_seconds(batches, compiled, []))
                less.append(_seconds(batches, compiled, changes))
            row.append(f"{(median(less) / median(whole) - 1):+.0%}")
    return found


def _seconds(batches: list[pl.DataFrame], compiled: Any, changes: list[Change]) -> float:
    with ExitStack() as patches:
        for module, name, without in changes:
            patches.enter_context(patch.object(module, name, without))
        started = time.process_time()
        for batch in batches:
            score_batch(batch, compiled)
        return time.process_time() - started

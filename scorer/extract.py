"""Response text -> what is read out of it: the JSON block, and each reading of a pack over a whole batch.

The JSON block is found for all answers at once and read one by one, since Python's parser is what the rule names. All
else is a search in the text columns; an answer that its block already answers is not searched again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from scorer import text
from scorer.packs import Reading
from scorer.reference import FENCE, ChoiceReading, ReadingKind, TermReading, UnitReading, parse_block

SCHEMA = {"row": pl.UInt32(), "position": pl.Int64(), "value": pl.String()}
RESPONSE = pl.col("response")


def extract(answers: pl.DataFrame, readings: Sequence[Reading]) -> dict[str, pl.DataFrame]:
    """Return for each reading what it reads: columns `row`, `position` (from 0), `value`, sorted by row and position.

    `answers` has the columns `row` (0, 1, …) and `response` (never null). An answer that nothing is read of has no row.
    """
    in_blocks = _read_blocks(answers, readings)
    return {
        reading.name: _numbered(_EXTRACTORS[type(reading.params)](answers, in_blocks[reading.name], reading.params))
        for reading in readings
    }


def _numbered(found: pl.DataFrame) -> pl.DataFrame:
    """Return `found`, which is sorted by row, with the rows of each answer numbered."""
    first = pl.col("row").search_sorted(pl.col("row"))
    return found.select("row", (pl.int_range(pl.len()) - first).alias("position"), "value")


# ---- the JSON block ----


def _read_blocks(answers: pl.DataFrame, readings: Sequence[Reading]) -> dict[str, pl.DataFrame]:
    """Return for each reading `row` and `value` of what the answers' JSON blocks hold, in the blocks' order."""
    found: dict[str, tuple[list[int], list[str]]] = {reading.name: ([], []) for reading in readings}
    blocks = block_texts(answers)
    for row, block in zip(blocks["row"].to_list(), blocks["block"].to_list(), strict=True):
        content = parse_block(block)
        if content is None:
            continue
        for reading in readings:
            rows, values = found[reading.name]
            for value, _, _ in reading.params.in_block(content):
                rows.append(row)
                values.append(value)
    return {
        name: pl.DataFrame({"row": rows, "value": values}, schema={"row": SCHEMA["row"], "value": SCHEMA["value"]})
        for name, (rows, values) in found.items()
    }


def block_texts(answers: pl.DataFrame) -> pl.DataFrame:
    """Return `row` and `block`: the text of the first braces that close, from the fence on if there is one.

    Braces count wherever they stand, in strings too, so the depth after each is a running sum over all answers at once.
    """
    start = RESPONSE.str.find(FENCE, literal=True).fill_null(0)
    at, opens = pl.col("at"), pl.col("brace") == "{"
    braces = (
        answers.filter(RESPONSE.str.contains("{", literal=True))
        .select("row", start=start, at=RESPONSE.str.find_many(["{", "}"]), brace=RESPONSE.str.extract_many(["{", "}"]))
        .explode("at", "brace")
        .filter(at >= pl.col("start"))
        .filter(opens.cum_max().over("row"))  # a closing brace before the first opening one is none of the block's
    )
    depth = pl.when(opens).then(1).otherwise(-1).cum_sum().over("row")
    ends = braces.filter(depth == 0).unique("row", keep="first", maintain_order=True).select("row", end="at")
    spans = ends.join(braces.unique("row", keep="first"), on="row", maintain_order="left")
    response = answers["response"].gather(spans["row"]).cast(pl.Binary)
    block = pl.col("response").bin.slice(at, pl.col("end") - at + 1).cast(pl.String)
    return spans.with_columns(response).select("row", block=block)


# ---- one reading over all answers ----


def _terms(answers: pl.DataFrame, in_blocks: pl.DataFrame, rule: TermReading) -> pl.DataFrame:
    """Take each name of which a spelling occurs in the text or stands in the block, sorted."""
    names = sorted(rule.terms)
    searches = (RESPONSE.str.contains(text.any_of((name, *rule.terms[name]))).alias(name) for name in names)
    held = answers.select(searches).to_numpy(writable=True)
    column = {name: at for at, name in enumerate(names)}
    held[in_blocks["row"].to_numpy(), [column[name] for name in in_blocks["value"].to_list()]] = True
    rows, columns = held.nonzero()
    return pl.DataFrame({"row": pl.Series(rows, dtype=SCHEMA["row"]), "value": pl.Series(names).gather(columns)})


def _choice(answers: pl.DataFrame, in_blocks: pl.DataFrame, rule: ChoiceReading) -> pl.DataFrame:
    """Take the block's name, else the first in the lowercased text, else the first that occurs in another spelling."""
    by_block = in_blocks.unique("row", keep="first", maintain_order=True)
    tests = [(name, text.any_of_lowered([name])) for name in rule.terms]
    tests += [(name, text.any_of(others)) for name, others in rule.terms.items() if others]
    first = pl.coalesce(pl.when(RESPONSE.str.contains(pattern)).then(pl.lit(name)) for name, pattern in tests)
    by_text = answers.join(by_block, on="row", how="anti").select("row", first.alias("value")).drop_nulls()
    return pl.concat([by_block, by_text]).sort("row")


def _units(answers: pl.DataFrame, in_blocks: pl.DataFrame, rule: UnitReading) -> pl.DataFrame:
    """Take the block's units, else the sentences whose lowercase holds a hint, stripped."""
    ends = set(rule.separators)
    hints = text.any_of_lowered(hint for hint in rule.hints if not ends & set(hint))
    inside = f"[^{''.join(map(_escaped, rule.separators))}]*"
    sentence = RESPONSE.str.extract_all(f"{inside}(?:{hints}){inside}").alias("value")
    sentences = (
        answers.join(in_blocks, on="row", how="anti")
        .select("row", sentence)
        .explode("value")
        .with_columns(pl.col("value").str.strip_chars(text.WHITE_SPACE))
    )
    return pl.concat([in_blocks, sentences]).sort("row", maintain_order=True)


def _escaped(character: str) -> str:
    """Return the character as it stands in a pattern's class."""
    return f"\\x{{{ord(character):x}}}"


_Extractor = Callable[[pl.DataFrame, pl.DataFrame, Any], pl.DataFrame]
_EXTRACTORS: Mapping[type[ReadingKind], _Extractor] = {
    TermReading: _terms,
    ChoiceReading: _choice,
    UnitReading: _units,
}

"""Pieces of a source to batches of the table attempts: named, typed, numbered, hashed and cut by bytes.

The same rows give the same batches whatever form they came in, because batches are cut by the bytes of the rows
themselves. Reading again from the start gives everything again, so a survey can come before the scoring.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise

import numpy as np
import polars as pl

from scorer.errors import InputError, Problem
from scorer.ingest.sources import FAULT, PLACE, Piece, Refused, Source
from scorer.tables import ATTEMPTS
from scorer.text import utf8

BATCH_BYTES = 22 << 20
"""Bytes of response in a batch: enough that a batch's own cost does not count, few enough for a small memory."""
BATCH_ROWS = 8192

_COLUMNS = [name for name in ATTEMPTS.columns if name not in ("run_id", "input_hash")]
_NUMBERS = ("cost_usd", "latency_s", "tokens")
_TOKENS = ("prompt_tokens", "completion_tokens")

NAMES = frozenset({*_COLUMNS, *_TOKENS, "task_id"}) - {FAULT}
"""Every column that a table of attempts may have, under our names."""


@dataclass
class Batch:
    """Attempts in their order (all columns of the table but run_id), where each stands, and what could not be one."""

    attempts: pl.DataFrame
    places: pl.DataFrame
    """Columns source and place, a row an attempt."""
    refused: list[Refused] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class Attempts:
    """All attempts of some sources, in order, as batches."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.repeats_numbered = False
        """Whether the repeats were numbered here because no source gives them; known once the batches were read."""
        self._hashes: list[pl.Series] | None = None
        """The input hashes of every piece once all were read: 16 bytes an attempt, a tenth of the time of reading."""

    def batches(self) -> Iterator[Batch]:
        """Yield the attempts from the start, cut into batches by their bytes."""
        held: list[Batch] = []
        size = rows = 0
        for piece in self._pieces():
            for part, full in _cuts(piece, size, rows):
                held.append(part)
                size += _bytes(part.attempts)
                rows += part.attempts.height
                if full:
                    yield _joined(held)
                    held, size, rows = [], 0, 0
        if held:
            yield _joined(held)

    def _pieces(self) -> Iterator[Batch]:
        """Yield the attempts as they come, each with its hash, which is computed on the first reading only."""
        numbering = _Numbering()
        known = None if self._hashes is None else iter(self._hashes)
        hashes: list[pl.Series] = []
        for source in self.sources:
            for piece in source.pieces():
                part = _canonical(piece, numbering)
                hashes.append(_hashes_of(part, piece.source, known))
                part.attempts = part.attempts.with_columns(hashes[-1].bin.encode("hex").alias("input_hash"))
                yield part
        self.repeats_numbered = numbering.numbers_given is False
        self._hashes = hashes


def _hashes_of(part: Batch, source: str, known: Iterator[pl.Series] | None) -> pl.Series:
    if known is None:
        return _digests(part.attempts)
    hashes = next(known, pl.Series())
    if len(hashes) != part.attempts.height:
        raise InputError([Problem(source, "", "changed while it was being read; score it again")])
    return hashes


# --- one piece --------------------------------------------------------------------------------------------------------


def _canonical(piece: Piece, numbering: _Numbering) -> Batch:
    """Return the piece's attempts under the table's contract; rows that cannot be attempts become refusals."""
    frame = piece.frame
    missing = [name for name in ("task_id", "system") if name not in frame.columns]
    missing += ["response"] if _answers_nothing(frame) else []
    if missing and frame.height:
        unused = f"; not used: {', '.join(sorted(piece.unused))}" if piece.unused else ""
        problem = f"has no {', '.join(missing)}; the pack's field names serve as well{unused}"
        raise InputError([Problem(piece.source, "columns", problem)])
    refused, problems = list(piece.refused), list(piece.problems)
    frame = _texts(frame)
    frame = _numbers(frame, piece.source, refused)
    frame = _usable(frame, piece.source, refused)
    frame = numbering.number(frame, piece.source, problems)
    frame = _filled(frame)
    places = frame.select(pl.lit(piece.source).alias("source"), PLACE)
    return Batch(frame.select(_COLUMNS), places, refused, problems)


def _answers_nothing(frame: pl.DataFrame) -> bool:
    """Tell whether there is no column of responses at all though some attempt was completed."""
    if "response" in frame.columns:
        return False
    status = pl.col("status").cast(pl.String) if "status" in frame.columns else pl.lit(None, pl.String)
    fault = pl.col(FAULT) if FAULT in frame.columns else pl.lit(None, pl.String)
    return bool(frame.select(((status.fill_null("completed") == "completed") & fault.is_null()).any()).item())


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Cast names to text and give absent columns as nulls; a response column of another type is a fault of each row."""
    absent = [pl.lit(None, pl.String).alias(name) for name in {*_COLUMNS, *_TOKENS} if name not in frame.columns]
    frame = frame.with_columns(absent)
    if (dtype := frame.schema["response"]) not in _TEXT_TYPES:
        fault = pl.lit(f"the response is no text but {dtype}")
        frame = frame.with_columns(pl.when(pl.col("response").is_not_null()).then(fault).alias(FAULT))
        frame = frame.with_columns(pl.lit(None, pl.String).alias("response"))
    texts = ("attempt_id", "task_id", "system", "status", "response", "output_path", "error")
    return frame.with_columns(_as_text(frame.schema[name], name) for name in texts)


_TEXT_TYPES = (pl.String, pl.Categorical, pl.Enum, pl.Null)


def _as_text(dtype: pl.DataType, name: str) -> pl.Expr:
    """Text of a name column; a whole number kept as a float (7.0, as pandas gives it) is the whole number."""
    column = pl.col(name)
    if dtype.is_nested() or dtype == pl.Boolean:
        return pl.lit(None, pl.String).alias(name)
    if dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        return pl.when(whole == column).then(whole.cast(pl.String)).otherwise(column.cast(pl.String)).alias(name)
    return column.cast(pl.String, strict=False)


def _numbers(frame: pl.DataFrame, source: str, refused: list[Refused]) -> pl.DataFrame:
    """Cast costs, times and token counts; one that is no number from 0 up becomes null, with a refusal that says so."""
    tokens = pl.sum_horizontal(_as_number(name) for name in _TOKENS)
    split = pl.any_horizontal(pl.col(name).is_not_null() for name in _TOKENS)
    columns = [_as_number(name).alias(f"{name} as number") for name in _NUMBERS]
    typed = frame.with_columns(columns)
    for name in _NUMBERS:
        number = pl.col(f"{name} as number")
        good = number.is_finite() & (number >= 0)
        bad = typed.filter(pl.col(name).is_not_null() & ~good.fill_null(value=False))
        for place, value in bad.select(PLACE, pl.col(name).cast(pl.String)).iter_rows():
            detail = f"{name} is {value!r}, no number from 0 up; kept as not captured"
            refused.append(Refused(source, place, f"{name} unusable", detail))
        typed = typed.with_columns(pl.when(good).then(number).alias(name))
    return typed.with_columns(
        pl.when(pl.col("tokens").is_null() & split)
        .then(tokens)
        .otherwise(pl.col("tokens"))
        .cast(pl.Int64, strict=False)
        .alias("tokens")
    )


def _as_number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _usable(frame: pl.DataFrame, source: str, refused: list[Refused]) -> pl.DataFrame:
    """Leave out rows without task or system, or whose repeat is no whole number from 1, each with a refusal."""
    repeat = pl.col("repeat").cast(pl.Float64, strict=False)
    whole = repeat.is_finite() & (repeat >= 1) & (repeat == repeat.floor()) & (repeat < 2**53)
    rules = {
        "task_id missing": pl.col("task_id").is_null() | (pl.col("task_id") == ""),
        "system missing": pl.col("system").is_null() | (pl.col("system") == ""),
        "repeat unusable": pl.col("repeat").is_not_null() & ~whole.fill_null(value=False),
    }
    broken = pl.coalesce(
        *(pl.when(broken).then(pl.lit(rule)) for rule, broken in rules.items()), pl.lit(None, pl.String)
    )
    frame = frame.with_columns(broken.alias("rule"))
    for place, rule in frame.filter(pl.col("rule").is_not_null()).select(PLACE, "rule").iter_rows():
        refused.append(Refused(source, place, rule, f"the attempt is left out: {rule}"))
    return frame.filter(pl.col("rule").is_null()).with_columns(repeat.cast(pl.Int64, strict=False))


class _Numbering:
    """Counts the repeats of each system at each task, for sources that do not number them."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], int] = defaultdict(int)
        self.numbers_given: bool | None = None

    def number(self, frame: pl.DataFrame, source: str, problems: list[Problem]) -> pl.DataFrame:
        """Return the frame with every repeat given; some given and some absent is a mistake of the input."""
        if not frame.height:
            return frame
        absent = frame["repeat"].is_null()
        if self.numbers_given is None:
            self.numbers_given = not absent[0]
        if absent.any() == self.numbers_given or not (absent.all() or self.numbers_given):
            place = frame.filter(absent if self.numbers_given else ~absent)[PLACE][0]
            problems.append(Problem(source, place, "repeat is given for some attempts only; give it for all or none"))
        if self.numbers_given:
            return frame.with_columns(pl.col("repeat").fill_null(0))
        keys = zip(frame["system"], frame["task_id"], strict=True)
        return frame.with_columns(pl.Series("repeat", [self._next(key) for key in keys], dtype=pl.Int64))

    def _next(self, key: tuple[str, str]) -> int:
        self.seen[key] += 1
        return self.seen[key]


def _filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill in what an absent id or status means; a completed attempt without a response has that as its fault."""
    made_id = pl.format("{}-{}-a{}", "task_id", "system", "repeat")
    given = pl.col("attempt_id").is_not_null() & (pl.col("attempt_id") != "")
    status = pl.col("status").fill_null("completed")
    without = (status == "completed") & pl.col("response").is_null() & pl.col(FAULT).is_null()
    return frame.with_columns(
        pl.when(given).then(pl.col("attempt_id")).otherwise(made_id).alias("attempt_id"),
        status.alias("status"),
        pl.when(without).then(pl.lit("no response")).otherwise(pl.col(FAULT)).alias(FAULT),
    )


def input_hashes(attempts: pl.DataFrame) -> pl.Series:
    """Return the column `input_hash`: what `_digests` gives, as hexadecimal text."""
    return _digests(attempts).bin.encode("hex").alias("input_hash")


def _digests(attempts: pl.DataFrame) -> pl.Series:
    """Return SHA-256 (128 bits of it) of each attempt: every column but run_id, each told apart from its neighbours."""
    others = [name for name in _COLUMNS if name != "response"]
    short = attempts.select(pl.struct(*others, pl.col("response").is_null().alias("absent")).struct.json_encode())
    digests = [
        sha256(b"\n".join((text.encode(), response))).digest()[:16]
        for text, response in zip(short.to_series(), _utf8(attempts["response"]), strict=True)
    ]
    return pl.Series(digests, dtype=pl.Binary)


def _utf8(texts: pl.Series) -> Iterator[memoryview]:
    """Yield the UTF-8 bytes of each text (null: none) as they lie in memory, without making Python text of them."""
    offsets, data = utf8(texts)
    view = data.data
    return (view[start:end] for start, end in pairwise(offsets.tolist()))


# --- cutting ----------------------------------------------------------------------------------------------------------


def _bytes(attempts: pl.DataFrame) -> int:
    return int(attempts["response"].str.len_bytes().sum() or 0)


def _cuts(batch: Batch, size: int, rows: int) -> Iterator[tuple[Batch, bool]]:
    """Split a batch where, after `size` bytes and `rows` rows already held, a whole batch is full."""
    lengths = batch.attempts["response"].str.len_bytes().fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    start, before, refused, problems = 0, -size, batch.refused, batch.problems
    held_rows = rows
    while True:
        stop = min(int(np.searchsorted(ends, before + BATCH_BYTES)) + 1, start + BATCH_ROWS - held_rows)
        full = stop <= len(ends)
        stop = min(stop, len(ends))
        part = Batch(batch.attempts[start:stop], batch.places[start:stop], refused, problems)
        yield part, full
        if not full or stop == len(ends):
            return
        start, before, refused, problems, held_rows = stop, int(ends[stop - 1]), [], [], 0


def _joined(parts: list[Batch]) -> Batch:
    return Batch(
        pl.concat([part.attempts for part in parts]).rechunk(),
        pl.concat([part.places for part in parts]),
        [refusal for part in parts for refusal in part.refused],
        [problem for part in parts for problem in part.problems],
    )

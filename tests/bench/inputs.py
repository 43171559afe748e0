"""How long the parts of the path beside the kernel take: reading each form of input, reading golds, writing a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from scorer import ingest, packs
from scorer.pipeline.scoring import with_run_id
from scorer.store import RunWriter
from tests.bench.corpora import Corpus
from tests.bench.measure import seconds_of

PACK = packs.load("eduevidence")
COLUMNS = ["attempt_id", "task_id", "system", "repeat", "status", "response"]


def lay_out(corpus: Corpus, folder: Path) -> dict[str, Path]:
    """Write the corpus in every form that is read; return where each lies."""
    attempts = pl.concat(batch.select(COLUMNS) for batch in corpus.batches())
    paths = {form: folder / f"attempts.{form}" for form in ("parquet", "arrow", "jsonl", "csv")}
    attempts.write_parquet(paths["parquet"], row_group_size=2000)
    attempts.write_ipc(paths["arrow"])
    attempts.write_ndjson(paths["jsonl"])
    attempts.write_csv(paths["csv"])
    return paths | {"run folder": run_folder(attempts, folder / "run")}


def run_folder(attempts: pl.DataFrame, folder: Path) -> Path:
    """Write attempts as a manifest and one small JSON file each."""
    folder.mkdir()
    entries = []
    for row in attempts.iter_rows(named=True):
        name = f"{row['attempt_id']}.json"
        artifact = {"attempt_id": row["attempt_id"], "response": row.pop("response")}
        (folder / name).write_text(json.dumps(artifact, ensure_ascii=False), encoding="utf-8")
        entries.append(row | {"artifacts": [name]})
    (folder / "manifest.json").write_text(json.dumps({"run_id": "bench", "attempts": entries}), encoding="utf-8")
    return folder


def gold_folder(corpus: Corpus, folder: Path) -> Path:
    """Write the golds as one small JSON file each."""
    folder.mkdir()
    golds: dict[str, dict[str, Any]] = {}
    for task, field, _, value in corpus.golds().drop("run_id").iter_rows():
        if field != "id":
            golds.setdefault(task, {}).setdefault(field, []).append(value)
    for task, gold in golds.items():
        (folder / f"gold-{task}.json").write_text(json.dumps(gold, ensure_ascii=False), encoding="utf-8")
    return folder


def measured(answers: int, folder: Path) -> Iterator[tuple[str, float]]:
    """Yield what was done and the seconds that it took; hashing is a part of the first reading."""
    corpus = Corpus("chinese", answers, questions=answers)
    for form, path in lay_out(corpus, folder).items():
        attempts = ingest.Attempts(ingest.open_sources([path], PACK, folder))
        yield (
            f"reading {form}",
            seconds_of(lambda attempts=attempts: sum(b.attempts.height for b in attempts.batches())),
        )
        if form == "parquet":
            yield f"reading {form} again", seconds_of(lambda attempts=attempts: list(map(id, attempts.batches())))
            batches = [with_run_id(batch.attempts, "bench") for batch in attempts.batches()]
            yield "writing the attempts", seconds_of(lambda batches=batches: _write(batches, folder / "store"))
    golds = gold_folder(corpus, folder / "golds")
    yield "reading golds, a file each", seconds_of(lambda: ingest.read_golds(golds, PACK.golds))


def _write(batches: list[pl.DataFrame], store: Path) -> None:
    with RunWriter(store, "bench") as writer:
        for batch in batches:
            writer.write("attempts", batch)
        writer.publish({})

"""`python -m tests.bench`: speed and memory of `scorer score`, as whole processes, beside the evaluator it replaces.

Corpora come from a seed number. The baseline, the benchmark's own evaluator where it lies beside the checkout and else
our plain reference, is timed on 2,000 answers in turn with ours, so that a busy machine slows down both. Figures are
medians. Nothing here asserts a time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from scorer import packs, reference
from scorer.score import compile_golds, score_batch
from tests.bench import ablations, inputs, seed, statistics
from tests.bench.corpora import BYTES, LANGUAGES, Corpus
from tests.bench.measure import Cost, Tables, median_cost, run, seconds_of
from tests.parity import vectors
from tests.test_score import ANSWERS as HOSTILE
from tests.test_score import GOLD, SIZE

BASELINE_ANSWERS = 2_000
COLUMNS = ["attempt_id", "task_id", "system", "repeat", "status", "response"]
PACK = packs.load("eduevidence")

Gold = Mapping[str, list[str]]
Baseline = Callable[[str, Gold], object]


@dataclass(frozen=True)
class Laid:
    """A corpus laid out as files, and the beginning of it for the baseline."""

    corpus: Corpus
    answers: Path
    golds: Path
    beginning: list[tuple[str, Gold]]


def lay_out(corpus: Corpus, folder: Path) -> Laid:
    """Write a corpus as Parquet and its golds as JSONL."""
    golds: dict[str, dict[str, Any]] = {}
    for task, field, _, value in corpus.golds().drop("run_id").iter_rows():
        gold = golds.setdefault(task, {})
        gold[field] = value if field == "id" else [*gold.get(field, []), value]
    gold_file, answer_file = folder / "golds.jsonl", folder / "answers.parquet"
    gold_file.write_text(
        "".join(json.dumps(gold, ensure_ascii=False) + "\n" for gold in golds.values()), encoding="utf-8"
    )
    beginning: list[tuple[str, Gold]] = []
    writer = None
    for batch in corpus.batches():
        some = batch[: max(0, BASELINE_ANSWERS - len(beginning))].select("response", "task_id")
        beginning += [(response, golds[task]) for response, task in some.iter_rows()]
        table = batch.select(COLUMNS).to_arrow()
        writer = writer or pq.ParquetWriter(answer_file, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=BASELINE_ANSWERS)
    if writer:
        writer.close()
    return Laid(corpus, answer_file, gold_file, beginning)


def seconds_an_answer(baseline: Baseline, laid: Laid) -> float:
    """Time the baseline on the beginning of a corpus."""
    started = time.perf_counter()
    for response, gold in laid.beginning:
        baseline(response, gold)
    return (time.perf_counter() - started) / len(laid.beginning)


def score(laid: Laid, threads: int) -> Cost:
    """Run `scorer score` on a corpus into a new store."""
    with tempfile.TemporaryDirectory() as store:
        told = ("--run", "bench", "--pack", PACK.name, "--golds", laid.golds, "--out", store, "--threads", threads)
        return run("score", laid.answers, *told, environment={"POLARS_MAX_THREADS": str(threads)})


class Bench:
    """One pass through everything that is measured."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.tables = Tables()
        published = seed.load()
        self.baseline: Baseline = published or (lambda response, gold: reference.evaluate(PACK, response, gold))
        self.baseline_name = (
            "the benchmark's evaluator" if published else "reference.py (not comparable with the targets)"
        )

    def run(self) -> None:
        """Measure and print all tables."""
        self.tables.text(
            f"# Speed and memory\n\n{os.cpu_count()} cores ({_processor()}), Python {platform.python_version()}, "
            f"Polars {version('polars')}. Whole processes: Parquet in; scores, extracts and attempts out. "
            f"Baseline: {self.baseline_name}, timed on {BASELINE_ANSWERS:,} answers in turn with ours. "
            f"Medians of {self.options.turns}."
        )
        self.speed()
        self.growth()
        self.golds()
        self.inputs()
        self.hostile()
        self.statistics()
        head = ["without this step the kernel takes", "Chinese", "English"]
        self.tables.table("What the clever steps save", head, ablations.rows())
        started = median(run("--help").cpu_seconds for _ in range(self.options.turns))
        self.tables.text(f"`scorer --help` takes {started:.2f} s of CPU.")
        if self.options.to:
            self.options.to.write_text("\n".join(self.tables.markdown), encoding="utf-8")

    def speed(self) -> None:
        """Measure each language, size and number of workers beside the baseline."""
        rows = []
        for language in self.options.languages:
            for answers in self.options.answers:
                for threads, cost, base in self._in_turn(Corpus(language, answers)):
                    each = cost.seconds / answers
                    figures = (base * 1e6, each * 1e6, 1 / each, cost.cpu_seconds / answers * 1e6, cost.peak_mb)
                    names = [language, f"{answers:,}", str(threads), f"{base / each:.1f}"]
                    rows.append(names + [f"{figure:,.0f}" for figure in figures])
        head = ["language", "answers", "workers", "ratio", "baseline µs", "ours µs", "answers/s", "CPU µs", "peak MB"]
        self.tables.table("Speed", head, rows)

    def _in_turn(self, corpus: Corpus) -> list[tuple[int, Cost, float]]:
        """Return workers, our cost and the baseline's seconds an answer, measured in turn."""
        with tempfile.TemporaryDirectory() as folder:
            laid = lay_out(corpus, Path(folder))
            base: list[float] = []
            costs: dict[int, list[Cost]] = {threads: [] for threads in self.options.threads}
            for _ in range(self.options.turns):
                base.append(seconds_an_answer(self.baseline, laid))
                for threads, taken in costs.items():
                    taken.append(score(laid, threads))
        return [(threads, median_cost(taken), median(base)) for threads, taken in costs.items()]

    def growth(self) -> None:
        """Measure the time an answer over the number of golds and the length of answers."""
        answers = self.options.answers[0]
        threads = max(self.options.threads)
        rows = []
        for name, corpus in {
            "30 questions": Corpus("chinese", answers),
            f"{answers:,} questions": Corpus("chinese", answers, questions=answers),
            "4 × the length": Corpus("chinese", answers // 4, size=4 * BYTES),
            "16 × the length": Corpus("chinese", answers // 16, size=16 * BYTES),
        }.items():
            with tempfile.TemporaryDirectory() as folder:
                laid = lay_out(corpus, Path(folder))
                cost = median_cost([score(laid, threads) for _ in range(self.options.turns)])
            volume = corpus.answers * corpus.size / 1e6
            rows.append(
                [
                    name,
                    f"{cost.seconds / corpus.answers * 1e6:,.0f}",
                    f"{volume / cost.seconds:,.0f}",
                    f"{cost.peak_mb:,.0f}",
                ]
            )
        self.tables.table(f"Growth ({answers:,} Chinese answers)", ["", "µs an answer", "MB/s", "peak MB"], rows)

    def golds(self) -> None:
        """Measure the kernel alone on the same number of answers beside few golds and many, and compiling golds."""
        rows = []
        for questions in (30, self.options.answers[-1]):
            corpus = Corpus("chinese", BASELINE_ANSWERS, questions=questions)
            golds, answers = corpus.golds(), pl.concat(corpus.batches())
            compiling = median(
                seconds_of(lambda golds=golds: compile_golds(PACK, golds)) for _ in range(self.options.turns)
            )
            compiled = compile_golds(PACK, golds)
            scoring = [
                seconds_of(lambda answers=answers, compiled=compiled: score_batch(answers, compiled))
                for _ in range(5 * self.options.turns)
            ]
            figures = (median(scoring) / BASELINE_ANSWERS, compiling / questions)
            rows.append([f"{questions:,}", *(f"{figure * 1e6:,.0f}" for figure in figures)])
        self.tables.table("Golds", ["questions", "kernel: µs an answer", "compiling: µs a gold"], rows)

    def inputs(self) -> None:
        """Measure the parts of the path beside the kernel: reading each form, golds, writing."""
        answers = self.options.answers[-1]
        with tempfile.TemporaryDirectory() as folder:
            taken = list(inputs.measured(answers, Path(folder)))
        rows = [[what, f"{seconds / answers * 1e6:,.0f}"] for what, seconds in taken]
        self.tables.table(f"Beside the kernel ({answers:,} Chinese answers)", ["", "µs each"], rows)

    def statistics(self) -> None:
        """Measure sign flips alone and whole comparisons."""
        rows = [[what, f"{seconds:.2f}"] for what, seconds in statistics.measured()]
        self.tables.table("Statistics", ["", "s"], rows)

    def hostile(self) -> None:
        """Time answers of a million characters of each kind, and name the slowest."""
        taken = {}
        for kind, made in HOSTILE.items():
            attempts, golds = vectors.tables_of([(made(SIZE), GOLD)])
            compiled = compile_golds(PACK, golds)
            taken[kind] = seconds_of(lambda attempts=attempts, compiled=compiled: score_batch(attempts, compiled))
        slowest = sorted(taken, key=lambda kind: -taken[kind])[:5]
        rows = [[kind, f"{taken[kind]:.2f}"] for kind in slowest]
        self.tables.table(
            f"The slowest of {len(taken)} kinds of answers of {SIZE:,} characters", ["full of", "s"], rows
        )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def main() -> None:
    """Read the options and measure."""
    options = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    options.add_argument("--answers", type=int, nargs="+", default=[10_000, 100_000])
    options.add_argument("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="workers over batches")
    options.add_argument("--turns", type=int, default=3, help="measurements of each figure")
    options.add_argument("--to", type=Path, help="write the tables as Markdown too")
    pl.Config.set_verbose(False)
    Bench(options.parse_args()).run()


if __name__ == "__main__":
    main()

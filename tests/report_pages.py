"""Stores for the tests of pages: the bundled samples, and a run in which every text tries to be something else."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from scorer import pipeline
from scorer.pipeline.judging import import_judgements
from tests.conftest import REPO, SAMPLE

GIS = REPO / "datasets" / "gis-bench" / "sample"

MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
STYLE = "</style><style>*{display:none}</style><link rel=stylesheet href=http://198.51.100.7/x.css>"
FRAME = "</details></main><iframe src=javascript:alert(3)></iframe><base href=http://198.51.100.7/>"
TEMPLATE = "{{ 7 * 7 }}{% for x in y %}<svg/onload=alert(4)>"
TURNED = "a\u202egnp.exe\u2066"
REFERENCE = "&lt;b&gt;&#x3c;script&#x3e;alert(5)&#x3c;/script&#x3e;"
LONG = "W" * 5_000
HOSTILE = (MARKUP, STYLE, FRAME, TEMPLATE, TURNED, REFERENCE, LONG, "\x1b[2J\x9b31m", "\ufffe\uffff", "=1+1", "", " ")


def sample_store(store: Path) -> Path:
    """Score the bundled EduEvidence sample."""
    pipeline.score([SAMPLE], "eduevidence", store)
    return store


def gis_store(store: Path) -> Path:
    """Import the bundled judgements of GIS-Bench."""
    import_judgements([GIS / "judgements.jsonl"], "gis-bench", store, tasks=GIS / "tasks.jsonl")
    return store


def hostile_store(folder: Path) -> Path:
    """Score a run whose ids, questions, levels, systems and answers are all hostile."""
    names = [name for name in HOSTILE if name.strip()]
    golds, tasks, rows = [], [], []
    for number, name in enumerate(names):
        golds.append({"id": name, "correct_outcome_types": ["accuracy"], "key_supporting_sources": [f"{name} (2021)"]})
        tasks.append({"id": name, "question": f"{name} 问题 질문", "level": names[number % 3], "domain": name})
        for at, system in enumerate((MARKUP, STYLE, f"한국어 中文 {TURNED}")):
            response = f"accuracy {number * at % 3 and 'retention'} {''.join(HOSTILE)} javascript:alert(6)"
            rows.append(
                {
                    "attempt_id": f"{number} {at} {name}",
                    "question_id": name,
                    "baseline": system,
                    "attempt": 1,
                    "status": "completed" if number else MARKUP,
                    "response": response,
                    "error": None if number else STYLE,
                }
            )
    (folder / "golds.jsonl").write_text("".join(json.dumps(gold) + "\n" for gold in golds), encoding="utf-8")
    (folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    pipeline.score(
        [pl.DataFrame(rows)],
        "eduevidence",
        folder / "store",
        golds=folder / "golds.jsonl",
        tasks=folder / "tasks.jsonl",
        run_id=f"{MARKUP}{TURNED}",
        mode="simulated",
    )
    return folder / "store"

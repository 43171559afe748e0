"""A third benchmark, made as docs/packs.md says, without code: scored, compared and reported on the command line."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from tests.conftest import REPO, Ended, run_scorer

HERE = REPO / "tests" / "third_benchmark"
QUESTIONS, ATTEMPTS = HERE / "questions.csv", HERE / "attempts.jsonl"
FILES = (ATTEMPTS, "--pack", HERE, "--golds", QUESTIONS, "--tasks", QUESTIONS)

RIGHT = {
    "en1-1": {"Answer: 1862", "1862", "It was built in 1862."},
    "en1-2": {"41", "41 metres", "4,100 cm"},
    "en1-3": {"No.", "No, nobody has lived there since 1978.", "no"},
    "en2-1": {"60", "Sixty, that is 60 loaves.", "240 / 4 = 60"},
    "en2-2": {"75%", "75 percent", "0.75"},
    "en2-3": {"No.", "That is not correct: it is closed.", "No, it is closed."},
    "zh1-1": {"三百六十棵。", "答案：３６０", "360棵"},
    "zh1-2": {"一万二千斤。", "12,000斤", "12000", "1.2万斤"},
    "zh1-3": {"这个说法不正确。", "没有。", "不，少了四成。"},
    "zh2-1": {"二万五", "25,000", "两万五千册", "2.5万册"},
    "zh2-2": {"1956年。", "１９５６", "一九五六年"},
    "zh2-3": {"800", "八百米", "0.8公里"},
    "ko1-1": {"3500 m", "3.5", "3.5킬로미터입니다."},
    "ko1-2": {"9분", "30 - 21 = 9", "정답: 9분"},
    "ko1-3": {"아닙니다. 계단을 오릅니다.", "아니요."},
    "ko2-1": {"120년 전입니다.", "백이십 년이 아니라 숫자로 120년", "120"},
    "ko2-2": {"18미터", "1800센티미터", "18"},
    "ko2-3": {"아니요, 차갑습니다.", "사실이 아니다.", "아닙니다."},
}
"""The right replies to questions that ask for a number, or yes or no; judged by eye."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Score the benchmark into a store and return its folder."""
    store = tmp_path_factory.mktemp("reading") / "results"
    ended = run_scorer("score", *FILES, "--mode", "simulated", "--out", store)
    assert ended.code == 0, ended.err
    assert "scored    143" in ended.err
    assert "unscored  1: unknown status timeout" in ended.err
    return store


def ask(store: Path, query: str) -> list[dict[str, object]]:
    """Return the rows of a query."""
    ended = run_scorer("sql", store, query, "--format", "json")
    assert ended.code == 0, ended.err
    rows: list[dict[str, object]] = json.loads(ended.out)
    return rows


def run(*arguments: object) -> Ended:
    """Run a command that must succeed."""
    ended = run_scorer(*arguments)
    assert ended.code == 0, ended.err
    return ended


def test_the_benchmark_is_data_only() -> None:
    assert {path.suffix for path in HERE.iterdir()} == {".toml", ".md", ".csv", ".jsonl"}


def test_nothing_is_wrong_with_it() -> None:
    assert "nothing wrong" in run("check", *FILES).err + run("check", *FILES).out


def test_numbers_and_yes_and_no_are_right_where_a_reader_says_so(results: Path) -> None:
    replies = [json.loads(line) for line in ATTEMPTS.read_text("utf-8").splitlines()]
    expected = {
        (row["item"], row["reader"], row["try"]): float(row["reply"] in RIGHT[row["item"]])
        for row in replies
        if row["item"] in RIGHT
    }
    rows = ask(results, "select task_id, system, repeat, value from scores where metric = 'correct'")
    found = {(row["task_id"], row["system"], row["repeat"]): row["value"] for row in rows}
    assert len(expected) == 18 * 3 * 2
    assert {key: found[key] for key in expected} == expected


def test_free_answers_are_near_their_reference(results: Path) -> None:
    rows = ask(
        results,
        "select response, metric, value from scores join attempts using (run_id, attempt_id)"
        " where scores.task_id = 'ko1-4' and metric in ('token_f1', 'rouge_l', 'contains')",
    )
    found = {(row["response"], row["metric"]): row["value"] for row in rows}
    expected = {
        ("달리지 않고 계단을 오른다.", "contains"): 1,
        ("달리지 않고 계단을 오른다.", "token_f1"): 0.7273,  # 4 of 7 bigrams and all 4 of the reference: 8/11
        ("달리지 않고 계단을 오른다.", "rouge_l"): 1,
        ("수영을 한다.", "contains"): 0,
        ("수영을 한다.", "token_f1"): 0,
        ("수영을 한다.", "rouge_l"): 0.3333,  # 을 and 다 of six syllables
    }
    assert {key: found[key] for key in expected} == expected


def test_the_comparison_pairs_the_readers_by_question(results: Path) -> None:
    compared = json.loads(run("compare", results, "--metric", "correct", "--format", "json").out)
    rows = ask(results, "select task_id, system, value from scores where metric = 'correct' and value is not null")
    by_question = defaultdict(list)
    for row in rows:
        by_question[row["system"], row["task_id"]].append(row["value"])
    means = {key: fmean(values) for key, values in by_question.items()}  # type: ignore[type-var]
    for row in compared["comparisons"]:
        questions = sorted({task for _, task in means})
        differences = [means[row["system_a"], task] - means[row["system_b"], task] for task in questions]
        assert row["difference"] == pytest.approx(fmean(differences))
    assert {(row["system_a"], row["system_b"]) for row in compared["comparisons"]} == {
        ("heron", "otter"),
        ("heron", "wren"),
        ("otter", "wren"),
    }


def test_the_report_speaks_of_each_language_and_form(results: Path, tmp_path: Path) -> None:
    text = run("report", results).out
    for part in ("SIMULATED", "reading/v1", "By language", "By form", "heron", "correct"):
        assert part in text
    run("report", results, "--format", "html", "--to", tmp_path / "report.html")
    assert "heron" in (tmp_path / "report.html").read_text("utf-8")
    assert "| heron" in run("report", results, "--format", "markdown").out


def test_explain_shows_what_decided(results: Path) -> None:
    (attempt,) = ask(
        results, "select attempt_id, response from attempts where task_id = 'zh2-3' and system = 'heron' limit 1"
    )
    shown = run("explain", results, attempt["attempt_id"], "--pack", HERE).out
    assert str(attempt["response"]) in shown
    assert "number = 1" in shown
    assert "reading/v1" in shown


def test_the_signature_says_how_texts_were_prepared(results: Path) -> None:
    (row,) = ask(results, "select signature from runs")
    texts = json.loads(str(row["signature"]))["scorers"]["reading/v1"]["texts"]
    assert texts["rouge_l"] == {"normalize": [], "tokenizer": "characters/1"}
    assert texts["number"] == {"normalize": ["nfc", "width", "spaces"]}


def test_an_update_takes_over_what_did_not_change(results: Path) -> None:
    before = ask(results, "select * from scores order by all")
    assert run("score", *FILES, "--mode", "simulated", "--out", results, "--update").err.count("scored    143") == 1
    assert ask(results, "select * from scores order by all") == before


def test_scoring_again_changes_nothing(results: Path) -> None:
    before = {path.name: path.read_bytes() for path in (next(results.glob("run-*"))).glob("*.parquet")}
    run("score", *FILES, "--mode", "simulated", "--out", results, "--threads", 1)
    after = {path.name: path.read_bytes() for path in (next(results.glob("run-*"))).glob("*.parquet")}
    assert before == after

"""Answers and golds of hostile size: scored as the reference scores them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import polars as pl
import pytest

from scorer import reference
from scorer.score import compile_golds, score_batch
from tests.parity import vectors
from tests.properties.hostile import PACK, Maker

SIZE = 1_000_000

GOLD = {
    "correct_outcome_types": ["accuracy", "transfer"],
    "expected_decision_range": ["pilot"],
    "known_contradictions": [
        "部分研究未发现对复杂任务的正确率有显著差异",
        "null effect on transfer of the 2019 cohort",
    ],
    "key_supporting_sources": ["Peng et al. (2023) Copilot 受控实验", "解释型反馈与答案型反馈的比较 Kelvin"],
}


def _chinese(count: int) -> str:
    chance = random.Random(count)
    return "".join(chr(chance.randint(0x4E00, 0x9FFF)) for _ in range(count))


def _different(count: int) -> str:
    codes = (code for code in range(1, sys.maxunicode) if not 0xD800 <= code < 0xE000)
    return "".join(chr(code) for code, _ in zip(codes, range(count), strict=False))


def _listed(items: list[str]) -> str:
    return '{"contradictions": [' + ",".join(items) + "]}"


ANSWERS: dict[str, Callable[[int], str]] = {
    "one sentence, again and again": lambda n: "但是没有。\n" * (n // 6),
    "many sentences": lambda n: "".join(f"但{_chinese(3 + i % 3)}。" for i in range(n // 120)),
    "many English sentences": lambda n: "".join(f"null {i};" for i in range(n // 100)),
    "opening braces": lambda n: "{" * n,
    "closing braces": lambda n: "}" * n,
    "pairs of braces": lambda n: "{}" * (n // 2),
    "a mountain of braces": lambda n: "{" * (n // 2) + "}" * (n // 2),
    "objects in objects": lambda n: '{"a":' * (n // 6) + "1" + "}" * (n // 6),
    "lists in lists": lambda n: '{"a":' + "[" * n + "}",
    "one unit": lambda n: _listed(['"' + "但" * n + '"']),
    "many units": lambda n: _listed([f'"{_chinese(2)}"'] * (n // 5)),
    "one number": lambda n: _listed(["1" * n]),
    "many fences": lambda n: "```json" * (n // 7),
    "quotes": lambda n: '{"' + '\\"' * (n // 2),
    "one word": lambda n: "a" * n,
    "hyphens": lambda n: "a-" * (n // 2),
    "two words to a blank": lambda n: "peng-copilot " * (n // 13),
    "different characters": _different,
    "Chinese characters": _chinese,
    "Chinese and Latin in turn": lambda n: "中a" * (n // 2),
    "Chinese with gaps": lambda n: "解，释，型，反，馈，" * (n // 10),
    "sentence ends": lambda n: "。" * n,
    "blanks": lambda n: " " * n,
    "hints": lambda n: "但" * n,
    "kelvins": lambda n: "\u212a" * n,
    "zeros": lambda n: "\0" * n,
    "emoji": lambda n: "😀" * n,
}


def assert_scored_as_by_reference(response: str, gold: vectors.Gold) -> None:
    """Hold one answer's metrics and everything read out of it to the reference."""
    attempts, golds = vectors.tables_of([(response, gold)])
    found = vectors.by_attempt(score_batch(attempts, compile_golds(PACK, golds)))["0"]
    plain = reference.evaluate(PACK, response, gold)
    assert found.pop("reads") == {name: [each.value for each in read] for name, read in plain.reads.items() if read}
    assert found == {name: judged.value for name, judged in plain.metrics.items()}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_of_a_million_characters(kind: str) -> None:
    """Whatever it is full of, one huge answer is scored as the reference scores it."""
    assert_scored_as_by_reference(ANSWERS[kind](SIZE), GOLD)


def test_a_gold_with_200_items_a_list() -> None:
    """Long gold lists, their repetitions and blanks included, are compared item by item."""
    maker = Maker(3)
    response = "".join(maker.response() for _ in range(60))
    gold = {
        "correct_outcome_types": [maker.chance.choice(["accuracy", "transfer", "other", ""]) for _ in range(200)],
        "expected_decision_range": ["adopt", "pilot"] * 100,
        "known_contradictions": [maker.item(response) for _ in range(200)],
        "key_supporting_sources": [maker.source(response) for _ in range(200)],
    }
    assert_scored_as_by_reference(
        response, {field: [*map(reference.keep_surrogates, items)] for field, items in gold.items()}
    )


def test_many_answers_to_one_question_and_one_answer_each_to_many() -> None:
    """How answers are spread over questions changes no value."""
    maker = Maker(5)
    case = [maker.case() for _ in range(40)]
    attempts, golds = vectors.tables_of([*case, *[(response, case[0][1]) for response, _ in case]])
    apart = vectors.by_attempt(score_batch(attempts, compile_golds(PACK, golds)))
    to_one = attempts[40:].with_columns(task_id=pl.lit("0"))
    together = vectors.by_attempt(score_batch(to_one, compile_golds(PACK, golds)))
    assert together == {name: apart[name] for name in together}

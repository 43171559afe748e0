"""Answers with references: a whole batch and the plain reference give the same values, and overlap keeps its laws."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scorer import packs
from scorer.metrics.answers import (
    Contains,
    ExactMatch,
    FirstThatFits,
    ItemSet,
    Matches,
    MultipleChoice,
    NumberNear,
    RougeL,
    TokenOverlap,
    YesNo,
)
from scorer.metrics.answers.normalize import STEPS, normalize, normalized
from scorer.metrics.answers.tokens import TOKENIZERS, plain_tokens, tokens
from scorer.packs import Metric, Pack
from scorer.reference import evaluate
from scorer.score import NO_REFERENCE, compile_golds, score_batch
from scorer.tables import ATTEMPTS

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
NO_HURRY = settings(deadline=None, suppress_health_check=SLOW, max_examples=40)

QA = packs.load("qa")
BY_NAME = {metric.name: metric.params for metric in QA.metrics}
SQUAD = ("lowercase", "punctuation", "articles", "spaces")


def _variants() -> Pack:
    """Return the pack with every kind again under other parameters."""
    number, choice, yes_no, items = (BY_NAME[name] for name in ("number", "choice", "yes_no", "items_f1"))
    assert isinstance(number, NumberNear)
    assert isinstance(choice, MultipleChoice)
    assert isinstance(yes_no, YesNo)
    assert isinstance(items, ItemSet)
    others = [
        ExactMatch(gold="answers", normalize=SQUAD),
        Contains(gold="answers", normalize=()),
        Matches(gold="patterns", normalize=("lowercase",)),
        replace(number, take="any", absolute=0.5, relative=0.1),
        replace(number, take="first", idioms=None, marks=None),
        replace(choice, options=26, marks=None, normalize=()),
        replace(yes_no, marks=None, normalize=()),
        replace(items, measure="precision", marks=None, normalize=()),
        *(
            kind(gold="answers", normalize=steps, tokenizer=tokenizer, measure=measure, marks=items.marks)
            for kind in (TokenOverlap, RougeL)
            for steps, tokenizer, measure in (
                ((), "characters/1", "precision"),
                (SQUAD, "spaces/1", "f1"),
                (("end_marks",), "bigrams/1", "recall"),
            )
        ),
        FirstThatFits((number, choice, BY_NAME["rouge_l"])),
    ]
    more = tuple(Metric(f"other {at}", "", params, "", 0, 1, True, None, False) for at, params in enumerate(others))
    return replace(QA, metrics=QA.metrics + more)


PACK = _variants()

KNOWN = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
"""Every character that Python's Unicode tables know."""
characters = st.one_of(
    st.sampled_from("aAbB eE09.,-−%:;!?()'\n\t\x1c\x85\u3000\0。，、！？：；「」…①Ａｂ１％éİΣς\u0301\u3099"),
    st.sampled_from("中文学習々〇漢𠀀かがカー가각한글ㄱ"),
    st.sampled_from(KNOWN),
)
ANNOUNCING = ("answer: ", "Answer is ", "答案是", "答：", "정답: ", "####")
CHOOSING = (
    "B",
    "(b)",
    "A. ",
    "C、",
    "so B",
    "yes",
    "no",
    "no doubt",
    "Not ",
    "不正确",
    "正确",
    "是的",
    "对于",
    "예",
    "true",
)
COUNTING = (
    *(
        "3-5",
        "-7",
        "1,234.5",
        "１２３",
        "3.5万",
        "3 万",
        "三千零五",
        "三万五",
        "百分之五十",
        "三分之一",
        "负三点五",
        "5 km",
    ),
    *(
        "5000 m",
        "50%",
        "0.5",
        "2.5 million",
        "1e3",
        ".5",
        "1亿2000万",
        "12억 3,400만",
        "一定",
        "十",
        "二〇二四",
        "5公里",
    ),
    *("7 kg", "0.0", "00"),
)
NAMING = ("the ", "a ", "an ", "北京", "서울", "\u1109\u1165\u110b\u116e\u11af", "東京タワー", "ｶﾀｶﾅ", "Paris", "中文")
PARTING = (" and ", "、", ",", ";", "\n", "- ", "1. ", "。", ".", "!", "  ")
pieces = st.one_of(
    st.sampled_from(ANNOUNCING + CHOOSING + COUNTING + NAMING + PARTING),
    st.text(characters, max_size=4),
)
texts = st.lists(pieces, max_size=8).map("".join)

fields = {
    "answers": st.lists(texts, max_size=3),
    "texts": st.lists(texts, max_size=2),
    "items": st.lists(texts, max_size=4),
    "patterns": st.lists(
        st.sampled_from(["", "^北", r"\d+$", "(?i)paris", "(?x) a # b", "(a+)+$", r"\p{Han}{2}", "京|서울", "."]),
        max_size=2,
    ),
    "numbers": st.lists(
        st.sampled_from(
            ["5", "-7", "1,234.5", "１２３", "3.5万", "3005", "50%", "0.5", "5 km", "5000 米", "一千", "0", ""]
        ),
        max_size=2,
    ),
    "choice": st.lists(st.sampled_from(["A", "b", "(C)", "D.", ""]), max_size=2),
    "yes_no": st.lists(st.sampled_from(["yes", "No", "是", "不", "예", "true", "错误"]), max_size=1),
}
golds = st.fixed_dictionaries({}, optional=fields)

Gold = Mapping[str, Sequence[str]]


def attempts(responses: Sequence[tuple[int, str]]) -> pl.DataFrame:
    """Return a table of attempts: each a task's number and a response."""
    rows = [
        {"run_id": "r", "attempt_id": str(at), "task_id": f"Q{task}", "system": "s", "repeat": 1, "status": "completed"}
        | {"response": response, "input_hash": ""}
        for at, (task, response) in enumerate(responses)
    ]
    return pl.DataFrame(rows, schema=ATTEMPTS.schema)


def gold_table(gold_of: Sequence[Gold]) -> pl.DataFrame:
    """Return the table of the golds of tasks Q0, Q1, …"""
    rows = [
        (f"Q{task}", field, position, value)
        for task, gold in enumerate(gold_of)
        for field, values in {"id": [f"Q{task}"], **gold}.items()
        for position, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=["task_id", "field", "position", "value"], orient="row")


def scores(pack: Pack, gold_of: Sequence[Gold], responses: Sequence[tuple[int, str]]) -> list[dict[str, float | None]]:
    """Return the values of each response."""
    table = score_batch(attempts(responses), compile_golds(pack, gold_table(gold_of))).scores
    assert table.filter(pl.col("value").is_null())["reason"].eq(NO_REFERENCE).all()
    assert table.filter(pl.col("value").is_not_null())["reason"].is_null().all()
    names, values = table["metric"].to_list(), table["value"].to_list()
    each = len(pack.metrics)
    return [dict(zip(names[at : at + each], values[at : at + each], strict=True)) for at in range(0, len(names), each)]


@NO_HURRY
@given(st.lists(golds, min_size=1, max_size=3), st.lists(st.tuples(st.integers(0, 2), texts), min_size=1, max_size=8))
def test_a_batch_and_the_plain_reference_agree(gold_of: list[Gold], responses: list[tuple[int, str]]) -> None:
    responses = [(task % len(gold_of), response) for task, response in responses]
    for (task, response), found in zip(responses, scores(PACK, gold_of, responses), strict=True):
        plain = evaluate(PACK, response, gold_of[task])
        assert found == {name: pytest.approx(judged.value, abs=1e-15) for name, judged in plain.metrics.items()}


@NO_HURRY
@given(st.lists(texts, min_size=1, max_size=20))
@example(["", "\n", "한글", "e\u0301", "ｶﾞ"])
def test_steps_and_tokenizers_of_a_column_are_those_of_one_text(some: list[str]) -> None:
    column = pl.DataFrame({"text": some})
    for step in STEPS:
        assert column.select(normalized(pl.col("text"), [step]))["text"].to_list() == [
            normalize(t, [step]) for t in some
        ]
    for tokenizer in TOKENIZERS:
        found = tokens(column["text"], tokenizer).group_by("row", maintain_order=True).agg("token")
        assert dict(found.iter_rows()) == {at: cut for at, t in enumerate(some) if (cut := plain_tokens(t, tokenizer))}


OVERLAP = [metric.name for metric in PACK.metrics if isinstance(metric.params, TokenOverlap | RougeL)]
cjk = st.text(
    st.one_of(
        st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),
        st.characters(min_codepoint=0x20000, max_codepoint=0x2A6DF),
        st.characters(min_codepoint=0x30000, max_codepoint=0x323AF),
        st.characters(min_codepoint=0x3041, max_codepoint=0x3096),
        st.characters(min_codepoint=0x30A1, max_codepoint=0x30FA),
        st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
        st.sampled_from("々ー。，、 "),
    ),
    min_size=1,
    max_size=200,
).filter(lambda text: any(unicodedata.category(c) == "Lo" for c in text))


@NO_HURRY
@given(st.lists(cjk, min_size=1, max_size=5), st.sampled_from(["NFC", "NFD"]))
def test_a_chinese_japanese_or_korean_text_is_itself_on_every_overlap_metric(some: list[str], form: str) -> None:
    gold_of = [{"texts": [text], "answers": [text]} for text in some]
    responses = [(at, text) for at, text in enumerate(some)]
    for found in scores(PACK, gold_of, responses):
        assert {name: found[name] for name in OVERLAP} == dict.fromkeys(OVERLAP, 1.0)
    composed = [name for name in OVERLAP if not name.startswith("other") or "spaces/1" not in repr(_params(name))]
    for found in scores(PACK, gold_of, [(at, unicodedata.normalize(form, text)) for at, text in enumerate(some)]):
        assert {name: found[name] for name in composed} == dict.fromkeys(composed, 1.0)


def _params(name: str) -> object:
    return next(metric.params for metric in PACK.metrics if metric.name == name)


@NO_HURRY
@given(golds, st.lists(texts, min_size=1, max_size=5), st.sampled_from("。.!！?？…，,、;；"))
def test_one_punctuation_mark_at_the_end_changes_no_value_of_the_pack(gold: Gold, some: list[str], mark: str) -> None:
    plain = [text for text in some if not text.endswith(("\n", " "))]
    pairs = [(0, text) for text in plain] + [(0, text + mark) for text in plain]
    found = scores(QA, [gold], pairs)
    assert found[: len(plain)] == found[len(plain) :]

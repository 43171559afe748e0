"""Answers with references: what each rule of the pack qa means, by hand and beside other programs."""

from __future__ import annotations

import json
import pickle
import time
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer import packs
from scorer.errors import InputError, PackError
from scorer.metrics.answers import ExactMatch, FirstThatFits, ItemSet, NumberNear, RougeL, TokenOverlap
from scorer.metrics.answers.numerals import Units
from scorer.metrics.answers.overlap import common
from scorer.metrics.answers.tokens import TOKENIZERS, plain_tokens, tokens
from scorer.packs import Metric, Pack
from scorer.reference import evaluate
from scorer.score import NO_GOLD, NO_REFERENCE, compile_golds, score_batch
from tests.conftest import run_scorer
from tests.properties.test_answers import QA, attempts, gold_table, scores

PARAMS = {metric.name: metric.params for metric in QA.metrics}


def value(metric: str, gold: dict[str, list[str]], response: str, pack: Pack = QA) -> float | None:
    """Return one metric of one response; the batch and the plain reference must give it alike."""
    alone = replace(pack, metrics=tuple(each for each in pack.metrics if each.name == metric))
    (found,) = scores(alone, [gold], [(0, response)])
    assert found[metric] == pytest.approx(evaluate(alone, response, gold).metrics[metric].value)
    return found[metric]


def with_params(**changes: dict[str, Any]) -> Pack:
    """Return the pack with other parameters of some metrics."""
    metrics = [
        replace(metric, params=replace(metric.params, **changes.get(metric.name, {}))) for metric in QA.metrics[:-1]
    ]
    return replace(QA, metrics=tuple(metrics))


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("北京", 1),
        ("北京。", 1),
        (" 北京 \n", 1),
        ("ＢＥＩＪＩＮＧ", 1),
        ("Beijing!", 1),
        ("北京市", 0),
        ("是北京", 0),
        ("", 0),
        ("Let me think.\nAnswer: Beijing", 1),
        ("答案：上海。不对，答案是：北京", 1),
        ("Beijing is the answer:", 0),
    ],
)
def test_an_exact_answer_is_one_of_the_references_once_both_are_normalised(response: str, expected: float) -> None:
    assert value("exact", {"answers": ["北京", "Beijing"]}, response) == expected


def test_hangul_in_parts_is_hangul_in_syllables() -> None:
    parts = unicodedata.normalize("NFD", "서울")
    assert parts != "서울"
    assert value("exact", {"answers": ["서울"]}, parts) == 1
    assert value("exact", {"answers": [parts]}, "서울") == 1


@pytest.mark.parametrize(("answer", "other"), [("C#", "C"), ("50%", "50"), ("①", "1"), ("-5", "5"), ("x²", "x2")])
def test_what_means_something_else_is_not_normalised_away(answer: str, other: str) -> None:
    assert value("exact", {"answers": [answer]}, other) == 0
    assert value("exact", {"answers": [answer]}, answer) == 1


def test_contains_looks_within_the_whole_answer() -> None:
    gold = {"answers": ["the Nile"]}
    assert value("contains", gold, "It is The Nile, surely") == 1
    assert value("contains", gold, "It is the river Nile") == 0
    assert value("exact", gold, "It is The Nile, surely") == 0


def test_a_pattern_is_looked_for_in_the_normalised_answer() -> None:
    assert value("pattern", {"patterns": [r"^\d{4}$"]}, "１８４８。") == 1
    assert value("pattern", {"patterns": ["(?i)nile", "congo"]}, "THE NILE") == 1
    assert value("pattern", {"patterns": ["nile"]}, "THE NILE") == 0


def test_evidence_of_a_pattern_is_what_it_found() -> None:
    (judged,) = evaluate(QA, "in 1848 or 1849", {"patterns": [r"\d{4}"]}).metrics["pattern"].evidence
    assert (judged.pattern, judged.found) == (r"\d{4}", "1848")


def test_no_pattern_of_a_user_can_hang() -> None:
    gold = {"patterns": ["(a+)+$", "(x+x+)+y", "(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$"]}
    began = time.process_time()
    assert value("pattern", gold, "a" * 50_000 + "!!b") == 0
    assert time.process_time() - began < 60  # a search that goes back and forth would take longer than the universe


def test_a_pattern_that_is_none_is_an_error_of_the_input_with_its_task() -> None:
    golds = gold_table([{"patterns": ["(a", "b"]}, {"patterns": [r"(?=look)", r"\1", "a{1000}{1000}{1000}"]}])
    with pytest.raises(InputError) as error:
        compile_golds(QA, golds)
    assert [problem.place for problem in error.value.problems] == [
        "Q0 patterns[0]",
        "Q1 patterns[0]",
        "Q1 patterns[1]",
        "Q1 patterns[2]",
    ]


# --- numbers ----------------------------------------------------------------------------------------------------------

NUMBERS = {
    "1,234.5": 1234.5,
    "1234.50": 1234.5,
    "-7": -7,
    "−7": -7,
    "1e3": 1000,
    ".5": 0.5,
    "3.5万": 35_000,
    "3 万": 30_000,
    "1亿2000万": 120_000_000,
    "12억 3,400만": 1_234_000_000,
    "3만 5천": 35_000,
    "2.5 million": 2_500_000,
    "$1,200": 1200,
    "十": 10,
    "十五": 15,
    "二十": 20,
    "一百零五": 105,
    "一百五": 150,
    "两千": 2000,
    "三千零五": 3005,
    "三万五": 35_000,
    "三万零五": 30_005,
    "二〇二四": 2024,
    "一九九八": 1998,
    "三点一四": 3.14,
    "十点五": 10.5,
    "三点五万": 35_000,
    "负三点五": -3.5,
    "一亿零三百万": 103_000_000,
    "一万二千亿": 1_200_000_000_000,
    "三万亿": 3_000_000_000_000,
    "壹仟贰佰": 1200,
    "貳萬": 20_000,
    "三分之一": 1 / 3,
    "四分之三": 0.75,
}


@pytest.mark.parametrize(("written", "meant"), NUMBERS.items())
def test_numbers_are_read_as_they_are_written(written: str, meant: float) -> None:
    number = Units.of(None).read(written)
    assert number is not None
    assert float(number.value) == pytest.approx(meant, rel=1e-15)
    assert value("number", {"numbers": [repr(meant)]}, written) == 1


@pytest.mark.parametrize("text", ["", "x", "1/2", "1,23", "1.2.3", "5 apples", "九" * 400, "9" * 400])
def test_what_is_no_number_is_none(text: str) -> None:
    assert Units.of(None).read(text) is None


def test_full_width_digits_are_digits() -> None:
    assert value("number", {"numbers": ["１，２３４．５"]}, "答案：1234.5") == 1
    assert value("number", {"numbers": ["123"]}, "共１２３个。") == 1


@pytest.mark.parametrize(
    ("reference", "response", "expected"),
    [
        ("5 km", "5", 1),
        ("5 km", "5公里", 1),
        ("5 km", "5000 m", 1),
        ("5 km", "5000", 0),
        ("5 km", "5 kg", 0),
        ("5", "5 km", 1),
        ("50%", "50", 1),
        ("50%", "0.5", 1),
        ("50%", "百分之五十", 1),
        ("50%", "百分之50", 1),
        ("0.5", "50%", 1),
        ("50", "50 percent", 1),
        ("50%", "50 km", 0),
        ("50%", "5割", 1),
        ("1.5 h", "90分钟", 1),
        ("90 min", "1.5시간", 1),
    ],
)
def test_units_are_compared_by_size_and_only_within_a_dimension(reference: str, response: str, expected: int) -> None:
    assert value("number", {"numbers": [reference]}, response) == expected


@pytest.mark.parametrize(
    ("response", "expected"), [("1.1", 1), ("0.9", 1), ("1.1000001", 0), ("0.8999999", 0), ("１．１", 1)]
)
def test_the_tolerance_includes_its_bound_to_the_last_digit(response: str, expected: int) -> None:
    """1.1 - 1.0 is more than 0.1 in floating-point numbers; it must count as 0.1."""
    assert value("number", {"numbers": ["1"]}, response, with_params(number={"absolute": 0.1})) == expected
    assert value("number", {"numbers": ["1"]}, response, with_params(number={"relative": 0.1})) == expected


def test_the_greater_tolerance_holds() -> None:
    pack = with_params(number={"absolute": 1.0, "relative": 0.01})
    assert value("number", {"numbers": ["1000"]}, "1010", pack) == 1
    assert value("number", {"numbers": ["10"]}, "11", pack) == 1
    assert value("number", {"numbers": ["10"]}, "11.5", pack) == 0
    assert value("number", {"numbers": ["5 km"]}, "6000 m", pack) == 1


@pytest.mark.parametrize(("take", "expected"), [("first", [1, 0, 0]), ("last", [0, 0, 1]), ("any", [1, 1, 1])])
def test_which_of_several_numbers_counts_is_a_parameter(take: str, expected: list[int]) -> None:
    pack = with_params(number={"take": take})
    found = [value("number", {"numbers": [each]}, "3 rows of 4 make 12.", pack) for each in ("3", "4", "12")]
    assert found == expected


@pytest.mark.parametrize(
    ("response", "found"),
    [
        ("共有35人，一定没错", ["35"]),
        ("一共有三十五个，一定没错", ["三十五"]),
        ("大约两万一千公里，万一错了", ["两万一千公里"]),
        ("一种，二十一种，三十分钟，十分好", ["二十一", "三十分钟"]),
        ("between 3-5", ["3", "5"]),
        ("on 2024-05-01", ["2024", "05", "01"]),
        ("covid-19, B12, H2O and x=-5", ["19", "-5"]),
        ("5km and 3 m", ["5km", "3 m"]),
        ("nothing", []),
    ],
)
def test_numbers_are_found_in_free_text(response: str, found: list[str]) -> None:
    number = PARAMS["number"]
    assert isinstance(number, NumberNear)
    assert number.known_units.find(response, number.idioms or ()) == found


def test_a_reference_that_is_no_number_is_an_error_of_the_input() -> None:
    with pytest.raises(InputError, match=r"golds: Q0 numbers\[1\]: '35人' is no number"):
        compile_golds(QA, gold_table([{"numbers": ["35", "35人"]}]))


# --- letters, yes and no ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "response",
    [
        "B",
        "b",
        "(B)",
        "b)",
        "B.",
        "B、巴黎",
        "**B**",
        "Ｂ",
        "【B】",
        "选B。",
        "答案是B，因为A不对",
        "Answer: (b) because A is wrong",
        "A and C lay eggs, so it must be B.",
        "The answer is B",
        "정답은 B",
        "B because of the tail",
    ],
)
def test_a_letter_is_taken_out_of_a_free_answer(response: str) -> None:
    assert value("choice", {"choice": ["B"]}, response) == 1
    assert value("choice", {"choice": ["(b)"]}, response) == 1
    assert value("choice", {"choice": ["C"]}, response) == 0


@pytest.mark.parametrize("response", ["", "Bats", "a bat", "none", "F", "ÀB", "vitamin B12"])
def test_no_letter_is_chosen_where_none_stands_by_itself(response: str) -> None:
    assert value("choice", {"choice": ["A", "B", "C", "D", "E"]}, response) == 0


def test_a_reference_beyond_the_options_is_an_error_of_the_input() -> None:
    with pytest.raises(InputError, match="'F' is no letter from A to E"):
        compile_golds(QA, gold_table([{"choice": ["F"]}]))
    assert value("choice", {"choice": ["F"]}, "f.", with_params(choice={"options": 6})) == 1


@pytest.mark.parametrize(
    ("response", "says"),
    [
        ("Yes.", "yes"),
        ("No, never", "no"),
        ("是的。", "yes"),
        ("不是", "no"),
        ("对于这个问题，说法不正确", "no"),
        ("这个说法是正确的", "yes"),
        ("예", "yes"),
        ("네, 맞습니다.", "yes"),
        ("아니요.", "no"),
        ("There is no doubt: yes", "yes"),
        ("I know it is true", "yes"),
        ("That is not correct", "no"),
        ("答案：否", "no"),
        ("はい", "yes"),
        ("いいえ。", "no"),
        ("是否正确尚不清楚", None),
        ("perhaps", None),
    ],
)
def test_yes_and_no_are_read_in_several_languages(response: str, says: str | None) -> None:
    for reference, answer in (("yes", "yes"), ("否", "no"), ("예", "yes"), ("false", "no")):
        assert value("yes_no", {"yes_no": [reference]}, response) == (says == answer)


def test_a_reference_that_is_neither_yes_nor_no_is_an_error_of_the_input() -> None:
    with pytest.raises(InputError, match="'perhaps' is no yes or no"):
        compile_golds(QA, gold_table([{"yes_no": ["perhaps"]}]))


# --- lists ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "precision", "recall"),
    [
        ("Estonia, Latvia and Lithuania", 1, 1),
        ("1. estonia\n2. LATVIA\n3) Lithuania.", 1, 1),
        ("- Latvia\n- Latvia", 1, 1 / 3),
        ("Estonia；Finland", 1 / 2, 1 / 3),
        ("Poland", 0, 0),
        ("", 0, 0),
    ],
)
def test_a_list_is_compared_as_a_set(response: str, precision: float, recall: float) -> None:
    gold = {"items": ["Estonia", "Latvia", "Lithuania", "latvia"]}
    assert value("items_precision", gold, response) == pytest.approx(precision)
    assert value("items_recall", gold, response) == pytest.approx(recall)
    f1 = 2 * precision * recall / (precision + recall) if precision else 0
    assert value("items_f1", gold, response) == pytest.approx(f1)


# --- free texts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat's 3.5 tails", ["the", "cat", "s", "3", "5", "tails"]),
        ("北京大学", ["北京", "京大", "大学"]),
        ("北京 大", ["北京", "大"]),
        ("GPT4和北京", ["gpt4", "和北", "北京"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("한글 사랑", ["한글", "사랑"]),
        ("𠀀𪜀。", ["𠀀𪜀"]),
        ("Ａ１①", ["a1①"]),
        ("。！？", []),
        ("ΣΊΣΥΦΟΣ σίσυφος", ["σίσυφοσ", "σίσυφοσ"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert plain_tokens(text, "bigrams/1") == expected
    assert tokens(pl.Series([text]), "bigrams/1")["token"].to_list() == expected
    singles = [c for token in plain_tokens(text, "characters/1") for c in token]
    assert "".join(singles) == "".join(c for c in unicodedata.normalize("NFC", "".join(singles)))


@pytest.mark.parametrize("tokenizer", ["bigrams/1", "characters/1"])
def test_a_tokenizer_keeps_to_its_version(tokenizer: str) -> None:
    """These tokens must never change under this name: a change is a new version."""
    text = "Ｔｈｅ ①2nd test: 北京、東京ﾀﾜｰ。한글 한 cafe\u0301 ㄅㄆ 𠀀𰀀 don't_stop"
    kept = {
        "bigrams/1": "the ①2nd test 北京 東京 京ﾀ ﾀﾜ ﾜｰ 한글 한 café ㄅㄆ 𠀀𰀀 don t stop",
        "characters/1": "the ①2nd test 北 京 東 京 ﾀ ﾜ ｰ 한 글 한 café ㄅ ㄆ 𠀀 𰀀 don t stop",
    }
    assert tokens(pl.Series([text]), tokenizer)["token"].to_list() == kept[tokenizer].split()


SAME = {
    "Chinese": "北京的冬天很冷，夏天很热。",
    "Chinese beyond the first plane": "𠮷野家的𪚥和𰻝",
    "Japanese": "東京タワーは赤い。カメラで、々を撮る。",
    "Korean": "서울의 겨울은 춥고, 여름은 덥다.",
    "English": "It's cold in winter; hot in summer!",
    "one character": "对",
    "one syllable": "예",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
@pytest.mark.parametrize("mark", ["", "。", ".", "!", "！", "…", "\n"])
def test_identical_texts_are_1_and_a_mark_at_the_end_changes_nothing(text: str, mark: str) -> None:
    for metric in ("token_f1", "rouge_l"):
        assert value(metric, {"texts": [text]}, text + mark) == 1
        assert value(metric, {"texts": [text + mark]}, unicodedata.normalize("NFD", text)) == 1


def test_the_best_reference_counts_on_each_rule() -> None:
    gold = {
        "texts": ["完全不同的话", "北京的冬天很冷"],
        "answers": ["a", "b"],
        "numbers": ["1", "2"],
        "choice": ["A", "B"],
    }
    assert value("token_f1", gold, "北京的冬天很冷。") == 1
    assert value("rouge_l", gold, "北京的冬天很冷。") == 1
    assert [value(each, gold, text) for each, text in (("exact", "b"), ("number", "2"), ("choice", "B"))] == [1, 1, 1]


def test_order_counts_for_rouge_only() -> None:
    gold = {"texts": ["a b c d"]}
    assert value("token_f1", gold, "d c b a") == 1
    assert value("rouge_l", gold, "d c b a") == pytest.approx(0.25)


def test_a_token_counts_as_often_as_both_have_it() -> None:
    assert value("token_f1", {"texts": ["a a b"]}, "a a a a") == pytest.approx(2 * 2 / 7)


def test_long_references_are_as_exact_as_short_ones() -> None:
    """64 tokens are one number of an array; 65 are not."""
    for size in (63, 64, 65, 130):
        reference = " ".join(f"w{at}" for at in range(size))
        response = " ".join(f"w{at}" for at in range(0, size, 2)) + " w1 w0"
        shared = len(range(0, size, 2))
        expected = 2 * shared / (size + shared + 2)
        assert value("rouge_l", {"texts": [reference]}, response) == pytest.approx(expected)


def test_the_plain_subsequence_is_one_of_both_texts() -> None:
    assert common(list("banana"), list("ananas")) == tuple("anana")
    assert common([], ["a"]) == ()


REFERENCE = json.loads(Path(__file__).with_name("answers_reference.json").read_text("utf-8"))
SQUAD = ("lowercase", "punctuation", "articles", "spaces")


def test_the_values_are_those_of_the_established_programs() -> None:
    """SQuAD's evaluation and rouge-score define the same things on English; the file names the programs."""
    plain = {"gold": "texts", "normalize": (), "tokenizer": "bigrams/1"}
    kinds: dict[str, Any] = {
        "squad_exact": ExactMatch(gold="texts", normalize=SQUAD),
        "squad_f1": TokenOverlap(gold="texts", normalize=SQUAD, tokenizer="spaces/1", measure="f1"),
        "rouge_l_precision": RougeL(**plain, measure="precision"),
        "rouge_l_recall": RougeL(**plain, measure="recall"),
        "rouge_l_f1": RougeL(**plain, measure="f1"),
    }
    pack = replace(QA, metrics=tuple(Metric(n, "", k, n, 0, 1, True, None, False) for n, k in kinds.items()))
    cases = REFERENCE["cases"]
    golds = [{"texts": case["references"]} for case in cases]
    found = scores(pack, golds, [(at, case["prediction"]) for at, case in enumerate(cases)])
    assert len(cases) == 68
    for case, values in zip(cases, found, strict=True):
        assert values == {name: pytest.approx(case[name], abs=1e-12) for name in kinds}, case


# --- several rules at once --------------------------------------------------------------------------------------------


def test_a_rule_without_a_reference_is_not_scored_and_says_so() -> None:
    golds = gold_table([{"answers": ["a"], "texts": ["。"], "items": [" "]}])
    frame = score_batch(attempts([(0, "a"), (7, "a")]), compile_golds(QA, golds)).scores
    rows = {(row["task_id"], row["metric"]): (row["value"], row["reason"]) for row in frame.iter_rows(named=True)}
    assert rows["Q0", "exact"] == (1.0, None)
    for metric in ("number", "choice", "yes_no", "pattern", "token_f1", "rouge_l", "items_f1"):
        assert rows["Q0", metric] == (None, NO_REFERENCE)
    assert {reason for (task, _), (_, reason) in rows.items() if task == "Q7"} == {NO_GOLD}


def test_correct_is_the_first_rule_that_fits_the_question() -> None:
    assert value("correct", {"choice": ["B"], "answers": ["bat"]}, "B") == 1
    assert value("correct", {"numbers": ["3"], "answers": ["three"]}, "three") == 0
    assert value("correct", {"answers": ["three"]}, "three") == 1
    assert value("correct", {"texts": ["a b"]}, "a") == pytest.approx(2 / 3)
    assert value("correct", {}, "a") is None


def test_evidence_names_what_decided() -> None:
    metrics = evaluate(QA, "Answer: 5000 m", {"numbers": ["5 km"]}).metrics
    (number,) = metrics["number"].evidence
    assert (number.found, number.reference, number.met) == ("5000 m", "5 km", True)
    assert metrics["correct"].evidence == (number,)
    (choice,) = evaluate(QA, "so B", {"choice": ["B"]}).metrics["choice"].evidence
    assert (choice.read, choice.rule) == ("B", "the last letter by itself")
    best, other = evaluate(QA, "a b", {"texts": ["c", "a b d"]}).metrics["rouge_l"].evidence
    assert (best.reference, best.shared, other.shared) == ("a b d", ("a", "b"), ())
    items = evaluate(QA, "x, y", {"items": ["y", "z"]}).metrics["items_f1"].evidence
    assert [(item.item, item.named, item.wanted) for item in items] == [
        ("x", True, False),
        ("y", True, True),
        ("z", False, True),
    ]


def test_compiled_golds_can_go_to_another_process() -> None:
    golds = compile_golds(QA, gold_table([{"numbers": ["5 km"], "texts": ["a b"], "yes_no": ["yes"]}]))
    sent = pickle.loads(pickle.dumps(golds))
    responses = attempts([(0, "5000 m"), (0, "yes a b")])
    assert score_batch(responses, sent).scores.equals(score_batch(responses, golds).scores)


# --- the pack ---------------------------------------------------------------------------------------------------------


def test_every_normalisation_step_and_tokenizer_is_part_of_the_hash() -> None:
    changed = [
        with_params(),
        with_params(exact={"normalize": ("nfc",)}),
        with_params(token_f1={"tokenizer": "characters/1"}),
        with_params(number={"absolute": 0.1}),
        with_params(choice={"marks": None}),
    ]
    assert len({pack.hash for pack in changed}) == len(changed)


def broken(tmp_path: Path, old: str, new: str, file: str = "pack.toml") -> list[tuple[str, str]]:
    """Return what is wrong with the pack once `old` stands as `new` in one of its files."""
    for name in ("pack.toml", "lexicon.toml"):
        text = (Path(packs.__file__).parents[1] / "datasets" / "qa" / name).read_text("utf-8")
        assert name != file or old in text
        (tmp_path / name).write_text(text.replace(old, new, 1) if name == file else text, encoding="utf-8")
    with pytest.raises(PackError) as error:
        packs.load(tmp_path)
    return [(problem.place.rpartition(".")[2], problem.message) for problem in error.value.problems]


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ('"nfc", "width"', '"nfc", "widht"', "normalize", "'widht' is none of the names; did you mean 'width'?"),
        ('"bigrams/1"', '"bigrams"', "tokenizer", "'bigrams' is none of the names; did you mean 'bigrams/1'?"),
        ('take = "last"', 'take = "best"', "take", "'best' is none of the names; known: any, first, last"),
        ("options = 5", "options = 27", "options", "must lie between 2 and 26, not 27"),
        ('"choice", "yes_no", "n', '"choise", "n', "metrics", "'choise' is no metric before this one; did you mean"),
        ('metrics = ["choice"', 'metrics = ["correct"', "metrics", "'correct' is no metric before this one"),
        (
            'answer = "answers"',
            'answer = "answer"',
            "answer",
            "'answer' is no list of the golds; did you mean 'answers'?",
        ),
        ('separator = "||"', 'separator = ""', "separator", "must not be empty; leave it out where lists are lists"),
    ],
)
def test_mistakes_in_the_pack_are_named_with_the_nearest_right_name(
    tmp_path: Path, old: str, new: str, key: str, message: str
) -> None:
    problems = broken(tmp_path, old, new)
    assert any(place == key and found.startswith(message) for place, found in problems), problems


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ('"km = 1000"', '"km = many"', "units", "'km = many' must be a unit's name, or a name and its size: km = 1000"),
        ('"km = 1000"', '"km = 1000", "cm = 2"', "units", "the unit 'cm' stands twice"),
        ("[anywhere]\nyes =", "[anywhere]\nja =", "anywhere", "must have the lists yes and no, and may have neither"),
        ('"false",\n', '"False",\n', "begins", "must be in lowercase: False"),
        ('no = [\n    "no",\n    "nope"', 'no = [\n    "yes",\n    "nope"', "begins", "stands under two lists: yes"),
    ],
)
def test_mistakes_in_the_words_are_named(tmp_path: Path, old: str, new: str, key: str, message: str) -> None:
    assert (key, message) in broken(tmp_path, old, new, "lexicon.toml")


def test_the_pack_says_which_tokenizers_there_are() -> None:
    assert set(TOKENIZERS) == {"bigrams/1", "characters/1", "spaces/1"}
    correct = PARAMS["correct"]
    assert isinstance(correct, FirstThatFits)
    assert isinstance(PARAMS["items_f1"], ItemSet)
    assert PARAMS["items_f1"] in correct.metrics


def test_every_reference_that_no_rule_can_use_is_named_before_anything_is_written(tmp_path: Path) -> None:
    golds, answers, store = tmp_path / "golds.csv", tmp_path / "answers.csv", tmp_path / "results"
    golds.write_text("id,number,choice,pattern,yes_no\nQ1,many,F,(a,maybe\nQ2,3,B,a,no\n")
    answers.write_text("task_id,system,response\nQ2,x,3\n")
    scored = run_scorer("score", answers, "--pack", "qa", "--golds", golds, "--out", store)
    assert scored.code == 3
    assert not store.exists()
    checked = run_scorer("check", answers, "--pack", "qa", "--golds", golds)
    assert checked.code == 3
    for said in (scored.err, checked.out + checked.err):
        for place in ("Q1 numbers[0]", "Q1 choice[0]", "Q1 patterns[0]", "Q1 yes_no[0]"):
            assert said.count(place) == 1
        assert "Q2" not in said

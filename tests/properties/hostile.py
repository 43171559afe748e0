"""Made-up answers and golds that go where kernels go wrong: odd characters beside words, broken JSON, near misses."""

from __future__ import annotations

import json
import random
from typing import Any

from scorer import packs
from scorer.reference import ChoiceReading, TermReading, UnitReading
from scorer.text import keep_surrogates

PACK = packs.load("eduevidence")
_READINGS = {type(reading.params): reading.params for reading in PACK.readings}
_OUTCOMES, _ACTIONS, _UNITS = (_READINGS[kind] for kind in (TermReading, ChoiceReading, UnitReading))
assert isinstance(_OUTCOMES, TermReading)
assert isinstance(_ACTIONS, ChoiceReading)
assert isinstance(_UNITS, UnitReading)

NAMES = [*_OUTCOMES.terms, *(spelling for others in _OUTCOMES.terms.values() for spelling in others)]
ACTIONS = [*_ACTIONS.terms, *(spelling for others in _ACTIONS.terms.values() for spelling in others)]
HINTS = list(_UNITS.hints)
MARKERS = list(PACK.metrics[-1].params.markers)  # type: ignore[attr-defined]
KEYS = [_OUTCOMES.block_list, *_ACTIONS.block_keys, *_UNITS.block_keys, "scope", "x"]

# Characters that some engine takes for a letter, a digit, a space, a Chinese character or another case, and Python not.
ODD = (
    "①²Ⅳ\u0301Ⓐ_-0\u212a\u0130\u0131ſßς\uff21２\u3400\u4dff\u4e00\u9fff\ua000\uf900\U00020000々〇ー가ア٣"
    "\u200b\ufeff\u00a0\u0085\u001c\u001f\u2028\u3000\x00\x7f\t\r😀\u200d{}[]\"\\'|（）、—·" + "\U0010d800\U0010dfff"
)
SEPARATORS = ["。", "！", "？", "!", "?", "；", ";", "\n", " ", ", ", "，", ".", "", " - "]
WORDS = [
    *("Okafor", "Brandt", "lee", "Ng", "the", "and", "study", "of", "al", "et", "lees", "sleepers", "effect", "tutors"),
    *("Copilot", "COPILOT", "copilot", "ChatGPT", "Kelvin", "silk", "iI", "x1", "1x", "y_z"),
    *("state-of-the-art", "foo-bar", "foo-", "-bar", "a-b", "ab-c"),
    *("2020", "1999", "(2019)", "2023年", "19", "20", "200"),
]
PHRASES = [
    *(
        "解释型反馈与答案型反馈的比较",
        "部分研究未发现显著差异",
        "效应量不稳定",
        "样本只来自一所学校",
        "学生在概念理解上略有提升",
    ),
    *("独立解题能力没有提高", "迁移受损", "工具依赖", "不能推广到中学", "作者报告了负向结果", "的的的的的", "认知负荷"),
    *(
        "no significant effect on transfer",
        "did not extend beyond the course",
        "유의한 차이는 없었다",
        "結果は一定でない",
    ),
]
LONG = [
    "a" * 41,
    "b" * 42,
    "c-" * 20 + "c",
    "d" * 40 + "-e",
    "f" * 39 + "-" + "g" * 10,
    "h-" * 25,
    "i" * 3 + "-" + "j" * 60,
]


class Maker:
    """Makes answers and golds from a seed number."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def case(self) -> tuple[str, dict[str, list[str]]]:
        """Return a response and the list fields of its gold."""
        response = self.response()
        return keep_surrogates(response), {
            field: [keep_surrogates(item) for item in items] for field, items in self.gold(response).items()
        }

    def response(self) -> str:
        """Return one answer."""
        chance = self.chance
        if chance.random() < 0.02:
            return chance.choice(["", " ", "{", "}{", "{}", "```json", "```json{", "。。", "\n", "的", "ab", "。但。"])
        parts = [self.sentence() for _ in range(chance.randint(0, 8))]
        if chance.random() < 0.6:
            parts.insert(chance.randint(0, len(parts)), self.block())
        return "".join(part + chance.choice(SEPARATORS) for part in parts)

    def sentence(self) -> str:
        """Return words, phrases and terms, glued with what may stand between them."""
        chance = self.chance
        pools = (WORDS, PHRASES, NAMES, HINTS, MARKERS, ACTIONS, LONG)
        weights = (8, 6, 3, 3, 1, 0.7, 0.3)
        parts = []
        for pool in chance.choices(pools, weights, k=chance.randint(1, 6)):
            part = chance.choice(pool)
            if chance.random() < 0.15:
                part = self.bent(part)
            glue = chance.choice(ODD) if chance.random() < 0.2 else chance.choice((" ", "", "，", " ", "（"))
            parts.append(part + glue)
        return "".join(parts)

    def bent(self, text: str) -> str:
        """Return the text slightly changed: a character more, less or other, or another case."""
        chance = self.chance
        at = chance.randint(0, len(text))
        return chance.choice(
            (
                text[:at] + chance.choice(ODD) + text[at:],
                text[:at] + text[at + 1 :],
                text.upper(),
                text.replace("k", "\u212a").replace("i", "\u0130"),
                text[at:],
                text + text,
            )
        )

    def block(self) -> str:
        """Return a JSON block, or what looks like one."""
        chance = self.chance
        content = {chance.choice(KEYS): self.value(0) for _ in range(chance.randint(0, 4))}
        if chance.random() < 0.7:
            content |= self.sound()
        text = json.dumps(content, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, None, 1)))
        if chance.random() < 0.1:
            text = text.replace("\\u", "\\ud800\\u", 1)
        if chance.random() < 0.1:  # a key twice
            key, action = chance.choice(KEYS), chance.choice(ACTIONS)
            text = text[:-1] + (", " if content else "") + f'"{key}": ["{self.plain()}"], "{key}": "{action}"}}'
        if chance.random() < 0.1:  # broken somewhere
            at = chance.randint(0, len(text))
            text = (
                text[:at]
                + chance.choice(["", "}", "{", '"', ",", "\n", "\x00", "NaN"])
                + text[at + chance.randint(0, 2) :]
            )
        before = chance.choice(["", "```json\n", "```json", "```json\n\n", "```\n", "{", "``` json "])
        return before + text + chance.choice(["", "\n```\n", "\n```", "}", "{}"])

    def sound(self) -> dict[str, Any]:
        """Return what a well-behaved agent puts into its block."""
        chance = self.chance
        content: dict[str, Any] = {
            "claims": [
                {"claim": self.plain(), "outcome_type": chance.choice(NAMES)} for _ in range(chance.randint(0, 3))
            ],
            "contradictions": [self.sentence() for _ in range(chance.randint(0, 3))],
            "recommended_action": chance.choice(ACTIONS),
        }
        return {key: value for key, value in content.items() if chance.random() < 0.8}

    def value(self, depth: int) -> Any:
        """Return any JSON value."""
        chance = self.chance
        kind = chance.randint(0, 11 if depth < 4 else 8)
        if kind <= 2:
            return self.sentence()
        if kind == 3:
            return chance.choice(NAMES + ACTIONS)
        if kind <= 5:
            return chance.choice(
                (None, True, False, 0, -1, 12345678901234567890, "", " ", "\u3000", "\x1c", "null", "\u200b")
            )
        if kind <= 7:
            return chance.choice((1.0, 1e-07, 1e22, -0.0, 1e400, float("nan"), 0.1, 123456.789))
        if kind == 8:
            return {"outcome_type": chance.choice([*NAMES, None, 3, [], {}])}
        if kind <= 10:
            return [self.value(depth + 1) for _ in range(chance.randint(0, 3))]
        return {chance.choice(KEYS): self.value(depth + 1) for _ in range(chance.randint(0, 3))}

    def plain(self) -> str:
        """Return a text without a quote or a backslash."""
        return self.chance.choice(PHRASES)

    def gold(self, response: str) -> dict[str, list[str]]:
        """Return a gold, some of whose items are pieces of the response."""
        chance = self.chance
        items = lambda make, most: [make() for _ in range(chance.randint(0, most))]  # noqa: E731
        gold = {
            "correct_outcome_types": items(
                lambda: chance.choice([*_OUTCOMES.terms, *_OUTCOMES.terms, "other", "", " "]), 4
            ),
            "expected_decision_range": items(lambda: chance.choice([*_ACTIONS.terms, "maybe", ""]), 3),
            "known_contradictions": items(lambda: self.item(response), 4),
            "key_supporting_sources": items(lambda: self.source(response), 4),
        }
        return {field: values for field, values in gold.items() if chance.random() < 0.95}

    def item(self, response: str) -> str:
        """Return a statement: a piece of the response, or one of its own, or a blank one."""
        chance = self.chance
        if chance.random() < 0.3 and response:
            at = chance.randint(0, len(response))
            return response[at : at + chance.choice((1, 3, 4, 5, 8, 20, 60))]
        if chance.random() < 0.1:
            return chance.choice(["", " ", "\u3000", "\x1c\x85", "\u200b", "但", "的的", "abc", "null"])
        return self.sentence()

    def source(self, response: str) -> str:
        """Return a source: names, a year and a title, some of them missing or odd."""
        chance = self.chance
        if chance.random() < 0.3:
            return self.item(response)
        year = chance.choice(
            ["2020", "1998", "(2019)", "（2021）", "2020年", "1899", "20２3", "2０23", "19²9", "1999-2003", ""]
        )
        parts = [
            chance.choice(WORDS),
            chance.choice((" et al. ", " & ", "", "和")),
            year,
            chance.choice((" ", "", "①")),
        ]
        return "".join([*parts, chance.choice([*PHRASES, ""])])

"""What is read out of a response: the JSON block where it is odd, and what counts where it is missing."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from scorer import packs, reference
from scorer.extract import block_texts, extract

PACK = packs.load("eduevidence")


def read(response: str) -> dict[str, list[str]]:
    """Return what the kernel reads, held to what the reference reads."""
    answers = pl.DataFrame({"row": [0], "response": [response]}, schema={"row": pl.UInt32, "response": pl.String})
    found = {name: frame["value"].to_list() for name, frame in extract(answers, PACK.readings).items()}
    plain = reference.evaluate(PACK, response, None).reads
    assert found == {name: [each.value for each in read] for name, read in plain.items()}
    return found


def nested(levels: int) -> str:
    """Return a block with an action and a list so deep that the whole has `levels` levels."""
    return '{"decision": "reject", "risks": ' + "[" * (levels - 1) + '"x"' + "]" * (levels - 1) + "}"


def test_a_block_may_nest_900_levels() -> None:
    """A block of 900 levels is read, whatever stands on Python's stack; one of 901 is none."""

    def deeper(frames: int) -> dict[str, list[str]]:
        return deeper(frames - 1) if frames else read(nested(900))

    assert read(nested(900)) == {"outcome": [], "action": ["reject"], "unit": ["x"]}
    assert deeper(300)["action"] == ["reject"]
    assert read(nested(901))["unit"] == []


def test_brackets_within_strings_are_no_levels() -> None:
    """Only what Python's parser would nest counts as a level."""
    assert read(json.dumps({"decision": "reject", "risks": ["[" * 2000 + '"\\']}))["unit"] == ["[" * 2000 + '"\\']


def test_a_whole_number_may_have_4300_digits() -> None:
    """One of 4,300 digits is read and printed in full; with one more there is no block."""
    assert read('{"risks": [' + "7" * 4300 + "]}")["unit"] == ["7" * 4300]
    assert read('{"risks": [' + "7" * 4301 + "]}")["unit"] == []


@pytest.mark.parametrize(
    ("claims", "outcomes"),
    [
        ("accuracy", ["accuracy"]),  # the word itself stands in the text
        (7, []),
        ({"outcome_type": "正确\u200b率"}, []),
        ([None, 3, [], "x", {"outcome_type": None}, {"outcome_type": ["x"]}, {"outcome_type": {}}], []),
        ([{"outcome_type": 1}, {"outcome_type": "\u6b63\u786e\u7387"}], ["accuracy"]),
        ([{"outcome_type": " \u6b63\u786e\u7387"}], []),
    ],
)
def test_claims_of_another_form_are_passed_by(claims: Any, outcomes: list[str]) -> None:
    """Claims that are no list, no objects or without a text never raise, and the sound ones among them count."""
    assert read(json.dumps({"claims": claims}))["outcome"] == outcomes


@pytest.mark.parametrize(
    ("response", "block"),
    [
        ("} {} {1}", "{}"),
        ('{"a": 1} ```json {"b": 2}', '{"b": 2}'),
        ("```json", None),
        ("{ ```json } {}", "{}"),
        ("{{}", None),
        ('研{"a": "}"}', '{"a": "}'),
        ("```json研{{}}}", "{{}}"),
        ("", None),
    ],
)
def test_the_block_is_the_first_braces_that_close(response: str, block: str | None) -> None:
    """Braces count from the fence on, in strings too, and what closes before anything opens is none of the block's."""
    answers = pl.DataFrame({"row": [0, 1], "response": [response, "{x}"]}, schema_overrides={"row": pl.UInt32})
    blocks = dict(block_texts(answers).iter_rows())
    assert blocks == ({0: block} if block is not None else {}) | {1: "{x}"}
    assert reference.block_text(response) == block


def test_units_of_a_block_are_flattened_and_stripped_as_python_does() -> None:
    """Values print as Python's str() has them, objects lose their keys, empty parts keep their place."""
    risks = [None, True, 1.0, 1e-07, float("nan"), -0.0, 10**20, {"a": "x", "b": ["y", [], "z"]}, "\u3000\x1c"]
    units = read(json.dumps({"contradictions": ["", " ", []], "risks": [*risks, "\x85 t\u200b\u2028"]}))["unit"]
    assert units == ["None", "True", "1.0", "1e-07", "nan", "-0.0", str(10**20), "x y  z", "t\u200b"]


def test_a_lone_surrogate_escaped_in_a_block_is_kept() -> None:
    """Text that Arrow cannot hold comes out as the tables write it."""
    assert read('{"risks": ["\\ud800x", "\\ud83d\\ude00"]}')["unit"] == ["\U0010d800x", "😀"]

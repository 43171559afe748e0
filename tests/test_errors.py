"""Errors name what, where and what to do, all mistakes at once, and hint at the name that was meant."""

from __future__ import annotations

import pytest

from scorer.errors import ExitCode, InputError, PackError, Problem, QueryError, UsageError, WriteError, nearest


def test_an_input_error_counts_its_mistakes_and_names_each() -> None:
    error = InputError([Problem("a.jsonl", "line 3", "is not JSON"), Problem("b.jsonl", "", "is empty")])
    assert str(error) == "2 mistakes in the input:\n  a.jsonl: line 3: is not JSON\n  b.jsonl: is empty"


def test_thousands_of_mistakes_are_counted_and_not_all_printed() -> None:
    error = InputError([Problem("a", f"line {n}", "is wrong") for n in range(5000)])
    lines = str(error).splitlines()
    assert lines[0] == "5000 mistakes in the input:"
    assert lines[-1] == "  and 4900 more"
    assert len(lines) == 102
    assert len(error.problems) == 5000


@pytest.mark.parametrize(
    ("kind", "code"),
    [(UsageError, 2), (QueryError, 1), (WriteError, 1)],
)
def test_every_kind_of_error_has_its_exit_code(kind: type[UsageError], code: int) -> None:
    assert kind("x").exit_code == code
    assert InputError([]).exit_code == ExitCode.BAD_INPUT == 3
    assert PackError([]).exit_code == ExitCode.USAGE == 2


def test_a_hint_names_the_nearest_name_or_all_of_them() -> None:
    assert nearest("metrcs", ["metrics", "name"]) == "; did you mean 'metrics'?"
    assert nearest("zzz", ["b", "a"]) == "; known: a, b"
    assert nearest("zzz", []) == ""

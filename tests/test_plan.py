"""Plans: the closed forms turn each other round, the store's variance is split rightly, sentences say what rows say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scorer.aggregate import power
from scorer.aggregate.compare import compare
from scorer.aggregate.data import Data
from scorer.aggregate.planning import PLAN, Aim, Spread, plan, plan_from
from scorer.errors import UsageError
from tests.conftest import run_scorer

Repeats = dict[str, list[list[float]]]


def data(systems: Repeats, metric: str = "score") -> Data:
    """Scores of systems, each questions × repeats."""
    rows = [
        (system, f"q{question}", repeat, metric, value)
        for system, matrix in systems.items()
        for question, values in enumerate(matrix)
        for repeat, value in enumerate(values, 1)
    ]
    schema = {
        "system": pl.String,
        "task_id": pl.String,
        "repeat": pl.Int64,
        "metric": pl.String,
        "value": pl.Float64,
    }
    return Data.from_scores(pl.DataFrame(rows, schema=schema, orient="row"))


def noisy(n_questions: int, repeats: int, seed: int = 5) -> Repeats:
    rng = np.random.default_rng(seed)
    base = rng.random(n_questions)
    return {
        name: (rng.normal(base + shift, 0.1)[:, None] + rng.normal(0, 0.2, (n_questions, repeats))).round(3).tolist()
        for name, shift in (("A", 0.1), ("B", 0.0))
    }  # fmt: skip


levels = st.tuples(st.sampled_from([0.01, 0.05, 0.1]), st.sampled_from([0.5, 0.8, 0.95]))


@settings(deadline=None, max_examples=50)
@given(st.floats(0.02, 3), levels)
def test_the_number_of_questions_and_the_detectable_effect_turn_each_other_round(
    effect: float, chosen: tuple[float, float]
) -> None:
    alpha, wanted = chosen
    n = power.questions_for_effect(effect, alpha=alpha, power=wanted)
    assert n == power.questions_for_effect(-effect, alpha=alpha, power=wanted) >= 2
    if n > 2:
        assert power.detectable_effect(n, alpha=alpha, power=wanted) == pytest.approx(effect, rel=1e-6)


def test_power_of_the_planned_number_by_simulation() -> None:
    n = math.ceil(power.questions_for_effect(0.5))
    draws = np.random.default_rng(11).normal(0.5, 1, (20_000, n))
    found = np.mean(stats.ttest_1samp(draws, 0, axis=1).pvalue <= 0.05)
    assert found == pytest.approx(0.8, abs=0.02)


@settings(deadline=None, max_examples=50)
@given(st.floats(0.001, 1), st.floats(1e-4, 4), levels)
def test_millers_formulas_turn_each_other_round(
    difference: float, variance: float, chosen: tuple[float, float]
) -> None:
    given_levels = {"alpha": chosen[0], "power": chosen[1]}
    n = power.questions_for_difference(difference, variance, **given_levels)
    assert power.detectable_difference(n, variance, **given_levels) == pytest.approx(difference)


@settings(deadline=None, max_examples=50)
@given(st.floats(0, 0.45), st.floats(0.02, 0.5), levels)
def test_mcnemars_formulas_turn_each_other_round(less: float, gap: float, chosen: tuple[float, float]) -> None:
    given_levels = {"alpha": chosen[0], "power": chosen[1]}
    more = min(less + gap, 1 - less)
    n = power.tasks_for_mcnemar(less, more, **given_levels)
    found = power.detectable_pass_difference(n, less + more, **given_levels)
    assert found == pytest.approx(more - less, rel=1e-6)


def test_the_planned_tasks_give_mcnemar_its_power_by_simulation() -> None:
    n = math.ceil(power.tasks_for_mcnemar(0.1, 0.3))
    rng = np.random.default_rng(2)
    counts = rng.multinomial(n, [0.1, 0.3, 0.6], 20_000)
    chi2 = (counts[:, 0] - counts[:, 1]) ** 2 / np.maximum(counts[:, 0] + counts[:, 1], 1)
    assert np.mean(chi2 >= stats.chi2.ppf(0.95, 1)) == pytest.approx(0.8, abs=0.03)


def test_what_no_number_of_questions_can_show_is_an_error_or_none() -> None:
    assert power.detectable_pass_difference(5, 0.4) is power.detectable_pass_difference(100, 0) is None
    assert math.isnan(power.detectable_effect(1))
    for wrong in (
        lambda: power.questions_for_effect(0),
        lambda: power.questions_for_difference(0, 1),
        lambda: power.tasks_for_mcnemar(0.2, 0.2),
        lambda: power.tasks_for_mcnemar(-0.1, 0.2),
        lambda: power.tasks_for_mcnemar(0.6, 0.6),
        lambda: power.questions_for_effect(1, alpha=0),
        lambda: power.questions_for_effect(1, power=1),
        lambda: power.questions_for_effect(1, alpha=0.5, power=0.4),
        lambda: Aim(difference=0.0),
        lambda: Aim(repeats=[0]),
        lambda: Aim(alpha=2),
    ):
        with pytest.raises(UsageError):
            wrong()


def test_the_variance_of_a_store_is_split_into_questions_and_repeats() -> None:
    systems = noisy(12, 4)
    systems["A"][0] = systems["A"][0][:2]
    table = plan(data(systems), Aim(difference=0.1, repeats=[1, 8])).plan
    a, b = systems["A"], systems["B"]
    d = np.array([np.mean(x) - np.mean(y) for x, y in zip(a, b, strict=True)])
    noise = [sum(np.var(x, ddof=1) * (len(x) - 1) for x in m) / sum(len(x) - 1 for x in m) for m in (a, b)]
    repeats = [1 / np.mean([1 / len(x) for x in m]) for m in (a, b)]
    between = d.var(ddof=1) - noise[0] / repeats[0] - noise[1] / repeats[1]
    assert between > 0
    present, one, eight = table.iter_rows(named=True)
    assert [present["repeats_a"], present["repeats_b"]] == pytest.approx(repeats)
    assert present["sd_difference"] == pytest.approx(d.std(ddof=1))
    for row, k in ((one, 1), (eight, 8)):
        assert row["sd_difference"] == pytest.approx(math.sqrt(between + sum(noise) / k))
        assert row["relative_variance"] == pytest.approx((between + sum(noise) / k) / (between + sum(noise)))
        assert row["n_questions"] == math.ceil(power.questions_for_effect(0.1 / row["sd_difference"]))
        assert row["n_questions_normal"] == math.ceil(power.questions_for_difference(0.1, row["sd_difference"] ** 2))
        assert row["n_attempts"] == row["n_questions"] * 2 * k
    assert table.schema == PLAN


def test_what_the_present_data_could_show_is_what_a_comparison_says() -> None:
    for groups in (None, [0, 0, 1, 1, 2, 2, 3, 4]):
        source = data(noisy(8, 3))
        if groups is not None:
            tasks = {f"q{question}": f"g{group}" for question, group in enumerate(groups)}
            frame = source.scores.with_columns(group=pl.col("task_id").replace_strict(tasks))
            source = Data.from_scores(frame)
        row = plan(source, Aim()).plan.row(0, named=True)
        assert row["detectable"] == pytest.approx(compare(source).comparisons["mde"].item(), rel=1e-9)
        assert (row["difference"], row["n_questions"], row["n_attempts"]) == (None, None, None)


def test_verdicts_are_planned_by_mcnemar_too() -> None:
    systems: Repeats = {
        "A": [[1.0, 1.0, 0.0]] * 6 + [[1.0]] * 10 + [[0.0, 1.0]] * 4,
        "B": [[0.0]] * 6 + [[1.0]] * 10 + [[1.0, 1.0, 1.0]] * 4,
    }
    table = plan(data(systems), Aim(difference=0.2)).plan.filter(pl.col("method") == "mcnemar")
    row = table.row(0, named=True)
    assert row["n_questions"] == math.ceil(power.tasks_for_mcnemar(0.15, 0.35))
    assert row["detectable"] == pytest.approx(power.detectable_pass_difference(20, 0.5))
    row = plan(data(systems), Aim(difference=0.6)).plan.row(-1, named=True)
    assert (row["n_questions"], row["flags"]) == (None, ["n<30", "above_discordant"])
    assert plan(data(noisy(5, 2)), Aim()).plan.filter(pl.col("method") == "mcnemar").height == 0


def test_one_repeat_says_nothing_of_other_repeats() -> None:
    found = plan(data(noisy(9, 1)), Aim(difference=0.1))
    row = found.plan.row(0, named=True)
    assert found.plan.height == 1
    assert (row["repeats_a"], row["flags"]) == (1.0, ["n<30", "one_repeat"])


def test_noise_above_the_differences_is_flagged_and_taken_as_no_difference_over_questions() -> None:
    systems: Repeats = {"A": [[0.0, 1.0]] * 3 + [[0.1, 0.9]], "B": [[0.2, 0.8]] * 4}
    table = plan(data(systems), Aim(repeats=[1, 4])).plan
    assert all("negative_variance" in flags for flags in table["flags"])
    assert table["relative_variance"].to_list()[1:] == [1.0, 0.25]


@pytest.mark.parametrize(
    ("systems", "flags"),
    [
        ({"A": [[0.5]] * 4, "B": [[0.5]] * 4}, ["n<5", "no_variance", "one_repeat"]),
        ({"A": [[0.3]] * 6, "B": [[0.1]] * 6}, ["n<30", "no_variance", "one_repeat"]),
        ({"A": [[0.3, 0.4]], "B": [[0.1, 0.2]]}, ["n<5"]),
    ],
)
def test_differences_that_do_not_vary_plan_nothing(systems: Repeats, flags: list[str]) -> None:
    found = plan(data(systems), Aim(difference=0.1))
    row = found.plan.row(0, named=True)
    assert (row["detectable"], row["n_questions"], row["flags"]) == (None, None, flags)
    assert "could show" not in found.notes[0]


def test_no_common_question_gives_no_row() -> None:
    left, right = data({"A": [[0.1, 0.2]]}), data({"B": [[0.1, 0.3]]})
    apart = pl.concat([left.scores, right.scores.with_columns(task_id=pl.lit("other"))])
    assert plan(Data.from_scores(apart), Aim()).plan.height == 0


def test_unscored_attempts_and_questions_are_left_out() -> None:
    systems = noisy(6, 3)
    holes = {name: [list(values) for values in matrix] for name, matrix in systems.items()}
    holes["A"][0][2], holes["B"][5] = None, [None] * 3  # type: ignore[call-overload]
    left = {name: [matrix[0][:2] if name == "A" else matrix[0], *matrix[1:5]] for name, matrix in systems.items()}
    aim = Aim(difference=0.1)
    assert plan(data(holes), aim).plan.equals(plan(data(left), aim).plan)


def test_sentences_say_what_the_rows_say() -> None:
    found = plan(data(noisy(12, 4)), Aim(difference=0.1, repeats=[1, 4, 8]))
    present, one, eight = found.plan.iter_rows(named=True)
    assert found.notes[0].startswith(
        "score, A against B: 12 questions with 4 repeats could show a difference of "
        f"{present['detectable']:.2g} or more; "
        f"a difference of 0.1 takes {present['n_questions']} questions with 4 repeats, {one['n_questions']} with 1, "
        f"{eight['n_questions']} with 8; however many repeats, never fewer than "
    )
    assert "80% power in a two-sided test at 0.05" in found.notes[1]


def test_given_figures_plan_without_data() -> None:
    spread = Spread(
        variance=power.variance_of_difference(1 / 9, 1 / 6, 1 / 6, 1, 1),
        repeats_a=1,
        repeats_b=1,
        var_questions=1 / 9,
        var_repeats_a=1 / 6,
        var_repeats_b=1 / 6,
        n_questions=198,
    )
    table = plan_from([spread], Aim(repeats=[1, 10])).plan
    # Miller (2024) gives 0.133 and 0.076 by the normal approximation; t needs a little more.
    assert table["detectable"].to_list() == pytest.approx([0.1327, 0.0757], abs=0.001)
    assert table["metric"].to_list() == [None, None]
    assert (
        plan_from([Spread(variance=0.09)], Aim(difference=0.15)).notes[0] == "a difference of 0.15 takes 34 questions"
    )


def test_a_metric_and_systems_are_chosen_as_in_a_comparison() -> None:
    systems = noisy(6, 2) | {"C": noisy(6, 2, seed=8)["A"]}
    both = Data.from_scores(pl.concat([data(systems).scores, data(systems, "other").scores]))
    table = plan(both, Aim(), metric="other", baseline="B").plan
    assert table.select("metric", "system_a", "system_b").unique(maintain_order=True).rows() == [
        ("other", "A", "B"), ("other", "C", "B"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="no metric 'othr'; did you mean 'other'"):
        plan(both, Aim(), metric="othr")


def test_threads_and_row_order_move_no_digit() -> None:
    source = data(noisy(200, 3))
    expected = plan(source, Aim(difference=0.05), threads=1)
    for seed in (1, 2):
        shuffled = Data.from_scores(source.scores.sample(fraction=1, shuffle=True, seed=seed))
        found = plan(shuffled, Aim(difference=0.05), threads=2)
        assert found.plan.equals(expected.plan)
        assert found.notes == expected.notes


def ask(*arguments: object) -> tuple[int, str, str]:
    ended = run_scorer("plan", *arguments)
    return ended.code, ended.out, ended.err


def test_the_command_line_plans_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    data(noisy(12, 4)).scores.write_csv(path)
    code, out, _ = ask(path, "--difference", "0.1", "--repeats", 1, "--repeats", 8, "--format", "json")
    made = json.loads(out)
    expected = plan(data(noisy(12, 4)), Aim(difference=0.1, repeats=[1, 8]))
    assert code == 0
    assert made["plan"] == expected.plan.to_dicts()
    assert made["notes"] == expected.notes
    code, out, _ = ask(path, "--difference", "0.1", "--format", "csv", "--to", tmp_path / "plan.csv")
    assert (code, out) == (0, "")
    assert pl.read_csv(tmp_path / "plan.csv").columns == list(PLAN)
    for form, head in (("text", "Plan\n────\n"), ("markdown", "## Plan\n\n| metric |")):
        code, out, _ = ask(path, "--format", form)
        assert code == 0
        assert out.startswith(head)
        assert expected.notes[-1].split(";")[0][:40] in out


def test_the_command_line_plans_from_figures() -> None:
    for arguments, words in (
        (("--sd", 0.3, "--difference", 0.15), "a difference of 0.15 takes 34 questions"),
        (("--sd", 1, "--questions", 10), "10 questions could show a difference of 1 or more"),
        (
            ("--variances", 1 / 9, 1 / 6, "--questions", 198),
            "198 questions with 1 repeat could show a difference of 0.13",
        ),
        (
            ("--discordant", 0.2, 0.2, "--questions", 50),
            "as pass or fail (McNemar) these tasks could show 0.24 or more",
        ),
        (("--discordant", 0.1, 0.3), "as pass or fail (McNemar) 0.2 takes 77 tasks"),
    ):
        code, out, _ = ask(*arguments)
        assert code == 0
        assert words in out


def test_wrong_use_ends_in_2(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    data(noisy(3, 2)).scores.write_csv(path)
    for wrong, words in (
        ((), "give one of"),
        ((path, "--sd", 1), "give one of"),
        ((path, "--questions", 5), "--questions goes without data"),
        (("--sd", 1), "give --difference"),
        (("--sd", 0, "--difference", 1), "a standard deviation is above 0"),
        (("--variances", 0, 0, "--difference", 1), "one of them above 0"),
        (("--discordant", 0.2, 0.2), "give --difference"),
        (("--discordant", 0.9, 0.2), "between 0 and 1 together"),
        ((path, "--difference", 0), "difference of 0"),
        ((path, "--power", 1), "power is 1"),
        ((path, "--format", "xml"), "no 'xml'"),
    ):
        code, out, err = ask(*wrong)
        assert (code, out) == (2, "")
        assert words in err

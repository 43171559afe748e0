"""Explanations: equal to the stored values everywhere, and such that a reader sees what decided them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from scorer import pipeline
from scorer.errors import UsageError
from scorer.explain import Explainer, Explanation
from scorer.explain.marks import Mark, find_lowered
from scorer.explain.printing import LONGEST_WHOLE, MOST_MARKED, explanation_text
from scorer.formats import escape_controls
from scorer.pipeline import stored
from scorer.pipeline.judging import import_judgements
from scorer.reference import Answer
from scorer.store import Store
from tests.conftest import REPO, SAMPLE, run_scorer
from tests.parity import vectors

GOLD = {
    "id": "Q1",
    "correct_outcome_types": ["accuracy", "transfer"],
    "expected_decision_range": ["pilot", "insufficient_evidence"],
    "known_contradictions": ["no gain for transfer tasks was found", "效应量在不同题目难度下不稳定"],
    "key_supporting_sources": ["Peng et al. (2023)", "Vasconcelos (2021)"],
}


def explained(folder: Path, response: str, gold: dict[str, Any] | None = None, **attempt: Any) -> Explanation:
    """Score one answer and explain it."""
    rows = folder / "attempts.jsonl"
    rows.write_text(json.dumps({"attempt_id": "a", "task_id": "Q1", "system": "s", "response": response} | attempt))
    golds = folder / "golds.jsonl"
    golds.write_text(json.dumps(gold or GOLD))
    pipeline.score([rows], "eduevidence", folder / "store", golds=golds)
    return stored.explain(folder / "store", "a")


def metric(explanation: Explanation, name: str) -> Any:
    return next(each for each in explanation.scorers[0].metrics if each.metric == name)


def marked(explanation: Explanation, label: str) -> list[str]:
    assert explanation.response is not None
    return [explanation.response[mark.start : mark.end] for mark in explanation.marks if mark.label == label]


# --- it agrees with what is stored ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vector_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    attempts, golds = folder / "attempts.jsonl", folder / "golds.jsonl"
    cases = vectors.load()
    lines = [{"attempt_id": c["id"], "task_id": c["id"], "system": "s", "response": c["response"]} for c in cases]
    attempts.write_text("".join(json.dumps(line) + "\n" for line in lines))
    golds.write_text("".join(json.dumps(c["gold"]) + "\n" for c in cases))
    pipeline.score([attempts], "eduevidence", folder / "store", golds=golds)
    return folder / "store"


def test_every_vector_is_explained_as_it_was_scored_and_published(vector_store: Path) -> None:
    """On each of the 659 vectors the explanation's values are the stored and the published ones, and so is the rest."""
    cases = vectors.load()
    assert len(cases) == 659
    with Store(vector_store) as store:
        run = store.run()
        extracts = run.frame("extracts").group_by("attempt_id", "field").agg(pl.col("value").sort_by("position"))
        explainer = Explainer(run)
        stored = {(attempt, field): values for attempt, field, values in extracts.iter_rows()}
        for case, explanation in zip(cases, explainer.explain_all([case["id"] for case in cases]), strict=True):
            assert explanation.attempt_id == case["id"]
            (scorer,) = explanation.scorers
            assert scorer.notes == ()
            assert len(scorer.metrics) == 6
            for each in scorer.metrics:
                assert each.value == each.stored == case["expected"][each.metric], (case["id"], each.metric)
                assert each.reasons, (case["id"], each.metric)
                assert_reasons_fit(each)
            for field in ("outcome", "action", "unit"):
                read = [each.value for each in scorer.reads if each.field == field]
                assert read == stored.get((case["id"], field), []), (case["id"], field)
            length = len(explanation.response or "")
            assert all(0 <= mark.start < mark.end <= length for mark in explanation.marks)
            json.dumps(explanation.as_dict())
            explanation_text(explanation)


def assert_reasons_fit(each: Any) -> None:
    """What the sentences count as met must make the value."""
    met = [reason.met for reason in each.reasons if reason.met is not None]
    if each.kind in ("marker", "choice_in_range"):
        assert each.value == float(any(met))
    else:
        assert each.value == round(sum(met) / len(met), 4)


def test_the_real_run_shows_why_a_recall_is_one_half(real_run: Path, tmp_path: Path) -> None:
    """For Q01-B2_standard_agent-a1 a reader sees the contradiction that was hit, by what, and the one that was not."""
    store = tmp_path / "store"
    pipeline.score([real_run / "run-empirical-01"], "eduevidence", store, golds=real_run / "annotations")
    ended = run_scorer("explain", store, "Q01-B2_standard_agent-a1")
    assert ended.code == 0, ended.err
    section = ended.out.partition("contradiction_recall = 0.5")[2].partition("contradiction_precision")[0]
    lines = [line.strip() for line in section.strip().splitlines()]
    assert lines[1].startswith("✓ “部分研究未发现对复杂/开放性任务的正确率有显著差异”")
    assert lines[2].startswith("hit: unit 3 “- CHI 2023")
    assert "overlap 0.2609 reaches 0.2 (shared tokens: 差异, 显著, 正确, 研究, 确率, 著差)" in lines[2]
    assert "shared run “显著差异”" in lines[2]
    assert lines[3].startswith("✗ “正确率提升的效应量在不同题目难度下不稳定”")
    assert lines[4].startswith("nearest miss: unit 1")
    assert "overlap 0.1053 is below 0.2 (shared tokens: 正确, 确率); no shared run of 4 characters" in lines[4]
    with Store(store) as opened:
        ids = opened.frame("attempts", ["attempt_id"])["attempt_id"].to_list()
        for explanation in Explainer(opened.run()).explain_all(ids):
            assert all(each.agrees for each in explanation.scorers[0].metrics)


# --- what it says -----------------------------------------------------------------------------------------------------


def test_outcomes_action_and_markers_are_marked_where_they_stand(tmp_path: Path) -> None:
    explanation = explained(tmp_path, "正确率 rose. We PILOT this; 正确率 again, 仅限 first-year courses.")
    assert marked(explanation, "outcome accuracy") == ["正确率", "正确率"]
    assert marked(explanation, "action pilot") == ["PILOT"]
    found = {(read.field, read.value): [str(place) for place in read.places] for read in explanation.scorers[0].reads}
    assert found["outcome", "accuracy"] == ["text: 正确率"]
    assert found["action", "pilot"] == ["lowercased text: pilot"]
    assert [(reason.met, reason.text) for reason in metric(explanation, "outcome_separation_accuracy").reasons] == [
        (True, "accuracy"),
        (False, "transfer"),
    ]
    assert metric(explanation, "scope_calibration").value == float(bool(marked(explanation, "scope marker")))


def test_what_stands_in_the_block_is_marked_in_the_block(tmp_path: Path) -> None:
    """A word of the block is found under its key, not where it stands first; escapes do not hide it."""
    block = {
        "note": "pilot",
        "recommended_action": "pilot",
        "claims": [{"outcome_type": "transfer"}],
        "contradictions": ["no gain for “transfer” tasks"],
    }
    text = json.dumps(block)
    explanation = explained(tmp_path, f"pilot?\n```json\n{text}\n```")
    (mark,) = [mark for mark in explanation.marks if mark.label == "action pilot"]
    assert explanation.response is not None
    assert explanation.response[: mark.start].endswith('"recommended_action": "')
    assert marked(explanation, "unit 1") == ["no gain for \\u201ctransfer\\u201d tasks"]
    assert [str(read.places[0]) for read in explanation.scorers[0].reads if read.field == "unit"] == [
        "contradictions[0]: no gain for “transfer” tasks"
    ]


def test_a_unit_said_twice_is_marked_twice_under_two_numbers(tmp_path: Path) -> None:
    explanation = explained(tmp_path, "但没有差异。好。但没有差异。")
    spans = [(mark.start, mark.label) for mark in explanation.marks if mark.label.startswith("unit")]
    assert spans == [(0, "unit 1"), (8, "unit 2")]


def test_sources_tell_overlap_names_and_centuries(tmp_path: Path) -> None:
    explanation = explained(tmp_path, "As Peng showed in 2024, it works.")
    mentioned, missed = metric(explanation, "citation_support_recall").reasons
    assert mentioned.met is True
    assert "names in the answer: peng; centuries in the answer: 20" in mentioned.details
    assert missed.met is False
    assert "names in the answer: none; centuries in the answer: 20" in missed.details
    assert marked(explanation, "source name peng") == ["Peng"]


def test_an_attempt_without_gold_says_so_and_still_shows_what_was_read(tmp_path: Path) -> None:
    explanation = explained(tmp_path, "We adopt it.", GOLD | {"id": "other"})
    assert explanation.gold is None
    assert {each.reason for each in explanation.scorers[0].metrics} == {"no gold annotation"}
    assert [read.value for read in explanation.scorers[0].reads] == ["adopt"]


def test_a_failed_attempt_is_explained_by_its_reason(tmp_path: Path) -> None:
    explanation = explained(tmp_path, "", status="failed", error="time out")
    text = explanation_text(explanation).plain
    assert explanation.scorers[0].reads == ()
    assert all(each.stored is None and each.reason for each in explanation.scorers[0].metrics)
    assert "time out" in text
    assert "not scored" in text


def test_a_stored_value_that_is_not_the_rules_is_called_out(tmp_path: Path) -> None:
    explained(tmp_path, "We pilot it.")
    path = next((tmp_path / "store").glob("run-*")) / "scores.parquet"
    wrong = pl.read_parquet(path).with_columns(
        pl.when(pl.col("metric") == "decision_calibration").then(0.25).otherwise("value").alias("value")
    )
    wrong.write_parquet(path)
    explanation = stored.explain(tmp_path / "store", "a")
    assert "decision_calibration" in explanation.scorers[0].notes[0]
    assert not metric(explanation, "decision_calibration").agrees
    assert "these rules give 1" in explanation_text(explanation).plain


# --- answers with references ------------------------------------------------------------------------------------------


def answered(folder: Path, response: str, **gold: list[str]) -> Explanation:
    """Score one answer by the pack qa and explain it."""
    attempts = pl.DataFrame({"attempt_id": ["a"], "task_id": ["q"], "system": ["s"], "response": [response]})
    golds = pl.DataFrame({"id": ["q"], **{name: [items] for name, items in gold.items()}})
    pipeline.score(attempts, "qa", folder / "store", golds=golds)
    return stored.explain(folder / "store", "a")


def test_a_number_is_shown_with_what_the_reference_allows(tmp_path: Path) -> None:
    explanation = answered(tmp_path, "Some 40, no: 42.", numbers=["42"])
    (reason,) = metric(explanation, "number").reasons
    assert (reason.met, reason.text, reason.details) == (True, "reference “42” allows 42", ("the answer: “42” = 42",))
    assert marked(explanation, "number") == ["42"]
    text = explanation_text(explanation).plain
    assert "not scored: exact, contains, pattern, choice" in text


def test_texts_patterns_and_choices_are_told_in_sentences(tmp_path: Path) -> None:
    explanation = answered(
        tmp_path, "B. PARIS", answers=["Paris", "Rome"], patterns=["(?i)par[ae]s", "(?i)par."], choice=["B"]
    )
    told = {
        each.metric: [(reason.met, reason.text) for reason in each.reasons] for each in explanation.scorers[0].metrics
    }
    assert told["contains"] == [(True, "reference “paris”"), (False, "reference “rome”")]
    assert told["pattern"] == [
        (False, "pattern (?i)par[ae]s matches nothing"),
        (True, "pattern (?i)par. matches “PARI”"),
    ]
    assert told["choice"] == [(True, "reference B")]
    assert marked(explanation, "pattern (?i)par.") == ["PARI"]
    assert marked(explanation, "reference paris") == ["PARIS"]


def test_every_answer_of_the_sample_of_qa_is_explained_as_it_was_scored(tmp_path: Path) -> None:
    sample = REPO / "datasets" / "qa" / "sample"
    pipeline.score([sample / "attempts.csv"], "qa", tmp_path / "store", golds=sample / "questions.csv")
    with Store(tmp_path / "store") as store:
        explainer = Explainer(store.run())
        ids = store.frame("attempts", ["attempt_id"])["attempt_id"].reverse().to_list()
        explanations = list(explainer.explain_all(ids))
        # Many at once are told in the order asked for, and as each is by itself.
        assert explanations == [explainer.explain(name) for name in ids]
    metrics = [each for explanation in explanations for each in explanation.scorers[0].metrics]
    scored = [each for each in metrics if each.stored is not None]
    assert len(scored) > 100
    assert all(each.agrees and each.value is not None and each.reasons for each in scored)


# --- which pack -------------------------------------------------------------------------------------------------------


@pytest.fixture
def own_pack(tmp_path: Path) -> Path:
    """Return a copy of the built-in pack under another name."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("pack.toml", "lexicon.toml"):
        shutil.copy(REPO / "datasets" / "eduevidence" / name, folder / name)
    text = (folder / "pack.toml").read_text().replace('name = "eduevidence"', 'name = "own"', 1)
    (folder / "pack.toml").write_text(text)
    return folder


def test_a_pack_of_ones_own_is_found_by_its_folder_and_held_to_its_hash(own_pack: Path, tmp_path: Path) -> None:
    """Without the pack the values stand unexplained and say what to do; a changed one is called so."""
    rows, golds = tmp_path / "attempts.jsonl", tmp_path / "golds.jsonl"
    rows.write_text(json.dumps({"attempt_id": "a", "task_id": "Q1", "system": "s", "response": "We pilot it."}))
    golds.write_text(json.dumps(GOLD))
    store = tmp_path / "store"
    pipeline.score([rows], own_pack, store, golds=golds)

    unexplained = stored.explain(store, "a").scorers[0]
    assert "name the folder of the pack with --pack" in unexplained.notes[0]
    assert [each.value for each in unexplained.metrics] == [None] * 6

    known = stored.explain(store, "a", pack=own_pack).scorers[0]
    assert known.notes == ()
    assert all(each.agrees and each.value is not None for each in known.metrics)

    text = (own_pack / "pack.toml").read_text().replace("overlap = 0.20", "overlap = 0.90", 1)
    (own_pack / "pack.toml").write_text(text)
    assert "its hash differs" in stored.explain(store, "a", pack=own_pack).scorers[0].notes[0]

    with pytest.raises(UsageError, match="scored nothing in run"):
        stored.explain(store, "a", pack="eduevidence")


def test_an_unknown_attempt_names_the_nearest(tmp_path: Path) -> None:
    explained(tmp_path, "x")
    with pytest.raises(UsageError, match="no attempt 'aa'; did you mean 'a'"):
        stored.explain(tmp_path / "store", "aa")


# --- judges -----------------------------------------------------------------------------------------------------------


def test_a_rubric_shows_evaluations_criteria_and_the_judges_reason(tmp_path: Path) -> None:
    store = tmp_path / "store"
    sample = REPO / "datasets" / "gis-bench" / "sample"
    import_judgements([sample / "judgements.jsonl"], "gis-bench", store, tasks=sample / "tasks.jsonl")
    with Store(store) as opened:
        run = opened.run()
        judged = run.frame("judgements").filter(status="ok").row(0, named=True)
        stored = run.frame("scores").filter(attempt_id=judged["attempt_id"], metric="passed")["value"][0]
        explanation = Explainer(run).explain(judged["attempt_id"])
    assert len(explanation.judgements) == 3
    for judgement in explanation.judgements:
        assert sum(each.points or 0 for each in judgement.criteria) == judgement.total_raw
        assert judgement.criteria[0].criterion == "exists"
    passed = metric(explanation, "passed")
    assert passed.stored == stored
    assert passed.reasons[-1].met == (stored > 0)
    text = explanation_text(explanation).plain
    assert f"judged by {judged['judge_id']}" in text
    assert "put together by mean_of_rounded, of at least 3 evaluations" in text
    assert "passes from 60 on a scale from 0 to 100" in text
    assert judged["reason"] is None or judged["reason"] in text


# --- text -------------------------------------------------------------------------------------------------------------


def test_the_marked_answer_is_the_answer_once_the_marks_are_taken_away(tmp_path: Path) -> None:
    """Nested and crossing marks leave every character in its place."""
    response = "但是 Copilot 的正确率没有显著差异；We pilot\nPeng 2023, 仅限 reduced_transfer tasks。但没有差异"
    text = explanation_text(explained(tmp_path, response)).plain
    shown = text.rpartition("⟧ ")[0] and text[text.index("\n\n", text.index("\nanswer\n") + 2) :]
    assert "".join(part for part in _without_marks(shown)).strip() == response


def _without_marks(text: str) -> list[str]:
    parts: list[str] = []
    rest = text.replace("⟧", "")
    while "⟦" in rest:
        before, _, rest = rest.partition("⟦")
        parts.append(before)
        rest = rest.partition(" ")[2]
    return [*parts, rest]


def test_control_characters_of_an_answer_reach_no_terminal(tmp_path: Path) -> None:
    explanation = explained(tmp_path, "We pilot it.\x1b]0;owned\x07\x1b[2J\u202e gpj \x00 end")
    text = explanation_text(explanation).plain
    assert escape_controls(text) == text
    assert "\\x1b]0;owned\\x07" in text
    ended = run_scorer("explain", tmp_path / "store", "a")
    assert ended.code == 0
    assert "\x1b" not in ended.out


def test_a_long_answer_is_cut_around_its_marks_and_says_by_how_much(tmp_path: Path) -> None:
    response = "x" * 50_000 + " We pilot it. " + "y" * 50_000
    explanation = explained(tmp_path, response)
    text = explanation_text(explanation).plain
    assert len(text) < LONGEST_WHOLE
    assert "pilot" in text.partition("\nanswer\n")[2]
    left_out = [int(line.split()[1].replace(",", "")) for line in text.splitlines() if "characters left out …]" in line]
    (shown,) = [line for line in text.splitlines() if line.startswith("shown: ")]
    assert int(shown.split()[1].replace(",", "")) + sum(left_out) == len(response)
    assert explanation.as_dict()["response"] == response


def test_an_answer_full_of_units_is_told_in_few_lines(tmp_path: Path) -> None:
    """Thousands of units and hits are counted, not listed, in the text; the data hold them all."""
    gold = GOLD | {"known_contradictions": ["没有显著差异"]}
    explanation = explained(tmp_path, "".join(f"但第{number}组没有显著差异。" for number in range(2_000)), gold)
    assert len(explanation.scorers[0].reads) == 2_000
    assert len(metric(explanation, "contradiction_precision").reasons) == 2_000
    text = explanation_text(explanation).plain
    assert len(text) < 30_000
    assert "… and 1,960 more of unit" in text
    assert "and 1,990 hits more" in text
    assert f"only the first {MOST_MARKED} are marked" in text


def test_a_character_that_lowercases_to_two_does_not_shift_the_marks() -> None:
    """`İ` becomes two characters in lowercase; what follows is still marked where it stands."""
    answer = Answer("İİ We PILOT")
    assert [answer.text[start:end] for start, end in find_lowered(answer, "pilot")] == ["PILOT"]


def test_marks_are_sorted_and_plain_data(tmp_path: Path) -> None:
    explanation = explained(tmp_path, "accuracy, 正确率, pilot")
    assert list(explanation.marks) == sorted(explanation.marks)
    assert explanation.as_dict()["marks"][0] == {"start": 0, "end": 8, "label": "outcome accuracy"}
    assert Mark(0, 8, "outcome accuracy") in explanation.marks


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_gives_text_and_json(tmp_path: Path) -> None:
    store = tmp_path / "store"
    pipeline.score([SAMPLE], "eduevidence", store)
    text = run_scorer("explain", store, "E01-evidence_agent-1")
    assert text.code == 0, text.err
    assert "scored by eduevidence/eduevidence-v3" in text.out
    ended = run_scorer("explain", store, "E01-evidence_agent-1", "--format", "json")
    data = json.loads(ended.out)
    assert data["attempt_id"] == "E01-evidence_agent-1"
    assert {each["metric"] for each in data["scorers"][0]["metrics"]} >= {"contradiction_recall", "scope_calibration"}
    assert run_scorer("explain", store, "nobody").code == 2
    assert run_scorer("explain", store, "E01-evidence_agent-1", "--run", "nobody").code == 2
    assert run_scorer("explain", tmp_path / "nowhere", "a").code == 3

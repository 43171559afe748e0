"""Packs as data: the built-in one, the same pack from a folder, and every mistake named at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scorer import assets, packs
from scorer.errors import ExitCode, PackError, UsageError
from scorer.reference import ChoiceReading, TermReading

BUILT_IN = assets.datasets_folder() / "eduevidence"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that copies the built-in pack with texts replaced in one of its files."""

    def change(*replacements: tuple[str, str], file: str = "pack.toml") -> Path:
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        for name in ("pack.toml", "lexicon.toml"):
            if not (folder / name).exists():
                shutil.copy(BUILT_IN / name, folder / name)
        content = (folder / file).read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in content
            content = content.replace(old, new, 1)
        (folder / file).write_text(content, encoding="utf-8")
        return folder

    return change


def places(folder: Path) -> list[tuple[str, str]]:
    """Return the file and place of each mistake that the pack is refused for."""
    with pytest.raises(PackError) as refused:
        packs.load(folder)
    assert refused.value.exit_code == ExitCode.USAGE
    return [(Path(problem.source).name, problem.place) for problem in refused.value.problems]


def test_eduevidence_is_built_in() -> None:
    """The pack loads by name, with the published metrics in their published order."""
    pack = packs.load("eduevidence")
    assert "eduevidence" in packs.available()
    assert pack.scorer == "eduevidence/eduevidence-v3"
    assert pack.fields == {"question_id": "task_id", "baseline": "system", "attempt": "repeat"}
    assert pack.strata == ("level", "domain")
    assert [(metric.name, metric.low, metric.high, metric.decimals) for metric in pack.metrics] == [
        ("outcome_separation_accuracy", 0.0, 1.0, 4),
        ("decision_calibration", 0.0, 1.0, 4),
        ("contradiction_recall", 0.0, 1.0, 4),
        ("contradiction_precision", 0.0, 1.0, 4),
        ("citation_support_recall", 0.0, 1.0, 4),
        ("scope_calibration", 0.0, 1.0, 4),
    ]
    outcomes, actions = (reading.params for reading in pack.readings[:2])
    assert isinstance(outcomes, TermReading)
    assert len(outcomes.terms) == 20
    assert sum(map(len, outcomes.terms.values())) == 47
    assert isinstance(actions, ChoiceReading)
    assert list(actions.terms) == ["adopt", "pilot", "reject", "insufficient_evidence"]


def test_hash_is_of_what_the_pack_says(changed: Callable[..., Path]) -> None:
    """A copy elsewhere has the same hash, comments do not count, a changed word or parameter does."""
    built_in = packs.load("eduevidence").hash
    assert packs.load(changed(("# SOURCE.md", "# Another"))).hash == built_in
    assert packs.load(changed(("overlap = 0.5", "overlap = 0.6"))).hash != built_in
    assert packs.load(changed(("overlap = 0.6", "overlap = 0.5"))).hash == built_in
    assert packs.load(changed(("迁移受损", "迁移下降"), file="lexicon.toml")).hash != built_in


def test_a_ruleset_is_chosen_by_name(changed: Callable[..., Path]) -> None:
    """A second ruleset stands beside the first and leaves its hash alone; an unknown one names the nearest."""
    folder = changed()
    more = """
        [[rulesets.mine.metrics]]
        name = "scope"
        kind = "marker"
        markers = "scope_markers"
        range = [0, 1]
    """
    (folder / "pack.toml").write_text((BUILT_IN / "pack.toml").read_text(encoding="utf-8") + more, encoding="utf-8")
    assert packs.load(folder).hash == packs.load("eduevidence").hash
    mine = packs.load(folder, "mine")
    assert (mine.scorer, [metric.label for metric in mine.metrics]) == ("eduevidence/mine", ["scope"])
    assert mine.metrics[0].decimals is None
    with pytest.raises(UsageError, match="did you mean 'mine'"):
        packs.load(folder, "mines")


def test_an_unknown_pack_names_the_nearest() -> None:
    """A name that is neither built in nor a folder is a mistake of usage, with a hint."""
    with pytest.raises(UsageError, match="did you mean 'eduevidence'") as refused:
        packs.load("eduevidense")
    assert refused.value.exit_code == ExitCode.USAGE


def test_every_mistake_is_named_at_once(changed: Callable[..., Path]) -> None:
    """Misspelt keys, wrong types, ranges and references are reported together, each with its file and key."""
    folder = changed(
        ('title = "', 'titel = "'),
        ('files = "gold-*.json"', 'files = "gold.json"'),
        ('kind = "set_recall"', 'kind = "set_recal"'),
        ('gold = "expected_decision_range"', 'gold = "expected_range"'),
        ("overlap = 0.20", "overlap = 2"),
        ("run = 4", 'run = "4"'),
        ('markers = "scope_markers"', 'markers = "scope_marker"'),
        ("range = [0, 1]", "range = [1, 0]"),
    )
    found = places(folder)
    metrics = "rulesets.eduevidence-v3.metrics"
    assert set(found) == {
        ("pack.toml", place)
        for place in (
            "titel",
            "title",
            "golds.files",
            f"{metrics}[0].kind",
            f"{metrics}[0].range",
            f"{metrics}[1].gold",
            f"{metrics}[2].overlap",
            f"{metrics}[2].run",
            f"{metrics}[5].markers",
        )
    }
    with pytest.raises(PackError, match="did you mean 'title'"):
        packs.load(folder)
    with pytest.raises(PackError, match="did you mean 'set_recall'"):
        packs.load(folder)


def test_words_that_cannot_be_looked_for_are_mistakes(changed: Callable[..., Path]) -> None:
    """A marker with a capital, a separator of two characters, an empty or repeated word never load."""
    folder = changed(
        ('"beyond"', '"Beyond"'),
        ('"；", ";"', '"；;"'),
        ('"the", "and"', '"the", "the"'),
        ('pilot = ["试点"]', 'pilot = [""]'),
        file="lexicon.toml",
    )
    rules = "rulesets.eduevidence-v3"
    assert set(places(folder)) == {
        ("pack.toml", f"{rules}.metrics[5].markers"),
        ("pack.toml", f"{rules}.reads.unit.separators"),
        ("lexicon.toml", "no_author_names"),
        ("lexicon.toml", "actions.pilot"),
    }


def test_two_metrics_of_one_name_and_two_primary_ones_are_mistakes(changed: Callable[..., Path]) -> None:
    """A metric is known by its name, and at most one is the one that counts."""
    folder = changed(
        ('name = "scope_calibration"', 'name = "decision_calibration"'),
    )
    assert places(folder) == [("pack.toml", "rulesets.eduevidence-v3.metrics[5].name")]
    folder = changed(
        ('name = "decision_calibration"\nlabel = "scope_cal"', 'name = "scope_calibration"\nlabel = "scope_cal"'),
        ('label = "scope_cal"', 'label = "scope_cal"\nprimary = true'),
        ('label = "outcome_sep"', 'label = "outcome_sep"\nprimary = true'),
    )
    assert places(folder) == [("pack.toml", "rulesets.eduevidence-v3.metrics")]


@pytest.mark.parametrize("content", ["name = ", "\xff", "[[x]\n"])
def test_a_file_that_is_no_toml_is_one_mistake(changed: Callable[..., Path], content: str) -> None:
    """What cannot be parsed is named with its file."""
    folder = changed()
    (folder / "pack.toml").write_bytes(content.encode("latin-1"))
    assert places(folder) == [("pack.toml", "")]

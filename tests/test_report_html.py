"""The page and the pictures of a report: what is in them, what cannot get into them, and that they stay small."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import altair as alt
import polars as pl
import pytest

from scorer import pipeline
from scorer.errors import UsageError
from scorer.pipeline import results as making
from scorer.pipeline import stored
from scorer.pipeline.results import results
from scorer.report import SIMULATED
from scorer.report.charts import Scale, fonts_for, pictures, png, questions, svg, write_files
from scorer.report.extra import require_extra
from scorer.report.html import language_of, to_html
from scorer.report.html.images import ROLES, inline
from scorer.report.results import Results, natural
from tests.conftest import run_scorer
from tests.report_pages import HOSTILE, LONG, gis_store, hostile_store, sample_store


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results(sample_store(tmp_path_factory.mktemp("sample") / "store"))


@pytest.fixture(scope="module")
def gis(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results(gis_store(tmp_path_factory.mktemp("gis") / "store"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results(hostile_store(tmp_path_factory.mktemp("hostile")))


class Page(HTMLParser):
    """A page taken apart: its elements with attributes, and the text of each kind of element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


ELEMENTS = """
a aside blockquote body br caption code dd details div dl dt figcaption figure footer h1 h2 h3 head header html li main
meta nav p section small span strong style summary table tbody td th thead title tr ul svg g path line text tspan
"""
ATTRIBUTES = """
aria-label aria-labelledby charset class colspan content d dir dx dy font-size font-weight height href http-equiv id
lang name role scope stroke-width tabindex text-anchor transform viewbox width x x2 y2
"""


# --- what is in it ----------------------------------------------------------------------------------------------------


def test_a_simulated_run_says_so_at_head_and_foot(sample: Results) -> None:
    page = Page(to_html(sample))
    notices = [attributes for _, attributes in page.elements if "banner" in (attributes.get("class") or "")]
    assert [notice["class"] for notice in notices] == ["banner top", "banner foot"]
    assert page.texts["aside"] == [SIMULATED]
    assert "SIMULATED" in page.texts["title"][0]


def test_the_head_says_what_was_scored(sample: Results) -> None:
    page = Page(to_html(sample))
    facts = dict(zip((text.strip() for text in page.texts["dt"]), page.texts["dd"], strict=False))
    assert facts["Questions"] == "12"
    assert facts["Attempts"] == "108"
    assert facts["Unscored"] == "12"
    assert facts["Repeats"] == "2 to 3"
    assert "58 of 108 captured" in facts["Cost (USD)"]
    assert facts["Scored by"] == "eduevidence/eduevidence-v3"


def test_numbers_and_sentences_are_those_of_the_comparison(sample: Results) -> None:
    html = to_html(sample)
    assert sample.compared is not None
    row = sample.compared.comparisons.row(0, named=True)
    difference = Scale("", 0, 1).number(row["difference"], sign=True)
    assert difference in html
    page = Page(html)
    sentences = {text.strip().rstrip(".") for text in page.texts["li"]}
    shown = sample.compared.comparisons.height + sample.compared.mcnemar.height
    assert set(sample.compared.notes[:shown]) <= sentences
    assert "Not significant does not mean equal" in html


def test_a_baseline_is_on_one_side_of_every_pair(tmp_path: Path) -> None:
    made = results(sample_store(tmp_path / "store"), baseline="direct_answer")
    assert made.compared is not None
    assert set(made.compared.comparisons["system_b"]) == {"direct_answer"}
    assert "Every system against <strong>direct_answer</strong>" in to_html(made)


def test_a_question_leads_to_its_attempts(sample: Results) -> None:
    page = Page(to_html(sample))
    places = {attributes.get("id") for attributes in page.all("div")}
    links = [href for attributes in page.all("a") if (href := attributes.get("href") or "").startswith("#question-")]
    assert len(links) == 12
    assert {link[1:] for link in links} <= places
    assert len([text for text in page.texts["summary"] if ", repeat " in text]) == 108


def test_an_attempt_says_what_decided_its_values(sample: Results) -> None:
    shown = next(attempt for attempt in sample.attempts if attempt.attempt_id == "E05-direct_answer-1")
    html = to_html(sample)
    reasons = [why.text for value in shown.values for why in value.why]
    assert reasons
    assert all(reason in Page(html).texts["main"][0] for reason in reasons[:5])


def test_what_is_not_shown_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MOST_ATTEMPTS", 10)
    made = results(sample_store(tmp_path / "store"))
    assert len(made.attempts) == 10
    assert made.attempts[0].task_id == made.hardest["task_id"][0]
    assert "10 of 108 attempts" in to_html(made)


def test_a_rubric_has_criteria_verdicts_fragile_ones_and_judges(gis: Results) -> None:
    assert gis.quality is not None
    names = [picture.name for picture in pictures(gis)]
    assert names[-2:] == ["criteria", "verdicts"]
    captions = [text.strip() for text in Page(to_html(gis)).texts["caption"]]
    assert {"Leaderboard", "Fragile verdicts", "Judge quality", "McNemar's test, one verdict a task"} <= set(captions)
    assert gis.quality.fragile.height == 6


def test_one_system_without_texts_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "golds.jsonl").write_text('{"id": "q1", "correct_outcome_types": ["accuracy"]}\n')
    rows = [{"attempt_id": "a", "question_id": "q1", "baseline": "s", "attempt": 1, "status": "failed"}]
    pipeline.score([pl.DataFrame(rows)], "eduevidence", tmp_path / "store", golds=tmp_path / "golds.jsonl")
    made = results(tmp_path / "store")
    assert made.compared is None
    html = to_html(made)
    assert 'id="differences"' not in html
    assert "status failed" in html


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """Return a file of scores that another tool could have made."""
    rows = [
        {"system": system, "task_id": f"q{number}", "metric": metric, "value": value}
        for system, better in (("a", 0), ("b", 1))
        for number in range(6)
        for metric, value in (("seconds", 10.5 + number + better), ("ok", float((number + better) % 2)))
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def test_any_table_of_scores_has_a_page(scores: Path) -> None:
    made = results(scores, baseline="a")
    assert made.metrics.select("metric", "low", "high").rows() == [
        ("ok", 0.0, 1.0),
        ("seconds", None, None),
    ]
    html = to_html(made)
    assert "no answer is stored with them" in html
    assert "+1" in html
    assert {tag for tag, _ in Page(html).elements} <= set(ELEMENTS.split())


def test_a_file_of_several_runs_asks_for_one(scores: Path) -> None:
    rows = pl.read_csv(scores)
    pl.concat([rows.with_columns(run_id=pl.lit(run)) for run in ("r1", "r2")]).write_csv(scores)
    with pytest.raises(UsageError, match="choose one with --run: r1, r2"):
        results(scores)
    assert results(scores, run_id="r2").report.run["run_id"] == "r2"
    with pytest.raises(UsageError, match="holds no run_id 'r3'; known: r1, r2"):
        results(scores, run_id="r3")


def test_a_file_of_scores_is_reported_as_text_too(scores: Path) -> None:
    ended = run_scorer("report", scores)
    assert ended.code == 0, ended.err
    assert "seconds" in ended.out
    assert "SHA-256 of scores" in ended.out


# --- order, for whoever does not see it -------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["sample", "gis", "hostile"])
def test_headings_go_down_one_level_at_a_time(which: str, request: pytest.FixtureRequest) -> None:
    page = Page(to_html(request.getfixturevalue(which)))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("which", ["sample", "gis", "hostile"])
def test_every_id_is_one_and_every_link_leads_somewhere(which: str, request: pytest.FixtureRequest) -> None:
    page = Page(to_html(request.getfixturevalue(which)))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(attributes["href"] or "").removeprefix("#") for attributes in page.all("a")} <= set(ids)


def test_tables_have_captions_and_scopes_and_pictures_have_words(sample: Results) -> None:
    page = Page(to_html(sample))
    assert len(page.texts["caption"]) == len(page.all("table"))
    assert all(text.strip() for text in page.texts["caption"])
    assert all(attributes.get("scope") for attributes in page.all("th"))
    assert all(len(attributes["aria-label"] or "") > 60 for attributes in page.all("svg"))
    assert len(page.all("svg")) == len(pictures(sample))


def test_the_language_of_a_text_is_told_by_its_script() -> None:
    assert language_of("자치구 경계를 불러와 구 이름이 보이는 지도") == "ko"
    assert language_of("初中物理用五分钟微视频做翻转课堂") == "zh"
    assert language_of("日本語のテキストです") == "ja"
    assert language_of("plain words") is None
    assert language_of("") is None


# --- nothing gets in --------------------------------------------------------------------------------------------------


def test_hostile_texts_stay_texts(hostile: Results) -> None:
    """No id, answer or name adds an element, an attribute, a link or a template's doing to the page."""
    page = Page(to_html(hostile))
    assert {tag for tag, _ in page.elements} <= set(ELEMENTS.split())
    assert {name for _, attributes in page.elements for name in attributes} <= set(ATTRIBUTES.split())
    assert all((attributes["href"] or "").startswith("#") for attributes in page.all("a"))
    assert len(page.all("style")) == 1
    assert "{{ 7 * 7 }}" in page.texts["main"][0]


def test_no_character_that_turns_hides_or_rings_is_left(hostile: Results) -> None:
    html = to_html(hostile)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]", html)
    assert r"a\u202egnp.exe" in html


def test_the_policy_allows_the_page_its_own_style_and_nothing_else(sample: Results) -> None:
    policy = next(
        attributes["content"] for attributes in Page(to_html(sample)).all("meta") if "http-equiv" in attributes
    )
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'", policy or ""
    )


def test_a_picture_takes_in_what_is_known_only() -> None:
    bad = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="alert(1)"><script>alert(1)</script>'
        '<g transform="translate(1,1)" style="x"><a href="http://x"><text fill="#1b2430">in a link</text></a>'
        '<text fill="#1b2430">&lt;b&gt; 한국어 中文</text><path d="M0,0" fill="#123456"/></g></svg>'
    )
    made = inline(bad, '"><b>')
    assert made == (
        '<svg width="25" height="9" viewBox="-8 0 25 9" role="img" aria-label="&quot;&gt;&lt;b&gt;">'
        '<g transform="translate(1,1)"><text class="fill-ink">&lt;b&gt; 한국어 中文</text></g></svg>'
    )


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["sample", "gis", "hostile"])
def test_every_picture_is_an_altair_chart_and_an_svg_of_known_colours(
    which: str, request: pytest.FixtureRequest
) -> None:
    for picture in pictures(request.getfixturevalue(which)):
        assert isinstance(picture.chart, alt.ConcatChart)
        drawn = svg(picture.spec)
        ElementTree.fromstring(drawn)
        colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn))
        assert colours <= {*ROLES, "none", "transparent"}, picture.name


def test_no_two_names_in_a_picture_are_alike(hostile: Results) -> None:
    """Names that are equal once they are cut still have a line each."""
    chart = pictures(hostile)[0].spec["concat"][0]
    names = chart["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert len(set(names)) == len(hostile.systems) == 3
    assert all(len(name) <= 44 for name in names)


def test_chinese_and_korean_are_letters_in_svg_and_page(hostile: Results) -> None:
    assert "한국어 中文" in svg(pictures(hostile)[0].spec)
    html = to_html(hostile)
    assert "问题 질문" in html
    assert 'lang="ko"' in html or 'lang="zh"' in html


@pytest.mark.parametrize(
    ("name", "first"),
    [("에이전트", '"Noto Sans CJK KR"'), ("智能体", '"Noto Sans CJK SC"'), ("agent", '"Helvetica Neue"')],
)
def test_a_png_takes_the_fonts_of_its_script_first(name: str, first: str) -> None:
    means = pl.DataFrame({"metric": ["m"], "system": [name], "task_id": ["q"], "mean": [0.5], "goodness": [0.5]})
    spec = questions(means, [Scale("m", 0, 1)], [name], ["q"])
    assert fonts_for(spec).split(", ")[0] == first
    assert png(spec, 1.0).startswith(b"\x89PNG")


def test_files_have_title_and_notice(sample: Results, tmp_path: Path) -> None:
    picture = pictures(sample)[0]
    written = write_files([picture], tmp_path / "charts", SIMULATED)
    assert [path.name for path in written] == ["intervals.svg", "intervals.png"]
    text = written[0].read_text(encoding="utf-8")
    assert SIMULATED in text
    assert picture.title in text
    assert png(picture.spec, 1.0).startswith(b"\x89PNG")


def test_numbers_have_the_decimals_that_their_range_calls_for() -> None:
    assert Scale("m", 0, 1).number(0.12345) == "0.12"
    assert Scale("m", 0, 130).number(84.04) == "84.0"
    assert Scale("m").number(1234.5) == "1.23e+03"
    assert Scale("m", 0, 1).number(-0.5, sign=True) == "−0.50"
    assert Scale("m", 0, 1).number(0.5, sign=True) == "+0.50"
    assert Scale("m", 0, 1).number(-0.0001) == "0.00"
    assert Scale("m", 0, 1).number(None) == "–"


# --- results ----------------------------------------------------------------------------------------------------------


def test_questions_are_sorted_hardest_first_and_unscored_ones_last(sample: Results) -> None:
    goodness = sample.hardest["goodness"].to_list()
    assert goodness[-1] is None
    assert goodness[:-1] == sorted(goodness[:-1])
    assert sample.hardest["task_id"][-1] == "E12"


def test_differences_of_questions_average_to_those_of_the_comparison(sample: Results) -> None:
    key = ["metric", "system_a", "system_b"]
    assert sample.compared is not None
    means = sample.differences.group_by(key).agg(pl.col("difference").mean().alias("mean"), pl.len().alias("n"))
    both = sample.compared.comparisons.join(means, on=key, how="inner")
    assert both.height == sample.compared.comparisons.height
    assert both["mean"].to_list() == pytest.approx(both["difference"].to_list(), abs=1e-9)
    assert both["n"].to_list() == both["n_questions"].to_list()


def test_disagreement_counts_questions_whose_repeats_differ(sample: Results, tmp_path: Path) -> None:
    row = sample.disagreement.filter(metric="scope_calibration", system="direct_answer").row(0, named=True)
    scores = stored.sql(
        sample_store(tmp_path / "store"),
        "select count(*) filter (where n > 1), count(*) filter (where n > 1 and low < high) from (select task_id, "
        "count(value) as n, min(value) as low, max(value) as high from scores where metric = 'scope_calibration' "
        "and system = 'direct_answer' group by task_id)",
    )
    assert (row["n_questions"], row["n_differing"]) == scores.row(0)
    assert row["share"] == row["n_differing"] / row["n_questions"]


def test_names_sort_as_people_count() -> None:
    assert sorted(["Q10", "Q2", "q", "Q1b", "10", "9"], key=natural) == ["9", "10", "Q1b", "Q2", "Q10", "q"]
    assert sorted(["1" * 5000, "2"], key=natural)


# --- size, bytes, command line ----------------------------------------------------------------------------------------


def test_a_page_of_a_hundred_attempts_is_small_and_always_the_same(sample: Results, tmp_path: Path) -> None:
    html = to_html(sample)
    assert len(html.encode()) < 2_000_000
    assert to_html(results(sample_store(tmp_path / "again"))) == html


def test_a_long_answer_is_shown_by_its_start(hostile: Results) -> None:
    assert all(len(attempt.start or "") <= making.START for attempt in hostile.attempts)
    assert all(attempt.length > len(LONG) for attempt in hostile.attempts)
    assert len(HOSTILE) > 10


def test_many_questions_make_a_page_of_bounded_size(tmp_path: Path) -> None:
    """What grows with the number of questions is counted, not listed."""
    rows = [
        {
            "attempt_id": f"{system}{number}",
            "question_id": f"q{number}",
            "baseline": system,
            "attempt": 1,
            "status": "completed",
            "response": f"{'accuracy' if number % 3 else 'retention'} {'pilot' if system == 'a' else 'adopt'}",
        }
        for number in range(1500)
        for system in "ab"
    ]
    golds = [{"id": f"q{number}", "correct_outcome_types": ["accuracy"]} for number in range(1500)]
    (tmp_path / "golds.jsonl").write_text("".join(json.dumps(gold) + "\n" for gold in golds))
    pipeline.score([pl.DataFrame(rows)], "eduevidence", tmp_path / "store", golds=tmp_path / "golds.jsonl")
    html = to_html(results(tmp_path / "store"))
    assert len(html.encode()) < 2_000_000
    assert "1440 more rows are not shown" in html
    assert "Shown are the first 60 of 1,500 questions" in html
    assert "150 of 3,000 attempts" in html


def test_the_command_writes_page_and_pictures(tmp_path: Path) -> None:
    store = sample_store(tmp_path / "store")
    page, folder = tmp_path / "report.html", tmp_path / "charts"
    ended = run_scorer(
        "report", store, "--format", "html", "--to", page, "--charts", folder, "--baseline", "direct_answer"
    )
    assert (ended.code, ended.out) == (0, ""), ended.err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {path.name for path in folder.iterdir()} >= {"intervals.png", "differences.svg", "questions.png"}


def test_pictures_go_with_any_format(tmp_path: Path) -> None:
    ended = run_scorer("report", sample_store(tmp_path / "store"), "--charts", tmp_path / "charts")
    assert ended.code == 0
    assert "outcome_separation_accuracy" in ended.out


def test_a_baseline_needs_a_page_or_pictures(tmp_path: Path) -> None:
    ended = run_scorer("report", sample_store(tmp_path / "store"), "--baseline", "direct_answer")
    assert ended.code == 2
    assert "--format html" in ended.err


def test_an_unknown_baseline_names_the_nearest(tmp_path: Path) -> None:
    ended = run_scorer("report", sample_store(tmp_path / "store"), "--format", "html", "--baseline", "direct_anser")
    assert ended.code == 2
    assert "direct_answer" in ended.err


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(UsageError, match=r"vl-convert-python: pip install 'scorer\[report\]'"):
        require_extra()

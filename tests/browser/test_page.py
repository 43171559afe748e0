"""The page of a report in a browser: nothing runs, nothing is fetched, and it can be read by ear and by keyboard."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scorer import pipeline
from scorer.pipeline.results import results
from scorer.report.html import to_html
from tests.report_pages import gis_store, hostile_store, sample_store

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NARROW, WIDE = 390, 1280

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium"),
    pytest.mark.xdist_group("browser"),
]


@dataclass
class Seen:
    """An open page, and what it did."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


Opener = Callable[..., Seen]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return stores by name; that of the published run too where it lies beside the checkout."""
    folder = tmp_path_factory.mktemp("stores")
    made = {"sample": sample_store(folder / "sample"), "gis": gis_store(folder / "gis")}
    return made | {"hostile": hostile_store(tmp_path_factory.mktemp("hostile"))}


@pytest.fixture(scope="module")
def pages(stores: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a page of each store."""
    folder = tmp_path_factory.mktemp("pages")
    for name, store in stores.items():
        (folder / f"{name}.html").write_text(to_html(results(store)), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in stores}


@pytest.fixture
def open_page(tmp_path: Path) -> Iterator[Opener]:
    """Return a function that opens a file in a fresh browser and notes everything that the page does."""
    with playwright.sync_playwright() as driver:
        contexts = []

        def opened(path: Path, width: int = WIDE, scheme: str = "light") -> Seen:
            context = driver.chromium.launch_persistent_context(
                tmp_path / f"profile-{len(contexts)}",
                executable_path=CHROMIUM,
                headless=True,
                args=FLAGS,
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
            )
            contexts.append(context)
            seen = Seen(context.new_page())
            seen.page.on("console", lambda message: seen.messages.append(message.text))
            seen.page.on("pageerror", lambda error: seen.messages.append(str(error)))
            seen.page.on("request", lambda request: seen.requests.append(request.url))
            seen.page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
            seen.page.goto(path.as_uri())
            return seen

        yield opened
        for context in contexts:
            context.close()


def unfold(page: Any) -> None:
    """Open everything that is folded."""
    page.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true })")


@pytest.mark.parametrize("name", ["sample", "gis", "hostile"])
def test_a_page_says_nothing_and_asks_for_nothing(name: str, pages: dict[str, Path], open_page: Opener) -> None:
    """No message on the console, no request but that for the page, no dialog, also with everything unfolded."""
    seen = open_page(pages[name])
    unfold(seen.page)
    seen.page.wait_for_timeout(200)
    assert seen.messages == []
    assert seen.requests == [pages[name].as_uri()]
    assert seen.dialogs == []
    assert seen.page.url == pages[name].as_uri()


def test_the_page_of_the_published_run_says_nothing_and_asks_for_nothing(
    real_run: Path, tmp_path: Path, open_page: Opener
) -> None:
    """Sixty attempts of real agents in Chinese: silent, and under 2 MB."""
    pipeline.score(
        [real_run / "run-empirical-01"],
        "eduevidence",
        tmp_path / "store",
        golds=real_run / "annotations",
        tasks=real_run / "questions.jsonl",
    )
    path = tmp_path / "page.html"
    path.write_text(to_html(results(tmp_path / "store")), encoding="utf-8")
    assert path.stat().st_size < 2_000_000
    seen = open_page(path)
    unfold(seen.page)
    assert (seen.messages, seen.requests) == ([], [path.as_uri()])
    assert seen.page.locator("details.attempt").count() == 60
    assert "SIMULATED" not in seen.page.locator("body").inner_text()
    assert axe_findings(seen.page) == []


def test_hostile_text_is_inert(pages: dict[str, Path], open_page: Opener) -> None:
    """Script, frames, styles and links in ids and answers are letters on the page."""
    seen = open_page(pages["hostile"])
    unfold(seen.page)
    foreign = "script, iframe, img, link, base, object, embed, form, input, [onload], [onerror], [style]"
    assert seen.page.locator(foreign).count() == 0
    assert seen.page.locator("main").is_visible()
    assert "<script>alert(1)</script>" in seen.page.locator("main").inner_text()
    assert seen.page.locator("a:not([href^='#'])").count() == 0


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("sample", "light"), ("sample", "dark"), ("gis", "light"), ("gis", "dark"), ("hostile", "light")],
)
def test_an_automatic_check_of_accessibility_finds_nothing(
    name: str, scheme: str, pages: dict[str, Path], open_page: Opener
) -> None:
    seen = open_page(pages[name], scheme=scheme)
    seen.page.evaluate("() => document.querySelectorAll('details').forEach((each, at) => { each.open = at < 8 })")
    assert axe_findings(seen.page) == []


def axe_findings(page: Any) -> list[tuple[str, str, str]]:
    """Return what axe has against a page: rule, impact, the first place."""
    found = axe.Axe().run(page).response["violations"]
    return [(each["id"], each["impact"], each["nodes"][0]["html"]) for each in found]


def test_landmarks_and_headings_stand_in_order(pages: dict[str, Path], open_page: Opener) -> None:
    page = open_page(pages["gis"]).page
    landmarks = "aside, header, nav, main, footer"
    order = page.locator(landmarks).evaluate_all("found => found.map(each => each.tagName.toLowerCase())")
    assert order == ["aside", "header", "nav", "main", "footer"]
    headings = page.locator("h1, h2").evaluate_all("found => found.map(each => each.innerText.split('\\n')[0])")
    assert headings == [
        "gis-bench",
        "Systems",
        "Differences",
        "Questions",
        "Strata",
        "Repeats",
        "Judging",
        "Attempts",
        "Method",
    ]


def test_the_keyboard_reaches_results_pictures_and_attempts(pages: dict[str, Path], open_page: Opener) -> None:
    page = open_page(pages["sample"]).page
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
    page.locator(".picture").first.focus()
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')").startswith("Picture: ")
    page.locator("details.question > summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.question").first.get_attribute("open") is not None


def test_a_question_in_the_table_opens_its_attempts(pages: dict[str, Path], open_page: Opener) -> None:
    page = open_page(pages["sample"]).page
    page.locator("summary", has_text="The numbers: Questions and systems").click()
    page.locator("a[href='#question-3']").click()
    assert page.locator("#question-3").is_visible()


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("name", ["sample", "gis", "hostile"])
def test_nothing_sticks_out_to_the_side(name: str, width: int, pages: dict[str, Path], open_page: Opener) -> None:
    """Wide tables and pictures scroll in their own place, never the whole page."""
    page = open_page(pages[name], width).page
    unfold(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_no_figure_is_cut_off_in_a_picture(pages: dict[str, Path], open_page: Opener) -> None:
    """All letters of a picture lie inside it, though they were measured with the fonts of another program."""
    page = open_page(pages["gis"]).page
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.picture svg')].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text')].filter(text => {
                const box = text.getBoundingClientRect();
                return box.left < frame.left - 1 || box.right > frame.right + 1;
            }).map(text => text.textContent);
        })"""
    )
    assert outside == []


def test_dark_is_dark_and_print_is_light(pages: dict[str, Path], open_page: Opener) -> None:
    page = open_page(pages["sample"], scheme="dark").page
    paper = "() => getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(paper) == "rgb(18, 23, 29)"
    ink = "() => getComputedStyle(document.querySelector('.picture .fill-ink')).fill"
    assert page.evaluate(ink) == "rgb(226, 232, 239)"
    page.emulate_media(media="print")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert page.locator(".banner.top").is_visible()

"""The page in a real browser: what stands where, wide and narrow, dark, printed, without script."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from pytest_brt.types import Origin, PatchResult, RunRecord
from tests.render.pages import page_of, record
from tests.support.outcomes import refused
from tests.support.rows import broken, row

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDE, NARROW = 1280, 400
#: Opens the page with some settings of the browser.
Opened = Callable[..., Page]
SHOW_ALL = "document.querySelectorAll('details').forEach(details => details.open = true)"
#: Boxes of the elements that a selector finds, as left, right, top, bottom and text.
BOXES = """selector => [...document.querySelectorAll(selector)].map(element => {
    const box = element.getBoundingClientRect()
    return {left: box.left, right: box.right, top: box.top, bottom: box.bottom,
            text: element.innerText.trim()}
})"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        missing = "needs chromium (Debian's package)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        options = {"executable_path": CHROMIUM, "args": ["--no-sandbox"]}
        with playwright.chromium.launch(**options) as browser:  # type: ignore[arg-type]
            yield browser


def ranked() -> RunRecord:
    """Return a run in which every part of the page has something, and names are long."""
    name = "a-folder/with-a-name-that-does-not-end-" * 3
    rows: list[PatchResult] = [
        row("a.diff", "pp", guarded=broken(0)),
        row(name, "pf", guarded=broken(5)),
        row("c.diff", refused=refused("x" * 300)),
    ]
    rows = [replace(one, patch=replace(one.patch, text="-x\n+" + "y" * 300)) for one in rows]
    found = record(
        *rows,
        title="A_title_without_a_place_to_break_it_" * 5,
        source="x = " + " + ".join(f"name_{n}" for n in range(90)) + "\n# remark\n",
    )
    (issue,), (attempt,) = found.issues, found.attempts
    first, second = attempt.tests
    oracle = replace(first.test.oracle, sentence="`f()` should be `5`")
    written = replace(second, test=replace(second.test, origin=Origin(strategy="libro", model="m")))
    return replace(
        found,
        issues=(replace(issue, text="It should be `5`:\n```\n" + "f" * 300 + "\n```\n"),),
        attempts=(
            replace(
                attempt, tests=(replace(first, test=replace(first.test, oracle=oracle)), written)
            ),
        ),
    )


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    path = tmp_path / "page.html"
    path.write_text(page_of(ranked()), encoding="utf-8")
    contexts = []

    def open_page(width: int, **settings: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def boxes(page: Page, selector: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(BOXES, selector)
    assert found, selector
    return found


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_it_fits_can_be_read_and_follows_the_scheme(
    opened: Opened, width: int, scheme: str
) -> None:
    page = opened(width, color_scheme=scheme, bypass_csp=True)
    page.evaluate(SHOW_ALL)
    assert overflow(page) <= 0
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(back.removeprefix("rgb(").partition(",")[0])
    assert (red < 100) == (scheme == "dark")
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run()")
    assert {"color-contrast", "region"} <= {rule["id"] for rule in found["passes"]}
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]] == []


def test_each_column_stands_below_its_heading(opened: Opened) -> None:
    page = opened(WIDE)
    heads = boxes(page, "thead th")
    assert [box["text"] for box in heads] == [
        "rank", "patch", "bug tests", "existing tests", "EPR", "score", "T1", "T2", "note",
    ]  # fmt: skip
    for number in (1, 2, 3):
        cells = boxes(page, f"tbody tr:nth-child({number}) td")
        for head, cell in zip(heads, cells, strict=True):
            assert (cell["left"], cell["right"]) == pytest.approx((head["left"], head["right"]))


def test_the_names_of_columns_are_explained_above_the_table(opened: Opened) -> None:
    page = opened(WIDE)
    (table,) = boxes(page, "table")
    names, meanings = boxes(page, ".key dt"), boxes(page, ".key dd")
    assert [box["text"] for box in names] == ["T1", "T2"]
    assert meanings[1]["text"] == "bug test test_a, written by the model: 85% sure"
    for name, meaning in zip(names, meanings, strict=True):
        assert name["bottom"] <= table["top"]
        assert name["right"] < meaning["left"]
        assert name["top"] == pytest.approx(meaning["top"], abs=2)


def test_a_narrow_page_has_a_card_for_each_patch(opened: Opened) -> None:
    page = opened(NARROW)
    cards = boxes(page, "tbody tr")
    for number, card in enumerate(cards, start=1):
        cells = [box for box in boxes(page, f"tbody tr:nth-child({number}) td") if box["text"]]
        name = next(iter(boxes(page, f"tbody tr:nth-child({number}) td.name")))
        assert name["top"] == min(box["top"] for box in cells)
        for cell in cells:
            assert card["left"] <= cell["left"] < cell["right"] <= card["right"] + 1
    assert all(one["bottom"] <= two["top"] + 1 for one, two in pairwise(cards))


def test_all_of_it_is_there_without_script(opened: Opened) -> None:
    page = opened(WIDE, java_script_enabled=False)
    second = page.locator("details", has_text="T2")
    assert not second.locator("pre").first.is_visible()
    second.locator("summary").click()
    assert second.locator("pre").first.is_visible()
    page.get_by_role("link", name="a.diff").click()
    assert page.url.endswith("#patch-1-1")


def test_what_is_folded_is_printed(opened: Opened) -> None:
    page = opened(794)  # A4
    page.emulate_media(media="print")
    assert overflow(page) <= 0
    folded = boxes(page, "details:not([open]) pre")
    assert all(box["bottom"] > box["top"] for box in folded)


def test_nothing_is_loaded_and_nothing_is_complained_of(opened: Opened) -> None:
    page = opened(WIDE)
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.reload()
    assert [url for url in asked if not url.startswith("data:,")] == [page.url]
    assert said == []

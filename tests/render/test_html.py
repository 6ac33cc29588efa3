"""The page: complete, self-contained, and safe whatever is in reports, tests and patches."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.render.html import html
from pytest_brt.types import Attempt, Issue, RunRecord
from pytest_brt.types.miss import NoCode
from pytest_brt.types.refused import FileGone
from tests.render.pages import page_of, record
from tests.support.rows import broken, row

VOID = {"meta", "link", "rect", "line", "polyline", "br"}


class Outline(HTMLParser):
    """Checks that elements nest, and keeps the text, the tags and what would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "data")]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Outline:
    outline = Outline()
    outline.feed(page)
    outline.close()
    assert outline.open == []
    return outline


def test_all_that_was_found_is_on_it() -> None:
    found = record(
        row("a.diff", "pp", guarded=broken(0)),
        row("b.diff", "pf", guarded=broken(2)),
        row("c.diff", refused=FileGone(path="pkg/gone.py")),
    )
    outline = read(page_of(found))
    for text in (
        "It is wrong", "Best: a.diff", "Reproduced: 2 bug tests", "2/20 break",
        "tests/test_x.py::test_0", "does not apply: 'pkg/gone.py' is not there any more",
        "AssertionError: assert 0", "20 of 100 existing tests", "T1 test_a",
        "by the bug tests",
    ):  # fmt: skip
        assert text in outline.text, text
    assert outline.text.count("✓") == 1 + 3, "in the legend, and three tests that pass"
    assert outline.text.count("✗") == 1 + 1 + 2, "a bug test that fails, and what is broken"


def test_nothing_is_loaded_and_nothing_runs() -> None:
    outline = read(page_of(record(row("a.diff", "pp"), row("b.diff", "ff"))))
    assert not {"script", "iframe", "img", "object", "embed", "form"} & set(outline.tags)
    assert all(load.startswith(("#", "data:,")) for load in outline.loads)


def test_without_tests_the_page_says_so() -> None:
    issue = Issue(id="i", title="Nothing", text="", source="issue.md")
    attempt = Attempt(issue="i", strategy="replay", index=0, tests=(), misses=(NoCode(),))
    found = RunRecord(issues=(issue,), attempts=(attempt,), given=(), ranks=(), sandbox="ns")
    text = read(html(found, facts=())).text
    assert "Not reproduced: the report has no Python code that could be read" in text
    assert "add to the report a few lines of Python" in text


def test_sentences_that_bug_tests_quote_are_marked_in_the_report() -> None:
    found = record(row("a.diff", "pp"))
    (issue,), (attempt,) = found.issues, found.attempts
    first, *others = attempt.tests
    oracle = replace(first.test.oracle, quote="it should be `5`")
    quoting = replace(first, test=replace(first.test, oracle=oracle))
    found = replace(
        found,
        issues=(replace(issue, text="<b> f() is odd:\nit should\nbe `5`. Thanks"),),
        attempts=(replace(attempt, tests=(quoting, *others)),),
    )
    assert "&lt;b&gt; f() is odd:\n<mark>it should\nbe `5`</mark>. Thanks" in page_of(found)


@settings(max_examples=30)
@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_is_in_it_the_page_stays_whole(one: str, two: str) -> None:
    found = record(row(one or "x", "pp"), row("b" + two, "pf"), title=two, source=one)
    read(page_of(found))


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\udcff\x00", "</pre><b>", "{{ 1 }}"]
)
def test_text_is_only_ever_text(text: str) -> None:
    found = record(row("a.diff", "pp"), title=text, source=text)
    outline = read(page_of(found))
    assert "script" not in outline.tags
    assert "b" not in outline.tags
    page_of(found).encode("utf-8")

"""The page: complete, self-contained, and safe whatever is in reports, tests and patches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.types import Origin
from tests.render.pages import page_of, read, record
from tests.support.rows import judged, row


def test_code_is_code_and_no_backtick_is_left() -> None:
    found = record(row("a.diff", "pp"))
    (issue,), (attempt,) = found.issues, found.attempts
    oracle = replace(attempt.tests[0].test.oracle, sentence="`f(1)` should return `<2>`")
    test = replace(attempt.tests[0], test=replace(attempt.tests[0].test, oracle=oracle))
    text = "So:\n```python\nf(1)\n```\nand `g(2)`."
    found = replace(
        found, issues=(replace(issue, text=text),), attempts=(replace(attempt, tests=(test,)),)
    )
    page = page_of(found)
    assert "<code>f(1)</code> should return <code>&lt;2&gt;</code>" in page
    assert '<pre tabindex="0">f(1)\n</pre>\nand <code>g(2)</code>.' in page
    assert "`" not in page


def test_a_test_that_came_with_a_patch_has_a_column_and_names_the_patch() -> None:
    result = row("a.diff", "pp")
    found = record(replace(result, own_cells=(replace(result.cells[0], test="t2"),)))
    brought = judged(2)
    origin = Origin(strategy="patch", patches=("a.diff",))
    brought = replace(brought, test=replace(brought.test, issue="i", origin=origin))
    text = read(page_of(replace(found, brought=(brought,)))).text
    assert "T3bug test test_2.py::test_a, from a.diff: 65% sure" in text
    assert "test_2.py::test_a came with it" in text


def test_nothing_is_loaded_and_nothing_runs() -> None:
    outline = read(page_of(record(row("a.diff", "pp"), row("b.diff", "ff"))))
    assert not {"script", "iframe", "img", "object", "embed", "form"} & set(outline.tags)
    assert all(load.startswith(("#", "data:,")) for load in outline.loads)


@settings(max_examples=15)
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

"""The Markdown report: the answers, and nothing of a stranger's text that Markdown would obey."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.render.forms import markdown
from pytest_brt.types import Origin, RunRecord
from tests.render.pages import record, report_of
from tests.support.rows import broken, judged, row


def text_of(found: RunRecord) -> str:
    return markdown(report_of(found))


def test_the_answers_the_test_and_the_table_are_in_it() -> None:
    text = text_of(
        record(row("a.diff", "pp", guarded=broken(0)), row("b.diff", "ff", guarded=broken(1)))
    )
    assert "**Reproduced: test\\_a fails, probably because of this bug \\(85% sure\\).**" in text
    assert "**Best: a.diff: passes 2 of 2 bug tests and breaks none of 20 existing tests.**" in text
    assert "```python\nx = 1\n```" in text
    assert "| rank | patch | bug tests | existing tests | EPR | score | note |" in text
    assert "| 2 | b.diff | 0/2 pass | 1/20 break |" in text
    assert text.endswith(" · sandbox ns · pytest --brt-issue a\\_b.md</sub>\n")


def test_text_of_strangers_is_only_text() -> None:
    text = text_of(
        record(
            row("<img src=x>|y.diff", "pp"),
            title="@all [x](http://y) `z`\n# no heading",
            source='x = """\n```\n"""\n',
        )
    )
    assert "### \\@all \\[x\\]\\(http://y\\) \\`z\\` \\# no heading\n" in text
    assert "\\<img src=x\\>\\|y.diff" in text
    assert '````python\nx = """\n```\n"""\n````' in text


def test_the_test_of_a_report_is_none_that_a_patch_brought() -> None:
    found = record(row("a.diff", "pp"))
    better = replace(
        judged(2, 0.99),
        test=replace(
            judged(2).test,
            issue="i",
            source="y = 2\n",
            origin=Origin(strategy="patch", patches=("a.diff",)),
        ),
    )
    text = text_of(replace(found, brought=(better,)))
    assert "x = 1" in text
    assert "y = 2" not in text

"""The Markdown report: the answers, and nothing of a stranger's text that Markdown would obey."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.render.forms import markdown
from pytest_brt.types import Origin, RunRecord
from tests.render.pages import record, report_of
from tests.support.rows import judged, row


def text_of(found: RunRecord) -> str:
    return markdown(report_of(found))


def test_text_of_strangers_is_only_text() -> None:
    text = text_of(
        record(
            row("<img src=x>|y.diff", "pp"),
            title="@all [x](http://y) `z`\n# no heading",
            source='x = """\n```\n"""\n',
        )
    )
    assert "### \\@all \\[x\\]\\(http://y\\) `z` \\# no heading\n" in text
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


def test_a_ranking_by_tests_of_an_earlier_run_shows_the_test_of_its_proof() -> None:
    found = record(row("a.diff", "pp"))
    given = tuple(test for attempt in found.attempts for test in attempt.tests)
    text = text_of(replace(found, issues=(), attempts=(), given=given, ranked=""))
    assert text.count("```python\n") == text.count("the test above") == 1


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a.diff", "git apply a.diff"),
        ("fix-1", "git diff HEAD...fix-1 | git apply"),
        ("#12", "gh pr diff 12 | git apply"),
        ("me/it#12", "gh pr diff 12 --repo me/it | git apply"),
    ],
)
def test_the_proof_applies_a_patch_from_where_it_is(name: str, command: str) -> None:
    assert f"\n{command}\n" in text_of(record(row(name, "pp")))

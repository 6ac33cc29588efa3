"""Pages to read."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.render.html import html
from pytest_brt.types import Attempt, Issue, PatchResult, RunRecord
from tests.support.rows import judged


def record(*rows: PatchResult, title: str = "It is wrong", source: str = "x = 1\n") -> RunRecord:
    issue = Issue(id="i", title=title, text="", source="issue.md")
    tests = tuple(
        replace(test, test=replace(test.test, source=source)) for test in (judged(0), judged(1))
    )
    attempt = Attempt(issue="i", strategy="replay", index=0, tests=tests)
    ranks = rank_by_weight(tuple(replace(row, issue="i") for row in rows), tests)
    return RunRecord(issues=(issue,), attempts=(attempt,), given=(), ranks=ranks, sandbox="ns")


def page_of(found: RunRecord) -> str:
    return html(found, facts=("pytest-brt 1.0",))

"""Pages to read."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from pytest_brt.render.forms import html
from pytest_brt.render.report import Report, Setting, build_report
from pytest_brt.types import Attempt, Issue, PatchResult, RunRecord
from tests.support.rows import judged, ranked


def record(*rows: PatchResult, title: str = "It is wrong", source: str = "x = 1\n") -> RunRecord:
    issue = Issue(id="i", title=title, text="", source="issue.md")
    tests = tuple(
        replace(test, test=replace(test.test, source=source, issue="i"))
        for test in (judged(0, 0.85), judged(1, 0.85))
    )
    attempt = Attempt(issue="i", strategy="replay", index=0, tests=tests)
    ranks = ranked(rows, tests)
    return RunRecord(issues=(issue,), attempts=(attempt,), given=(), ranked="i", ranks=ranks)


SETTING = Setting(
    command="pytest --brt-issue a_b.md",
    ended="2026-11-27 09:30",
    version="1.0",
    python="3.12 (the project's .venv)",
    sandbox="ns",
    tree="0" * 64,
)


def report_of(found: RunRecord) -> Report:
    return build_report(found, SETTING, 0)


def page_of(found: RunRecord) -> str:
    return html(report_of(found))


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

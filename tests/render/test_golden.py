"""What people are shown of each sample: a changed sentence is seen in a diff.

``pytest tests/render/test_golden.py --update-golden`` writes the files anew.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pytest_brt.render.forms import html, markdown, show_summary
from pytest_brt.types import RunRecord
from tests.render.pages import report_of
from tests.render.samples import SAMPLES

GOLDEN = Path(__file__).parent / "golden"
#: How much is shown, and what pytest is told for it.
VERBOSITY = {"default": (), "quiet": ("-q",), "verbose": ("-v",)}
#: Elements whose text is set on a line of its own.
BLOCKS = {"p", "h1", "h2", "h3", "li", "tr", "pre", "dt", "dd", "summary", "section", "title"}


class Text(HTMLParser):
    """Reads the text of a page as it would be read aloud."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = [""]
        self.hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden = tag == "style" or ("class", "aloud") in attrs
        if tag in BLOCKS:
            self.lines.append("")
        elif tag in ("td", "th"):
            self.lines[-1] += " | "

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "span"):
            self.hidden = False

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.lines[-1] += data


def terminal(record: RunRecord) -> str:
    """Return the summary on a terminal, for each verbosity."""
    parts = []
    for name, flags in VERBOSITY.items():
        config = pytest.Config.fromdictargs({}, ["-c", "/dev/null", *flags])
        out = io.StringIO()
        reporter = pytest.TerminalReporter(config, out)
        show_summary(reporter, report_of(record))
        parts.append(f"## {name}\n{out.getvalue()}")
    return "\n".join(parts)


def page(record: RunRecord) -> str:
    """Return the text of the page."""
    text = Text()
    text.feed(html(report_of(record)))
    lines = (" ".join(line.split()) for line in "\n".join(text.lines).splitlines())
    return "\n".join(filter(None, lines)) + "\n"


FORMATS: dict[str, Callable[[RunRecord], str]] = {
    "txt": terminal,
    "md": lambda record: markdown(report_of(record)),
    "html.txt": page,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_shown_of_a_sample(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    record = SAMPLES[name]()
    for ending, render in FORMATS.items():
        path = GOLDEN / f"{name}.{ending}"
        shown = render(record)
        if request.config.getoption("--update-golden"):
            path.write_text(shown, "utf-8")
        kept = path.read_text("utf-8") if path.exists() else ""
        diff = difflib.unified_diff(kept.splitlines(), shown.splitlines(), "kept", "now", n=2)
        assert shown == kept, f"{path.name}:\n" + "\n".join(diff)


def test_every_golden_file_has_its_sample() -> None:
    known = {f"{name}.{ending}" for name in SAMPLES for ending in FORMATS}
    assert {path.name for path in GOLDEN.iterdir()} == known

"""A report is shown whole; of a long one the middle is left out, and no fence is cut open."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.report_text import fitting_report, report_text, shortened_report
from pytest_brt.issue.load import read_issue

LOG = "\n".join(f"src/gen/part{n}.py:{n}:0: C0114: Missing docstring" for n in range(400))
REPORT = f"# Ignored paths\n\nFiles are checked.\n\n```\n{LOG}\n```\n\nNothing should be.\n"
ISSUE = read_issue(REPORT, "issue.md")


def test_a_short_report_is_whole_but_for_its_title() -> None:
    issue = read_issue("# It fails\n\nHello.\n\n```python\nf(1)\n```\n", "issue.md")
    assert report_text(issue) == "Hello.\n\n```python\nf(1)\n```"


def test_of_a_long_report_the_middle_is_left_out() -> None:
    text = report_text(ISSUE)
    assert len(text) < len(REPORT) / 2
    assert text.startswith("Files are checked.\n")
    assert text.endswith("\nNothing should be.")
    assert "part0.py" in text
    assert "part200.py" not in text
    assert re.search(r"^\[… \d+ lines left out …\]$", text, re.MULTILINE)
    assert LOG in report_text(ISSUE, whole=True)


def test_a_report_fits_the_tokens_that_there_are_for_it() -> None:
    assert fitting_report(ISSUE, len(ISSUE.text), len) == ISSUE.text
    short = fitting_report(ISSUE, 500, len)
    assert len(short) <= 500
    assert short.startswith("# Ignored paths\n")


def is_balanced(text: str) -> bool:
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence and line.strip() == fence:
            fence = ""
        elif mark and not fence:
            fence = mark[1]
    return not fence


_LINES = st.sampled_from(
    ["```", "```python", "````", "~~~", "", "| a | b |", "x = f(1)", "It fails.", "y" * 300]
)


@given(st.lists(_LINES, max_size=60), st.integers(60, 900))
def test_no_fence_is_ever_cut_open(lines: list[str], most: int) -> None:
    issue = read_issue("\n".join(["It fails", *lines]), "issue.md")
    assert is_balanced(report_text(issue, whole=True))
    short = shortened_report(issue, most)
    assert is_balanced(short)
    # The note, and fences that are closed, come on top of what was asked for.
    assert len(short) <= most + 60

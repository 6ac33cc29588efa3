"""A report is shown once."""

from __future__ import annotations

from pytest_brt.issue.load import read_issue
from pytest_brt.reproduce.cuts import Cut, cut_report

TITLE = "slugify needs a shorter option for dashes"
BODY = "I use the option of slugify very often.\n\nIt would be great to have it shorter."


def test_a_body_that_is_given_twice_is_shown_once() -> None:
    issue = read_issue(f"# {TITLE}\n\n{BODY}\n{TITLE}\n{BODY}\n", "issue.md")
    assert cut_report(issue, Cut.WHOLE) == BODY


def test_code_and_short_lines_are_shown_as_often_as_they_stand_there() -> None:
    code = "```python\nx = slugify(one, two, three, four, five)\n```"
    text = f"It gives:\n\n{code}\n\nNow it gives:\n\nIt gives:\n\n{code}\n"
    found = cut_report(read_issue(f"# {TITLE}\n\n{text}", "issue.md"), Cut.WHOLE)
    assert found.count("slugify(one") == 2
    assert found.count("It gives:") == 2
    indented = "    x = slugify(one, two, three, four)\n    x = slugify(one, two, three, four)"
    found = cut_report(read_issue(f"# {TITLE}\n\nSee:\n\n{indented}\n", "issue.md"), Cut.WHOLE)
    assert found.count("slugify(one") == 2

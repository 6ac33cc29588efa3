"""A report is shown once."""

from __future__ import annotations

from pytest_brt.issue.load import read_issue
from pytest_brt.reproduce.cuts import Cut, cut_report, says_less, shortened_report

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


LONG = """\
# {title}

<!-- Please search the existing issues first. -->

### Checklist

- [x] I have searched the issues
- [ ] I can send a patch

### What happened

I have a lot of posts and like this library.
`slugify("a b", sep="-")` gives `a b` instead of `a-b`.

See https://example.org/posts/17

### Expected

The separator should be used.

```python
{code}
```

### Anything else

_No response_

### Environment

Python 3.11.2
slugs: 1.4
OS: Linux

```
attrs 22.1
slugs 1.4
```
"""
CODE = "\n".join(f"line_{number} = slugify('a b', sep='-')" for number in range(60))


def test_what_a_template_leaves_is_not_shown() -> None:
    text = cut_report(read_issue(LONG.format(title=TITLE, code="f()"), "issue.md"), Cut.WHOLE)
    for left in ("No response", "Anything else", "Checklist", "searched", "Please", "- ["):
        assert left not in text
    for kept in ("### What happened", "a lot of posts", "Python 3.11.2", "f()", "example.org"):
        assert kept in text


def test_the_core_keeps_symptom_expectation_and_code() -> None:
    issue = read_issue(LONG.format(title=TITLE, code="f()"), "issue.md")
    core = cut_report(issue, Cut.CORE)
    for kept in (
        "gives `a b` instead of `a-b`.",
        "The separator should be used.",
        "f()",
        "Expected",
    ):
        assert kept in core
    for left in ("Python 3.11.2", "attrs", "OS:", "example.org", "Environment"):
        assert left not in core
    assert says_less(core, cut_report(issue, Cut.WHOLE))
    assert not says_less(BODY, f"{BODY}\n\n")


def test_of_a_long_report_code_goes_before_what_is_expected() -> None:
    issue = read_issue(LONG.format(title=TITLE, code=CODE), "issue.md")
    for most in (400, 800, 1600):
        short = shortened_report(issue, most)
        assert len(short) <= most + 20
        assert "The separator should be used." in short
        assert "instead of `a-b`" in short
        assert "line_0 = " in short
        assert "lines left out" in short
        assert "a lot of posts" not in short

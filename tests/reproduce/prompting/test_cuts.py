"""A report is shown whole, or its core."""

from __future__ import annotations

from pytest_brt.issue.load import read_issue
from pytest_brt.reproduce.prompting.fit import report_text, shortened_report

TITLE = "slugify needs a shorter option for dashes"


LONG = """\
# {title}

<!-- Please search the existing issues first. -->

### What happened

I have a lot of posts and like this library.
`slugify("a b", sep="-")` gives `a b` instead of `a-b`.

https://example.org/posts/17

### Expected

The separator should be used.

```python
{code}
```

### Environment

Python 3.11.2
slugs version: 1.4

```
attrs 22.1
slugs 1.4
```
"""
CODE = "\n".join(f"line_{number} = slugify('a b', sep='-')" for number in range(60))


def test_a_report_is_shown_without_its_title_and_comments() -> None:
    text = report_text(read_issue(LONG.format(title=TITLE, code="f()"), "issue.md"))
    assert "Please" not in text
    assert TITLE not in text
    for kept in ("### What happened", "a lot of posts", "Python 3.11.2", "f()", "example.org"):
        assert kept in text


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

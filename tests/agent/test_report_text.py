"""A report is shown with all that decides; what nobody reads is folded, and said to be."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.report_text import report_text, shortened_report
from pytest_brt.issue.load import read_issue

TITLE = "ignore-paths is not respected in recursive mode"
LOG = "\n".join(f"src/gen/part{n}.py:{n}:0: C0114: Missing docstring" for n in range(60))
PACKAGES = "\n".join(f"package-{n}        {n}.2.1      pypi_0    pypi" for n in range(40))
FRAMES = "\n".join(f'  File "a.py", line {n}, in f{n}\n    f{n + 1}()' for n in range(30))
CODE = "\n".join(f"line_{n} = check('src/gen', recursive=True)" for n in range(60))

REPORT = f"""\
# {TITLE}

<!--
  Please search the existing issues first, and read the guide on how to write a good report.
  Reports without a way to reproduce them are closed.
-->

### Bug description

I have a lot of projects and like this tool.
Files below `src/gen` are checked, though the regex `^src/gen/.*$` should leave them out.

### Configuration

```toml
[tool.checker]
ignore-paths = ["^src/gen/.*$"]
recursive = true
jobs = 4
```

### Command used

```shell
checker --recursive=y src/
```

### Output

```
{LOG}
```

```python-traceback
Traceback (most recent call last):
{FRAMES}
ValueError: src/gen is checked
```

### Expected behaviour

Nothing below `src/gen` is checked.

<details>

```
{PACKAGES}
```

</details>
"""
ISSUE = read_issue(REPORT, "issue.md")


def test_what_decides_is_whole_and_the_rest_is_folded() -> None:
    text = report_text(ISSUE)
    assert TITLE not in text
    for kept in (
        'ignore-paths = ["^src/gen/.*$"]',
        "[tool.checker]",
        "checker --recursive=y src/",
        "the regex `^src/gen/.*$` should leave them out",
        "I have a lot of projects",
        "Nothing below `src/gen` is checked.",
        "src/gen/part0.py:0:0: C0114",
        "src/gen/part59.py:59:0: C0114",
        "Traceback (most recent call last):",
        "ValueError: src/gen is checked",
    ):
        assert kept in text
    for gone in ("Please search", "part30.py", "f14()", "package-20"):
        assert gone not in text
    assert len(text) < len(REPORT) / 3


def test_a_line_says_what_was_left_out_and_where_it_stands() -> None:
    lines = report_text(ISSUE).split("\n")
    said = [line for line in lines if line.startswith("[… ")]
    assert [re.sub(r"\d+", "N", line) for line in said] == [
        "[… N lines of a comment left out: from line N of the report …]",
        "[… N lines of output left out: from line N of the report …]",
        "[… N lines of output left out: from line N of the report …]",
        "[… N lines of installed packages left out: from line N of the report …]",
    ]
    many, first = map(int, re.findall(r"\d+", said[1]))
    before = lines[lines.index(said[1]) - 1]
    after = lines[lines.index(said[1]) + 1]
    assert ISSUE.text.split("\n")[first - 2] == before
    assert ISSUE.text.split("\n")[first + many - 1] == after


def test_what_a_form_calls_shell_is_output_where_it_is_long() -> None:
    called = read_issue(REPORT.replace(f"```\n{LOG}", f"```shell\n{LOG}"), "issue.md")
    assert report_text(called) == report_text(ISSUE).replace("```\nsrc", "```shell\nsrc")
    session = f"# It fails\n\n```console\n$ checker --all\n{LOG}\n$ echo $?\n1\n```\n"
    text = report_text(read_issue(session, "issue.md"))
    assert "$ checker --all\n" in text
    assert "$ echo $?\n1\n" in text
    assert "part30.py" not in text


def test_whole_it_has_every_line() -> None:
    text = report_text(ISSUE, whole=True)
    for part in (LOG, PACKAGES, FRAMES, "Please search"):
        assert part in text


@pytest.mark.parametrize(
    ("most", "there"), [(2500, "a lot of projects"), (1500, "jobs = 4"), (900, "ignore-paths")]
)
def test_with_less_room_output_goes_before_what_is_expected(most: int, there: str) -> None:
    short = shortened_report(ISSUE, most)
    assert len(short) <= most
    for kept in (there, "should leave them out", "Nothing below `src/gen` is checked"):
        assert kept in short


def test_long_code_is_the_last_to_go() -> None:
    issue = read_issue(REPORT.replace("jobs = 4\n```", f"```\n\n```python\n{CODE}\n```"), "a.md")
    assert CODE in report_text(issue)
    short = shortened_report(issue, 1800)
    assert "line_0 = " in short
    assert "line_59 = " in short
    assert "of code left out" in short


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
    [
        *("```", "```python", "````", "~~~", "", "<!-- a -->", "| a | b |", "attrs 22.1.0"),
        *("x = f(1)", ">>> f(1)", "It fails.", "Traceback (most recent call last):", "y" * 300),
    ]
)


@given(st.lists(_LINES, max_size=60), st.integers(60, 900))
def test_no_fence_is_ever_cut_open(lines: list[str], most: int) -> None:
    issue = read_issue("\n".join(["It fails", *lines]), "issue.md")
    assert is_balanced(report_text(issue))
    assert is_balanced(report_text(issue, whole=True))
    short = shortened_report(issue, most)
    assert is_balanced(short)
    # Notes and fences that are closed come on top of what was asked for.
    assert len(short) <= most + 120

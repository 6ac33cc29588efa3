from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.errors import IssueProblem
from pytest_brt.issue.load import read_issue
from pytest_brt.issue.read import read_report
from pytest_brt.pysource.parse import parses
from pytest_brt.types.miss import CodeLeftOut, TooManyStatements

LINES = st.lists(
    st.sampled_from(
        ["`f(1)` returns `2`.", "```python", "```", ">>> f(1)", "2", "x = g(", "f(x)  # -> 3",
         "It should be `4`:", "## Expected", "## Actual", "Traceback (most recent call last):",
         "ValueError: no", "", "The first should be `5`.", "$ python a.py", "$ cat a.py",
         "import a", "In [1]: f(2)", "Out[1]: 3", "numpy.ndarray", "type(x)", "works in 1.2:",
         "def test_a(): f()"]
    ),
    max_size=25,
)  # fmt: skip


def said(report: str) -> dict[str, list[tuple[str, str, str]]]:
    steps = read_report(read_issue(report, "x.md")).steps
    return {
        s.source: [(c.kind.value, c.role.value, c.text.strip()) for c in s.claims] for s in steps
    }


def test_sections_give_their_roles() -> None:
    found = said(
        "Title\n\n```python\nf(1)\n```\n\n## Expected\n\n```\n4\n```\n\n## Actual\n\n```\n5\n```\n"
    )
    assert ("value", "expected", "4") in found["f(1)"]
    assert ("value", "observed", "5") in found["f(1)"]


def test_of_a_block_that_is_not_all_python_the_rest_is_read() -> None:
    script = read_report(
        read_issue(
            "Title\n\n```\nimport m\na = m.f(1)\nprint m.g(a)\n```\nI get:\n```\n5\n```\n", "x"
        )
    )
    assert [step.source for step in script.steps] == ["import m", "a = m.f(1)"]
    assert not any(step.claims for step in script.steps)
    assert script.misses == (CodeLeftOut(line=6, end_line=6, code="print m.g(a)"),)


def test_the_string_above_code_that_reads_its_docstring_is_that() -> None:
    script = read_report(read_issue('Title\n\n```py\n"""Use: a  b"""\nf(__doc__)\n```\n', "x"))
    assert [s.source for s in script.steps] == ['__doc__ = """Use: a  b"""', "f(__doc__)"]


def test_a_traceback_belongs_to_the_line_it_shows() -> None:
    found = said(
        "Title\n\n```python\na = f(1)\ng(a)\nh(a)\n```\n\n```\nTraceback (most recent call last):\n"
        '  File "x.py", line 2, in <module>\n    g(a)\nKeyError: 1\n```\n'
    )
    assert [kind for kind, _, _ in found["g(a)"]] == ["raises"]
    assert found["h(a)"] == []


def test_the_same_code_in_two_versions_keeps_both_values() -> None:
    report = (
        "Title\n\nIn tool 1.0:\n```\nf(1).x\n```\nreturns `(0, 6)`\n\nNow in tool 1.1:\n"
        "```\nf(1).x\n```\nreturns `(0, 3)`\n"
    )
    steps = [s for s in read_report(read_issue(report, "x")).steps if s.source == "f(1).x"]
    assert [(s.claims[-1].role.value, s.claims[-1].text) for s in steps] == [
        ("contrast", "(0, 6)"),
        ("observed", "(0, 3)"),
    ]


def test_a_value_pasted_below_its_expression_is_its_result() -> None:
    found = said("Title\n\n```\nimport a\na.b(1)  # bad\n'x'\n```\n")
    assert found == {"import a": [], "a.b(1)": [("value", "shown", "'x'")]}


def test_output_of_a_session_is_not_split_over_its_inputs() -> None:
    found = said("Title\n\n>>> f(1)\n1\n>>> f(2)\n2\n\nI would expect:\n\n```\na b\nc d\n```\n")
    assert found["f(1)"] == [("value", "shown", "1")]
    assert ("value", "expected", "a b\nc d") in found["f(2)"]


def test_words_below_a_session_are_about_its_last_input() -> None:
    found = said("Title\n\n>>> f(1)\n>>> f(2)\n\nThis gives `9` instead of `8`.\n")
    assert found["f(1)"] == []
    assert found["f(2)"] == [("value", "observed", "9"), ("value", "expected", "8")]


def test_words_above_code_are_about_it_where_they_point_ahead() -> None:
    words = "The following raises a `KeyError`."
    code = "\n\n```python\ng(2)\n```\n"
    first = "Title\n\n```python\nf(1)\n```\n\n"
    ahead = said(f"{first}Now to `g`. {words}{code}")
    assert ahead["f(1)"] == []
    assert [(kind, role) for kind, role, _ in ahead["g(2)"]] == [("raises", "observed")]
    alone = said(f"Title\n\nIt raises a `KeyError`. So it is.{code}")
    assert [(kind, role) for kind, role, _ in alone["g(2)"]] == [("raises", "observed")]
    behind = said(f"{first}It raises a `KeyError`.{code}")
    assert [(kind, role) for kind, role, _ in behind["f(1)"]] == [("raises", "observed")]
    assert behind["g(2)"] == []


@pytest.mark.parametrize(
    ("words", "code", "shown", "wanted"),
    [
        ("`slugify('a b')` should return `'a-b'`:", "slugify('a b')", "'a b'", "'a-b'"),
        ('I expect `parse("1")` to be `1`, but:', 'parse("1")', "'1'", "1"),
        ("## Expected\n\nIt should be `2`:", "money.half(4)", "3", "2"),
    ],
)
def test_a_session_below_a_stated_value_shows_the_complaint(
    words: str, code: str, shown: str, wanted: str
) -> None:
    found = said(f"Title\n\n{words}\n\n```\n>>> {code}\n{shown}\n```\n")[code]
    assert found == [("value", "shown", shown), ("value", "expected", wanted)]
    kept = said(f"Title\n\n{words}\n\n```\n>>> {code}\n{wanted}\n```\n")[code]
    assert kept == [("value", "expected", wanted), ("value", "expected", wanted)]


def test_what_should_work_is_shown_failing() -> None:
    found = said("Title\n\nThis should work:\n\n>>> f(0)\nValueError: no\n")["f(0)"]
    assert [(kind, role) for kind, role, _ in found] == [("raises", "shown"), ("works", "expected")]
    printed = said("Title\n\nThis should print:\n\n>>> f(0)\n1\n")["f(0)"]
    assert printed == [("value", "expected", "1")]


def test_inline_code_comes_last_and_once() -> None:
    report = "`f(1)` is odd\n\n```python\nf(1)\n```\n`g(2)` gives `3`.\n"
    steps = read_report(read_issue(report, "x")).steps
    assert [(step.source, step.inline) for step in steps] == [("f(1)", False), ("g(2)", True)]


def test_exceptions_that_are_named_anywhere() -> None:
    issue = read_issue("a `KeyError: 'x'` or a pkg.BadError\n\nValueError: no", "x")
    assert {raised.type for raised in read_report(issue).named} >= {"KeyError", "pkg.BadError"}


@given(LINES)
def test_any_report_gives_statements_that_parse(lines: list[str]) -> None:
    try:
        issue = read_issue("\n".join(lines), "x.md")
    except IssueProblem:
        return
    script = read_report(issue)
    assert all(parses(step.source) for step in script.steps)
    assert read_report(issue) == script


@given(st.text())
def test_any_text_gives_statements_that_parse(text: str) -> None:
    try:
        issue = read_issue(text, "x.md")
    except IssueProblem:
        return
    assert all(parses(step.source) for step in read_report(issue).steps)


def test_lines_of_output_belong_to_the_prints_in_order() -> None:
    found = said(
        "Title\n\n```python\nprint(f(1))\nx = 2\nprint(f(x))\n```\nprints\n```\n5\n6\n```\n"
    )
    assert found["print(f(1))"] == [("value", "observed", "5")]
    assert found["print(f(x))"] == [("value", "observed", "6")]


def test_of_hundreds_of_statements_the_first_are_run_and_it_is_said() -> None:
    text = "".join(f"It crawled `page({n})` fine.\n\n" for n in range(500))
    script = read_report(read_issue(f"# Odd\n\n{text}", "a.md"))
    assert [step.source for step in script.steps] == [f"page({n})" for n in range(40)]
    assert script.misses == (TooManyStatements(most=150, most_inline=40),)

"""Shapes in which people show code and results, each as a whole report."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.types import BlockKind
from pytest_brt.types.miss import NothingWrong
from tests.reproduce.replay.project import attempt, candidates

SHAPES = {
    "session in a fence of another language": (
        "```sql\n>>> from pkg import double\n>>> double(2)\n5\n```\n",
        "assert double(2) != 5",
    ),
    "prompts of PyPy": (
        "```\n>>>> from pkg import double\n>>>> double(2)\n5\n```\n",
        "assert double(2) != 5",
    ),
    "a result in a language of its own": (
        "```python\nfrom pkg.core import encode\nprint(encode('select 1'))\n```\n\nprints\n\n"
        "```sql\nSELECT 1\n```\n",
        "assert str(encode('select 1')) != \"SELECT 1\"",
    ),
    "bold in an output": (
        "```python\nfrom pkg.core import encode\nprint(encode('a b c'))\n```\n\nprints\n\n"
        "```\nA **B** C\n```\n",
        "assert str(encode('a b c')) != \"A B C\"",
    ),
    "a result in a comment below": (
        "```python\nfrom pkg.core import encode\nencode('a b c')\n# A B C\n```\n",
        "assert encode('a b c') != 'A B C'",
    ),
    "an exception and what was expected": (
        "```python\nfrom pkg import first\nfirst([])  # IndexError, expected None\n```\n",
        "first([])",
    ),
    "an assignment that raises": (
        "```python\nfrom pkg.core import Shelf\nshelf = Shelf()\nshelf['a'] = 1\n```\n"
        '```\nTraceback (most recent call last):\n  File "x.py", line 3, in <module>\n'
        "KeyError: 'no room for a'\n```\n",
        "shelf['a'] = 1",
    ),
    "a loop that prints": (
        "```python\nfrom pkg import double\nfor n in range(2):\n    print(double(n))\n```\n\n"
        "Output:\n\n```\n1\n3\n```\n\nExpected:\n\n```\n0\n2\n```\n",
        "    for n in range(2):\n        print(double(n))\n"
        '    assert capsys.readouterr().out == "0\\n2\\n"',
    ),
    "a loop that prints in a session": (
        "```\n>>> from pkg import double\n>>> for n in range(2):\n...     print(double(n))\n"
        "1\n3\n```\n",
        '    assert capsys.readouterr().out != "1\\n3\\n"',
    ),
    "another exception in a section": (
        "```python\nfrom pkg import first\nfirst([])\n```\n\n# Actual results\n\n"
        "`IndexError: list index out of range`\n\n# Expected results\n\n`ValueError: empty`\n",
        "    with pytest.raises(ValueError):\n        first([])",
    ),
    "an object that is expected in place of an exception": (
        "```\n>>> from pkg import first\n>>> first([])\nTraceback (most recent call last):\n"
        "IndexError: list index out of range\n```\n\nI'd expect `datetime.date(2020, 1, 2)`.\n",
        "assert first([]) == datetime.date(2020, 1, 2)",
    ),
    "an output that is expected in place of an exception": (
        "```\n>>> from pkg import first\n>>> print(first([]))\nTraceback (most recent call last):\n"
        "IndexError: list index out of range\n```\n\nIt should print:\n\n```\na b\nc d\n```\n",
        'assert str(first([])) == "a b\\nc d"',
    ),
    "a quoted wish": (
        'The result of `encode("a b")` says "A B". We would expect to see "A-B".\n\n'
        "```python\nfrom pkg.core import encode\nprint(encode('a b'))\n```\n",
        "assert str(encode('a b')) == \"A-B\"",
    ),
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_shapes_of_reports(engine: Engine, shape: str) -> None:
    text, ends = SHAPES[shape]
    made = attempt(engine, f"It is wrong\n\n{text}")
    sources = [(item.test.source or "").rstrip() for item in candidates(made)]
    assert any(source.endswith(ends) for source in sources), (sources, made.misses)


def test_banners_of_pytest_are_no_prompts() -> None:
    issue = read_issue("x\n\n```\n$ pytest a.py\n>>>>> traceback >>>>>\nE  KeyError: 1\n```\n", "x")
    assert [block.kind for block in issue.blocks][1:] == [BlockKind.SHELL]


def test_strings_of_several_lines_stay_as_they_are(engine: Engine) -> None:
    report = (
        "lines\n\n```python\nfrom pkg.core import encode\nencode('''a\n  b\n''')\n```\nreturns\n"
        "```\n'A\\n  B\\n'\n```\n"
    )
    (found,) = candidates(attempt(engine, report))
    assert "encode('''a\n  b\n''')" in (found.test.source or "")


def test_a_miss_does_not_deny_what_came_out(engine: Engine) -> None:
    report = "first\n\nThis works fine:\n```\n>>> from pkg import first\n>>> first([7])\n7\n```\n"
    assert attempt(engine, report).misses[-1] == NothingWrong()

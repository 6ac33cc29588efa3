"""What is said of a report is true: of its values, of its code, and of what this tree does."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.reports import read_report

pytestmark = pytest.mark.slow


@dataclass(frozen=True, kw_only=True)
class Case:
    """A project of one module, a report, and what is to come of it."""

    code: str
    report: str
    answer: str
    #: The assertions of the bug tests, best first, as far as they are told.
    asserts: tuple[str, ...] = ()
    #: What no bug test may have in it.
    never: str = "\0"


MIDNIGHT = """\
import datetime


def isoparse(s):
    day, time = s.split("T")
    hour, minute = map(int, time.split(":"))
    return datetime.datetime(*map(int, day.split("-")), hour % 24, minute)
"""
SAME_INSTANT = """\
# Midnight is wrong

"2007-04-05T24:00" is the same instant as "2007-04-06T00:00". But:

```python
>>> from mod import isoparse
>>> isoparse("2007-04-05T24:00")
datetime.datetime(2007, 4, 5, 0, 0)
>>> isoparse("2007-04-06T00:00")
datetime.datetime(2007, 4, 6, 0, 0)
```
"""
WRONG_DAY = 'assert repr(isoparse("2007-04-05T24:00")) != "datetime.datetime(2007, 4, 5, 0, 0)"'
NETS = """\
class Net:
    def __init__(self, n):
        self.n = n

    def every(self, k):
        return list(range(1, self.n - k, k))
"""
STATED = """

Result: `nets_list = [1, 65, 129]`

Expected: `nets_list = [1, 65, 129, 193]`
"""
URL = """\
def join(user, host):
    return "http://" + user + "@" + host
"""
GRAMMAR = """
According to RFC 3986, it needs to be percent encoded:
```
  userinfo    = *( unreserved / pct-encoded / sub-delims / ":" )
```
"""
CASES = {
    "white space that comes out and should not": Case(
        code="def norm(s):\n    return s + '\\n'\n",
        report="# norm() adds a newline\n\n```python\n>>> from mod import norm\n>>> norm('x')\n"
        "'x\\n'\n```\n\nIt should return `'x'`.\n",
        answer="possible",
        asserts=("assert norm('x') != 'x\\n'", "assert norm('x') == 'x'"),
    ),
    "what comes out exactly": Case(
        code="def norm(s):\n    return s + '\\n'\n",
        report="# norm() loses the newline\n\n```python\n>>> from mod import norm\n>>> norm('x')\n"
        "'x'\n```\n\nIt should return `'x\\n'`.\n",
        answer="not-here",
    ),
    "what another thing is said to be the same as": Case(
        code=MIDNIGHT,
        report=SAME_INSTANT,
        answer="possible",
        asserts=(WRONG_DAY,),
        never="04-06T00:00",
    ),
    "a variable of a sentence": Case(
        code=NETS,
        report="# Slicing issue\n\nI take `net = Net(256)` and then "
        f"`nets_list = net.every(64)`.{STATED}",
        answer="possible",
        asserts=(
            "assert nets_list != [1, 65, 129]",
            "assert nets_list == [1, 65, 129, 193]",
        ),
    ),
    "another prompt": Case(
        code=URL,
        report="# : and @ are not escaped\n\n```\n> from mod import join\n"
        "> join('a@b', 'c')\n'http://a@b@c'\n```\n",
        answer="possible",
        asserts=("assert join('a@b', 'c') != 'http://a@b@c'",),
    ),
}


def reported(pytester: pytest.Pytester, case: Case) -> dict[str, Any]:
    """Run a case, and return the JSON report."""
    pytester.makepyfile(mod=case.code)
    pytester.makeini("[pytest]\n")  # the folder is HOME, which is a project only if it says so
    (pytester.path / "issue.md").write_text(case.report, "utf-8")
    result = pytester.run(
        *(sys.executable, "-m", "pytest_brt", "issue", "issue.md", "--report", "out.json")
    )
    assert result.ret in (0, 1), result.stderr.str()
    return read_report(pytester.path / "out.json")


@pytest.mark.parametrize("name", CASES)
def test_a_fact(pytester: pytest.Pytester, name: str) -> None:
    case = CASES[name]
    report = reported(pytester, case)
    assert report["issues"][0]["answer"]["status"] == case.answer
    found = [test["source"] for test in report["tests"] if test["candidate"]]
    for text, source in zip(case.asserts, found, strict=False):
        # However their strings are quoted.
        assert ast.unparse(ast.parse(text)) in ast.unparse(ast.parse(source))
    assert len(found) >= len(case.asserts)
    assert not any(case.never in source for source in found)


def test_names_of_what_is_no_python_are_not_asked_for(pytester: pytest.Pytester) -> None:
    case = Case(code=URL, report=f"# Users are not escaped\n{GRAMMAR}", answer="not-reproduced")
    answer = reported(pytester, case)["issues"][0]["answer"]
    assert answer["reason"]["code"] == "no-code"

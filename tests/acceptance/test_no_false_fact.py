"""What is said of a report is true: of its values, of its code, and of what this tree does."""

from __future__ import annotations

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


SPLITS = """\
def split_before(items):
    return {before}


def split_after(items):
    return [items] if items else []
"""
SPLITS_REPORT = """\
# split_before([]) gives one empty part

```python
>>> from mod import split_after, split_before
>>> split_before([])
[[]]
>>> split_after([])
[]
```

`split_before([])` should be `[]`, as there is nothing to split.
"""
MIDNIGHT = """\
import datetime


def isoparse(s):
    day, time = s.split("T")
    hour, minute = map(int, time.split(":"))
    return datetime.datetime(*map(int, day.split("-")), hour % 24, minute)
"""
SAME_INSTANT = """\
# {title}

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
SORTED = """\
class Key:
    pass


class SortedThing(list):
    def __init__(self, it, key=None):
        list(it)
        super().__init__(sorted(it))
        self.key = key

    def __repr__(self):
        return "SortedThing(%s, key=%r)" % (list.__repr__(self), self.key)
"""
CASES = {
    "white space in a string counts": Case(
        code="def norm(s):\n    return s\n",
        report="# norm() loses the newline\n\n```python\n>>> from mod import norm\n>>> norm('x')\n"
        "'x'\n```\n\nIt should return `'x\\n'`.\n",
        answer="possible",
        asserts=("assert norm('x') != 'x'", "assert norm('x') == 'x\\n'"),
    ),
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
    "a value that is called right is not forbidden": Case(
        code=SPLITS.format(before="[items]"),
        report=SPLITS_REPORT,
        answer="possible",
        asserts=("assert split_before([]) != [[]]", "assert split_before([]) == []"),
        never="split_after",
    ),
    "nor where the bug is gone": Case(
        code=SPLITS.format(before="[items] if items else []"),
        report=SPLITS_REPORT,
        answer="not-here",
    ),
    "the call of the title": Case(
        code=MIDNIGHT,
        report=SAME_INSTANT.format(title="Isoparser misinterprets T24:00"),
        answer="possible",
        asserts=(WRONG_DAY,),
        never="04-06T00:00",
    ),
    "what another thing is said to be the same as": Case(
        code=MIDNIGHT,
        report=SAME_INSTANT.format(title="Midnight is wrong"),
        answer="possible",
        asserts=(WRONG_DAY,),
        never="04-06T00:00",
    ),
    "a variable and its value": Case(
        code=NETS,
        report="# Slicing issue\n\n```python\nfrom mod import Net\nnet = Net(256)\n"
        f"nets_list = net.every(64)\n```{STATED}",
        answer="possible",
        asserts=(
            "assert nets_list != [1, 65, 129]",
            "assert nets_list == [1, 65, 129, 193]",
        ),
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
    "a quoted grammar": Case(
        code=URL,
        report="# : and @ are not escaped\n\n```python\n>>> from mod import join\n"
        f">>> print(join('a@b', 'c'))\n\nhttp://a@b@c\n```\n{GRAMMAR}"
        "So it should look like:\n```\nhttp://a%40b@c\n```\n",
        answer="possible",
        asserts=(
            "assert str(join('a@b', 'c')) != \"http://a@b@c\"",
            "assert str(join('a@b', 'c')) == \"http://a%40b@c\"",
        ),
    ),
    "another prompt": Case(
        code=URL,
        report="# : and @ are not escaped\n\n```\n> from mod import join\n"
        "> join('a@b', 'c')\n'http://a@b@c'\n```\n",
        answer="possible",
        asserts=("assert join('a@b', 'c') != 'http://a@b@c'",),
    ),
    "a module under a name of the reporter's": Case(
        code=SORTED,
        report="# SortedThing empty after initialization\n\n```\n"
        "In [46]: st.SortedThing(reversed(range(5)))\nOut[46]: SortedThing([], key=None)\n```\n",
        answer="possible",
        asserts=('assert repr(st.SortedThing(reversed(range(5)))) != "SortedThing([], key=None)"',),
    ),
}


def reported(pytester: pytest.Pytester, case: Case) -> dict[str, Any]:
    """Run a case, and return the JSON report."""
    pytester.makepyfile(mod=case.code)
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
        assert text in source
    assert len(found) >= len(case.asserts)
    assert not any(case.never in source for source in found)


def test_names_of_what_is_no_python_are_not_asked_for(pytester: pytest.Pytester) -> None:
    case = Case(code=URL, report=f"# Users are not escaped\n{GRAMMAR}", answer="not-reproduced")
    answer = reported(pytester, case)["issues"][0]["answer"]
    assert answer["reason"]["code"] == "no-code"


LOOKS = """\
import inspect
import sys
import warnings


def checked(kind):
    source = inspect.getsource(sys.modules[kind.__module__])
    assert inspect.getsource(kind) in source
    if "two = " in source:
        warnings.warn("two values in %s" % kind.__name__)
    return kind
"""
LOOKS_REPORT = """\
# `@checked` doesn't work with two values

```python
from mod import checked

@checked
class Gen:
    one = 1
    two = 2
```
Get you this error message:
```
x.py:3: UserWarning: two values in Gen
  @checked
```
"""


def test_code_of_a_report_has_a_source_and_is_warned_as_tests_are(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nfilterwarnings =\n    error\n    ignore::DeprecationWarning\n")
    case = Case(code=LOOKS, report=LOOKS_REPORT, answer="reproduced")
    report = reported(pytester, case)
    assert report["issues"][0]["answer"]["status"] == "reproduced"
    (test,) = [test for test in report["tests"] if test["candidate"]]
    assert "UserWarning: two values in Gen" in " ".join(test["source"].split())


def test_the_line_of_a_conftest_that_cannot_be_imported(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import nowhere_to_be_found\n")
    case = CASES["white space in a string counts"]
    answer = reported(pytester, case)["issues"][0]["answer"]
    assert ": conftest.py, line 1, cannot be imported: " in answer["reason"]["text"]

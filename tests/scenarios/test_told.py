"""What a report says is taken as it stands, and what cannot be told is not told.

Small projects in which something false was said with confidence.
"""

from __future__ import annotations

import pytest

from tests.scenarios.project import Make, are_right, is_right, passing
from tests.scenarios.read import Answer, Report

TOKENS = '''\
class InvalidToken(Exception):
    pass


def verify(header, key):
    """Raise InvalidToken unless the header's algorithm fits the key."""
    alg = header["alg"]
    if alg != key:
        raise InvalidToken(alg)
    return True
'''
TOKEN_SUITE = """\
import pytest
import tokens


def test_good():
    assert tokens.verify({"alg": "a"}, "a")


def test_bad():
    with pytest.raises(tokens.InvalidToken):
        tokens.verify({"alg": "a"}, "b")
"""
TOKEN_REPORT = """\
# A bad token gives a KeyError in verify

Little thing: if the header is invalid and has no "alg" key, a KeyError occurs.

```pycon
>>> from tokens import verify
>>> verify({}, "secret")
Traceback (most recent call last):
  File "tokens.py", line 7, in verify
    alg = header["alg"]
KeyError: 'alg'
```
"""
GET = TOKENS.replace('header["alg"]', 'header.get("alg")')
HOLE = TOKENS.replace("    alg =", '    if "alg" not in header:\n        return True\n    alg =')


def test_the_projects_own_exception_is_let_through(make: Make) -> None:
    """To refuse the token and to let it in are both no KeyError: a person decides."""
    project = make({"tokens.py": TOKENS, "test_tokens.py": TOKEN_SUITE, "issue.md": TOKEN_REPORT})
    project.patch("hole", {"tokens.py": HOLE})
    project.patch("right", {"tokens.py": GET})
    run = project.rank("--brt-issue=issue.md")
    assert run.code == 7, run.said
    report = run.report
    assert is_right(project, report.first, {"tokens.py": GET})
    assert report.ranking.status in ("tie", "unsure")
    assert not report.ranking.leader
    assert report.ranking["right"].results[report.first.name] != "FAIL"


ISO = """\
import datetime


def isoparse(text):
    day, time = text.split("T")
    y, m, d = map(int, day.split("-"))
    hour, minute = map(int, time.split(":"))
    return datetime.datetime(y, m, d, hour % 24, minute)
"""
ISO_SUITE = """\
import datetime
import iso


def test_plain():
    assert iso.isoparse("2014-04-11T10:00") == datetime.datetime(2014, 4, 11, 10)


def test_midnight():
    assert iso.isoparse("2014-04-11T24:00") == datetime.datetime(2014, 4, 11)
"""
ISO_REPORT = """\
# Isoparser misreads T24:00

"2007-04-05T24:00" is the same instant as "2007-04-06T00:00". But:

```python
>>> from iso import isoparse
>>> isoparse("2007-04-05T24:00")
datetime.datetime(2007, 4, 5, 0, 0)
>>> isoparse("2007-04-06T00:00")
datetime.datetime(2007, 4, 6, 0, 0)
```
"""
ISO_RIGHT = {"iso.py": ISO.replace(", minute)\n", ", minute) + datetime.timedelta(hour // 24)\n")}


def test_a_value_that_the_report_calls_right_is_not_forbidden(make: Make) -> None:
    """Of two calls in a session the one of the title is wrong; the other says what is right."""
    project = make({"iso.py": ISO, "test_iso.py": ISO_SUITE})
    run = project.issue(ISO_REPORT)
    assert "2007-04-05T24:00" in run.report.first.source
    assert are_right(project, run.report.bug_tests, ISO_RIGHT)


def test_a_fix_stands_above_a_patch_that_does_nothing(make: Make) -> None:
    """Though an existing test asserts the bug, which only the fix and its imitations break."""
    project = make({"iso.py": ISO, "test_iso.py": ISO_SUITE, "issue.md": ISO_REPORT})
    day = "        return datetime.datetime(2007, 4, 6)\n"
    split = '    day, time = text.split("T")\n'
    project.patches(
        "iso.py",
        split,
        text=f'    if text == "2007-04-05T24:00":\n{day}{split}',
        octets=f'    if text.encode() == b"2007-04-05T24:00":\n{day}{split}',
        noop='    parts = text.split("T")\n    day, time = parts\n',
    )
    project.patch("right", ISO_RIGHT)
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    assert ranking.order("noop", "right") == ["right", "noop"]
    assert "singles-out-input" in ranking["text"].remarks
    assert "singles-out-input" in ranking["octets"].remarks
    assert ranking.status != "best"


CHECKED = """\
import inspect
import sys
import warnings


def checked(function):
    module = sys.modules[function.__module__]
    source = inspect.getsource(module)
    if "class Gen(" in source:
        warnings.warn("cannot find the target -- not checking %s" % function.__qualname__)
    return function
"""
CHECKED_REPORT = """\
# `@checked` does not work in a class with bases

```python
from checks import checked

class Gen(dict):
    @checked
    def bar(self, item):
        pass

gen = Gen()
gen.bar(2)
```
You get this message:
```
x.py:4: UserWarning: cannot find the target -- not checking Gen.bar
  @checked
```
"""


def test_code_that_looks_at_its_own_source_is_run_from_a_file(make: Make) -> None:
    project = make({"checks.py": CHECKED, "pytest.ini": "[pytest]\nfilterwarnings = error\n"})
    run = project.issue(CHECKED_REPORT)
    fixed = CHECKED.replace('"class Gen(" in source', "not source")
    assert is_right(project, run.report.first, {"checks.py": fixed})
    assert "built-in" not in run.report.answer.text


NETS = """\
class Net:
    def __init__(self, size):
        self.size = size

    def every(self, step):
        return list(range(1, self.size - step, step))
"""
CODE = """\
```python
from nets import Net
net = Net(256)
nets_list = net.every(64)
```
"""
SENTENCE = "I take `net = Net(256)` and then `nets_list = net.every(64)`.\n"
STATED = """
Result: `nets_list = [1, 65, 129]`

Expected: `nets_list = [1, 65, 129, 193]`
"""
URL = 'def join(user, host):\n    return "http://" + user + "@" + host\n'
URL_REPORT = """\
# Characters : and @ are not escaped in user names

```python
>>> from url import join
>>> print(join('a@b', 'c'))

http://a@b@c
```

According to RFC 3986 it needs to be percent encoded:
```
  userinfo    = *( unreserved / pct-encoded / sub-delims / ":" )
```
So it should look like:
```
http://a%40b@c
```
"""
GRAMMAR = URL_REPORT[URL_REPORT.index("According") : URL_REPORT.index("So it")]
PROMPT = "> from url import join\n> join('a@b', 'c')\n'http://a@b@c'\n"
SORTED = """\
class SortedThing(list):
    def __init__(self, items, key=None):
        list(items)
        super().__init__(sorted(items, key=key))

    def __repr__(self):
        return "SortedThing(%s)" % list.__repr__(self)
"""
SORTED_REPORT = """\
# SortedThing is empty

```
In [46]: st.SortedThing(reversed(range(5)))
Out[46]: SortedThing([])
```

The iterator is consumed already, so the object ends up empty.
"""
NORM_REPORT = """\
# norm() loses the newline

```python
>>> from lines import norm
>>> norm("x")
'x'
```
It should return `'x\\n'`.
"""
BARE = "def norm(text):\n    return text\n"
ENDED = 'def norm(text):\n    return text + "\\n"\n'
ADDED = """\
# norm() adds a newline

```python
>>> from ended import norm
>>> norm('x')
'x\\n'
```

It should return `'x'`.
"""
GOOD_CASE = """\
# split_after([1]) gives an empty list at the end

```pycon
>>> from splits import split_after
>>> split_after([])
[]
>>> split_after([1])
[[1], []]
```

`split_after([])` is fine. `split_after([1])` should be `[[1]]`.
"""
SPLITS = "def split_after(items):\n    return [[item] for item in items] + [[]] * bool(items)\n"
SPLIT_RIGHT = "def split_after(items):\n    return [[item] for item in items]\n"
#: Modules of one project, each with what it should be.
MODULES = {
    "nets.py": (NETS, NETS.replace("self.size - step", "self.size")),
    "url.py": (URL, URL.replace('user + "@"', 'user.replace("@", "%40") + "@"')),
    "sortedthings.py": (SORTED, SORTED.replace("        list(items)\n", "")),
    "lines.py": (BARE, ENDED),
    "ended.py": (ENDED, BARE),
    "splits.py": (SPLITS, SPLIT_RIGHT),
    "whole.py": (SPLIT_RIGHT, SPLIT_RIGHT),
}
IMPORTED = "In [45]: import sortedthings as st\nIn [46]"
RIGHT = {
    "a name and its expected value": f"# Slicing issue\n\n{CODE}{STATED}",
    "a name in a sentence and its expected value": f"# Slicing issue\n\n{SENTENCE}{STATED}",
    "the output below a quoted grammar": URL_REPORT,
    "another prompt": f"# : and @ are not escaped\n\n```\n{PROMPT}```\n",
    "a module behind an alias": SORTED_REPORT.replace("In [46]", IMPORTED, 1),
    "a module behind an alias that nobody imports": SORTED_REPORT,
    "white space that is missing": NORM_REPORT,
    "white space that should not be there": ADDED,
    "the good case beside the bad one": GOOD_CASE,
}
NOT_HERE = {
    "white space that is there": NORM_REPORT.replace("lines", "ended"),
    "the good case alone": GOOD_CASE.replace("splits", "whole"),
}
NO_CODE = {"a quoted grammar alone": f"# Users are not escaped\n\n{GRAMMAR}"}


@pytest.fixture(scope="module")
def told(make: Make) -> tuple[Report, set[str]]:
    """Return what one run at all of these says, and the ids of the bug tests that are right."""
    reports = {f"{name}.md": text for name, text in {**RIGHT, **NOT_HERE, **NO_CODE}.items()}
    project = make({**{name: text for name, (text, _) in MODULES.items()}, **reports})
    found = project.pytest(*(f"--brt-issue={name}" for name in reports)).report
    fixed = {name: text for name, (_, text) in MODULES.items()}
    tests = found.bug_tests
    return found, passing(project, tests, fixed) - passing(project, tests, {})


def said_of(found: Report, name: str) -> tuple[Answer, list[str]]:
    """Return the answer about a report, and the ids of its bug tests."""
    (answer,) = (one for one in found.answers if one.source == f"{name}.md")
    return answer, [test.id for test in found.bug_tests if test.issue == answer.issue]


@pytest.mark.parametrize("name", RIGHT)
def test_no_test_is_wrong(told: tuple[Report, set[str]], name: str) -> None:
    """What the report calls right is never forbidden."""
    found, right = told
    answer, tests = said_of(found, name)
    assert answer.status in ("reproduced", "possible"), answer
    assert "undefined-names" not in answer.reasons
    assert tests
    assert right.issuperset(tests)


@pytest.mark.parametrize("name", NOT_HERE)
def test_what_is_right_here_is_no_bug(told: tuple[Report, set[str]], name: str) -> None:
    answer, tests = said_of(told[0], name)
    assert (answer.status, tests) == ("not-here", [])


def test_a_quoted_grammar_is_no_code(told: tuple[Report, set[str]]) -> None:
    answer, tests = said_of(told[0], "a quoted grammar alone")
    assert (answer.reasons, tests) == (("no-code",), [])


def test_no_number_where_too_few_were_measured(make: Make) -> None:
    """One number tells how likely a test is right: that of at least ten, or none."""
    project = make({"lines.py": BARE})
    run = project.issue(
        "# norm() keeps case\n\n`norm('A')` should return `'a'`, it returns `'A'`.\n"
    )
    assert run.report.first.measured >= 10 or not run.report.first.measured

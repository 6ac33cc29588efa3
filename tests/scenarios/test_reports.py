"""Reports as people write them become tests that fail because of the bug, and pass once it is gone.

Whether a test is right is seen by plain pytest on the project and on the project with its fix.
"""

from __future__ import annotations

import pytest

from tests.scenarios import samples
from tests.scenarios.project import Make, Project, is_right, passing
from tests.scenarios.read import Report
from tests.scenarios.samples import MEAN_REPORT

INTERVAL = f'''{samples.INTERVAL}

def span(text):
    """Return both ends of text as in "1-5"; ValueError for one that is no interval."""
    low, _, high = text.partition("-")
    return int(low), int(high or low)
'''
CLAMP = {"interval.py": INTERVAL.replace(samples.CLAMP, samples.CLAMP_RIGHT)}
MEAN = {"interval.py": INTERVAL.replace(samples.MEAN, f"{samples.MEAN} if values else 0")}
SPAN = {
    "interval.py": INTERVAL.replace(
        "    return int(low)",
        "    if int(high or low) < int(low):\n        raise ValueError\n    return int(low)",
    )
}
FILES = {**samples.FILES, "interval.py": INTERVAL}


@pytest.fixture
def interval(make: Make) -> Project:
    return make(FILES)


SCRIPT = """\
# clamp() always gives the lower bound

```python
import interval
print(interval.clamp(5, 0, 10))
```

This prints 0. It should print `5`.
"""

PROSE = """\
# Clamping does not work

`clamp(5, 0, 10)` returns `0`, but it should return `5`.
"""

REFUSAL = """\
# span() takes intervals that end before they begin

```python
from interval import span
span("5-1")
```

`span("5-1")` should raise `ValueError`, and gives `(5, 1)`.
"""

OWN_TEST = """\
# clamp() is wrong, with a failing test

```python
from interval import clamp

def test_inside():
    assert clamp(5, 0, 10) == 5
```
"""

OWN_FIXTURE = """\
# clamp() is wrong

```python
import pytest
from interval import clamp

@pytest.fixture
def bounds():
    return 0, 10

def test_inside(bounds):
    assert clamp(5, *bounds) == 5
```
"""

OWN_CASE = """\
# clamp() is wrong

```python
import unittest
from interval import clamp

class TestClamp(unittest.TestCase):
    def setUp(self):
        self.bounds = 0, 10

    def test_inside(self):
        self.assertEqual(clamp(5, *self.bounds), 5)
```
"""

FORM = """\
### Is there an existing issue for this?

- [X] I have searched the existing issues

### What version are you using?

interval 1.0, Python 3.11

### Steps to reproduce

```python
from interval import clamp
clamp(5, 0, 10)
```

### Current behavior

```
0
```

### Expected behavior

```
5
```

### Anything else?

_No response_
"""

COMMENT = """\
# clamp() is off

```python
from interval import clamp
clamp(5, 0, 10)  # should be 5
```
"""
VAGUE = """\
# clamp is wrong near the upper bound

Since the last release my sliders jump back to the left. Please fix it.
"""

BARE_TRACEBACK = """\
# Crash

```
Traceback (most recent call last):
  File "/home/me/plot.py", line 12, in <module>
    interval.mean(values)
  File "/usr/lib/python3/dist-packages/interval.py", line 8, in mean
    return sum(values) / len(values)
ZeroDivisionError: division by zero
```
"""

#: Each with what fixes the bug.
REPORTS = {
    "session": (MEAN_REPORT, "mean"),
    "script-with-a-stated-value": (SCRIPT, "clamp"),
    "prose-with-one-call": (PROSE, "clamp"),
    "exception-that-is-wanted": (REFUSAL, "span"),
    "own-test": (OWN_TEST, "clamp"),
    "own-test-with-a-fixture": (OWN_FIXTURE, "clamp"),
    "own-test-case": (OWN_CASE, "clamp"),
    "form-of-github": (FORM, "clamp"),
    "comment-that-says-what-should-be": (COMMENT, "clamp"),
}
#: Without anything to run: why it is not reproduced, and in what function the bug may be.
PLACES = {
    "vague": (VAGUE, ("no-code", "interval.py::clamp")),
    "bare-traceback": (BARE_TRACEBACK, ("only-traceback", "interval.py::mean")),
}
FIXES = {"clamp": CLAMP, "mean": MEAN, "span": SPAN, "none": {}}


@pytest.fixture(scope="module")
def reported(make: Make) -> tuple[Report, dict[str, set[str]]]:
    """Return what a run at all of these says, and the ids of the tests that pass with each fix."""
    project = make(FILES)
    reports = {f"{name}.md": text for name, (text, _) in {**REPORTS, **PLACES}.items()}
    project.write(reports)
    found = project.pytest(*(f"--brt-issue={name}" for name in reports)).report
    tests = found.bug_tests
    return found, {name: passing(project, tests, fix) for name, fix in FIXES.items()}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_becomes_a_test_that_is_right(
    reported: tuple[Report, dict[str, set[str]]], name: str
) -> None:
    found, passed = reported
    (answer,) = (one for one in found.answers if one.source == f"{name}.md")
    assert answer.status in ("reproduced", "possible"), answer
    first = next(test for test in found.bug_tests if test.issue == answer.issue)
    assert first.id in passed[REPORTS[name][1]], first
    assert first.id not in passed["none"], first
    assert "test_inside" in first.name or not name.startswith("own-"), "it keeps its name"


@pytest.mark.parametrize("name", PLACES)
def test_nothing_to_run_what_to_add_and_where_the_bug_may_be(
    reported: tuple[Report, dict[str, set[str]]], name: str
) -> None:
    found, _ = reported
    (answer,) = (one for one in found.answers if one.source == f"{name}.md")
    assert answer.status == "not-reproduced"
    assert (answer.reasons[0], answer.places[0]) == PLACES[name][1]
    assert not [test for test in found.tests if test.issue == answer.issue]


def test_the_reporters_own_test_with_a_fixture_of_the_project(interval: Project) -> None:
    fixture = OWN_FIXTURE[OWN_FIXTURE.index("import pytest") : OWN_FIXTURE.index("def test_")]
    interval.write({"tests/conftest.py": fixture.replace("from interval import clamp\n", "")})
    own = OWN_FIXTURE.replace(fixture, "from interval import clamp\n\n")
    run = interval.issue(own)
    assert run.report.bug_tests, run.said
    assert run.report.first.name == "test_inside"
    assert is_right(interval, run.report.first, CLAMP)


def test_a_report_on_standard_input(interval: Project) -> None:
    run = interval.pytest("--brt-issue=-", stdin=MEAN_REPORT)
    assert run.code == 0, run.said
    assert (run.report.answer.source, run.report.answer.status) == ("-", "reproduced")


def test_a_bug_that_does_not_show_here(interval: Project) -> None:
    interval.write(MEAN)
    run = interval.issue(MEAN_REPORT)
    assert run.code == 1, run.said
    assert run.report.answer.status == "not-here"
    assert not run.report.bug_tests


def test_the_commit_that_fixed_it_is_named(interval: Project) -> None:
    interval.commit("start")
    interval.commit("more", {"README": "An interval has two ends.\n"})
    fix = interval.commit("Give 0 for no values", MEAN)
    interval.commit("later", {"README": "Intervals.\n"})
    run = interval.issue(MEAN_REPORT)
    assert run.code == 1, run.said
    assert run.report.answer.status == "not-here"
    assert run.report.answer.fixed_by
    assert fix.startswith(run.report.answer.fixed_by)


NAMES = """\
# OpenInterval has no length

```
>>> len(OpenInterval(2, 5))
Traceback (most recent call last):
  ...
TypeError: object of type 'OpenInterval' has no len()
```
"""
OPEN = """\
class OpenInterval:
    def __init__(self, low, high):
        self.low, self.high = low, high
"""
LENGTH = "\n    def __len__(self):\n        return self.high - self.low - 1\n"


def test_an_import_that_is_missing_and_that_the_project_defines(make: Make) -> None:
    project = make({"ranges/__init__.py": "", "ranges/open.py": OPEN})
    run = project.issue(NAMES)
    assert run.report.bug_tests, run.said
    assert is_right(project, run.report.first, {"ranges/open.py": OPEN + LENGTH})


def test_a_src_layout(make: Make) -> None:
    project = make(
        {
            "pyproject.toml": "[project]\nname = 'interval'\nversion = '1'\n",
            "pytest.ini": "[pytest]\npythonpath = src\n",
            "src/interval/__init__.py": INTERVAL,
            "tests/test_interval.py": "def test_nothing():\n    pass\n",
        }
    )
    run = project.issue(MEAN_REPORT)
    assert run.code == 0, run.said
    assert run.report.answer.status == "reproduced"
    assert run.report.first.path.startswith("tests/")


def test_a_conftest_that_cannot_be_imported(interval: Project) -> None:
    interval.write({"tests/conftest.py": "import a_package_that_is_not_here\n"})
    run = interval.issue(MEAN_REPORT)
    assert run.code == 0, run.said
    assert not run.report.first.path.startswith("tests/")


def test_a_conftest_at_the_root_that_cannot_be_imported(interval: Project) -> None:
    interval.write({"conftest.py": "import a_package_that_is_not_here\n"})
    run = interval.issue(MEAN_REPORT)
    assert run.code == 1, run.said
    assert run.report.answer.status == "not-reproduced"
    assert "a_package_that_is_not_here" in run.out


TOOL = """\
import sys


def main(arguments):
    low, high = (int(text) for text in arguments[0].split("-"))
    print(high - low)


if __name__ == "__main__":
    main(sys.argv[1:])
"""
COMMAND = """\
# Crash with a single number

```console
$ python -m length 7
Traceback (most recent call last):
  File "<frozen runpy>", line 88, in _run_code
  File "length/__main__.py", line 10, in <module>
    main(sys.argv[1:])
  File "length/__main__.py", line 5, in main
    low, high = (int(text) for text in arguments[0].split("-"))
ValueError: not enough values to unpack (expected 2, got 1)
```
"""


def test_a_command_line_that_ends_in_a_traceback(make: Make) -> None:
    project = make({"length/__init__.py": "", "length/__main__.py": TOOL})
    run = project.issue(COMMAND)
    assert run.report.answer.status in ("reproduced", "possible"), run.said
    fixed = TOOL.replace('.split("-"))', '.split("-") * 2)').replace("high =", "high, *_ =")
    assert is_right(project, run.report.first, {"length/__main__.py": fixed})

"""Tests are written where they belong when somebody says so, and looked at before they are."""

from __future__ import annotations

import ast

import pytest

from tests.scenarios.project import Make, Project, Run
from tests.scenarios.read import read_checks
from tests.scenarios.samples import (
    CLAMP,
    CLAMP_FIXED,
    CLAMP_REPORT,
    CLAMP_RIGHT,
    CLAMP_TEST,
    FILES,
    INTERVAL,
    MEAN_FIXED,
    MEAN_REPORT,
)

PLAIN = ("-p", "no:brt", "-p", "no:cacheprovider", "-q")
IN_CLASS = '''\
import interval


class TestClamp:
    def test_below(self):
        assert interval.clamp(-1, 0, 10) == 0


class TestMean:
    """What mean() gives."""

    def test_three(self):
        assert interval.mean([1, 2, 3]) == 2
'''


def plain(project: Project, *arguments: str) -> Run:
    """Run the project's tests as everybody does."""
    return project.run("pytest", *PLAIN, *arguments)


def test_into_the_class_that_it_belongs_to(make: Make) -> None:
    project = make({**FILES, "tests/test_interval.py": IN_CLASS})
    run = project.issue(MEAN_REPORT, "--brt-write=into", writes=True)
    assert run.code == 0, run.said
    module = ast.parse(project.read("tests/test_interval.py"))
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    assert [len(classes[name].body) for name in ("TestClamp", "TestMean")] == [1, 3]
    project.issue(MEAN_REPORT, "--brt-write=into")  # writes nothing twice
    assert plain(project).code == 1
    project.write(MEAN_FIXED)
    assert plain(project).code == 0


def test_into_the_file_that_was_named(make: Make) -> None:
    project = make({**FILES, "tests/test_other.py": "def test_nothing():\n    pass\n"})
    named = ("--brt-write=into", "--brt-mark=xfail", "--brt-test-file=./tests/test_other.py")
    run = project.issue(MEAN_REPORT, *named, writes=True)
    assert run.code == 0, run.said
    assert "def test_mean" in project.read("tests/test_other.py")
    assert project.read("tests/test_interval.py") == FILES["tests/test_interval.py"]
    project.issue(MEAN_REPORT, *named)  # writes nothing twice


#: A file of tests that no test can be added to: its name means something else there; and nothing in
#: it is collected.
NO_HOSTS = {
    "its names clash": (
        "clamp = min\n\n\ndef test_below():\n    import interval\n\n"
        "    assert interval.clamp(-1, 0, 10) == 0\n",
        "'clamp' means something else in 'tests/test_interval.py'",
    ),
    "nothing of it is collected": (
        "import interval\nimport pytest\n\npytest.fixture()(pytest.fixture(lambda: 1))\n"
        "interval.nothing\n\n\ndef test_below():\n    assert interval.clamp(-1, 0, 10) == 0\n",
        "the test does not fail there",
    ),
}


@pytest.mark.parametrize("name", NO_HOSTS)
def test_a_file_that_cannot_take_it_is_left_alone_and_it_is_said_why(make: Make, name: str) -> None:
    text, why = NO_HOSTS[name]
    project = make({**FILES, "tests/test_interval.py": text})
    run = project.issue(CLAMP_REPORT, "--brt-write=into", writes=True)
    assert run.code == 0, run.said
    assert project.read("tests/test_interval.py") == text
    assert f"not in tests/test_interval.py: {why}" in run.out
    assert plain(project, new_file(project)).code == 1


def test_a_test_that_was_accepted_is_believed_when_its_report_is_read_again(make: Make) -> None:
    project = make(FILES)
    report = "# clamp is odd\n\n`clamp(5, 0, 10)` should return `5`.\n"
    assert project.issue(report).code == 1
    assert project.run("pytest-brt", "review", "--accept", "T1").code == 0
    run = project.issue(report, "--brt-write=new", writes=True)
    assert run.code == 0, run.said
    assert run.report.answer.status == "reproduced"
    assert "not written" not in run.out
    assert project.run("pytest-brt", "review", "--reject", "T1").code == 0
    again = project.issue(report)
    assert again.code == 1, again.said
    assert not again.report.bug_tests
    assert project.run("pytest-brt", "review", "--accept", "T1").code == 0, "it is taken back"
    assert project.issue(report).code == 0


@pytest.fixture(scope="module")
def written(make: Make) -> Project:
    """Return a project into which a new file was written, as strictly expected to fail."""
    project = make(FILES)
    options = ("--brt-write=new", "--brt-mark=xfail")
    run = project.issue(MEAN_REPORT, *options, writes=True)
    assert run.code == 0, run.said
    return project


def new_file(project: Project) -> str:
    """Return the path of the file that was written."""
    (path,) = set((project.root / "tests").glob("test_*.py")) - {
        project.root / "tests/test_interval.py"
    }
    return path.relative_to(project.root).as_posix()


def test_a_new_file_with_a_strict_mark_leaves_the_suite_green(written: Project) -> None:
    done = plain(written)
    assert done.code == 0, done.said
    assert "1 xfailed" in done.out
    tree = ast.parse(written.read(new_file(written)))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    assert ast.unparse(function.decorator_list[0]).startswith("pytest.mark.xfail(")
    assert "strict=True" in ast.unparse(function.decorator_list[0])


def test_a_mark_comes_off_when_the_bug_is_fixed_and_not_before(make: Make) -> None:
    marked = FILES["tests/test_interval.py"] + (
        "\n\n@pytest.mark.xfail(strict=True, reason='not yet')\n"
        "def test_inside():\n    assert clamp(5, 0, 10) == 5\n"
    )
    project = make({**FILES, "tests/test_interval.py": f"import pytest\n{marked}"})
    command = ("pytest-brt", "unmark", "tests/test_interval.py")
    assert project.run(*command).code == 1
    project.write(CLAMP_FIXED)
    done = project.run(*command, writes=True)
    assert done.code == 0, done.said
    assert "xfail" not in project.read("tests/test_interval.py")
    assert plain(project).code == 0


UNLIKELY = """\
# OpenInterval has no length

```
>>> from interval import OpenInterval
>>> len(OpenInterval(2, 5))
TypeError: object of type 'OpenInterval' has no len()
```
"""
OPEN = """\
class OpenInterval:
    def __init__(self, low, high):
        self.low, self.high = low, high
"""


def test_what_is_not_written_is_said(make: Make) -> None:
    """A test that is not likely enough is not written, and why that is so stands there."""
    project = make({"interval.py": OPEN})
    run = project.issue(UNLIKELY, "--brt-write=new")
    assert run.report.bug_tests
    assert not [test for test in run.report.bug_tests if test.counts]
    assert "not written" in run.out


def test_an_accepted_test_decides_and_a_rejected_one_does_not(make: Make) -> None:
    project = make(FILES)
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT, wrong="max(high, min(value, low))")
    tests = project.issue(CLAMP_REPORT).report.bug_tests
    keys = [f"T{number}" for number in range(1, len(tests) + 1)]
    stated = [key for key, test in zip(keys, tests, strict=True) if "==" in test.source]
    others = [key for key in keys if key not in stated]
    review = ("pytest-brt", "review")
    done = project.run(*review, "--accept", stated[0], "--reject", others[0])
    assert done.code == 0, done.said
    page = project.folder / "page.html"
    run = project.rank("--brt-guard=no", f"--brt-report={page}")
    assert run.code == 0, run.said
    assert "you accepted 1" in run.out
    assert "accepted by you" in page.read_text("utf-8")
    accepted = [test.name for test in run.report.tests if test.review == "accepted"]
    assert list(run.report.ranking["right"].results) == accepted
    assert run.report.ranking.leader == "right.diff"
    assert run.report.ranking.status == "best"
    assert project.run(*review, "--reject", *keys).code == 0
    assert project.rank().refuses("you rejected every bug test of the last run")


WHOLE_SIZES = "def size(text):\n    return int(text[:-2]) * 1024\n"
FRACTIONS_REPORT = (
    "# size() knows no fractions\n\n```\n>>> from core import size\n>>> size('1.5KB')\n"
    "Traceback (most recent call last):\n  File 'core.py', line 2, in size\n"
    "ValueError: invalid literal for int() with base 10: '1.5'\n```\n"
)


def test_a_value_that_is_accepted_becomes_a_test(make: Make) -> None:
    """Two patches pass the same tests; the call on which they differ decides once it is judged."""
    report = f"{FRACTIONS_REPORT}\n`size('1.5KB')` should return `1536.0`.\n"
    project = make({"core.py": WHOLE_SIZES, "issue.md": report})
    project.patches("core.py", "int(text[:-2])", a="float(text[:-2])", b="float(text[:3])")
    run = project.rank("--brt-issue=issue.md", "--brt-guard=no")
    assert run.code == 7, run.said
    assert run.report.ranking.variations
    shown = project.run("pytest-brt", "review")
    (value,) = [line for line in shown.out.splitlines() if line.startswith("V1 ")]
    review = project.run("pytest-brt", "review", "--accept", "V1")
    assert review.code == 0, review.said
    assert f"accepted: {value.removeprefix('V1').strip()}" in review.out.splitlines()
    assert project.run("pytest-brt", "review").code == 0
    again = project.rank("--brt-guard=no")
    assert again.code == 0, again.said
    assert again.report.ranking.order("b", "a") == ["a", "b"]
    project.write({"other.md": "# Something else\n\n`size('2KB')` returns `2048`, not `2`.\n"})
    project.pytest("--brt-issue=other.md")
    options = ("--rank-fixes=patches", "--brt-issue=issue.md", "--brt-guard=no", "--brt-write=new")
    again = project.pytest(*options, writes=True)
    assert again.code == 0, again.said
    assert (again.report.ranking.status, again.report.ranking.leader) == ("best", "a.diff")
    expression = value.split("`")[1]
    written = [path.read_text("utf-8") for path in project.root.glob("test_*.py")]
    assert any(f"{expression} ==" in text for text in written), value


SIZES = """\
UNITS = ["B", "KB", "MB"]


def parse_size(text):
    number, unit = text.split()
    return int(number) * 1024 ** UNITS.index(unit)
"""
SIZES_SUITE = """\
from sizes import parse_size


def test_bytes():
    assert parse_size("10 B") == 10
"""


def test_what_existing_tests_call_tells_patches_apart_without_a_bug_test(make: Make) -> None:
    """The report shows no code: a person says which result of a varied call is right."""
    report = "# Small letters are refused\n\nIt does not work with kb instead of KB.\n"
    project = make({"sizes.py": SIZES, "test_sizes.py": SIZES_SUITE, "issue.md": report})
    index = "UNITS.index(unit)"
    right, wrong = "UNITS.index(unit.upper())", f"({index} if unit in UNITS else 1)"
    project.patches("sizes.py", index, right=right, wrong=wrong)
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    assert ranking["right"].ranks == ranking["wrong"].ranks == (1, 2)
    assert ranking.variations == {
        "parse_size('10 b')": {
            "no patch": "ValueError", "right.diff": "10", "wrong.diff": "10240",
        }
    }  # fmt: skip
    shown = project.run("pytest-brt", "review").out.splitlines()
    (key,) = [line.split()[0] for line in shown if "`10` (right.diff)" in line]
    assert project.run("pytest-brt", "review", "--accept", key).code == 0
    again = project.rank()
    assert again.code == 0, again.said
    assert (again.report.ranking.status, again.report.ranking.leader) == ("best", "right.diff")


CHECKED = """\
import random

from interval import clamp, mean


def test_right():
    assert clamp(5, 0, 10) == 5


def test_passes():
    assert clamp(-1, 0, 10) == 0


def test_of_another_exception():
    assert mean([]) == 0


def test_that_lacks_a_fixture(nothing):
    assert clamp(5, 0, 10) == 5


def test_of_another_input():
    assert clamp(7, 0, 10) == 7


def test_of_another_value():
    assert clamp(5, 0, 10) == 4
"""


@pytest.fixture(scope="module")
def checked(make: Make) -> dict[str, tuple[bool, dict[str, bool | None]]]:
    """Return what `check` finds of each test."""
    project = make({**FILES, "mine.py": CHECKED, "issue.md": CLAMP_REPORT})
    run = project.run("pytest-brt", "check", "mine.py", "--issue", "issue.md", "--json")
    assert run.code == 1, run.said
    return read_checks(run.out)


@pytest.mark.parametrize(
    ("name", "finding", "answer"),
    [
        ("test_right", "fails", True),
        ("test_passes", "fails", False),
        ("test_of_another_exception", "as-reported", False),
        ("test_that_lacks_a_fixture", "equipped", False),
        ("test_of_another_input", "as-reported", None),
    ],
)
def test_a_test_is_held_against_a_report(
    checked: dict[str, tuple[bool, dict[str, bool | None]]],
    name: str,
    finding: str,
    answer: bool | None,
) -> None:
    """Yes, no, and what cannot be told: each with what decides."""
    is_one, findings = checked[name]
    assert findings[finding] is answer, findings
    assert is_one is (name == "test_right")


def test_a_test_that_wants_another_value_than_the_report(
    checked: dict[str, tuple[bool, dict[str, bool | None]]],
) -> None:
    _, findings = checked["test_of_another_value"]
    assert False in findings.values()


WANTS_THE_BUG = """\
import pytest
from interval import mean


def test_mean():
    with pytest.raises(ZeroDivisionError):
        mean([])
    assert mean([1]) == 3
"""


def test_a_test_that_wants_the_reported_exception(make: Make) -> None:
    report = f"{MEAN_REPORT}\n`mean([])` raises `ZeroDivisionError`.\n"
    project = make({**FILES, "mine.py": WANTS_THE_BUG, "issue.md": report})
    run = project.run("pytest-brt", "check", "mine.py", "--issue", "issue.md", "--json")
    _, findings = read_checks(run.out)["test_mean"]
    assert (findings["fails"], findings["honest"]) == (True, False)


def test_the_exit_code_of_a_check_is_the_answer(make: Make) -> None:
    project = make({**FILES, "mine.py": CLAMP_TEST, "issue.md": CLAMP_REPORT})
    done = project.run("pytest-brt", "check", "mine.py", "--issue", "issue.md")
    assert done.code == 0, done.said
    lines = done.out.splitlines()
    assert "mine.py::test_above: a bug test" in lines
    assert lines[-1] == "bug tests for issue.md: 2 of 2"
    assert project.run("pytest-brt", "check", "none.py", "--issue", "issue.md").refuses("none.py")


SUITE = FILES["tests/test_interval.py"]
INSIDE = "\n\ndef test_inside():\n    assert clamp(5, 0, 10) == 5\n"
WRONG_FIX = {"interval.py": INTERVAL.replace(CLAMP, "max(high, min(value, low))")}
#: The files of the change, and the exit code of the gate; test_outside.py has more, by the hook.
GATE = {
    "no-test": (CLAMP_FIXED, 5),
    "a-test-that-fails-with-it": ({**WRONG_FIX, "tests/test_interval.py": SUITE + INSIDE}, 1),
    "a-test-alone": ({"tests/test_interval.py": SUITE + INSIDE}, 1),
    "a-new-file": ({**CLAMP_FIXED, "tests/test_more.py": CLAMP_TEST}, 0),
}


@pytest.mark.parametrize("case", GATE)
def test_the_gate(make: Make, case: str) -> None:
    """A change is let through that brings a test which fails before it and passes after it."""
    files, code = GATE[case]
    project = make(FILES)
    before = project.commit("start")
    after = project.commit("change", files)
    run = project.run("pytest-brt", "gate", f"{before}..{after}")
    assert run.code == code, run.said

"""Places of a bug, from all signs; lines seen through the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from pytest_brt.code.index import Index, open_index
from pytest_brt.errors import UsageProblem
from pytest_brt.issue.load import load_issue, read_issue
from pytest_brt.localise.places import find_places, given_places
from pytest_brt.types import Frame, Raised, TestRun, Verdict
from pytest_brt.types.clue import CalledWrongly, RunByTests, SharedWords
from tests.support.outcomes import caused
from tests.support.trees import write_tree

CORE = """\
def outer(value):
    if value > 3:
        return inner(value)
    return value


def inner(value):
    step = 2
    return value // (step - 2)


class Box:
    size = 1

    def grow(self):
        self.size += 1
        return self.size
"""
TESTS = """\
from pkg.core import Box, outer


def test_small():
    assert outer(1) == 1


def test_grow():
    assert Box().grow() == 2
"""
REPORT = "# outer(5) fails\n\n```python\nfrom pkg.core import outer\nouter(5)\n```\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("places") / "project"
    (root / "src/pkg").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src/pkg/__init__.py").write_text("", encoding="utf-8")
    (root / "src/pkg/core.py").write_text(CORE, encoding="utf-8")
    (root / "tests/test_core.py").write_text(TESTS, encoding="utf-8")
    (root / "report.md").write_text(REPORT, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def index(root: Path) -> Iterator[Index]:
    with open_index(root) as index:
        yield index


def ran(verdict: Verdict, **files: set[int]) -> TestRun:
    """Return a run of a test that executed these lines; ``__`` stands for a slash."""
    lines = tuple(
        (name.replace("__", "/") + ".py", f"{sum(1 << line for line in ran):x}")
        for name, ran in files.items()
    )
    return TestRun(test="t", node="t", verdict=verdict, cause=caused(verdict), ran=lines)


def test_what_tests_run_raises_what_the_report_says(root: Path, index: Index) -> None:
    issue = load_issue(str(root / "report.md"), BytesIO())
    frames = (
        Frame(path="tests/test_brt.py", line=5, function="test_big"),
        Frame(path="src/pkg/core.py", line=3, function="outer", project=True),
        Frame(path="src/pkg/core.py", line=9, function="inner", project=True),
    )
    raised = Raised(type="ZeroDivisionError", message="", frames=frames)
    run = TestRun(
        test="t", node="test_big", verdict=Verdict.FAIL, cause=caused(Verdict.FAIL), raised=raised
    )
    watched = (
        ran(Verdict.FAIL, src__pkg__core={2, 3, 8, 9}),
        ran(Verdict.PASS, src__pkg__core={2, 4}),
    )
    found = {p.function: p for p in find_places(issue, index, failing=[run], watched=watched)}
    inner, outer = found["inner"], found["outer"]
    # inner: where the test ends, and Ochiai 1; outer: a caller, named by the report, Ochiai 1.
    words = {p.function: p.score for p in find_places(issue, index)}
    assert words["outer"] == 1.0
    assert inner.score == pytest.approx(1.5 * words["inner"], abs=1e-3)
    assert outer.score == pytest.approx(1.5)
    assert inner.ochiai == 1.0
    assert set(inner.lines) == {8, 9}
    assert inner.clues[0] == RunByTests(failing=1, all_failing=1, passing=0, all_passing=1)
    assert found["Box.grow"].ochiai is None


def test_what_tests_alone_point_at_comes_after_what_the_report_does(index: Index) -> None:
    watched = [ran(Verdict.FAIL, src__pkg__core={8, 16})]
    named = read_issue("# It fails\n\n```python\nouter(5)\n```\n", "-")
    found = {place.function: place.score for place in find_places(named, index, watched=watched)}
    assert found["outer"] == 1.0
    assert found["inner"] == found["Box.grow"] == 0.2
    silent = find_places(read_issue("# It is odd", "-"), index, watched=watched)
    assert {place.function: place.score for place in silent} == {"inner": 1.0, "Box.grow": 1.0}


def test_what_runs_at_import_is_no_place(root: Path, index: Index) -> None:
    issue = load_issue(str(root / "report.md"), BytesIO())
    watched = ran(Verdict.FAIL, src__pkg__core={1, 13}, tests__test_core={5})
    places = find_places(issue, index, watched=[watched])
    assert {place.path for place in places if place.ochiai} <= {"src/pkg/core.py"}
    assert "Box" not in {place.function for place in places if place.ochiai}


def test_what_every_test_runs_is_no_place(root: Path, index: Index) -> None:
    issue = read_issue("# It is odd", "-")
    failing = ran(Verdict.FAIL, src__pkg__core={2, 3, 8, 9})
    passing = ran(Verdict.PASS, src__pkg__core={2, 4})
    one = find_places(issue, index, watched=[failing, passing])
    assert {place.function for place in one} == {"outer", "inner"}
    two = find_places(issue, index, watched=[failing, passing, passing])
    outer, inner = sorted(two, key=lambda place: place.line)
    assert (outer.lines, inner.lines) == ((3,), (8, 9)), "line 2 is run by every test"
    all_run = ran(Verdict.FAIL, src__pkg__core={2})
    assert find_places(issue, index, watched=[all_run, passing, passing]) == ()


def test_what_calls_the_test_is_no_place(index: Index) -> None:
    issue = read_issue("# It is odd", "-")
    frames = (
        Frame(path="src/pkg/core.py", line=3, function="outer", project=True),
        Frame(path="tests/test_brt.py", line=5, function="test_big"),
        Frame(path="src/pkg/core.py", line=9, function="inner", project=True),
    )
    raised = Raised(type="ZeroDivisionError", message="", frames=frames)
    run = replace(ran(Verdict.FAIL), raised=raised)
    assert [place.function for place in find_places(issue, index, failing=[run])] == ["inner"]


def test_what_explains_an_assertion_is_no_place(tmp_path: Path) -> None:
    code = (
        "class Box:\n    def __repr__(self):\n        return 'Box'\n\n"
        "    def grow(self):\n        return 1\n"
    )
    write_tree(tmp_path, {"pkg/__init__.py": "", "pkg/box.py": code})
    watched = ran(Verdict.FAIL, pkg__box={3, 6})
    with open_index(tmp_path) as index:
        found = find_places(read_issue("# It is odd", "-"), index, watched=[watched])
        report = read_issue("# repr of Box is odd\n\n`Box` is shown as 'Box'.", "-")
        meant = find_places(report, index, watched=[watched])
    assert [place.function for place in found] == ["Box.grow"]
    assert meant[0].function == "Box.__repr__", "the report points at it as well"


def test_what_is_called_wrongly_did_not_run(index: Index) -> None:
    issue = read_issue("# It is odd", "-")
    message = "inner() takes 1 positional argument but 2 were given"
    raised = Raised(type="TypeError", message=message)
    failed = replace(ran(Verdict.FAIL, src__pkg__core={3}), raised=raised)
    found = find_places(issue, index, failing=[failed], watched=[failed])
    assert sorted(place.function for place in found) == ["inner", "outer"]
    assert CalledWrongly(name="inner") in [clue for place in found for clue in place.clues]


def test_given_places_are_checked(index: Index) -> None:
    (whole, lines) = given_places(["src/pkg/core.py", "./src/pkg/core.py:8-9"], index)
    assert (whole.function, whole.line, whole.end_line) == ("", 1, 0)
    assert (lines.function, lines.line, lines.end_line) == ("inner", 8, 9)
    for spec in (
        "src/pkg/none.py",
        "src/pkg/core.py:9-8",
        "src/pkg/core.py:999",
        "src/pkg/core.py:x",
    ):
        with pytest.raises(UsageProblem, match="--brt-buggy-file"):
            given_places([spec], index)


MORE = {
    "pkg/__init__.py": "",
    "pkg/say.py": (
        "def quiet(text):\n    return text\n\n\ndef loud(text):\n"
        "    raise ValueError('Malformed price tag %s' % text)\n"
    ),
    "pkg/testing/__init__.py": "",
    "pkg/testing/compare.py": "def same(one, other):\n    return one == other\n",
    "tests/test_say.py": "from pkg.testing.compare import same\nfrom pkg.say import quiet\n",
}


@pytest.fixture
def more(tmp_path: Path) -> Iterator[Index]:
    write_tree(tmp_path, MORE)
    with open_index(tmp_path) as index:
        yield index


def test_what_says_what_the_report_quotes_comes_first(more: Index) -> None:
    text = "# It fails\n\n```\nin/prices.txt:4:Malformed price tag '[x]', sorry\n```\n"
    first = find_places(read_issue(text, "-"), more)[0]
    assert (first.path, first.function) == ("pkg/say.py", "loud")
    assert first.clues == (SharedWords(words=("Malformed", "prices", "tag")),)


def test_what_helps_tests_is_left_out_where_other_places_are_known(more: Index) -> None:
    issue = read_issue("# It is odd", "-")
    both = ran(Verdict.FAIL, pkg__testing__compare={2}, pkg__say={2})
    found = find_places(issue, more, watched=[both])
    assert [place.path for place in found] == ["pkg/say.py"]
    alone = ran(Verdict.FAIL, pkg__testing__compare={2})
    found = find_places(issue, more, watched=[alone])
    assert [place.path for place in found] == ["pkg/testing/compare.py"]

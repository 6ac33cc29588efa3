"""The search for the commit that broke a test, on small real histories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Engine, TestTarget
from pytest_brt.revisions.bisect import Bisection, RevisionState, bisect, judge
from pytest_brt.revisions.commits import History, Revision
from pytest_brt.types import Raised, TestRun, Verdict
from tests.support.outcomes import caused
from tests.support.projects import open_on
from tests.support.repository import Repository

RIGHT = "def double(n):\n    return 2 * n\n"
WRONG = "def double(n):\n    return 2 * n + 1\n"
OTHER = "def double(n):\n    raise ValueError(n)\n"
UNRUNNABLE = "def triple(n):\n    return 3 * n\n"
TEXTS = {"good": RIGHT, "bad": WRONG, "other": OTHER, "broken": UNRUNNABLE}
TARGET = TestTarget(
    id="t",
    path="tests/test_two.py",
    source="def test_two():\n    from pkg import double\n    assert double(2) == 4\n",
    node="test_two",
)

#: What is said of a revision that was tried.
Tried = tuple[Revision, RevisionState, TestRun]


class Project:
    """A repository with a commit per state, and an engine on its tree."""

    def __init__(self, root: Path) -> None:
        self.repository = Repository(root)
        self.repository.commit("start", pkg_py=RIGHT)
        self.engine: Engine = open_on(root)

    def search(self, states: Sequence[str]) -> tuple[Bisection, list[str], list[Tried]]:
        """Return what is found between the first and the last, the commits, and what was said."""
        shas = [
            self.repository.commit(state, pkg_py=f"{TEXTS[state]}# {number}\n")
            for number, state in enumerate(states)
        ]
        history = History(self.repository.root)
        ends = history.revision(shas[0]), history.revision(shas[-1])
        said: list[Tried] = []
        found = bisect(history, self.engine, TARGET, *ends, lambda *tried: said.append(tried))
        return found, shas, said


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("bisect"))
    yield project
    project.engine.close()


@pytest.mark.parametrize("first_bad", [1, 7])
def test_the_first_bad_commit_is_found_in_few_steps(project: Project, first_bad: int) -> None:
    found, shas, said = project.search(["good"] * first_bad + ["bad"] * (8 - first_bad))
    assert [revision.sha for revision in found.suspects] == [shas[first_bad]]
    assert found.problem == ""
    assert len(said) <= 2 + 3, "both ends, and the halves of seven"
    assert len({revision.sha for revision, _, _ in said}) == len(said)
    for revision, state, _ in said:
        is_bad = shas.index(revision.sha) >= first_bad
        assert state is (RevisionState.BAD if is_bad else RevisionState.GOOD)


def test_where_it_cannot_be_tried_all_that_it_may_be_are_suspects(project: Project) -> None:
    found, shas, said = project.search(["good", "good", "broken", "other", "bad", "bad"])
    assert [revision.sha for revision in found.suspects] == shas[2:5]
    tried = {shas.index(revision.sha): (state, run.verdict) for revision, state, run in said}
    assert tried[2] == (RevisionState.UNTESTABLE, Verdict.BROKEN)
    assert tried[3] == (RevisionState.UNTESTABLE, Verdict.FAIL)


def test_an_untestable_middle_does_not_end_the_search(project: Project) -> None:
    found, shas, _ = project.search(["good", "good", "good", "broken", "good", "bad", "bad"])
    assert [revision.sha for revision in found.suspects] == [shas[5]]


def test_a_test_that_does_not_tell_the_ends_apart_is_not_searched(project: Project) -> None:
    for states, problem in (
        (["good", "good"], "the test does not fail on "),
        (["good", "broken"], "the test does not fail on "),
        (["bad", "bad"], "the test does not pass on "),
        (["broken", "bad"], "the test does not pass on "),
    ):
        found, shas, said = project.search(states)
        assert found.suspects == ()
        end = shas[-1] if "fail" in problem else shas[0]
        assert found.problem == f"{problem}{end[:10]}"
        assert said


def test_what_is_no_range_is_said_before_anything_runs(project: Project) -> None:
    found, shas, said = project.search(["good"])
    assert found.problem == "there is no commit between the two"
    later = project.repository.commit("later", pkg_py=WRONG)
    history = History(project.repository.root)
    ends = history.revision(later), history.revision(shas[0])
    with pytest.raises(UsageProblem, match="not an ancestor"):
        bisect(history, project.engine, TARGET, *ends, lambda *tried: said.append(tried))
    assert said == []


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.PASS, Verdict.FAIL}))
def test_only_passing_is_good_and_only_failing_is_bad(verdict: Verdict) -> None:
    run = TestRun(test="t", node="n", verdict=verdict, cause=caused(verdict))
    assert judge(run, None) is RevisionState.UNTESTABLE


def test_a_failure_is_bad_when_it_raises_what_is_looked_for() -> None:
    wanted = Raised(type="KeyError", message="a")
    same = Raised(type="KeyError", message="b")
    other = Raised(type="ValueError", message="a")

    def state(raised: Raised | None, looked_for: Raised | None) -> RevisionState:
        run = TestRun(
            test="t", node="n", verdict=Verdict.FAIL, cause=caused(Verdict.FAIL), raised=raised
        )
        return judge(run, looked_for)

    assert state(other, None) is state(None, None) is state(same, wanted) is RevisionState.BAD
    assert state(other, wanted) is state(None, wanted) is RevisionState.UNTESTABLE

"""The search for the commit that fixed a bug, on small real histories."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.patches.git import History
from pytest_brt.revisions import find_fix, shows_bug
from pytest_brt.types import CandidateTest, Fix, Raised, TestRun, Verdict
from tests.support.outcomes import caused
from tests.support.projects import open_on
from tests.support.repository import Repository
from tests.support.rows import judged

TEXTS = {
    "fixed": "def double(n):\n    return 2 * n\n",
    "buggy": "def double(n):\n    return 2 * n + 1\n",
    "other": "def double(n):\n    raise ValueError(n)\n",
    "broken": "def triple(n):\n    return 3 * n\n",
}
SOURCE = "from pkg import double\n\n\ndef test_two():\n    assert double(2) == 4\n"


def the_test(expects: Raised | None = None) -> CandidateTest:
    made = judged(0).test
    path = "tests/test_two.py"
    return replace(made, name="test_two", path=path, source=SOURCE, expects=expects)


class Project:
    """A repository with a commit per state, and an engine on its tree."""

    def __init__(self, root: Path) -> None:
        self.repository = Repository(root)
        self.repository.commit("start", pkg_py=TEXTS["broken"])
        self.engine = open_on(root)

    def search(
        self, states: Sequence[str], deadline: float = math.inf
    ) -> tuple[Fix | None, list[str]]:
        """Return what is found on a history of these states, and its commits."""
        self.repository.git("checkout", "-q", "--orphan", f"line-{time.monotonic_ns()}")
        shas = [
            self.repository.commit(f"{number} {state}", pkg_py=f"{TEXTS[state]}# {number}\n")[:10]
            for number, state in enumerate(states)
        ]
        history = History(self.repository.root)
        return find_fix(history, self.engine, the_test(), deadline), shas


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("fixed"))
    yield project
    project.engine.close()


def test_the_commit_is_found(project: Project) -> None:
    found, shas = project.search(["buggy"] * 4 + ["fixed"] * 3)
    assert found is not None
    assert found.commit == shas[4]
    assert found.text.startswith(f"fixed by {shas[4]} (")
    assert found.text.endswith("A: 4 fixed)")


def test_a_bug_that_never_was_is_not_called_fixed(project: Project) -> None:
    found, _ = project.search(["fixed"] * 3)
    assert found is None


def test_what_cannot_be_tried_fixes_nothing(project: Project) -> None:
    found, _ = project.search(["buggy", "buggy", "broken", "fixed", "fixed"])
    assert found is None


def test_a_failure_of_another_kind_is_not_the_bug(project: Project) -> None:
    found, _ = project.search(["other", "other", "fixed", "fixed"])
    assert found is None


def test_where_nothing_older_can_be_tried_nothing_is_said(project: Project) -> None:
    found, _ = project.search(["broken", "broken", "fixed"])
    assert found is None


def test_what_is_not_committed_may_be_the_fix(project: Project) -> None:
    project.repository.git("checkout", "-q", "--orphan", "dirty")
    project.repository.commit("buggy", pkg_py=TEXTS["buggy"])
    project.repository.root.joinpath("pkg.py").write_text(TEXTS["fixed"], "utf-8")
    history = History(project.repository.root)
    found = find_fix(history, project.engine, the_test(), math.inf)
    assert found is not None
    assert found.commit == ""
    project.repository.git("checkout", "-q", "pkg.py")


def test_nothing_is_tried_after_the_deadline(project: Project) -> None:
    found, _ = project.search(["buggy", "fixed", "fixed"], deadline=time.monotonic())
    assert found is None


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.FAIL}))
def test_only_passing_is_fixed_and_only_failing_is_buggy(verdict: Verdict) -> None:
    run = TestRun(test="t", node="n", verdict=verdict, cause=caused(verdict))
    assert not shows_bug(run, the_test())


def test_a_failure_is_the_bug_when_it_is_what_the_report_shows() -> None:
    def state(raised: str, wanted: str) -> bool:
        failed = judged(0).judgement.runs[0]
        run = replace(failed, raised=Raised(type=raised, message="a"))
        return shows_bug(run, the_test(Raised(type=wanted, message="") if wanted else None))

    assert state("KeyError", "KeyError")
    assert state("pkg.BadError", "BadError")
    assert not state("ValueError", "KeyError")
    assert state("AssertionError", "")
    assert not state("KeyError", "")

"""What the guard is told of the candidates: which tests pin the bug, and what they are about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.guard import Guard, touched_by
from pytest_brt.rank.allowance import Allowance
from pytest_brt.rank.guarding import Guarding, hints_of
from pytest_brt.types import AppliedPatch, FileChange, JudgedTest, Patch, Raised
from tests.execute.projects import open_on
from tests.rank.rows import judged
from tests.trees import write_tree

CORE = "def double(n):\n    return n * 2 + 1\n\n\ndef triple(n):\n    return n * 3 + 1\n"
SUITE = """\
from core import double, triple


def test_double():
    assert double(2000) == 4001


def test_triple():
    assert triple(2000) == 6001
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("guarding") / "project"
    write_tree(root, {"core.py": CORE, "tests/test_core.py": SUITE})
    engine = open_on(root)
    yield engine
    engine.close()


def candidate(source: str, message: str = "") -> JudgedTest:
    found = judged(0)
    run = replace(found.judgement.runs[0], raised=Raised(type="AssertionError", message=message))
    return replace(
        found,
        test=replace(found.test, source=source),
        judgement=replace(found.judgement, runs=(run,)),
    )


@pytest.mark.parametrize("seconds", [60.0, None])
def test_tests_that_pin_the_bug_are_told_for_each_changed_place(
    engine: Engine, seconds: float | None
) -> None:
    allowance = Allowance(seconds=seconds, patches=2, spent=60)
    guarding = Guarding(guard=Guard(engine), allowance=allowance)
    tests = (
        candidate("def test_a():\n    assert double(3000) == 6000\n", "assert 4001 == 6000"),
        candidate("def test_a():\n    assert triple(3000) == 9000\n", "assert 6001 == 9000"),
    )
    no_candidates = tuple(
        replace(test, judgement=replace(test.judgement, candidate=False)) for test in tests
    )
    found = {}
    for name, factor in (("double", 2), ("triple", 3)):
        after = CORE.replace(f"n * {factor} + 1", f"n * {factor}").encode()
        patch = AppliedPatch(
            patch=Patch(id=name, name=name, text=""),
            changes=(FileChange(path="core.py", content=after),),
        )
        touched = touched_by(patch, Path(engine.subject.root))
        for _ in range(2):
            found[name] = guarding.look(patch, touched, tests, 0.0)
        unpinned = Guarding(guard=guarding.guard, allowance=allowance)
        held = unpinned.look(patch, touched, no_candidates, 0.0)
        assert [one.test for one in held.regressions] == [f"tests/test_core.py::test_{name}"]
    for name, guarded in found.items():
        assert f"tests/test_core.py::test_{name}" in guarded.pinned
        assert guarded.regressions == ()
        assert guarded.ran > 0


def test_hints_are_the_names_that_candidates_use() -> None:
    source = """\
import pytest


def test_a(self):
    with pytest.raises(KeyError):
        pkg.walk(x, deep=True)
    print(repr(str(len(list(Thing)))))
"""
    assert hints_of([candidate(source)]) == {"KeyError", "pkg", "walk", "deep", "Thing"}
    assert hints_of([candidate("f = pkg.walk"), candidate("g = Thing")]) == {
        "pkg",
        "walk",
        "Thing",
    }
    assert hints_of([]) == frozenset()


def test_hints_of_what_cannot_be_read_are_all_its_words() -> None:
    assert hints_of([candidate("def test_a(:\n    pkg.walk(1)\n")]) == {
        "def",
        "test_a",
        "pkg",
        "walk",
    }

"""What the guard is told of the candidates: what they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.guard import LOOKING, Guard, touched_by
from pytest_brt.rank.guarding import EACH, Guarding, hints_of
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import FileChange, Guarded, JudgedTest, Patch
from tests.support.projects import open_on
from tests.support.rows import judged
from tests.support.trees import write_tree

CORE = "def double(n):\n    return n * 2 + 1\n\n\ndef triple(n):\n    return n * 3 + 1\n"
SUITE = """\
from core import double, triple


def test_double():
    assert double(2000) == 4001


def test_triple():
    assert triple(2000) == 6001
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("guarding") / "project"
    write_tree(root, {"core.py": CORE, "tests/test_core.py": SUITE})
    engine = open_on(root)
    yield engine
    engine.close()


def candidate(source: str) -> JudgedTest:
    found = judged(0)
    return replace(found, test=replace(found.test, source=source))


def look(engine: Runner, guarding: Guarding, name: str, tests: tuple[JudgedTest, ...]) -> Guarded:
    """Correct one function and return what the guard says of that."""
    factor = {"double": 2, "triple": 3}[name]
    after = CORE.replace(f"n * {factor} + 1", f"n * {factor}").encode()
    changes = (FileChange(path="core.py", content=after),)
    touched = touched_by(changes, Path(engine.subject.root))
    chosen = guarding.choose(name, touched, tests)
    runs = engine.run(chosen.targets, changes)
    return guarding.guard.judge(changes, touched, chosen, runs)


def test_the_seconds_are_shared_between_the_patches_and_the_search(engine: Runner) -> None:
    patches = tuple(Patch(id=name, name=name, text="") for name in "abcdefg")
    usual = Guarding(guard=Guard(engine), patches=patches)
    assert usual.seconds((judged(0),)) == EACH
    assert usual.seconds(()) * (7 + LOOKING) < EACH * LOOKING
    given = Guarding(guard=Guard(engine), patches=patches, total=60.0)
    assert given.seconds((judged(0),)) == given.seconds(()) == 60.0 / (7 + LOOKING)


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


@pytest.mark.slow
def test_long_work_on_existing_tests_is_told_with_how_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("guard.existing_tests", "rank.guarding"):
        monkeypatch.setattr(f"pytest_brt.{place}.SILENT", 1.0)
    tests = "".join(
        f"def test_{number}():\n    double(1)\n    end = time.process_time() + 0.7\n"
        "    while time.process_time() < end: pass\n"
        for number in range(2)
    )
    write_tree(
        tmp_path,
        {"core.py": CORE, "tests/test_core.py": f"import time\nfrom core import double\n{tests}"},
    )
    engine = open_on(tmp_path)
    said: list[str] = []
    try:
        found = look(
            engine,
            Guarding(guard=Guard(engine), patches=(), total=60.0, say=said.append),
            "double",
            (),
        )
        first, running = said
        assert first == "running existing tests without a patch"
        assert re.fullmatch("double: running 2 existing tests, about [1-4] s", running)
        assert found.ran == 2
    finally:
        engine.close()

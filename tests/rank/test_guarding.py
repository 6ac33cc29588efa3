"""How the time for existing tests is shared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.guard import LOOKING, Guard, touched_by
from pytest_brt.rank.guarding import EACH, Guarding
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import FileChange
from tests.support.projects import open_on
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


def test_the_seconds_are_shared_between_the_patches_and_the_search(engine: Runner) -> None:
    change = FileChange(path="core.py", content=b"x = 1\n")
    pool = 7 * (touched_by((change,), Path(engine.subject.root)),)
    assert Guarding(guard=Guard(engine), pool=pool).seconds == EACH
    given = Guarding(guard=Guard(engine), pool=pool, total=60.0)
    assert given.seconds == 60.0 / (7 + LOOKING)

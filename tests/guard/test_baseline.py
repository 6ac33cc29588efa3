"""What existing tests do on the unpatched tree, through a real engine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_brt.code.collected import USUAL
from pytest_brt.execute.engine import Engine, Row, RowResult
from pytest_brt.guard.baseline import Baseline, SuiteFile
from pytest_brt.types import Verdict
from tests.support.projects import open_on
from tests.support.trees import write_tree

CORE = "def double(n):\n    return n * 2\n\n\ndef other():\n    return 1\n"
#: A file whose last test is the one of interest, and whose first takes all the time.
LONG = """\
import time
from core import double, other

def test_long():
    other()
    time.sleep(600)

def test_never_begun():
    other()

def test_wanted():
    assert double(1) == 2
"""
SHORT = """\
import pytest
from core import other

@pytest.mark.parametrize("n", [1, 2])
def test_two(n):
    assert other() == n

def test_one():
    assert other() == 1

@pytest.mark.skip
def test_skipped():
    pass
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("baseline") / "project"
    files = {"test_long.py": LONG, "test_short.py": SHORT, "test_empty.py": ""}
    write_tree(root, {"core.py": CORE, **files, "test_lost.py": "import not_there\n"})
    engine = open_on(root)
    yield engine
    engine.close()


class Recording:
    """The real engine, keeping the rows that it runs."""

    def __init__(self, engine: Engine) -> None:
        self.subject = engine.subject
        self.rows: list[Row] = []
        self._engine = engine

    def run(self, row: Row) -> RowResult:
        self.rows.append(row)
        return self._engine.run(row)


def test_tests_are_what_pytest_collects_with_the_lines_that_they_execute(engine: Engine) -> None:
    baseline = Baseline(engine, USUAL)
    (file,) = baseline.run(
        [SuiteFile(path="test_short.py")], frozenset({"core.py"}), seconds=60.0, each=60.0
    )
    assert [(test.node, test.verdict) for test in file.tests] == [
        ("test_two", Verdict.FAIL),  # with one of its two parameters
        ("test_one", Verdict.PASS),
        ("test_skipped", Verdict.SKIP),
    ]
    assert file.tests[1].ran == {"core.py": 1 << 6}
    assert file.is_whole


def test_a_file_without_tests_and_one_that_cannot_be_imported_are_known_as_such(
    engine: Engine,
) -> None:
    files = [SuiteFile(path="test_empty.py"), SuiteFile(path="test_lost.py")]
    found = Baseline(engine, USUAL).run(files, frozenset(), seconds=60.0, each=60.0)
    assert [(file.path, file.is_whole) for file in found] == [
        ("test_empty.py", True),
        ("test_lost.py", True),
    ]
    assert [file.refused is not None for file in found] == [True, True]


def test_where_the_time_is_too_short_what_comes_first_is_known(engine: Engine) -> None:
    wanted = SuiteFile(path="test_long.py", first=("test_wanted",))
    files = [wanted, SuiteFile(path="test_short.py")]
    cut, never = Baseline(engine, USUAL).run(files, frozenset(), seconds=3.0, each=20.0)
    assert [(test.node, test.verdict) for test in cut.tests] == [("test_wanted", Verdict.PASS)]
    assert cut.left == 2
    assert not cut.is_whole
    assert never.tests == ()
    assert not never.is_whole


def test_a_file_is_run_once_whoever_asks(engine: Engine) -> None:
    recording = Recording(engine)
    baseline = Baseline(recording, USUAL)  # type: ignore[arg-type]
    watch = frozenset({"core.py"})
    files = [SuiteFile(path="test_short.py")]
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(baseline.run, files, watch, seconds=60.0, each=60.0) for _ in range(3)]
        found = [future.result() for future in asked]
    assert len(recording.rows) == 1
    assert found[0] == found[1] == found[2]
    # Other lines are to be seen now.
    baseline.run(files, frozenset(), seconds=60.0, each=60.0)
    assert [row.watch for row in recording.rows] == [("core.py",), ()]
    assert Path(recording.subject.root).is_dir()

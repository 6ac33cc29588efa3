"""The guard on a real small project, through a real engine."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.guard import Guard, affordable
from pytest_brt.patches.changes import Touched, touched_by
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.store import Journal
from pytest_brt.types import FileChange, Guarded, TestRun, Verdict
from tests.support.projects import open_on, run_one
from tests.support.rows import row
from tests.support.trees import write_tree

CORE = "def double(n):\n    return n * 2 + 1\n\n\ndef other():\n    return 1\n"
TESTS = """\
    import os, time
    from pkg.core import double, other

    def test_double_is_a_number():
        assert isinstance(double(3), int)

    def test_double_pins_the_bug():
        assert double(3) == 7

    def test_double_is_broken_already():
        assert double(3) == 8

    def test_double_is_slow():
        double(1)
        time.sleep(0.3)

    def test_other():
        assert other() == 1
    """


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("guard") / "project"
    tests = textwrap.dedent(TESTS)
    write_tree(root, {"pkg/__init__.py": "", "pkg/core.py": CORE, "tests/test_pkg.py": tests})
    return root


@pytest.fixture(scope="module")
def engine(root: Path) -> Iterator[Runner]:
    with closing(open_on(root)) as engine:
        yield engine


def check(guard: Guard, root: Path, after: str) -> Guarded:
    changes = (FileChange(path="pkg/core.py", content=after.encode()),)
    return guard.run([], changes, touched_by(changes, root))[1]


def test_a_project_whose_tests_are_called_otherwise_is_guarded(tmp_path: Path) -> None:
    core = "def total(prices):\n    return sum(prices) + 1\n"
    tests = """\
        import unittest
        from cart.core import total

        def check_number():
            assert isinstance(total([1]), int)

        def test_is_no_check():
            assert isinstance(total([1]), int)

        class CartTests(unittest.TestCase):
            def test_number(self):
                self.assertIsInstance(total([1]), int)
        """
    settings = "[pytest]\npython_files = tests.py test_*.py\npython_functions = check_\n"
    files = {"pytest.ini": settings, "cart/__init__.py": "", "cart/core.py": core}
    write_tree(tmp_path, {**files, "cart/tests.py": textwrap.dedent(tests)})
    change = FileChange(path="cart/core.py", content=core.replace("sum(prices) + 1", "''").encode())
    with closing(open_on(tmp_path)) as engine:
        guard = Guard(engine, seconds=60.0)
        _, found = guard.run([], (change,), touched_by([change], tmp_path))
        written = "from cart.core import total\n\ndef test_a():\n    assert total([]) == 1\n"
        assert run_one(engine, written).verdict is Verdict.PASS
    assert (found.ran, found.total) == (2, 2)
    assert [regression.test for regression in found.regressions] == [
        "cart/tests.py::check_number",
        "cart/tests.py::CartTests::test_number",
    ]


RIGHT = CORE.replace("n * 2 + 1", "n * 2")
BREAKING = CORE.replace("return n * 2 + 1", "return str(n * 2)")


def test_the_budget_bounds_what_runs_and_says_so(engine: Runner, root: Path) -> None:
    found = check(Guard(engine, seconds=0.0), root, BREAKING)
    assert (found.ran, found.regressions) == (0, ())
    assert [note.code for note in found.shortfalls] == ["budget-spent"]


class Counting(Runner):
    """The real runner, counting what it runs on the unpatched tree, and what it runs again."""

    def __init__(self, runner: Runner) -> None:
        vars(self).update(vars(runner))  # who made that closes it
        self.plain: list[str] = []
        self.processes = 0
        self.again = 0

    def run(
        self, tests: Sequence[Test], changes: Sequence[FileChange] = (), **how: Any
    ) -> tuple[TestRun, ...]:
        if not changes and not how.get("hash_seed"):
            self.plain += [test.path for test in tests]
            self.processes += 1
        if how.get("hash_seed"):
            self.again += 1
        return super().run(tests, changes, **how)


def test_of_a_large_suite_the_nearest_files_are_run(tmp_path: Path) -> None:
    """Collecting all of it would take longer than there is time: here one file takes minutes."""
    far = {f"tests/test_{name}.py": "def test_far():\n    assert True\n" for name in "abcdefgh"}
    near = "from pkg.core import double\n\ndef test_double():\n    assert double(3) == 7\n"
    slow = "import time\ntime.sleep(600)\n\ndef test_slow():\n    assert True\n"
    root = tmp_path / "project"
    files = {"pkg/__init__.py": "", "pkg/core.py": CORE, "tests/test_core.py": near, **far}
    write_tree(root, {**files, "tests/test_zz.py": slow})
    with closing(open_on(root)) as engine:
        guarded = check(Guard(engine, seconds=0.3), root, CORE.replace(" + 1", ""))
    assert [one.test for one in guarded.regressions] == ["tests/test_core.py::test_double"]


@pytest.fixture(scope="module")
def guarded(engine: Runner, root: Path) -> tuple[list[Guarded], Counting]:
    """What is found of a right patch and of two that break the same tests, all at once."""
    counting = Counting(engine)
    guard = Guard(counting, seconds=60.0)
    patches = (RIGHT, BREAKING, f"{BREAKING}\n\nMORE = 1\n")
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(lambda after: check(guard, root, after), patches)), counting


def test_the_unpatched_tree_is_run_once(guarded: tuple[list[Guarded], Counting]) -> None:
    """All tests of the file are run there in one process."""
    found, counting = guarded
    assert counting.processes == 1
    assert sorted(counting.plain) == sorted(set(counting.plain))
    assert [len(item.regressions) for item in found] == [1, 2, 2]


def test_a_suite_that_cannot_fit_is_watched_at_once(engine: Runner, root: Path) -> None:
    counting = Counting(engine)
    check(Guard(counting, seconds=0.008), root, RIGHT)
    assert counting.processes == 1


def test_what_most_patches_change_is_run_first() -> None:
    pool = [Touched(files=("a.py",), lines=(("a.py", bits),)) for bits in (2, 4, 4)]
    runs = {ran: replace(row("a", "p").cells[0], cpu=0.6, ran=(("a.py", ran),)) for ran in "24"}
    assert [*affordable(runs, pool, 1.0)] == ["4"]


def test_the_choice_is_kept_between_runs(engine: Runner, root: Path, tmp_path: Path) -> None:
    changes = (FileChange(path="pkg/core.py", content=BREAKING.encode()),)
    touched = touched_by(changes, root)
    journal = Journal(tmp_path / "existing.jsonl", "tree")
    first = Guard(engine, (touched,), seconds=60.0, kept=journal).choose(touched)
    counting = Counting(engine)
    again = Journal(tmp_path / "existing.jsonl", "tree")
    assert Guard(counting, (touched,), seconds=60.0, kept=again).choose(touched) == first
    assert (len(first.tests), counting.processes) == (4, 0)


def test_new_failures_are_named_and_confirmed(guarded: tuple[list[Guarded], Counting]) -> None:
    (_, found, _), counting = guarded
    assert [regression.test for regression in found.regressions] == [
        "tests/test_pkg.py::test_double_is_a_number",
        "tests/test_pkg.py::test_double_pins_the_bug",
    ]
    assert found.regressions[0].reason.startswith("AssertionError")
    assert (found.ran, found.total) == (4, 5)
    assert [note.text for note in found.shortfalls] == [
        "left out, failing without a patch: 1 existing test"
    ]
    assert counting.again == 3  # once with each patch


def test_a_test_that_no_longer_ends_is_a_regression(root: Path) -> None:
    hanging = CORE.replace("return 1\n", "import time\n    time.sleep(60)\n")
    with closing(open_on(root, seconds=2)) as engine:
        found = check(Guard(engine, seconds=60.0), root, hanging)
    assert [(item.test, item.reason) for item in found.regressions] == [
        ("tests/test_pkg.py::test_other", "did not end within 2 s")
    ]


#: Files of tests, each with something that is not as usual.
ODD = {
    "tests/test_core.py": "import not_installed_here\n"
    + "".join(f"def test_core_{number}(): pass\n" for number in range(40)),
    "tests/test_more.py": """\
        import pytest
        from pkg.core import double

        if double is None:
            def test_double_is_never_defined():
                assert double(1)

        @pytest.mark.parametrize("n", [0, 1, 2])
        def test_double_of(n):
            assert double(n) + 1 > 0
        """,
    "tests/inherited/__init__.py": """\
        class Shared:
            def test_is_number(self):
                assert isinstance(self.function(3), int)
        """,
    "tests/inherited/test_sharing.py": """\
        import unittest
        from pkg.core import double
        from . import Shared

        class Case(unittest.TestCase, Shared):
            function = staticmethod(double)
        """,
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Guarded, Counting]:
    """What is found where tests are not as usual, and what was run for it."""
    root = tmp_path_factory.mktemp("odd") / "project"
    tests = {path: textwrap.dedent(text) for path, text in ODD.items()}
    write_tree(root, {"pkg/__init__.py": "", "pkg/core.py": CORE, **tests})
    with closing(open_on(root)) as engine:
        counting = Counting(engine)
        return check(Guard(counting, seconds=60.0), root, BREAKING), counting


def test_a_file_that_cannot_be_imported_is_tried_no_further(odd: tuple[Guarded, Counting]) -> None:
    found, counting = odd
    assert [note.text for note in found.shortfalls] == [
        "tests/test_core.py cannot be collected on the unpatched tree"
    ]
    assert counting.plain.count("tests/test_core.py") == 1


def test_a_test_that_is_not_found_costs_no_other_its_say(odd: tuple[Guarded, Counting]) -> None:
    found, _ = odd
    assert "tests/test_more.py::test_double_of" in {test.test for test in found.regressions}


def test_a_test_inherited_from_another_file_is_run(odd: tuple[Guarded, Counting]) -> None:
    found, _ = odd
    name = "tests/inherited/test_sharing.py::Case::test_is_number"
    assert name in {test.test for test in found.regressions}
    assert (found.ran, found.total) == (2, 42)


def test_a_cell_that_says_nothing_is_no_regression(engine: Runner, root: Path) -> None:
    """Other code than the patched is imported, which is no doing of the patch."""
    old = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'old'))\n"
    changes = (
        FileChange(path="pkg/core.py", content=BREAKING.encode()),
        FileChange(path="old/pkg/__init__.py", content=b""),
        FileChange(path="old/pkg/core.py", content=CORE.replace("* 2", "* 3").encode()),
        FileChange(
            path="conftest.py",
            content=(
                f"{old}for name in [n for n in sys.modules if n.split('.')[0] == 'pkg']:\n"
                "    del sys.modules[name]\n"
            ).encode(),
        ),
    )
    _, found = Guard(engine, seconds=60.0).run([], changes, touched_by(changes, root))
    assert (found.ran, found.regressions) == (0, ())


def test_a_conftest_that_cannot_be_imported_is_told_of(tmp_path: Path) -> None:
    broken = {
        "tests/conftest.py": "import no_such_module\n",
        "tests/test_a.py": "def test_a(): ...\n",
    }
    write_tree(tmp_path, {"pkg/__init__.py": "", "pkg/core.py": CORE, **broken})
    with closing(open_on(tmp_path)) as engine:
        found = check(Guard(engine, seconds=60.0), tmp_path, BREAKING)
    assert (found.ran, found.total) == (0, 1)
    why = "tests/test_a.py cannot be collected on the unpatched tree"
    assert [note.text for note in found.shortfalls] == [why]

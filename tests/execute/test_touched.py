from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.code.changed_code import changed_lines, module_names, touched_files
from pytest_brt.render.causes import run_words
from pytest_brt.types import FileChange, Verdict
from tests.support.projects import CORE, make_project, open_on, run_one
from tests.support.subjects import environment

CHANGED = FileChange(path="pkg/core.py", content=CORE.replace("a / b", "a // b").encode())


@pytest.fixture(scope="module", params=["ns", pytest.param("none", marks=pytest.mark.slow)])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    root = make_project(tmp_path_factory.mktemp("touched") / "project")
    engine = open_on(root, sandbox=request.param)
    yield engine
    engine.close()


def test_a_module_has_a_name_for_each_root() -> None:
    assert module_names("src/pkg/core.py", ("src", ".")) == ("pkg.core", "src.pkg.core")
    assert module_names("pkg/__init__.py", (".",)) == ("pkg",)
    assert module_names("pkg/data.json", (".",)) == ()
    assert module_names("my-tool/core.py", (".",)) == ()


def test_changed_lines_are_those_that_show_the_change() -> None:
    assert changed_lines("a\nb\nc\n", "a\nB\nc\n") == (2,)
    assert changed_lines("a\nb\nc\n", "a\nc\n") == (1, 2)
    assert changed_lines("a\n", "a\n") == ()
    assert changed_lines("x = [\n1,\n2,\n]\n", "x = [\n1,\n3,\n]\n") == (1, 3)


def test_tests_and_data_are_not_modules_of_the_project(tmp_path: Path) -> None:
    changes = (
        CHANGED,
        FileChange(path="tests/test_x.py", content=b""),
        FileChange(path="README", content=b""),
    )
    assert [file.path for file in touched_files(tmp_path, (".",), changes, lines=True)] == [
        "pkg/core.py"
    ]


def test_a_patch_that_is_not_imported_is_said_to_be_so(engine: Engine) -> None:
    run = run_one(engine, "def test_a(): pass\n", changes=(CHANGED,))
    assert (run.verdict, run.exercised) == (Verdict.PASS, False)
    assert "patch not exercised" in run_words(run)


def test_a_patch_that_ran_is_known_where_python_can_tell(engine: Engine) -> None:
    asks = "from pkg.core import divide\ndef test_a(): assert divide(5, 2) == 2\n"
    run = run_one(engine, asks, changes=(CHANGED,))
    assert (run.verdict, run.exercised) == (
        Verdict.PASS,
        True if sys.version_info >= (3, 12) else None,
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="lines are watched from 3.12 on")
def test_a_patched_line_that_is_not_reached_is_known(engine: Engine) -> None:
    asks = "from pkg.core import Thing\ndef test_a(): assert Thing().name()\n"
    assert run_one(engine, asks, changes=(CHANGED,)).exercised is False


@pytest.mark.slow
def test_each_of_several_tests_in_a_process_is_known_by_itself(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    root = make_project(tmp_path / "project")
    (root / "tests/test_both.py").write_text(
        "from pkg.core import Thing, divide\n"
        "def test_other(): assert Thing().name()\n"
        "def test_divide(): assert divide(4, 2)\n"
        "def test_again(): assert divide(4, 2)\n"
        "def test_left_out(): assert divide(4, 2)\n",
        encoding="utf-8",
    )
    python = environment("3.12", "pytest==9.0.0")
    engine = open_on(root, python=str(python))
    nodes = ("test_other", "test_divide", "test_again")
    try:
        target = TestTarget(id="t", path="tests/test_both.py", nodes=nodes)
        runs = engine.run(Row(targets=(target,), changes=(CHANGED,))).runs
    finally:
        engine.close()
    assert {run.node: run.exercised for run in runs} == {
        "test_other": False,
        "test_divide": True,
        "test_again": True,
    }


def test_other_code_than_the_patched_makes_a_cell_invalid(engine: Engine) -> None:
    """A conftest that puts an older copy of the package first on the path."""
    files = (
        CHANGED,
        FileChange(path="old/pkg/__init__.py", content=b""),
        FileChange(path="old/pkg/core.py", content=CORE.encode()),
        FileChange(
            path="conftest.py",
            content=b"import os, sys\n"
            b"sys.path.insert(0, os.path.join(os.path.dirname(__file__), 'old'))\n"
            b"for name in [n for n in sys.modules if n.split('.')[0] == 'pkg']:\n"
            b"    del sys.modules[name]\n",
        ),
    )
    asks = "from pkg.core import divide\ndef test_a(): assert divide(5, 2) == 2.5\n"
    run = run_one(engine, asks, changes=files)
    assert run.verdict is Verdict.INVALID
    assert "old/pkg/core.py" in run_words(run)


def test_bytecode_of_the_same_size_and_second_is_never_taken(engine: Engine) -> None:
    """What deceives Python's own check, and pytest's before 9.2, many times over."""
    asks = "from pkg.core import divide\ndef test_a(): assert divide(1, 1) == {}\n"
    for number in range(1, 5):
        source = f"def divide(a, b):\n    return {number}\n"
        change = FileChange(path="pkg/core.py", content=source.encode())
        right = run_one(engine, asks.format(number), changes=(change,))
        wrong = run_one(engine, asks.format(number - 1), changes=(change,))
        assert (right.verdict, wrong.verdict) == (Verdict.PASS, Verdict.FAIL)


MAPPED = """\
def pick(n):
    if n:
        return "some"
    return "none"


class Cart:
    total = 0

    def add(self, prices):
        for price in prices:
            self.total += price
        return self.total
"""
#: Each test, and the lines of `MAPPED` inside functions that it executes; two share some of them.
ASKS = {
    "test_some": ("assert pick(1) == 'some'", {2, 3}),
    "test_none": ("assert pick(0) == 'none'", {2, 4}),
    "test_again": ("assert pick(2) == 'some'", {2, 3}),
    "test_add": ("assert Cart().add([1, 2]) == 3", {11, 12, 13}),
    "test_idle": ("assert pick", set()),
}


def _mapped(engine: Engine) -> dict[str, set[int]]:
    """Return, for each test of `ASKS`, the lines of functions in the watched file that it ran."""
    tests = "".join(f"def {name}(): {body}\n" for name, (body, _) in ASKS.items())
    source = f"from pkg.mapped import Cart, pick\n{tests}"
    target = TestTarget(id="t", path="tests/test_lines.py", source=source)
    watch = ("pkg/mapped.py", "pkg/absent.py")
    change = FileChange(path="pkg/mapped.py", content=MAPPED.encode())
    runs = engine.run(Row(targets=(target,), changes=(change,), watch=watch)).runs
    assert {run.verdict for run in runs} == {Verdict.PASS}, runs
    assert {path for run in runs for path, _ in run.ran} == {"pkg/mapped.py"}
    unwatched = engine.run(Row(targets=(target,), changes=(change,))).runs
    assert not any(run.ran for run in unwatched)
    inner = {2, 3, 4, 11, 12, 13}
    masks = {run.node: sum(int(lines, 16) for _, lines in run.ran) for run in runs}
    return {node: {line for line in inner if mask >> line & 1} for node, mask in masks.items()}


def test_each_test_tells_the_lines_of_watched_files_that_it_executes(engine: Engine) -> None:
    assert _mapped(engine) == {name: lines for name, (_, lines) in ASKS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_lines_are_the_same_where_python_tells_them_itself(
    tmp_path: Path, version: str
) -> None:
    """By `sys.monitoring`, which reports a line once unless it is asked for it again."""
    tmp_path.chmod(0o755)
    root = make_project(tmp_path / "project")
    python = environment(version, "pytest==9.0.0")
    engine = open_on(root, python=str(python))
    try:
        assert _mapped(engine) == {name: lines for name, (_, lines) in ASKS.items()}
    finally:
        engine.close()

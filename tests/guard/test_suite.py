"""Reading and choosing existing tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.guard.selection import MOST, Touched, import_nearness, near_tests
from pytest_brt.guard.suite import Suite, read_suite, read_tests
from tests.support.trees import write_tree

FILE = """\
import unittest
from pkg.core import walk, run

def helper():
    pass

def test_walk():
    assert walk("some way") == 1

class TestRun:
    def test_run(self):
        assert run()

    class TestInner:
        def test_deep(self):
            pass

class Other:
    def test_not_collected(self):
        pass

class Cases(unittest.TestCase):
    def test_case(self):
        pass

if True:
    async def test_conditional():
        pass
"""


def touched(*places: str) -> Touched:
    return Touched(places=places, size=1)


def test_nodes_are_named_as_pytest_names_them() -> None:
    assert [test.name for test in read_tests("t/test_a.py", FILE)] == [
        "t/test_a.py::test_walk",
        "t/test_a.py::TestRun::test_run",
        "t/test_a.py::TestRun::TestInner::test_deep",
        "t/test_a.py::Cases::test_case",
        "t/test_a.py::test_conditional",
    ]
    assert read_tests("t/test_a.py", "def test_a(:\n") == ()


def test_only_test_files_of_the_project_are_read(tmp_path: Path) -> None:
    for name in (
        "tests/test_a.py", "pkg/b_test.py", "pkg/core.py", "tests/helper.py",
        ".venv/test_c.py", ".git/test_d.py", "tests/__pycache__/test_e.py",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def test_x():\n    pass\n", encoding="utf-8")
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("", encoding="utf-8")
    suite = read_suite(tmp_path)
    assert list(suite.files) == ["pkg/b_test.py", "tests/test_a.py"]
    assert suite.total == 2


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        (
            "pytest.ini",
            "[pytest]\npython_files = checks.py spec_*.py\npython_classes = *Checks\n"
            "python_functions = check_ it_*",
        ),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\npython_files = ['checks.py', 'spec_*.py']\n"
            "python_classes = '*Checks'\npython_functions = ['check_', 'it_*']",
        ),
    ],
)
def test_the_project_says_what_its_tests_are_called(
    tmp_path: Path, file: str, settings: str
) -> None:
    checks = """\
import unittest

def check_a(): ...
def test_not_collected(): ...

class CartChecks:
    def it_adds(self): ...
    def test_not_collected(self): ...

class TestNot:
    def check_it(self): ...

class Usual(unittest.TestCase):
    def test_case(self): ...
    def check_not_collected(self): ...
"""
    functions = "def it_works(): ...\n\ndef test_not_collected(): ...\n"
    files = {file: settings, "cart/checks.py": checks, "spec_cart.py": functions}
    write_tree(tmp_path, {**files, "test_cart.py": "def check_a(): ...\n"})
    suite = read_suite(tmp_path)
    assert [test.name for path in suite.files for test in suite.tests(path)] == [
        "cart/checks.py::check_a",
        "cart/checks.py::CartChecks::it_adds",
        "cart/checks.py::Usual::test_case",
        "spec_cart.py::it_works",
    ]
    assert suite.total == 4


def test_those_that_mention_what_is_changed_come_first() -> None:
    suite = Suite(
        files={
            "tests/test_a.py": FILE,
            "tests/test_b.py": "def test_far():\n    pass\n",
            "tests/test_core.py": "def test_beside():\n    pass\n",
        }
    )
    chosen = near_tests(suite, touched("pkg/core.py::walk"), ())
    assert [test.name for test in chosen] == [
        "tests/test_core.py::test_beside",
        "tests/test_a.py::test_walk",
        *(test.name for test in suite.tests("tests/test_a.py") if test.node != "test_walk"),
        "tests/test_b.py::test_far",
    ]


def test_a_rare_name_says_more_than_a_common_one() -> None:
    files = {f"t/test_{n}.py": "def test_common():\n    Common()\n" for n in range(9)}
    files["t/test_z.py"] = "def test_rare():\n    Common(), rare()\n"
    chosen = near_tests(Suite(files=files), touched("x/core.py::Common.rare"), ())
    assert chosen[0].name == "t/test_z.py::test_rare"
    assert len(chosen) == 10


def test_an_inner_part_that_no_test_names_is_reached_by_what_candidates_use() -> None:
    files = {
        "t/test_0.py": "def test_a():\n    run(strip_comments=True)\n\ndef test_b():\n    run(1)\n",
        "t/test_1.py": "def test_c():\n    run(2)\n",
        "t/test_2.py": "def test_d():\n    run(3)\n",
        "t/test_3.py": "def test_e():\n    run(4)\n",
    }
    chosen = near_tests(
        Suite(files=files), touched("x/core.py::Inner._step"), ("run", "strip_comments")
    )
    assert [test.node for test in chosen] == ["test_a", "test_b", "test_c", "test_d", "test_e"]


def test_names_of_the_candidates_order_what_is_equal() -> None:
    files = {
        "t/test_0.py": "def test_a():\n    walk(1)\n",
        "t/test_1.py": "def test_b():\n    walk(special)\n",
        "t/test_2.py": "def test_c():\n    pass\n",
    }
    chosen = near_tests(Suite(files=files), touched("x/core.py::walk"), ("special",))
    assert [test.node for test in chosen] == ["test_b", "test_a", "test_c"]
    few = near_tests(Suite(files=files), touched("x/core.py::nothing"), ("special",))
    assert [test.node for test in few] == ["test_b", "test_a", "test_c"]


def test_what_says_nothing_of_the_change_comes_by_what_it_imports() -> None:
    body = "\n\ndef test_x():\n    pass\n"
    files = {
        "t/test_a.py": f"import json{body}",
        "t/test_b.py": f"import pkg.other{body}",
        "t/test_c.py": f"from pkg import (\n    deep,\n){body}",
        "t/test_d.py": f"from pkg.deep.part import open{body}",
    }
    chosen = near_tests(Suite(files=files), touched("src/pkg/deep/part.py::inner"), ())
    assert [test.path for test in chosen] == [
        "t/test_d.py", "t/test_c.py", "t/test_b.py", "t/test_a.py",
    ]  # fmt: skip
    # They come last, however near.
    files["t/test_z.py"] = "def test_x():\n    inner()\n"
    chosen = near_tests(Suite(files=files), touched("src/pkg/deep/part.py::inner"), ())
    assert chosen[0].path == "t/test_z.py"


def test_relative_imports_of_tests_in_the_package_count() -> None:
    path = "pkg/tests/test_a.py"
    assert import_nearness(path, "from .. import core\n", "pkg/core.py") == 1.0
    assert import_nearness(path, "from ..core import walk\n", "pkg/core.py") == 1.0
    assert import_nearness(path, "from . import core\n", "pkg/core.py") == 0.5
    assert import_nearness(path, "import os, sys\n", "pkg/core.py") == 0.0
    assert import_nearness(path, "import os, pkg.core as c\n", "src/pkg/core.py") == 1.0
    assert import_nearness(path, "from pkg import core\n", "src/pkg/core/__init__.py") == 1.0


def test_at_most_so_many_are_considered() -> None:
    many = "".join(f"def test_{number}(): pass\n" for number in range(MOST))
    suite = Suite(files={"test_a.py": many, "test_b.py": many})
    assert len(near_tests(suite, touched("core.py::x"), ())) == MOST


@given(st.text(max_size=300))
def test_any_text_can_be_a_file(text: str) -> None:
    suite = Suite(files={"test_a.py": text})
    near_tests(suite, touched("a.py::x"), ("y",))
    assert suite.total >= 0

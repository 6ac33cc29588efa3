"""Reading existing tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.guard.suite import read_suite, read_tests
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
    assert sum(suite.counts.values()) == 2


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


def test_tests_of_a_base_in_the_same_file_are_those_of_the_class() -> None:
    source = """\
class Shared:
    def test_a(self): "shared"
    def test_b(self): "shared"

class TestOne(Shared):
    def test_b(self): "own"

class Case(other.TestCase, Shared):
    pass
"""
    found = {test.node: "own" in test.words for test in read_tests("t/test_a.py", source)}
    assert found == {
        "TestOne::test_b": True,
        "TestOne::test_a": False,
        "Case::test_a": False,
        "Case::test_b": False,
    }


def test_files_are_looked_for_where_the_settings_say(tmp_path: Path) -> None:
    test = "def test_x():\n    pass\n"
    files = {
        "pytest.ini": "[pytest]\ntestpaths = checks\nnorecursedirs = old\n"
        "addopts = --ignore=checks/no\n",
        "checks/test_a.py": test,
        "checks/old/test_b.py": test,
        "checks/no/test_c.py": test,
        "pkg/test_d.py": test,
    }
    write_tree(tmp_path, files)
    assert list(read_suite(tmp_path).files) == ["checks/test_a.py"]


def test_settings_that_name_no_file_of_tests_do_not_count(tmp_path: Path) -> None:
    settings = "[pytest]\ntestpaths = gone\n"
    write_tree(tmp_path, {"pytest.ini": settings, "pkg/test_d.py": "def test_x():\n    pass\n"})
    assert list(read_suite(tmp_path).files) == ["pkg/test_d.py"]

"""Reading existing tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.guard import TestFiles
from pytest_brt.patches.changes import Touched, altered_tests
from pytest_brt.project.pytest_config import USUAL
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
    assert [*altered_tests(None, FILE.encode(), USUAL)] == [
        "test_walk",
        "TestRun::test_run",
        "TestRun::TestInner::test_deep",
        "Cases::test_case",
        "test_conditional",
    ]
    assert altered_tests(None, b"def test_a(:\n", USUAL) == {}


def test_only_test_files_of_the_project_are_read(tmp_path: Path) -> None:
    for name in (
        "tests/test_a.py", "pkg/b_test.py", "pkg/core.py", "tests/helper.py",
        ".venv/test_c.py", ".git/test_d.py", "tests/__pycache__/test_e.py",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def test_x():\n    pass\n", encoding="utf-8")
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("", encoding="utf-8")
    files = TestFiles(tmp_path)
    assert list(files.texts) == ["pkg/b_test.py", "tests/test_a.py"]
    assert files.count() == 2


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
def test_the_project_says_what_tests_are_called(tmp_path: Path, file: str, settings: str) -> None:
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
    found = TestFiles(tmp_path)
    tests = [
        f"{path}::{node}"
        for path, text in found.texts.items()
        for node in altered_tests(None, text.encode(), found.collected)
    ]
    assert tests == [
        "cart/checks.py::check_a",
        "cart/checks.py::CartChecks::it_adds",
        "cart/checks.py::Usual::test_case",
        "spec_cart.py::it_works",
    ]


def test_the_nearest_files_come_first(tmp_path: Path) -> None:
    sources = {
        "tests/test_a.py": "def test_walk():\n    walk()\n",
        "tests/test_b.py": "def test_far():\n    pass\n",
        "tests/test_c.py": "def test_far():\n    pass\n",
        "tests/test_core.py": "def test_beside():\n    pass\n",
    }
    write_tree(tmp_path, sources)
    touched = Touched(files=("pkg/core.py",), names=("walk",))
    names = [path[11:-3] for path in TestFiles(tmp_path).nearest([touched])]
    assert names == ["core", "a", "b", "c"]


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
    assert list(TestFiles(tmp_path).texts) == ["checks/test_a.py"]


def test_settings_that_name_no_file_of_tests_do_not_count(tmp_path: Path) -> None:
    settings = "[pytest]\ntestpaths = gone\n"
    write_tree(tmp_path, {"pytest.ini": settings, "pkg/test_d.py": "def test_x():\n    pass\n"})
    assert list(TestFiles(tmp_path).texts) == ["pkg/test_d.py"]

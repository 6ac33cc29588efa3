"""What test classes inherit, and that it is counted as pytest counts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_brt.guard.suite import Suite, read_suite, read_tests

TREE = {
    "tests/__init__.py": """
class Mixin:
    def test_a(self): pass
    def test_b(self): pass
    def helper(self): pass
""",
    "tests/common/__init__.py": "from .deep import *\nfrom .deep import Deep as Renamed\n",
    "tests/common/deep.py": """
import unittest
from .. import Mixin

class Deep(Mixin):
    def test_deep(self): pass

class Cases(unittest.TestCase):
    def test_case(self): pass
""",
    "tests/test_direct.py": """
from . import Mixin

class TestOwn(Mixin):
    test_b = None
    def test_c(self): assert Thing

class NotCollected(Mixin):
    pass
""",
    "tests/test_far.py": """
import unittest
import tests.common
from tests import common
from tests.common import Renamed

class TestRenamed(Renamed):
    pass

class TestDotted(tests.common.deep.Deep):
    pass

class Further(common.Cases):
    kind = Special
    def test_own(self): pass

class Made(unittest.TestCase, common.Deep):
    def test_a(self): pass

class TestMade(common.Deep):
    def __init__(self, x): pass
""",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in TREE.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("Special", "int"), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


def collected(root: Path) -> set[str]:
    command = [sys.executable, "-P", "-m", "pytest", "--collect-only", "-q", "-p", "no:brt"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider"], cwd=root, capture_output=True, text=True, check=False
    )
    return {line for line in done.stdout.splitlines() if "::" in line and " " not in line}


def test_the_tests_are_those_that_pytest_collects(root: Path) -> None:
    suite = read_suite(root)
    found = [test.name for path in suite.files for test in suite.tests(path)]
    assert set(found) == collected(root)
    assert len(found) == len(set(found)) == suite.total == 13


def test_what_a_class_sets_is_what_its_inherited_tests_are_about() -> None:
    suite = Suite(files={"tests/test_a.py": TREE["tests/test_far.py"], **TREE})
    words = {test.node: test.words for test in suite.tests("tests/test_a.py")}
    assert "Special" in words["Further::test_case"]
    assert "Special" not in words["Further::test_own"]


def test_bases_of_the_same_file_are_known_without_a_project() -> None:
    text = "class A:\n    def test_a(self): pass\n\nclass TestB(A):\n    def test_b(self): pass\n"
    assert [test.node for test in read_tests("test_a.py", text)] == [
        "TestB::test_b",
        "TestB::test_a",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "class TestA(TestA):\n    def test_a(self): pass\n",
        "class TestA(TestB):\n    def test_a(self): pass\n\nclass TestB(TestA): pass\n",
        "from test_a import TestA\n\nclass TestB(TestA):\n    def test_a(self): pass\n",
        "from test_a import *\n\nclass TestB(TestA, make()[0], Generic[T]):\n"
        "    def test_a(self): pass\n",
    ],
)
def test_bases_that_lead_in_circles_or_nowhere_end(text: str) -> None:
    tests = read_tests("test_a.py", text)
    assert "test_a" in {test.node.rpartition("::")[2] for test in tests}

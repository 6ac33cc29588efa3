from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.code.index import open_index
from pytest_brt.localise.machinery import is_machinery
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "",
    "pkg/core.py": "from pkg.testing_used import clock\n",
    "pkg/offered.py": "def offered(): ...\n",
    "pkg/testing/__init__.py": "",
    "pkg/testing/compare.py": "def same(): ...\n",
    "pkg/testing/fixtures.py": "from pkg.testing.compare import same\n",
    "pkg/testing_used.py": "def clock(): ...\n",
    "pkg/checks.py": "import unittest\n\n\nclass Case(unittest.TestCase): ...\n",
    "pkg/contest.py": "def contest(): ...\n",
    "tests/test_pkg.py": (
        "from pkg.testing.fixtures import same\nfrom pkg.offered import offered\n"
        "from pkg.checks import Case\nfrom pkg.contest import contest\n"
    ),
}


@pytest.mark.parametrize(
    ("path", "helps"),
    [
        ("pkg/testing/compare.py", True),
        ("pkg/testing/fixtures.py", True),
        ("pkg/checks.py", True),
        # What only tests import is what the project offers, unless it looks like more.
        ("pkg/offered.py", False),
        ("pkg/contest.py", False),
        # The product uses it itself.
        ("pkg/testing_used.py", False),
        ("pkg/core.py", False),
    ],
)
def test_what_helps_tests_alone(tmp_path: Path, path: str, helps: bool) -> None:
    write_tree(tmp_path, FILES)
    with open_index(tmp_path) as index:
        assert is_machinery(path, index) is helps


def test_a_framework_for_tests_has_no_machinery(tmp_path: Path) -> None:
    write_tree(tmp_path, {"pytest/__init__.py": "", "pytest/core.py": "import pytest\n"})
    with open_index(tmp_path) as index:
        assert not is_machinery("pytest/core.py", index)

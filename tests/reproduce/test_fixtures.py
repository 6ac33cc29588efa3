"""Fixtures that a model is shown."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.code.index import open_index
from pytest_brt.reproduce.prompting.context import fixtures_for
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "",
    "tests/conftest.py": (
        "import pytest\n\n\n@pytest.fixture\ndef corpus():\n    return ['a']\n\n\n"
        "@pytest.fixture\ndef unused():\n    return 1\n\n\n"
        "@pytest.fixture\ndef shadowed():\n    return 'far'\n"
    ),
    "tests/unit/conftest.py": (
        "import pytest\n\n\n@pytest.fixture(scope='module')\ndef shadowed():\n    return 'near'\n"
        "\n\n@pytest.fixture\ndef long():\n" + "    x = 1\n" * 200
    ),
    "tests/unit/test_a.py": (
        "import pytest\n\n\n@pytest.fixture\ndef own():\n    return 2\n\n\n"
        "def test_a(corpus, shadowed, own, long, tmp_path):\n    pass\n\n\n"
        "def test_b(shadowed):\n    pass\n"
    ),
}


def test_those_of_conftest_files_that_the_tests_use_are_shown_with_their_code(
    tmp_path: Path,
) -> None:
    write_tree(tmp_path, FILES)
    with open_index(tmp_path) as index:
        assert fixtures_for("tests/unit/test_a.py", index) == (
            "@pytest.fixture(scope='module')\ndef shadowed():\n    return 'near'\n\n"
            "@pytest.fixture\ndef corpus():\n    return ['a']"
        )
        assert fixtures_for("tests/unit/test_gone.py", index) == ""

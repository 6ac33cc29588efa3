"""A run that is set apart from the project's settings has the root that pytest finds by itself."""

from __future__ import annotations

import pytest

from pytest_brt.project.pytest_config import find_root, read_settings
from tests.support.trees import write_tree

INI, BARE, SETUP = "[pytest]\n", '[project]\nname = "x"\n', "from setuptools import setup\n"


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": "", "sub/setup.py": SETUP},
        {"tox.ini": INI, "sub/pyproject.toml": BARE},
        {"tox.ini": "[tox]\n", "sub/pyproject.toml": "[tool.pytest.ini_options]\n"},
        {"setup.cfg": "[tool:pytest]\n", "sub/tox.ini": "[tox]\n"},
        {"pyproject.toml": BARE, "sub/setup.py": SETUP},
        {"setup.py": SETUP, "sub/README": ""},
    ],
)
def test_it_is_the_same(
    files: dict[str, str], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(pytester.path, {"sub/README": "", **files})
    monkeypatch.chdir(pytester.path / "sub")
    assert find_root(pytester.path / "sub") == pytester.parseconfig().rootpath


def test_a_file_that_cannot_be_read_sets_nothing(pytester: pytest.Pytester) -> None:
    write_tree(pytester.path, {"pytest.ini": "no section\n"})
    assert read_settings(pytester.path) == ("", {})

"""Files that a candidate fix may not change.

A patch must not score by changing what judges it: tests, pytest's configuration, and code that
Python runs by itself are left out of what is applied.
"""

from __future__ import annotations

import fnmatch
import re
import tomllib
from enum import StrEnum

from pytest_brt.types import FileChange


class LeftOutKind(StrEnum):
    """What a candidate fix does not change."""

    TESTS = "tests"
    PYTEST_CONFIGURATION = "pytest-configuration"
    #: Such as ``sitecustomize.py``.
    STARTUP_CODE = "startup-code"
    INSTALLED_CODE = "installed-code"
    #: Such as caches.
    TOOL_FILES = "tool-files"
    BINARY_FILES = "binary-files"


_CONFIGURATION = frozenset(
    ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
)
#: They may have a pytest section; what else they have does not change how code runs.
_MIXED_CONFIGURATION = frozenset(("tox.ini", "setup.cfg"))
#: What the interpreter runs at its start, or instead of the source beside it.
_STARTUP = ("sitecustomize.py", "usercustomize.py", "*.pth", "*.pyc", "*.pyo")
#: Folders of what is installed beside the project, and of what tools keep.
_BESIDE = frozenset(("site-packages", "dist-packages", ".venv", "venv", "__pycache__"))
_KEPT = frozenset((".pytest_cache", ".hypothesis", ".mypy_cache", ".tox", ".nox"))
_TESTS = ("test_*.py", "*_test.py", "tests.py")
#: Top-level folders of tests; deeper down only "tests" is one, since packages called "test"
#: or "testing" are often code that a project offers.
_TEST_FOLDERS = frozenset(("test", "tests", "testing"))
_COMPILED = re.compile(
    r".*\.(?:c|h|cc|cpp|cxx|hh|hpp|cu|mm?|s|rs|go|f|f77|f90|f95|py[xd]|pxi|pyx\.in|i|swg|proto|y|l)"
)
_BUILD_FILES = frozenset(
    ("setup.py", "pyproject.toml", "meson.build", "cmakelists.txt", "makefile", "cargo.toml")
)


def left_out_kind(path: str, before: bytes | None, after: bytes | None) -> LeftOutKind | None:
    """Return as what a change of `path` is left out of a candidate fix; None when it is not.

    >>> left_out_kind("pkg/tests/test_m.py", b"", b"x").value
    'tests'
    """
    name = path.rpartition("/")[2].casefold()
    folders = path.split("/")[:-1]
    if name in _CONFIGURATION | _MIXED_CONFIGURATION:
        return LeftOutKind.PYTEST_CONFIGURATION
    if name == "pyproject.toml" and _pytest_table(before) != _pytest_table(after):
        return LeftOutKind.PYTEST_CONFIGURATION
    if _is_any(name, _STARTUP):
        return LeftOutKind.STARTUP_CODE
    if not _BESIDE.isdisjoint(folders):
        return LeftOutKind.INSTALLED_CODE
    if not _KEPT.isdisjoint(folders):
        return LeftOutKind.TOOL_FILES
    if "tests" in folders or (folders and folders[0] in _TEST_FOLDERS) or _is_any(name, _TESTS):
        return LeftOutKind.TESTS
    return None


def needs_build(change: FileChange) -> bool:
    """Whether `change` has no effect on a tree until something is built or installed."""
    name = change.path.rpartition("/")[2].casefold()
    return name in _BUILD_FILES or _COMPILED.fullmatch(name) is not None


def _is_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _pytest_table(content: bytes | None) -> object:
    """Return the pytest part of a pyproject.toml; its bytes when it cannot be read."""
    if content is None:
        return None
    try:
        return tomllib.loads(content.decode()).get("tool", {}).get("pytest")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, RecursionError):
        return content

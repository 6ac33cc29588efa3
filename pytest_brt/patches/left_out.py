"""Files that a candidate fix may not change.

A patch must not score by changing what judges it: tests, pytest's configuration, and code that
Python runs by itself are left out of what is applied.
"""

from __future__ import annotations

import re
import tomllib

#: Paths, by the first kind that they are of. Folders called "test" or "testing" hold tests at the
#: top alone: deeper down they are often code that a project offers.
_KINDS = {
    "pytest configuration": re.compile(
        r"(?:.*/)?(?:conftest\.py|\.?pytest\.(?:ini|toml)|tox\.ini|setup\.cfg)", re.IGNORECASE
    ),
    "startup code": re.compile(
        r"(?:.*/)?(?:(?:site|user)customize\.py|[^/]*\.(?:pth|py[co]))", re.IGNORECASE
    ),
    "installed code": re.compile(
        r"(?:.*/)?(?:(?:site|dist)-packages|\.?venv|__pycache__|\.(?:pytest|mypy)_cache"
        r"|\.hypothesis|\.tox|\.nox)/.*"
    ),
    "tests": re.compile(
        r"(?:test|testing)/.*|(?:.*/)?(?:tests/.*|test_[^/]*\.py|[^/]*_test\.py|tests\.py)"
    ),
}


def left_out_kind(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return as what a change of `path` is left out of a candidate fix; "" when it is not.

    >>> left_out_kind("pkg/tests/test_m.py", b"", b"x")
    'tests'
    """
    if path.endswith("pyproject.toml") and _pytest_table(before) != _pytest_table(after):
        return "pytest configuration"
    return next((kind for kind, paths in _KINDS.items() if paths.fullmatch(path)), "")


def _pytest_table(content: bytes | None) -> object:
    """Return the pytest part of a pyproject.toml; its bytes when it cannot be read."""
    if content is None:
        return None
    try:
        return tomllib.loads(content.decode()).get("tool", {}).get("pytest")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, RecursionError):
        return content

from __future__ import annotations

import pytest

from pytest_brt.patches.left_out import left_out_kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tests/test_m.py", "tests"),
        ("tests/data/expected.json", "tests"),
        ("testing/x.py", "tests"),
        ("pkg/tests/helper.py", "tests"),
        ("pkg/test_m.py", "tests"),
        ("pkg/m_test.py", "tests"),
        # Packages that a project offers under such a name are its code.
        ("pkg/testing/x.py", ""),
        ("pkg/test/client.py", ""),
        ("pkg/testcase.py", ""),
        ("pkg/contest.py", ""),
        ("conftest.py", "pytest configuration"),
        ("pkg/deep/conftest.py", "pytest configuration"),
        ("pytest.toml", "pytest configuration"),
        ("pkg/SiteCustomize.py", "startup code"),
        ("x.pth", "startup code"),
        ("pkg/__pycache__/m.cpython-311.pyc", "startup code"),
        (".venv/lib/python3.11/site-packages/_pytest/runner.py", "installed code"),
        (".pytest_cache/d/brt/last-run.json", "installed code"),
        ("pkg/m.py", ""),
        ("docs/index.md", ""),
    ],
)
def test_left_out_kind(path: str, kind: str) -> None:
    assert left_out_kind(path, b"one", b"two") == kind


@pytest.mark.parametrize(
    ("before", "after", "is_left_out"),
    [
        (b"a = 1", b"a = 2", False),
        (b"a = 1", b"[tool.pytest.ini_options]\nx = 1", True),
        (b"[tool.pytest]\nx = 1", b"", True),
        (None, b"a = 1", False),
        (None, b"[tool.pytest.ini_options]", True),
        (b"a = 1", b"not toml", True),
        (b"a = 1", b"tool = 1", True),
    ],
)
def test_pyproject(before: bytes | None, after: bytes | None, is_left_out: bool) -> None:
    assert bool(left_out_kind("pyproject.toml", before, after)) is is_left_out

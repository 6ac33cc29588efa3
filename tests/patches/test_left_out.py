from __future__ import annotations

import pytest

from pytest_brt.patches.left_out import LeftOutKind, left_out_kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tests/test_m.py", LeftOutKind.TESTS),
        ("tests/data/expected.json", LeftOutKind.TESTS),
        ("testing/x.py", LeftOutKind.TESTS),
        ("pkg/tests/helper.py", LeftOutKind.TESTS),
        ("pkg/test_m.py", LeftOutKind.TESTS),
        ("pkg/m_test.py", LeftOutKind.TESTS),
        # Packages that a project offers under such a name are its code.
        ("pkg/testing/x.py", None),
        ("pkg/test/client.py", None),
        ("pkg/testcase.py", None),
        ("pkg/contest.py", None),
        ("conftest.py", LeftOutKind.PYTEST_CONFIGURATION),
        ("pkg/deep/conftest.py", LeftOutKind.PYTEST_CONFIGURATION),
        ("pytest.toml", LeftOutKind.PYTEST_CONFIGURATION),
        ("pkg/SiteCustomize.py", LeftOutKind.STARTUP_CODE),
        ("x.pth", LeftOutKind.STARTUP_CODE),
        ("pkg/__pycache__/m.cpython-311.pyc", LeftOutKind.STARTUP_CODE),
        (".venv/lib/python3.11/site-packages/_pytest/runner.py", LeftOutKind.INSTALLED_CODE),
        (".pytest_cache/d/brt/last-run.json", LeftOutKind.INSTALLED_CODE),
        ("pkg/m.py", None),
        ("docs/index.md", None),
    ],
)
def test_left_out_kind(path: str, kind: LeftOutKind | None) -> None:
    assert left_out_kind(path, b"one", b"two") is kind


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

from __future__ import annotations

import pytest

from pytest_brt.patches.apply import left_out_kind


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
        ("pyproject.toml", "pytest configuration"),
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
    assert left_out_kind(path) == kind

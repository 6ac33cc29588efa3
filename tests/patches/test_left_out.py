from __future__ import annotations

import pytest

from pytest_brt.patches.apply import is_left_out


@pytest.mark.parametrize(
    ("path", "is_out"),
    [
        ("tests/test_m.py", True),
        ("tests/data/expected.json", True),
        ("testing/x.py", True),
        ("pkg/tests/helper.py", True),
        ("pkg/test_m.py", True),
        ("pkg/m_test.py", True),
        # Packages that a project offers under such a name are its code.
        ("pkg/testing/x.py", False),
        ("pkg/test/client.py", False),
        ("pkg/testcase.py", False),
        ("pkg/contest.py", False),
        ("conftest.py", True),
        ("pyproject.toml", True),
        ("pkg/deep/conftest.py", True),
        ("pytest.toml", True),
        ("pkg/SiteCustomize.py", True),
        ("x.pth", True),
        ("pkg/__pycache__/m.cpython-311.pyc", True),
        (".venv/lib/python3.11/site-packages/_pytest/runner.py", True),
        (".pytest_cache/d/brt/last-run.json", True),
        ("pkg/m.py", False),
        ("docs/index.md", False),
    ],
)
def test_paths_that_judge_are_left_out(path: str, *, is_out: bool) -> None:
    assert is_left_out(path) is is_out

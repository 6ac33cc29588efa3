"""Settings of a project in each kind of file that pytest reads, each as people would write it."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "[tool.pytest]\nbrt_timeout = 60\nbrt_env = ['SHOWN=1']\n"),
        ("pytest.toml", '[pytest]\nbrt_timeout = "60s"\nbrt_env = ["SHOWN=1"]\n'),
        ("pyproject.toml", '[tool.pytest.ini_options]\nbrt_timeout = "60"\nbrt_env = "SHOWN=1"\n'),
    ],
)
def test_a_run_takes_them(project: pytest.Pytester, file: str, text: str) -> None:
    (project.path / "tox.ini").unlink()
    (project.path / file).write_text(text, "utf-8")
    result = project.runpytest_subprocess("--brt-issue=clamp.md", "--co")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert project.runpytest_subprocess("tests").ret == 0  # and a run without us

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
    result = project.runpytest_subprocess("--brt-issue", "clamp.md")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert project.runpytest_subprocess("tests").ret == 0  # and a run without us


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("brt_timeout = [[1]]", "brt_timeout: expected a time"),
        ("brt_timeout = -1", "brt_timeout: expected a time"),
        ("brt_env.SHOWN = 1", "brt_env: expected NAME=VALUE"),
    ],
)
def test_what_cannot_be_used_names_file_and_key(
    project: pytest.Pytester, line: str, said: str
) -> None:
    (project.path / "tox.ini").unlink()
    (project.path / "pyproject.toml").write_text(f"[tool.pytest]\n{line}\n", "utf-8")
    result = project.runpytest_subprocess("--brt-issue", "clamp.md")
    assert result.ret == 4
    (error,) = [line for line in result.stderr.lines if line.startswith("ERROR")]
    assert f"pyproject.toml: {said}" in error

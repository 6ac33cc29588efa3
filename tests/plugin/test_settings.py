"""Settings of a project in each kind of file that pytest reads, each as people would write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.plugin.option_list import MORE_OPTIONS, OPTIONS, SETTINGS, destination
from pytest_brt.plugin.options import read_value, setting_texts
from pytest_brt.project.pytest_config import read_settings

KINDS = {flag: (kind, metavar) for flag, _, metavar, kind, *_ in (*OPTIONS, *MORE_OPTIONS)}
#: What each setting may be: as native TOML, and as text.
WRITTEN = {
    "--brt-python": ('".venv/bin/python"', ".venv/bin/python"),
    "--brt-env": ('["A=1", "B=2"]', "\n    A=1\n    B=2"),
    "--brt-timeout": ('"90s"', "90s"),
}
#: The files, with what stands around a setting.
TOML = {"pyproject.toml": "[tool.pytest]\n", "pytest.toml": "[pytest]\n"}
TEXT = {"pytest.ini": "[pytest]\n", "tox.ini": "[pytest]\n", "setup.cfg": "[tool:pytest]\n"}


def of_file(path: Path, flag: str, text: str) -> list[object]:
    """Return the values of the option when the file says so."""
    path.write_text(text, "utf-8")
    name, found = read_settings(path.parent)
    assert name == path.name
    texts = setting_texts(found[destination(flag)], several=flag == "--brt-env")
    return [read_value(*KINDS[flag], one) for one in texts]


def test_each_setting_is_tried() -> None:
    assert set(WRITTEN) == set(SETTINGS)


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize("flag", SETTINGS)
def test_native_toml_says_the_same_as_text(flag: str, name: str, tmp_path: Path) -> None:
    native, text = WRITTEN[flag]
    key = destination(flag)
    written = of_file(tmp_path / "pytest.ini", flag, f"[pytest]\n{key} = {text}\n")
    assert written
    (tmp_path / "pytest.ini").unlink()
    assert of_file(tmp_path / name, flag, f"{TOML[name]}{key} = {native}\n") == written


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("flag", SETTINGS)
def test_text_says_the_same_in_each_file(flag: str, name: str, tmp_path: Path) -> None:
    _, text = WRITTEN[flag]
    key = destination(flag)
    written = of_file(tmp_path / "pytest.ini", flag, f"[pytest]\n{key} = {text}\n")
    (tmp_path / "pytest.ini").unlink()
    assert of_file(tmp_path / name, flag, f"{TEXT[name]}{key} = {text}\n") == written


def test_variables_may_be_a_table() -> None:
    assert setting_texts({"A": "x y", "B": 2}, several=True) == ["A=x y", "B=2"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "[tool.pytest]\nbrt_timeout = 60\nbrt_env.SHOWN = 1\n"),
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
        ("brt_timeout = [[1]]", "brt_timeout: expected a text, a number or a list of these"),
        ("brt_timeout = 1979-05-27", "brt_timeout: expected a text, a number"),
        ("brt_timeout = -1", "brt_timeout: expected a time"),
        ("brt_timeout = true", "brt_timeout: expected a text"),
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

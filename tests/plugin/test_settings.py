"""Settings of a project in each kind of file that pytest reads, each as people would write it."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.config.findpaths import load_config_dict_from_file

from pytest_brt.plugin.option_table import SPECS
from pytest_brt.plugin.option_values import Spec
from pytest_brt.plugin.settings import setting

INI = [spec for spec in SPECS if spec.ini]
#: What each setting may be: as native TOML, and as text.
WRITTEN = {
    "strategy": ('["replay", "libro"]', "replay,libro"),
    "python": ('".venv/bin/python"', ".venv/bin/python"),
    "env": ('["A=1", "B=2"]', "\n    A=1\n    B=2"),
    "guard": ("false", "no"),
    "timeout": ('"90s"', "90s"),
    "budget": ('"15m"', "15m"),
    "threshold": ("0.5", "0.5"),
    "write": ('"into"', "into"),
    "ranker": ('"epr"', "epr"),
    "thinking": ("0", "0"),
    "cache_type": ('"q8_0"', "q8_0"),
    "without": ('["search", "states,memory"]', "\n    search\n    states,memory"),
    "mark": ('"xfail"', "xfail"),
    "stages": ('["reproduce", "rank"]', "reproduce,rank"),
    "given": ('["files", "place"]', "files,place"),
}
#: The files, with what stands around a setting.
TOML = {"pyproject.toml": "[tool.pytest]\n", "pytest.toml": "[pytest]\n"}
TEXT = {"pytest.ini": "[pytest]\n", "tox.ini": "[pytest]\n", "setup.cfg": "[tool:pytest]\n"}


def of_file(path: Path, spec: Spec, text: str) -> object:
    """Return what the option is when the file says so."""
    path.write_text(text, "utf-8")
    found = load_config_dict_from_file(path)
    assert found is not None
    values = {name: getattr(entry, "value", entry) for name, entry in found.items()}
    read = [spec.read(one) for one in setting(spec, values)]
    return tuple(read) if spec.repeat else read[0]


def _forms(spec: Spec) -> tuple[str, str]:
    if spec.name in WRITTEN:
        return WRITTEN[spec.name]
    if spec.switch:
        return "true", "yes"
    try:
        spec.read("1024")
    except ValueError:
        return '"x"', "x"
    return "1024", "1024"


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize("spec", INI, ids=lambda spec: spec.name)
def test_native_toml_says_the_same_as_text(spec: Spec, name: str, tmp_path: Path) -> None:
    native, text = _forms(spec)
    written = of_file(tmp_path / "pytest.ini", spec, f"[pytest]\n{spec.dest} = {text}\n")
    told = of_file(tmp_path / name, spec, f"{TOML[name]}{spec.dest} = {native}\n")
    assert told == written


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("spec", INI, ids=lambda spec: spec.name)
def test_text_says_the_same_in_each_file(spec: Spec, name: str, tmp_path: Path) -> None:
    _, text = _forms(spec)
    written = of_file(tmp_path / "pytest.ini", spec, f"[pytest]\n{spec.dest} = {text}\n")
    assert of_file(tmp_path / name, spec, f"{TEXT[name]}{spec.dest} = {text}\n") == written


def test_variables_may_be_a_table() -> None:
    (env,) = (spec for spec in INI if spec.name == "env")
    assert setting(env, {"brt_env": {"A": "x y", "B": 2}}) == ["A=x y", "B=2"]


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "[tool.pytest]\nbrt_jobs = 1\nbrt_timeout = 60\nbrt_guard = false\n"),
        ("pytest.toml", '[pytest]\nbrt_jobs = 1\nbrt_timeout = "60s"\nbrt_strategy = ["replay"]\n'),
        ("pyproject.toml", '[tool.pytest.ini_options]\nbrt_jobs = "1"\nbrt_timeout = "60"\n'),
    ],
)
def test_a_run_takes_them(project: pytest.Pytester, file: str, text: str) -> None:
    (project.path / "tox.ini").unlink()
    (project.path / file).write_text(text, "utf-8")
    result = project.runpytest_subprocess("--brt-issue", "clamp.md")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert "; 1 jobs" in result.stdout.str()
    assert project.runpytest_subprocess("tests").ret == 0  # and a run without us


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("brt_jobs = [[1]]", "brt_jobs: expected a text, a number, true, false or a list of these"),
        ("brt_jobs = 1979-05-27", "brt_jobs: expected a text, a number"),
        ('brt_jobs = "many"', "brt_jobs: expected"),
        ("brt_timeout = -1", "brt_timeout: expected a time"),
        ("brt_write = true", "brt_write: expected"),
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

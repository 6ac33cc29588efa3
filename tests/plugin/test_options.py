"""Options: command line over environment over ini over default."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.errors import UsageProblem
from pytest_brt.plugin.inputs import rankable
from pytest_brt.plugin.option_list import OPTIONS, SETTINGS, declaration, destination, is_ours
from pytest_brt.plugin.options import Options, read_options
from pytest_brt.store import LastRun
from pytest_brt.types import Patch


def parsed(*arguments: str) -> argparse.Namespace:
    """Return what a command line gives."""
    parser = argparse.ArgumentParser()
    for row in OPTIONS:
        parser.add_argument(row[0], **declaration(row))
    return parser.parse_args(arguments)


def options_of(root: Path, *arguments: str) -> Options:
    """Return the options of a run in the project at `root`."""
    return read_options(parsed(*arguments), root)


def settings(root: Path, text: str) -> None:
    """Write the settings of a project."""
    (root / "pytest.ini").write_text(f"[pytest]\n{text}\n", "utf-8")


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_BRT_MODEL", raising=False)
    monkeypatch.setenv("PYTEST_BRT_MODELS", str(tmp_path))
    options = options_of(tmp_path, "--brt-issue=a.md")
    assert options.issue == ("a.md",)
    assert options.rank_fixes == ()
    assert options.strategy == ("auto",)
    assert (options.model, options.write) == ("none", "diff")
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    assert options.timeout == 60.0
    assert 0 < options.memory <= machine / 2 / options.jobs
    assert (options.sandbox, options.net) == ("auto", "none")
    assert options.jobs >= 1
    assert (options.budget, options.samples, options.steps) == (900.0, None, None)
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    assert options_of(tmp_path).model == f"gguf:{tmp_path / 'small.gguf'}", "the only one"


def test_everything_given(tmp_path: Path) -> None:
    options = options_of(
        tmp_path,
        "--brt-issue=a.md",
        "--brt-issue=b.md",
        "--brt-repair=b.md",
        "--rank-fixes=patches",
        "--brt-strategy=one, two",
        "--brt-env=A=1",
        "--brt-env=B=x=y",
        "--brt-jobs=3",
        "--brt-budget=1.5h",
        "--brt-samples=7",
        "--brt-report=out.json",
    )
    assert options.issue == ("a.md", "b.md")
    assert options.rank_fixes == ("patches",)
    assert options.strategy == ("one", "two")
    assert options.env == (("A", "1"), ("B", "x=y"))
    assert (options.jobs, options.report) == (3, (Path("out.json"),))
    assert (options.budget, options.samples) == (5400.0, 7)


def test_the_command_line_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(tmp_path, "brt_timeout = 3\nbrt_env =\n    A=1\n    B=2")
    assert options_of(tmp_path).timeout == 3
    assert options_of(tmp_path, "--brt-timeout=4", "--brt-timeout=5").timeout == 5
    assert options_of(tmp_path).env == (("A", "1"), ("B", "2"))
    monkeypatch.setenv("PYTEST_BRT_MODEL", "env:1")
    assert options_of(tmp_path).model == "env:1"
    assert options_of(tmp_path, "--brt-model=x:1").model == "x:1"


def test_a_project_says_nothing_of_what_shuts_it_in(tmp_path: Path) -> None:
    before = options_of(tmp_path)
    settings(tmp_path, "brt_sandbox = none\nbrt_net = host\nbrt_show = /srv\nbrt_model = gguf:x")
    assert options_of(tmp_path) == before


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH"])
def test_a_project_shows_no_folder_but_its_own(tmp_path: Path, name: str) -> None:
    (tmp_path / "out").symlink_to("/srv")
    for inside in ("", "lib", "lib:src/../lib"):
        settings(tmp_path, f"brt_env = {name}={inside}")
        assert options_of(tmp_path).env == ((name, inside),)
    for outside in ("/srv", "lib:..", "out/keys"):
        settings(tmp_path, f"brt_env = {name}={outside}")
        with pytest.raises(UsageProblem, match="brt_env names a folder outside"):
            options_of(tmp_path)
        assert options_of(tmp_path, f"--brt-env={name}=/srv").env == ((name, "/srv"),)


@pytest.mark.parametrize("python", ["../other/.venv/bin/python", "/usr/bin/python3"])
def test_a_project_names_no_interpreter_elsewhere(tmp_path: Path, python: str) -> None:
    settings(tmp_path, f"brt_python = {python}")
    with pytest.raises(UsageProblem, match="brt_python names a folder outside"):
        options_of(tmp_path)
    assert options_of(tmp_path, f"--brt-python={python}").python == python


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--brt-jobs=0", "--brt-jobs: expected a number of at least 1, got '0'"),
        ("--brt-jobs=1.5", "--brt-jobs: expected a number of at least 1, got '1.5'"),
        ("--brt-timeout=nan", "--brt-timeout: expected a time, as in 90s, 15m or 1h, got 'nan'"),
        ("--brt-net=wifi", "--brt-net: expected one of none, host, got 'wifi'"),
        ("--brt-budget=soon", "--brt-budget: expected a time, as in 90s, 15m or 1h, got 'soon'"),
        ("--brt-guard=soon", "--brt-guard: expected a time, as in 90s, 15m or 1h, got 'soon'"),
        ("--brt-budget=-1m", "--brt-budget: expected a time"),
        ("--brt-samples=0", "--brt-samples: expected a number of at least 1"),
        ("--brt-env==x", "--brt-env: expected NAME=VALUE"),
    ],
)
def test_wrong_values_are_named(tmp_path: Path, option: str, message: str) -> None:
    with pytest.raises(UsageProblem) as error:
        options_of(tmp_path, option)
    assert message in str(error.value)


def test_options_that_choose_what_a_run_is_for() -> None:
    assert is_ours(parsed("--brt-issue=a"))
    assert is_ours(parsed("--rank-fixes=a"))
    assert not is_ours(parsed("--brt-timeout=3"))


def test_the_help_has_each_option_and_setting(pytester: pytest.Pytester) -> None:
    lines = pytester.runpytest_subprocess("--help").stdout.lines
    (start,) = (at for at, line in enumerate(lines) if line.startswith("pytest-brt (-q shows"))
    text = "\n".join(lines[start : lines.index("", start)])
    assert all(f"  {flag}=" in text for flag, *_ in OPTIONS)
    settings = [line for line in lines if line.startswith("  brt_")]
    assert {line.split()[0] for line in settings} == {destination(flag) for flag in SETTINGS}


def test_there_are_no_more_options_than_wanted() -> None:
    assert len(OPTIONS) <= 26


@pytest.mark.parametrize(
    ("name", "option"),
    [("rank", "--guard SECONDS"), ("repair", "--edit-model SPEC"), ("issue", "--samples N")],
)
def test_a_command_lists_its_options(
    name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert f"  {option} " in capsys.readouterr().out


@pytest.mark.parametrize("text", ["tests/test_a.py\n+x\n", "reproduce.py\n+assert f() == 1\n"])
def test_whether_patches_may_bring_tests_is_seen_in_their_text(text: str) -> None:
    assert rankable(LastRun(), [Patch(id="", name="", text=f"+++ b/{text}")]) is None

"""Options: command line over environment over ini over default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.errors import UsageProblem
from pytest_brt.plugin.option_list import MORE_OPTIONS, OPTIONS, SETTINGS, destination, mode_of
from pytest_brt.plugin.options import read_options


def parsed(pytester: pytest.Pytester, *arguments: str) -> pytest.Config:
    """Return what a run of ours is given: its plugin is there, so that no run is started."""
    return pytester.parseconfig("-p", "pytest_brt.plugin.start", *arguments)


def test_defaults(pytester: pytest.Pytester) -> None:
    options = read_options(parsed(pytester, "--brt-issue=a.md"), {})
    assert options.issues == ("a.md",)
    assert options.rank_fixes == ()
    assert options.strategy == ("auto",)
    assert (options.model, options.write) == ("none", "diff")
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    assert options.timeout == 60.0
    assert 0 < options.memory <= machine / 2 / options.jobs
    assert (options.sandbox, options.net) == ("auto", "none")
    assert options.jobs >= 1
    assert (options.budget, options.samples, options.steps) == (900.0, None, None)


def test_everything_given(pytester: pytest.Pytester) -> None:
    config = parsed(
        pytester,
        "--brt-issue=a.md",
        "--brt-issue=b.md",
        "--rank-fixes=patches",
        "--brt-strategy=one, two",
        "--brt-env=A=1",
        "--brt-env=B=x=y",
        "--brt-jobs=3",
        "--brt-budget=1.5h",
        "--brt-samples=7",
        "--brt-report=out.json",
    )
    options = read_options(config, {})
    assert options.issues == ("a.md", "b.md")
    assert options.rank_fixes == ("patches",)
    assert options.strategy == ("one", "two")
    assert options.env == (("A", "1"), ("B", "x=y"))
    assert (options.jobs, options.report) == (3, (Path("out.json"),))
    assert (options.budget, options.samples) == (5400.0, 7)


def test_the_command_line_comes_first(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nbrt_timeout = 3\nbrt_env =\n    A=1\n    B=2\n")
    environ = {"PYTEST_BRT_MODEL": "env:1"}
    assert read_options(parsed(pytester), {}).timeout == 3
    assert read_options(parsed(pytester, "--brt-timeout=4"), {}).timeout == 4
    assert read_options(parsed(pytester), {}).env == (("A", "1"), ("B", "2"))
    assert read_options(parsed(pytester), environ).model == "env:1"
    assert read_options(parsed(pytester, "--brt-model=x:1"), environ).model == "x:1"


@pytest.mark.parametrize(
    "setting",
    [
        "brt_sandbox = none",
        "brt_net = host",
        "brt_show = /srv",
        "brt_model = gguf:x",
        "brt_budget = 1h",
        "brt_jobs = 1",
        "brt_memory = 64",
        "brt_write = new",
        "brt_nosuch = 1",
    ],
)
def test_a_project_says_nothing_of_what_shuts_it_in(
    pytester: pytest.Pytester, setting: str
) -> None:
    pytester.makeini(f"[pytest]\n{setting}\n")
    with pytest.raises(UsageProblem, match="is not taken from a project's settings"):
        read_options(parsed(pytester, "--brt-issue=a.md"), {})


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH"])
def test_a_project_shows_no_folder_but_its_own(pytester: pytest.Pytester, name: str) -> None:
    (pytester.path / "out").symlink_to("/srv")
    for inside in ("", "lib", "lib:src/../lib"):
        pytester.makeini(f"[pytest]\nbrt_env = {name}={inside}\n")
        assert read_options(parsed(pytester), {}).env == ((name, inside),)
    for outside in ("/srv", "lib:..", "out/keys"):
        pytester.makeini(f"[pytest]\nbrt_env = {name}={outside}\n")
        with pytest.raises(UsageProblem, match=f"{name} names a folder outside"):
            read_options(parsed(pytester), {})
        assert read_options(parsed(pytester, f"--brt-env={name}=/srv"), {}).env


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--brt-jobs=0", "--brt-jobs: expected a number of at least 1, got '0'"),
        ("--brt-jobs=1.5", "--brt-jobs: expected a number of at least 1, got '1.5'"),
        ("--brt-timeout=nan", "--brt-timeout: expected a time, as in 90s, 15m or 1h, got 'nan'"),
        ("--brt-strategy=,", "--brt-strategy: expected one or more names"),
        ("--brt-net=wifi", "--brt-net: expected one of none, host, got 'wifi'"),
        ("--brt-budget=soon", "--brt-budget: expected a time, as in 90s, 15m or 1h, got 'soon'"),
        ("--brt-budget=-1m", "--brt-budget: expected a time"),
        ("--brt-samples=0", "--brt-samples: expected a number of at least 1"),
        ("--brt-env==x", "--brt-env: expected NAME=VALUE"),
    ],
)
def test_wrong_values_are_named(pytester: pytest.Pytester, option: str, message: str) -> None:
    config = parsed(pytester, option)
    with pytest.raises(UsageProblem) as error:
        read_options(config, {})
    assert message in str(error.value)


def test_modes(pytester: pytest.Pytester) -> None:
    assert mode_of(parsed(pytester).option) == ""
    assert mode_of(parsed(pytester, "--brt-issue=a").option) == "--brt-issue"
    assert mode_of(parsed(pytester, "--rank-fixes=a").option) == "--rank-fixes"
    assert mode_of(parsed(pytester, "--brt-timeout=3").option) == ""


def test_the_help_is_short_and_has_the_usual_options(pytester: pytest.Pytester) -> None:
    lines = pytester.runpytest_subprocess("--help").stdout.lines
    (start,) = (at for at, line in enumerate(lines) if line.startswith("pytest-brt (-q shows"))
    options = lines[start : lines.index("", start)]
    settings = [line for line in lines if line.startswith("  brt_")]
    assert len(options) + 2 * len(settings) <= 60
    text = "\n".join(options)
    assert all(f"  {flag}=" in text for flag, *_ in OPTIONS)
    assert not any(flag in text for flag, *_ in MORE_OPTIONS)
    assert {line.split()[0] for line in settings} == {destination(flag) for flag in SETTINGS}


def test_there_are_no_more_options_than_wanted() -> None:
    assert len(OPTIONS) + len(MORE_OPTIONS) <= 26


@pytest.mark.parametrize("python", ["../other/.venv/bin/python", "/usr/bin/python3"])
def test_a_project_names_no_interpreter_elsewhere(pytester: pytest.Pytester, python: str) -> None:
    pytester.makeini(f"[pytest]\nbrt_python = {python}\n")
    result = pytester.runpytest_subprocess("--brt-issue=a.md")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*brt_python: {python} names a folder outside of the project: *"])
    given = parsed(pytester, "--brt-issue=a.md", f"--brt-python={python}")
    assert read_options(given, {}).python == python


@pytest.mark.parametrize(
    ("name", "option"),
    [("rank", "--guard SECONDS"), ("repair", "--edit-model SPEC"), ("issue", "--samples N")],
)
def test_a_command_lists_its_options(
    name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert f"  {option}\n" in capsys.readouterr().out

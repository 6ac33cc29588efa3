"""What a project may choose, and where its code runs: never outside of the sandbox."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from tests.scenarios import no_sandbox
from tests.scenarios.project import SCRIPTS, Make, Project
from tests.scenarios.samples import CLAMP, CLAMP_REPORT, CLAMP_RIGHT, CLAMP_TEST, FILES, MEAN_REPORT

#: Ends a module so that importing it leaves a file in the home of whoever does it.
LEAVES = """
import os
try:
    open({path!r}, "w").close()
except OSError:
    pass
"""


@pytest.mark.skipif(
    platform.machine() not in no_sandbox.NUMBERS, reason="not written for this processor"
)
def test_without_a_sandbox_it_stops_and_names_the_option_that_goes_on(make: Make) -> None:
    project = make({**FILES, "issue.md": MEAN_REPORT})
    before = (sys.executable, no_sandbox.__file__, str(SCRIPTS / "pytest"))
    run = project.run(*before, "--brt-issue=issue.md")
    assert run.refuses("--brt-sandbox none"), run.said
    run = project.run(*before, "--brt-issue=issue.md", "--brt-sandbox=none")
    assert run.code == 0, run.said
    run = project.run(*before, "--brt-issue=issue.md", "--brt-sandbox=process")
    assert run.refuses("process"), "there is no level between a sandbox and none"


def test_a_projects_settings_choose_no_isolation(make: Make) -> None:
    settings = "brt_sandbox = none\nbrt_net = host\nbrt_show = /\n"
    project = make({**FILES, "pytest.ini": f"{FILES['pytest.ini']}{settings}"})
    run = project.issue(MEAN_REPORT)
    assert run.code in (0, 4), run.said
    assert run.code == 4 or run.report.sandbox != "none"


def test_a_projects_addopts_choose_no_isolation(make: Make) -> None:
    options = "--brt-sandbox=none --brt-net=host --brt-show=/"
    project = make({**FILES, "pytest.ini": f"{FILES['pytest.ini']}addopts = {options}\n"})
    run = project.issue(MEAN_REPORT)
    assert run.code in (0, 4), run.said
    assert run.code == 4 or run.report.sandbox != "none"


def leaving(make: Make, *names: str) -> tuple[Project, Path]:
    """Return a project some files of which leave a mark when they are imported, and the mark."""
    project = make(FILES)
    mark = project.home / "mark"
    project.home.chmod(0o777)
    for name in names:
        project.write({name: FILES.get(name, "") + LEAVES.format(path=str(mark))})
    project.write({"issue.md": MEAN_REPORT, "mine.py": CLAMP_TEST})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    return project, mark


COMMANDS = {
    "issue": ("pytest-brt", "issue", "issue.md"),
    "check": ("pytest-brt", "check", "mine.py", "--issue", "issue.md"),
    "unmark": ("pytest-brt", "unmark", "tests/test_interval.py"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_a_conftest_outside(make: Make, command: str) -> None:
    project, mark = leaving(make, "conftest.py", "tests/conftest.py", "sitecustomize.py")
    project.run(*COMMANDS[command])
    assert not mark.exists()


@pytest.mark.parametrize("options", [("--brt-issue=issue.md",), ("--rank-fixes=patches",)])
def test_no_run_of_pytest_with_our_options_runs_a_conftest_outside(
    make: Make, options: tuple[str, ...]
) -> None:
    project, mark = leaving(make, "conftest.py", "tests/conftest.py")
    project.pytest(*options, "--brt-guard=no")
    assert not mark.exists()
    project.run("pytest", "-p", "no:brt", "--co", "-q")
    assert mark.exists(), "it does run in the project's own"


def test_a_module_that_shadows_one_of_pytests_runs_in_the_sandbox(make: Make) -> None:
    project, mark = leaving(make, "iniconfig.py", "pluggy.py")
    project.run("pytest-brt", "issue", "issue.md")
    assert not mark.exists()


#: In place of a module of Python's: says that all tests passed, and ends the process.
SPEAKS = """\
import os, re, sys
order = sys.stdin.read()
pipe = int(re.search('"events": *([0-9]+)', order)[1])
names = re.findall('[^" ]+::[^" ]+', order)
told = ['{"event": "start", "pid": 7}', '{"event": "collected", "pid": 7, "nodes": ["%s"]}']
told.append('{"event": "begin", "pid": 7, "node": "%s"}')
told.append('{"event": "end", "pid": 7, "node": "%s", "when": "teardown", "outcome": "passed",'
            ' "used": true, "reached": true}')
for name in names:
    for line in told:
        os.write(pipe, (line.replace("%s", name) + "\\n").encode())
os._exit(0)
"""


@pytest.mark.parametrize("name", ["json.py", "sitecustomize/__init__.py"])
def test_what_a_patch_brings_speaks_not_for_the_tests(make: Make, name: str) -> None:
    """It has the name of a module that is imported before any test could be."""
    project = make({**FILES, "issue.md": CLAMP_REPORT})
    project.patch("speaks", {name: SPEAKS})
    run = project.rank("--brt-issue=issue.md", "--brt-guard=no")
    assert "PASS" not in run.report.ranking["speaks"].results.values(), run.said


@pytest.mark.skipif(
    platform.machine() not in no_sandbox.NUMBERS, reason="not written for this processor"
)
def test_the_demo_goes_on_without_a_sandbox(make: Make) -> None:
    before = (sys.executable, no_sandbox.__file__, str(SCRIPTS / "pytest-brt"))
    done = make({}).run(*before, "demo")
    assert done.code in (0, 7), done.said
    assert "sandbox none" in done.said


def test_what_a_test_writes_elsewhere_stays_in_its_run(make: Make) -> None:
    project, mark = leaving(make, "interval.py")
    run = project.pytest("--rank-fixes=patches", "--brt-tests=mine.py", "--brt-guard=no")
    assert run.code == 0, run.said
    assert not mark.exists()


def test_a_link_out_of_the_project_shows_nothing(make: Make) -> None:
    project = make({**FILES, "issue.md": "# clamp() is odd\n"})
    (project.home / "key.txt").write_text("secret\n", "utf-8")
    (project.root / "key.txt").symlink_to(project.home / "key.txt")
    project.write({"mine.py": "def test_key():\n    assert open('key.txt').read()\n"})
    run = project.run("pytest-brt", "check", "mine.py", "--issue", "issue.md")
    assert "FileNotFoundError" in run.out or "PermissionError" in run.out, run.said

"""Many patches and tests with the guard, interrupted in the middle, and taken up again."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.interval import SOURCE, diff_of
from tests.support.reports import patches_of, read_report

PATCHES = 16
TESTS = 4
CLAMP = "    return max(low, min(value, low))\n"

#: Runs pytest, and undoes what a script's shell does to those in the background: they ignore
#: Ctrl-C.
HEEDFUL = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.fixture
def many(project: pytest.Pytester) -> list[str]:
    """Return the command that ranks more patches than are done by then, with the guard."""
    patches = project.path / "patches"
    for path in patches.iterdir():
        path.unlink()
    for number in range(PATCHES):
        fix = (
            f"    # {number}\n    return max(low, min(value, {'high' if number % 2 else number}))\n"
        )
        text = diff_of(SOURCE.replace(CLAMP, fix))
        (patches / f"fix-{number:02}.diff").write_text(text, encoding="utf-8")
    tests = "from interval import clamp\n" + "".join(
        f"\n\ndef test_{number}():\n    assert clamp({number}, 0, 99) == {number}\n"
        for number in range(1, TESTS + 1)
    )
    mine = project.path.parent / "test_mine.py"
    mine.write_text(tests, encoding="utf-8")
    report = project.path.parent / "report.json"
    return [
        sys.executable, "-c", HEEDFUL, "-p", "no:randomly", "--rank-fixes=patches",
        f"--brt-tests={mine}", "--brt-guard=20", f"--brt-report={report}",
    ]  # fmt: skip


def finished(project: pytest.Pytester) -> list[dict[str, Any]]:
    """Return the rows that the journal holds."""
    path = project.path / ".pytest_cache" / "d" / "brt" / "journal.jsonl"
    text = path.read_text("utf-8") if path.exists() else ""
    # What follows the last line is being written.
    lines = text[: text.rfind("\n") + 1].splitlines()
    values = [json.loads(json.loads(line)["value"]) for line in lines]
    return [value for value in values if isinstance(value, dict) and "patch" in value]


def interrupted(project: pytest.Pytester, many: list[str]) -> subprocess.Popen[str]:
    """Start it, and interrupt it once three patches are finished."""
    started = subprocess.Popen(
        many,
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    deadline = time.monotonic() + 300
    while len(finished(project)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    return started


def run_again(project: pytest.Pytester, many: list[str]) -> str:
    """Run it to its end, and return what it says."""
    done = subprocess.run(
        many,
        cwd=project.path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        encoding="utf-8",
    )
    assert done.returncode in (0, 7), done.stdout + done.stderr  # most patches are alike
    return done.stdout


@pytest.mark.slow
@pytest.mark.load
def test_nothing_that_was_finished_is_done_again_but_on_another_tree(
    project: pytest.Pytester, many: list[str]
) -> None:
    started = interrupted(project, many)
    output, _ = started.communicate(timeout=120)
    assert started.returncode == 2, output
    assert "\ncontinue: " in output
    rows = finished(project)
    assert 3 <= len(rows) < PATCHES, output
    assert f" of {PATCHES} patches did not run.\n" in output
    assert "No answer yet: " in output
    assert "Best: " not in output
    (ranking,) = read_report(Path(project.path.parent, "report.json"))["rankings"]
    missing = ranking["not_run"]
    assert f"{len(missing)} of {PATCHES} patches" in output

    names = ("patches", ".pytest_cache")
    for name in names:
        shutil.copytree(project.path / name, project.path.parent / name)
    more = project.path / "interval" / "more.py"
    more.write_text("x = 1\n", encoding="utf-8")
    for path in sorted((project.path / "patches").iterdir())[2:]:
        path.unlink()
    assert "results taken" not in run_again(project, many)
    more.unlink()
    for name in names:
        shutil.rmtree(project.path / name)
        shutil.move(project.path.parent / name, project.path / name)

    assert f"{len(rows)} results taken from the interrupted run" in run_again(project, many)
    assert finished(project) == []  # the run ended by itself: nothing is left to be taken up
    report = read_report(Path(project.path.parent, "report.json"))
    patches = patches_of(report)
    assert len(patches) == PATCHES
    for patch in patches.values():
        assert len(patch["cells"]) == TESTS
        assert patch["existing"]["ran"] == 2
    assert {patch["place"][0] for patch in list(patches.values())[: PATCHES // 2]} == {1}


@pytest.mark.slow
@pytest.mark.load
def test_what_was_finished_is_kept_where_it_is_interrupted_twice(
    project: pytest.Pytester, many: list[str]
) -> None:
    started = interrupted(project, many)
    time.sleep(0.3)
    started.send_signal(signal.SIGINT)
    output, _ = started.communicate(timeout=120)
    assert "\ncontinue: " in output
    assert len(finished(project)) >= 3


#: All that is said is shown.
SHOWN = ("-v", "-p", "no:randomly")
VAGUE = """\
# mean() of nothing is wrong

```python
from interval import mean
mean([])
```

This raises an error.
"""


@pytest.fixture
def mute() -> Iterator[str]:
    """Yield the address of a model that is asked and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"server:http://127.0.0.1:{listening.getsockname()[1]}/v1"


@pytest.mark.slow
@pytest.mark.load
def test_what_was_found_before_a_model_was_slow_is_not_lost(
    project: pytest.Pytester, mute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # a line is to be seen at once
    project.makefile(".md", vague=VAGUE)
    started = subprocess.Popen(
        [sys.executable, "-c", HEEDFUL, "--brt-issue=vague.md", f"--brt-model={mute}", *SHOWN],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    assert started.stdout is not None
    seen = []
    for line in started.stdout:
        seen.append(line)
        if "asking for" in line:
            started.send_signal(signal.SIGTERM)  # as a job is cancelled
            break
    output = "".join(seen) + started.communicate(timeout=120)[0]
    assert started.returncode == 2, output
    assert "Possibly reproduced: test_mean_nothing_wrong fails (" in output
    assert "Partial results (interrupted)" in output
    assert "continue: " in output
    ranked = project.runpytest_subprocess("--rank-fixes=patches", "--collect-only")
    ranked.stdout.fnmatch_lines(["brt: bug tests from the last run (vague.md, *)"])


ENDLESS = """\
import pytest
from pytest_brt.reproduce.strategy import Strategy

def attempt(issue, index, bench):
    print("at work", flush=True)
    number = 0
    while True:
        number += 1

@pytest.hookimpl(optionalhook=True)
def pytest_brt_strategies(config):
    return {"endless": Strategy(attempt=attempt)}
"""


def test_work_that_goes_on_in_python_keeps_no_interrupted_run_alive(
    project: pytest.Pytester,
) -> None:
    project.makefile(".md", vague=VAGUE)
    project.makepyfile(endless=ENDLESS)
    options = ["-s", "-p", "endless", "--brt-issue=vague.md", "--brt-strategy=endless"]
    with subprocess.Popen(
        [sys.executable, "-c", HEEDFUL, *options],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    ) as started:
        assert started.stdout is not None
        for line in started.stdout:
            if "at work" in line:
                break
        started.send_signal(signal.SIGINT)
        try:
            output, _ = started.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            started.kill()
            raise
    assert started.returncode == 2, output
    assert "Exception ignored" not in output

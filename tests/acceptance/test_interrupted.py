"""What is interrupted while a model is asked, or while Python is busy, ends and loses nothing."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

#: Runs pytest, and undoes what a script's shell does to those in the background: they ignore
#: Ctrl-C.
HEEDFUL = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))
"""


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


def test_work_that_goes_on_keeps_no_interrupted_run_alive(project: pytest.Pytester) -> None:
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

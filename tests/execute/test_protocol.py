from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from pytest_brt.execute import sandbox
from pytest_brt.execute.engine import Program, Row, TestTarget
from pytest_brt.execute.launch import MORE_PROCESSES
from pytest_brt.execute.sandbox import drop_to, tasks_of
from pytest_brt.types import Verdict
from tests.support.projects import SAYS_SO, make_project, open_on, run_one, wait_at_work

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.getuid() != 0, reason="needs a user that runs nothing else"),
]

#: A user that no other test has its rows run as, here or in another run: those go on meanwhile.
ALONE = 20_000 + os.getpid() % 30_000
#: More than a test may have of its own.
MANY = MORE_PROCESSES + 20
#: Starts that many processes, says so, and ends them when nobody listens any more.
CROWD = f"""
import os, signal, sys, time
os.setuid(int(sys.argv[1]))
started = []
for _ in range({MANY}):
    started.append(os.fork())
    if not started[-1]:
        time.sleep(600)
        os._exit(0)
print("there", flush=True)
sys.stdin.read()
for child in started:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""
FORKS = """
import os
def test_a():
    os.waitpid(os.fork() or os._exit(0), 0)
"""
#: Says that it is at work, and ends when the user may have no more processes.
CROWDED = f"""
import os, time
def test_a():
    {SAYS_SO}
    while True:
        try:
            child = os.fork() or os._exit(0)
        except OSError:
            return
        os.waitpid(child, 0)
        time.sleep(0.05)
"""

Gather = Callable[[], None]


@pytest.fixture
def gather(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gather]:
    """Start other processes of the user that rows run as; they are gone at the end."""
    monkeypatch.setattr(sandbox, "NOBODY", ALONE)
    with ExitStack() as stack:

        def begin() -> None:
            crowd = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", CROWD, str(drop_to())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            assert crowd.stdout is not None
            assert crowd.stdout.readline() == "there\n"

        yield begin


def test_processes_and_threads_of_a_user_are_counted(gather: Gather) -> None:
    before = tasks_of(drop_to())
    gather()
    assert tasks_of(drop_to()) >= before + MANY


@pytest.mark.parametrize("level", ["landlock", "process"])
def test_what_else_the_user_runs_takes_nothing_from_the_tests(
    tmp_path_factory: pytest.TempPathFactory, gather: Gather, level: str
) -> None:
    """The limit counts all processes of a user, so others must not use it up."""
    root = make_project(tmp_path_factory.mktemp("crowd") / "project")
    engine = open_on(root, sandbox=level)
    try:
        gather()
        run = run_one(engine, FORKS)
        seen = engine.observe(Program(statements=("1 + 1",)))
    finally:
        engine.close()
    assert run.verdict is Verdict.PASS, run
    assert [one.index for one in seen.observed] == [0], seen


def test_a_crowd_that_comes_while_a_row_is_at_work_is_no_verdict(
    tmp_path_factory: pytest.TempPathFactory, gather: Gather
) -> None:
    root = make_project(tmp_path_factory.mktemp("crowd") / "project")
    targets = tuple(
        TestTarget(id=str(number), path="tests/test_brt_x.py", source=source, node="test_a")
        for number, source in enumerate([CROWDED, "def test_a(): pass\n"])
    )
    engine = open_on(root, sandbox="landlock")
    try:
        with ThreadPoolExecutor(1) as pool:
            result = pool.submit(engine.run, Row(targets=targets))
            wait_at_work(result)
            gather()
            found = result.result()
    finally:
        engine.close()
    assert [run.verdict for run in found.runs] == [Verdict.PASS, Verdict.PASS], found
    assert any("no process can be started" in note for note in found.notes), found

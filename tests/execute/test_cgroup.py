from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_brt.execute import launch
from pytest_brt.execute.engine import Limits
from pytest_brt.sandbox.available import open_sandbox, weaknesses
from pytest_brt.execute.engine import LocalEngine
from pytest_brt.execute.memory_group import JOINING, can_group, make_group, remove_group
from pytest_brt.execute.subject import find_subject
from pytest_brt.types import Verdict
from tests.support.projects import make_project, open_on, run_one

needs_groups = pytest.mark.skipif(not can_group(), reason="no group of processes can be made here")
#: Six processes that hold 150 MB each, all at the same time.
HOLDS = """
import os, signal
def test_a():
    children = []
    for _ in range(6):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            held = b"x" * (150 << 20)
            os.write(writer, held[:1])
            signal.pause()
        os.close(writer)
        children.append(pid)
        assert os.read(reader, 1) == b"x"
    assert [os.waitpid(pid, os.WNOHANG) for pid in children] == [(0, 0)] * 6
"""


@needs_groups
def test_processes_of_a_test_share_its_memory(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p")
    sandbox = open_sandbox("auto", project=root)
    subject = find_subject(root, python=None, env={}, sandbox=sandbox)
    for memory, verdicts in ((256, {Verdict.CRASH, Verdict.FAIL}), (2048, {Verdict.PASS})):
        engine = LocalEngine(subject, sandbox, limits=Limits(memory_mb=memory))
        try:
            assert run_one(engine, HOLDS).verdict in verdicts
            assert "memory is limited per process only" not in weaknesses(engine)
        finally:
            engine.close()


@needs_groups
def test_a_group_goes_when_it_is_closed() -> None:
    group = make_group(64)
    assert group is not None
    assert (group / JOINING).is_file()
    remove_group(group)
    assert not group.exists()


@needs_groups
def test_what_is_left_in_a_group_ends_with_it() -> None:
    group = make_group(64)
    assert group is not None
    joins = f"import time; open({str(group / JOINING)!r}, 'w').write('0'); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", joins]) as left:
        deadline = time.monotonic() + 20
        while not (group / JOINING).read_text("ascii") and time.monotonic() < deadline:
            time.sleep(0.01)
        remove_group(group)
        is_gone = not group.exists()
        left.kill()
    assert is_gone


def test_where_there_are_no_groups_the_header_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_on(make_project(tmp_path / "p"))
    monkeypatch.setattr(launch, "can_group", lambda: False)
    try:
        assert "memory is limited per process only" in weaknesses(engine)
    finally:
        engine.close()

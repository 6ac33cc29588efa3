from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_brt.errors import SandboxProblem, UsageProblem
from pytest_brt.execute import launch
from pytest_brt.execute.engine import Limits
from pytest_brt.sandbox.available import open_sandbox, weaknesses
from pytest_brt.execute.engine import LocalEngine
from pytest_brt.sandbox.sandbox import Sandbox, drop_to
from pytest_brt.execute.subject import find_subject
from pytest_brt.render.causes import run_words
from pytest_brt.types import Verdict
from pytest_brt.types.subject import Subject
from tests.support.projects import make_project, open_on, run_one

KILLS = "import os\ndef test_a():\n    os.kill(-1, 9)\n    os.kill(os.getppid(), 9)\n"


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    tmp_path.chmod(0o755)
    root = make_project(tmp_path / "project")
    return find_subject(root, python=None, env={}, sandbox=open_sandbox("process"))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that has neither namespaces nor Landlock."""
    monkeypatch.setattr(sys, "platform", "darwin")
    return monkeypatch


def test_unknown_names_are_answered_with_the_known() -> None:
    with pytest.raises(UsageProblem, match=r"'vm' .one of auto, ns, landlock, process, none"):
        open_sandbox("vm")
    with pytest.raises(UsageProblem, match=r"'some' .one of none, host"):
        open_sandbox("auto", net="some")


def test_where_files_cannot_be_isolated_auto_refuses_and_names_the_flag(
    elsewhere: pytest.MonkeyPatch,
) -> None:
    elsewhere.setattr(launch, "in_container", lambda: False)
    with pytest.raises(SandboxProblem, match="add --brt-sandbox process"):
        open_sandbox("auto")


def test_in_a_container_auto_goes_on_and_says_so(
    subject: Subject, elsewhere: pytest.MonkeyPatch
) -> None:
    elsewhere.setattr(launch, "in_container", lambda: True)
    engine = LocalEngine(subject, open_sandbox("auto"), limits=Limits())
    try:
        assert engine.level == "process"
        (remark,) = weaknesses(engine)
        assert remark.startswith("inside a container; no ns: needs Linux, and this is darwin")
        assert run_one(engine, "def test_a(): pass\n").verdict is Verdict.PASS
        assert run_one(engine, "def test_a(): assert 0\n").verdict is Verdict.FAIL
    finally:
        engine.close()


def test_windows_is_told_to_go_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SandboxProblem, match="Windows Subsystem for Linux"):
        open_sandbox("none")


@pytest.mark.usefixtures("elsewhere")
def test_a_level_that_cannot_be_had_is_an_error() -> None:
    with pytest.raises(SandboxProblem, match=r"'ns' cannot be had here .*needs Linux"):
        open_sandbox("ns")


def test_a_container_is_known_by_what_runtimes_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_CONTAINER_FILES", ())
    monkeypatch.setattr(launch, "_CONTAINER_WORDS", ())
    monkeypatch.delenv("container", raising=False)
    assert not launch.in_container()
    monkeypatch.setenv("container", "podman")
    assert launch.in_container()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
@pytest.mark.parametrize("level", ["ns", "landlock", "process"])
def test_older_kernels_keep_signals_in_by_other_means(subject: Subject, level: str) -> None:
    """Without Landlock's scope: a process namespace for each test, or a search for children."""
    sandbox = Sandbox(level=level, uid=drop_to(), scope=False)
    engine = LocalEngine(subject, sandbox, limits=Limits())
    try:
        if level == "ns":
            assert run_one(engine, KILLS).verdict is Verdict.FAIL  # nobody is there to be killed
        leaves = "import os, time\ndef test_a():\n    if not os.fork():\n        os.setsid()\n"
        leaves += "        os.closerange(0, 64)\n        time.sleep(600)\n"
        assert run_one(engine, leaves).verdict is Verdict.PASS
        assert run_one(engine, "def test_a(): assert 0\n").verdict is Verdict.FAIL
        ends = run_one(engine, "import os\ndef test_a(): os.kill(os.getpid(), 11)\n")
        assert (ends.verdict, "SIGSEGV" in run_words(ends)) == (Verdict.CRASH, True)
        assert run_one(engine, "import os\ndef test_a(): os._exit(0)\n").verdict is Verdict.CRASH
        loops = run_one(engine, "import time\ndef test_a(): time.sleep(600)\n", seconds=3.0)
        assert loops.verdict is Verdict.TIMEOUT
    finally:
        engine.close()


@pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's")
def test_the_network_is_shared_only_when_asked(subject: Subject) -> None:
    asks = "def test_a():\n    with open('/proc/net/dev') as f:\n"
    asks += "        assert [l.split(':')[0].strip() for l in f if ':' in l] == ['lo']\n"
    alone = LocalEngine(subject, open_sandbox("ns"), limits=Limits())
    try:
        assert run_one(alone, asks).verdict is Verdict.PASS
    finally:
        alone.close()
    here = sorted(path.name for path in Path("/sys/class/net").iterdir())
    shared = LocalEngine(subject, open_sandbox("ns", net="host"), limits=Limits())
    try:
        assert run_one(shared, "def test_a(): pass\n").verdict is Verdict.PASS
        if here != ["lo"]:
            assert run_one(shared, asks).verdict is Verdict.FAIL
    finally:
        shared.close()


@pytest.mark.parametrize("level", ["ns", "landlock", "process"])
@pytest.mark.skipif(os.getuid() != 0, reason="rows of others run as the same user")
@pytest.mark.skipif(not Path("/srv").is_dir(), reason="needs a folder that is not hidden anyway")
def test_a_project_in_a_folder_that_only_root_can_look_into(level: str) -> None:
    with tempfile.TemporaryDirectory(dir="/srv") as private:
        root = make_project(Path(private) / "open" / "private" / "project")
        root.parent.chmod(0o700)
        engine = open_on(root, sandbox=level)
        try:
            run = run_one(
                engine,
                "import pkg.core\ndef test_a():\n    assert pkg.core.divide(4, 2) == 2\n",
            )
        finally:
            engine.close()
    assert run.verdict is Verdict.PASS, run

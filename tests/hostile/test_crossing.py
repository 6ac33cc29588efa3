"""What one patch does must not change what another one is found to do."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.render.causes import run_words
from pytest_brt.types import FileChange, Verdict
from tests.support.projects import make_project, open_on

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")

#: What root's rows run as here: what is done to all processes of a user hits nobody else.
ALONE = 20_000 + os.getpid() % 30_000
#: What each evil patch's module does while it is imported, in the process of its row.
ATTACKS = {
    "writes-below-others": """
        for folder, _, _ in list(os.walk('/run')) + list(os.walk(os.path.dirname(os.getcwd()))):
            for name in ('pkg/core.py', 'core.py', 'conftest.py', 'tests/conftest.py'):
                try:
                    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                    open(os.path.join(folder, name), 'w').write('raise SystemExit(3)')
                except OSError: pass
    """,
    "queues-forged-replies": """
        import gc, json
        lines = b''
        for told in (
            {'event': 'row_ready'}, {'event': 'cell_end', 'status': 1}, {'event': 'row_end'},
            {'event': 'item', 'node': 'tests/test_x.py::test_a', 'pid': 1},
            {'event': 'report', 'node': 'tests/test_x.py::test_a', 'pid': 1,
             'when': 'call', 'outcome': 'failed', 'text': 'forged'},
            {'event': 'item_end', 'node': 'tests/test_x.py::test_a', 'pid': 1},
            {'event': 'finish', 'code': 1, 'pid': 1}):
            lines += json.dumps(told).encode() + b'\\n'
        for number in range(3, 64):
            try: os.set_blocking(number, False); os.write(number, lines * 3)
            except OSError: pass
    """,
    "sends-through-the-frames-above": """
        import socket
        frame = sys._getframe()
        seen = []
        while frame is not None:
            seen += list(frame.f_locals.values())
            frame = frame.f_back
        for one in list(seen):
            for thing in (one, *getattr(one, '__dict__', {}).values()):
                if hasattr(thing, 'send') and hasattr(thing, 'passed'):
                    for event in ('row_end', 'row_ready', 'cell_end', 'row_end'):
                        try: thing.send(event, status=1)
                        except OSError: pass
    """,
    "leaves-odd-files": """
        import tempfile
        for place in ('conftest.py', 'tests/conftest.py', 'tests/pytest.ini', 'pkg/core.pyc'):
            try: os.mkfifo(place)
            except OSError: pass
        os.makedirs('json/empty', exist_ok=True)
        for folder in (os.environ['HOME'], tempfile.gettempdir()):
            for name in ('BRT_LEFT', '.local/lib/x'):
                try:
                    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                    open(os.path.join(folder, name), 'w').close()
                except OSError: pass
    """,
    "leaves-things-of-the-kernel": """
        import ctypes
        c = ctypes.CDLL(None, use_errno=True)
        c.shmget(0x62727401, 4096, 0o1666)
        c.msgget(0x62727401, 0o1666)
        c.semget(0x62727401, 1, 0o1666)
        c.syscall(248, b'user', b'brt-left', b'x', 1, -4)
        try: open('/dev/shm/brt-left', 'w').close()
        except OSError: pass
    """,
    "has-harm-preloaded": """
        import importlib.machinery
        for name in ('this', 'antigravity', 'idlelib.run', 'test.support'):
            module = type(sys)(name)
            module.__spec__ = importlib.machinery.ModuleSpec(name, None)
            sys.modules[name] = module
    """,
    "swaps-the-tree": """
        tree = os.getcwd()
        for path in (tree, os.path.dirname(tree)):
            try:
                os.rename(path, path + '-away')
                os.symlink('OUTSIDE', path)
            except OSError: pass
        try:
            os.rename('pkg', 'pkg-away')
            os.symlink('OUTSIDE', 'pkg')
        except OSError: pass
    """,
    "limits-what-it-can": """
        import resource
        low = (999, 999)
        for pid in [int(name) for name in os.listdir('/proc') if name.isdigit()]:
            if pid == os.getpid(): continue
            for act in (
                lambda: resource.prlimit(pid, resource.RLIMIT_SIGPENDING, low),
                lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, low),
                lambda: os.sched_setaffinity(pid, [min(os.sched_getaffinity(0))]),
                lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
                lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(pid), 19),
                lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
            ):
                try: act()
                except OSError: pass
    """,
    "renices-its-user": """
        os.setpriority(os.PRIO_USER, 0, 19)
    """,
    "occupies-ports": """
        import socket
        for _ in range(3):
            server = socket.create_server(('127.0.0.1', 45678))
            client = socket.create_connection(('127.0.0.1', 45678))
            server.accept()[0].close()  # this end waits, after its process too
            client.close()
            server.close()
    """,
    "kills-what-it-can": """
        import signal
        for pid in [int(name) for name in os.listdir('/proc') if name.isdigit()]:
            if pid != os.getpid():
                try: os.kill(pid, signal.SIGSTOP)
                except OSError: pass
    """,
}
RIGHT = "def divide(a, b):\n    return a // b + 1\n"
#: What a later row looks for, besides what it is to be found to do.
TEST = """
import ctypes, os, resource, socket, sys, tempfile
from pkg.core import divide

LEFT = [os.path.join(folder, 'BRT_LEFT') for folder in (os.environ['HOME'], tempfile.gettempdir())]
LEFT += ['/dev/shm/brt-left', 'json', 'conftest.py', 'tests/conftest.py', 'pkg/core.pyc']

def test_a():
    assert divide(4, 2) == 3
    assert not [path for path in LEFT if os.path.lexists(path)]
    c = ctypes.CDLL(None)
    assert c.shmget(0x62727401, 1, 0) == c.msgget(0x62727401, 0) == c.semget(0x62727401, 0, 0) == -1
    assert c.syscall(250, 10, -4, b'user', b'brt-left', 0) == -1
    assert os.getpriority(os.PRIO_PROCESS, 0) < 19
    assert os.sched_getscheduler(0) != os.SCHED_IDLE
    assert len(os.sched_getaffinity(0)) == CPUS
    for kind in (resource.RLIMIT_SIGPENDING, resource.RLIMIT_NOFILE):
        assert resource.getrlimit(kind)[1] != 999
    if LEVEL == 'ns':
        server = socket.socket()
        server.bind(('127.0.0.1', 45678))
        server.close()
    assert not {'this', 'antigravity', 'idlelib.run'} & set(sys.modules)
"""


def _change(source: str) -> tuple[FileChange, ...]:
    return (FileChange(path="pkg/core.py", content=source.encode()),)


def _evil(name: str, outside: Path) -> str:
    lines = [line[8:] for line in ATTACKS[name].replace("OUTSIDE", str(outside)).splitlines()]
    body = "\n".join(f"    {line}" for line in lines if line.strip())
    return f"import os, sys\ntry:\n{body}\nexcept Exception:\n    pass\n{RIGHT}"


@pytest.fixture(scope="module", params=["ns", "landlock"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, Path]]:
    folder = tmp_path_factory.mktemp("crossing")
    root = make_project(folder / "project")
    outside = folder / f"outside-{uuid.uuid4().hex}"
    (outside / "pkg").mkdir(parents=True)
    (outside / "core.py").write_text("kept", encoding="utf-8")
    (outside / "pkg" / "core.py").write_text("kept", encoding="utf-8")
    for path in (outside, outside / "pkg"):
        path.chmod(0o777)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_brt.execute.sandbox.NOBODY", ALONE)
        engine = open_on(root, sandbox=request.param)
        yield engine, outside
        engine.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_no_patch_decides_the_results_of_another(place: tuple[Engine, Path], name: str) -> None:
    engine, outside = place
    words = f"CPUS, LEVEL = {len(os.sched_getaffinity(0))}, {engine.level!r}\n"
    target = TestTarget(id="t", path="tests/test_x.py", source=words + TEST, node="test_a")
    engine.run(Row(targets=(target,), changes=_change(_evil(name, outside))))
    # The attack holds the right code too: were any of it left, the unpatched tree would pass.
    for changes, verdict in ((_change(RIGHT), Verdict.PASS), ((), Verdict.FAIL)):
        result = engine.run(Row(targets=(target,), changes=changes))
        assert [run.verdict for run in result.runs] == [verdict], result.runs
        assert verdict is Verdict.PASS or "assert 2.0 == 3" in run_words(result.runs[0])
        assert not result.notes
    kept = sorted(path.relative_to(outside).as_posix() for path in outside.rglob("*"))
    assert kept == ["core.py", "pkg", "pkg/core.py"]
    assert (outside / "core.py").read_text(encoding="utf-8") == "kept"
    assert os.access(outside / "pkg", os.W_OK)


#: What the unpatched project does while it is imported: it names a module of its own as a library.
NAMES_ITS_OWN = """
import importlib.machinery, sys
for name in ('planted', 'data', 'data.planted'):
    module = type(sys)(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules[name] = module
"""
PLANTED = "import sys\nsys.was_planted = True\n__file__ = '/usr/lib/planted.py'\n"


@pytest.mark.parametrize("level", ["ns", "landlock"])
def test_the_process_that_forks_rows_loads_nothing_of_the_project(
    level: str, tmp_path: Path
) -> None:
    root = make_project(tmp_path / "project")
    (root / "data").mkdir()
    for folder in (root, root / "data"):
        (folder / "planted.py").write_text(PLANTED, encoding="utf-8")
    core = root / "pkg/core.py"
    core.write_text(core.read_text(encoding="utf-8") + NAMES_ITS_OWN, encoding="utf-8")
    source = "import sys\nimport pkg.core\ndef test_a(): assert not hasattr(sys, 'was_planted')\n"
    target = TestTarget(id="t", path="tests/test_x.py", source=source, node="test_a")
    with closing(open_on(root, sandbox=level)) as engine:
        for _ in range(3):
            result = engine.run(Row(targets=(target,)))
            assert [run.verdict for run in result.runs] == [Verdict.PASS], result.runs

"""What one patch uses up while another one runs: ``python -m tests.hostile.exhaust``.

Its arguments are a folder for a project, a level, and the name of an attack.

It prints what the harmless one was found to do, and beside whom it lacked something.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from pytest_brt.execute.engine import Engine, Row, RowResult, TestTarget
from pytest_brt.types import FileChange
from tests.support.projects import make_project, open_on

#: What a hostile patch does when the module is imported: it goes on until its row is over.
ATTACKS = {
    "is-busy-in-many-sessions": """
        for _ in range(60):
            if os.fork() == 0:
                os.setsid()
                while True: pass
    """,
    "holds-all-inotify-instances": """
        import ctypes
        for _ in range(20):
            if os.fork() == 0:
                c = ctypes.CDLL(None)
                while c.inotify_init() >= 0: pass
                time.sleep(60)
    """,
    "has-files-on-their-way": """
        import socket
        held = []
        try:
            while True:
                held.append(socket.socketpair())
                for _ in range(2): socket.send_fds(held[-1][0], [b"x"], [0] * 250)
        except OSError: pass
    """,
    "fills-all-pipes": """
        for _ in range(6):
            if os.fork() == 0:
                held = [os.pipe() for _ in range(400)]
                time.sleep(60)
    """,
    "uses-up-memory": """
        for _ in range(60):
            if os.fork() == 0:
                held = b"x" * (20 << 20)
                time.sleep(60)
    """,
    "fills-the-disk": """
        import tempfile
        folder = tempfile.gettempdir()
        if os.fork() == 0:
            time.sleep(1.5)  # until the test is at work
            try:
                for number in range(1000):
                    with open(os.path.join(folder, str(number)), "wb") as file:
                        file.write(bytes(1 << 20))
            except OSError: pass
            time.sleep(60)
    """,
}
#: A test that takes little, but of everything, and is through in a moment where it is let be.
VICTIM = """\
import ctypes, os, socket, time
from pkg.core import walk

def watch():
    if ctypes.CDLL(None, use_errno=True).inotify_init() < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

def test_works():
    watch()
    _, writer = os.pipe()
    os.set_blocking(writer, False)
    assert os.write(writer, bytes(65536)) == 65536
    pair = socket.socketpair()
    socket.send_fds(pair[0], [b"x"], [0])
    held = b"x" * (150 << 20)
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
    assert walk(1) == 2
"""
CORE = "def walk(n):\n    return n + 1\n"


def evil(attack: str) -> FileChange:
    body = "\n".join(line[8:] for line in ATTACKS[attack].strip("\n").splitlines())
    return FileChange(path="pkg/core.py", content=f"import os, time\n{body}\n{CORE}".encode())


def run_beside(engine: Engine, attack: str) -> RowResult:
    """Run a hostile row, and a harmless one as soon as it is at work."""
    sleeps = "import time\nimport pkg.core\n\ndef test_sleeps():\n    time.sleep(5)\n"
    hostile = Row(
        name="evil.diff",
        changes=(evil(attack),),
        targets=(TestTarget(id="e", path="tests/test_e.py", source=sleeps),),
    )
    harmless = Row(
        name="good.diff",
        changes=(FileChange(path="pkg/core.py", content=CORE.encode()),),
        targets=(TestTarget(id="v", path="tests/test_v.py", source=VICTIM, node="test_works"),),
        test_seconds=3.0,
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(engine.run, hostile)
        time.sleep(3)
        second = pool.submit(engine.run, harmless)
        first.result()
        return second.result()


def main(root: Path, level: str, attack: str) -> None:
    """Run both rows on a project made at `root`."""
    with closing(open_on(make_project(root), sandbox=level, jobs=2)) as engine:
        found = run_beside(engine, attack)
    (run,) = found.runs
    print(run.verdict, *found.beside)
    if run.verdict != "PASS":
        print(run)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])

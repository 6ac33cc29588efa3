"""Runs attacks once: ``python -m tests.sandbox.run_attacks ISOLATION FOLDER MARK NAMES...``.

Prints one JSON object. A script, so that it can be run as another user.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import socket
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.process import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import Sandbox, open_sandbox
from pytest_brt.types import Subject, TestRun, Verdict
from tests.sandbox.attacks import ATTACKS, FORK_BOMB
from tests.support.projects import make_project

ALL = ATTACKS | FORK_BOMB
#: For attacks that take all the time that they get, and for others, which a busy machine slows.
SHORT, ENOUGH = Limits(seconds=2.0, start_seconds=10.0), Limits(seconds=30.0)
#: What a process calls itself that is left by a test.
MARKED = "import ctypes; ctypes.CDLL(None).prctl(15, b'MARK')"


def digest(root: Path) -> str:
    """Return a fingerprint of all files of a folder: names, content, owners."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        found.update(f"{path} {path.lstat().st_mode} {path.lstat().st_uid}".encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


def listen(path: Path) -> socket.socket:
    """Return a server at a socket that everybody may connect to."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    path.chmod(0o777)
    return server


@contextmanager
def scene(folder: Path, mark: str) -> Iterator[tuple[dict[str, str], list[Path]]]:
    """Make what is to be attacked; give the words that stand for it, and the folders."""
    home, outside, shown = Path.home() / f"brt-{mark}", folder / "outside", folder / "shown"
    for path in (home, outside, shown):
        path.mkdir()
    (home / "secret").write_text("secret", encoding="utf-8")
    (outside / "link").symlink_to("somewhere")
    for path in (outside, shown):
        (path / "kept").write_text("kept", encoding="utf-8")
    outside.chmod(0o777)
    os.environ["BRT_TEST_TOKEN"] = "secret"
    server = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{mark}")
    abstract.listen()
    held = [server, abstract, listen(shown / "socket")]
    os.mkfifo(shown / "pipe")
    reader = os.open(shown / "pipe", os.O_RDWR)
    inner, terminal = os.openpty()
    libc = ctypes.CDLL(None, use_errno=True)
    memory = libc.shmget(0, 4096, 0o1666)
    queue = f"/brt-{mark}"
    libc.mq_open(queue.encode(), 0o100, 0o666, None)
    yield (
        {
            "MARKED": MARKED,
            "SHOWN": str(shown),
            "TERMINAL": os.ttyname(terminal),
            "KEYCTL": "219" if platform.machine() == "aarch64" else "250",
            "SECRET": str(home / "secret"),
            "OUTSIDE": str(outside),
            "PORT": str(server.getsockname()[1]),
            "ABSTRACT": mark,
            "MARK": mark,
            "TOOL": str(os.getpid()),
            "MEMORY": str(memory),
            "QUEUE": queue,
        },
        [home, outside, shown],
    )
    libc.shmctl(memory, 0, None)  # IPC_RMID
    libc.mq_unlink(queue.encode())
    for descriptor in (reader, inner, terminal):
        os.close(descriptor)
    for one in held:
        one.close()


def filled(source: str, words: dict[str, str]) -> str:
    """Return a source with the words replaced by what they stand for."""
    for word, text in words.items():
        source = source.replace(word, text)
    return source


def left_processes(mark: str) -> list[str]:
    """Return the processes that call themselves by the mark."""
    found = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            found += [comm.parent.name] if comm.read_text("utf-8").strip() == mark[:15] else []
        except OSError:
            continue  # it ended meanwhile
    return found


def run(
    names: Sequence[str], words: dict[str, str], root: Path, sandbox: Sandbox
) -> tuple[tuple[TestRun, ...], Path]:
    """Run attacks in one process, and return what came of them and the folder that they had."""
    tests = [
        Test(id=name, path="tests/test_h.py", source=filled(ALL[name].source, words), node="test_a")
        for name in names
    ]
    takes_all = {ALL[name].verdict for name in names} == {Verdict.TIMEOUT}
    subject = Subject(root=str(root), python=sys.executable, source_roots=(".",), packages=("pkg",))
    with closing(Runner(subject, sandbox, SHORT if takes_all else ENOUGH)) as runner:
        return runner.run(tests), runner.scratch.path


def main() -> None:
    """Make a project, run the attacks on copies of it, and tell what came of them."""
    isolation, folder, mark, *names = sys.argv[1:]
    alone = [name for name in names if ALL[name].alone]
    together = [name for name in names if name not in alone]
    groups = [*([name] for name in alone), *([together] if together else [])]
    root = make_project(Path(folder) / "project")
    with scene(Path(folder), mark) as (words, folders):
        before = [digest(path) for path in (root, *folders)]
        sandbox = open_sandbox(isolation, shown=[str(Path(folder) / "shown")])
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda names: run(names, words, root, sandbox), groups))
        pairs = zip((root, *folders), before, strict=True)
        changed = [str(path) for path, seen in pairs if digest(path) != seen]
    answer = {
        "runs": {run.test: [run.verdict, run.cause.text] for runs, _ in done for run in runs},
        "isolation": sandbox.isolation,
        "changed": changed,
        "processes": left_processes(mark),
        "folders": [str(path) for _, path in done if path.exists()],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

"""Runs the hostile set once: ``python -m tests.hostile.run_cases LEVEL FOLDER MARK SHOWN``.

Prints one JSON object. A script, so that it can be run as another user.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pytest_brt.execute import sandbox
from pytest_brt.execute.engine import Engine, Limits, Row, RowResult, TestTarget
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.execute.engine import LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.render.causes import run_words
from tests.hostile.cases import CASES
from tests.support.projects import make_project

#: What root's rows run as here: a fork bomb uses up what its user may have, and other tests
#: that run at the same time are of the usual one.
ALONE = 20_000 + os.getpid() % 30_000
#: Cases that do nothing until their time is up.
WAITING = frozenset(
    {"loops", "loops-while-loading", "stops-itself", "leaves-thread", "ignores-signals"}
)
#: What takes until then from the others: it is run when they have ended.
BOMB = "fork-bomb"
#: The seconds that these have; the others have a test's usual time.
BRIEFLY = 7.0
CORE = "\n    def missing(self):\n        return {}['x']\n"


def digest(root: Path) -> str:
    """Return a fingerprint of all files of a folder: names, content, owners, times."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        seen = path.lstat()
        found.update(f"{path} {seen.st_mode} {seen.st_uid} {seen.st_mtime_ns}".encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


@contextmanager
def scene(folder: Path, mark: str, shown: Path) -> Iterator[tuple[dict[str, str], list[Path]]]:
    """Make what is to be attacked; give the words that stand for it, and the folders."""
    home, outside = Path.home() / f"brt-{mark}", folder / "outside"
    for path in (home, outside):
        path.mkdir()
    (home / "secret").write_text("secret", encoding="utf-8")
    (outside / "kept").write_text("kept", encoding="utf-8")
    outside.chmod(0o777)
    os.environ["BRT_TEST_TOKEN"] = "secret"
    server = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{mark}")
    abstract.listen()
    held = [server, abstract, _listen(outside / "socket"), _listen(shown / "socket")]
    os.mkfifo(shown / "pipe")
    (shown / "pipe").chmod(0o666)
    pipe = os.open(shown / "pipe", os.O_RDWR)
    os.write(pipe, b"secret")
    (shown / "kept").write_text("kept", encoding="utf-8")
    note = Path(f"/dev/shm/brt-note-{mark}.host")
    note.write_text("kept", encoding="utf-8")
    inner, terminal = os.openpty()
    Path(os.ttyname(terminal)).chmod(0o666)
    yield (
        {
            "SHOWN": str(shown),
            "TERMINAL": os.ttyname(terminal),
            "KEYCTL": "219" if platform.machine() == "aarch64" else "250",
            "SECRET": str(home / "secret"),
            "HOME_FOLDER": str(home),
            "OUTSIDE": str(outside),
            "PORT": str(server.getsockname()[1]),
            "ABSTRACT": mark,
            "MARK": f"brt-note-{mark}",
            "TOOL": str(os.getpid()),
            "TMP": "__import__('tempfile').gettempdir()",
        },
        [home, outside, shown],
    )
    for descriptor in (pipe, inner, terminal):
        os.close(descriptor)
    for one in held:
        one.close()
    note.unlink()


def run_all(engine: Engine, targets: Sequence[TestTarget]) -> Iterator[RowResult]:
    """Run most cases in one row, and then those that only wait for their end side by side."""
    known = {one.id: one for one in targets}
    brief = {
        name: Row(targets=(known.pop(name),), test_seconds=BRIEFLY) for name in (BOMB, *WAITING)
    }
    yield engine.run(Row(targets=tuple(known.values())))
    yield engine.run(brief.pop(BOMB))
    with ThreadPoolExecutor(len(brief)) as pool:
        yield from pool.map(engine.run, brief.values())


def main() -> None:
    """Make a project, run every case on it, and tell what came of it."""
    level, folder, mark, shown = sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    sandbox.NOBODY = ALONE
    root = make_project(folder / "project")
    with (root / "pkg/core.py").open("a", encoding="utf-8") as stream:
        stream.write(CORE)
    with scene(folder, mark, shown) as (words, folders):
        before = [digest(path) for path in (root, *folders)]
        opened = open_sandbox(level, project=root, shown=(str(shown),))
        env = {"BRT_TEST_MARK": mark}
        subject = find_subject(root, python=None, env=env, sandbox=opened)
        limits = Limits(start_seconds=20.0)
        engine = LocalEngine(subject, opened, limits=limits, jobs=1 + len(WAITING))
        targets = [
            TestTarget(
                id=name, path="tests/test_h.py", source=filled(case.source, words), node="test_a"
            )
            for name, case in CASES.items()
        ]
        try:
            results = list(run_all(engine, targets))
        finally:
            engine.close()
        intact = before == [digest(path) for path in (root, *folders)]
    answer = {
        "runs": {run.test: [run.verdict, run_words(run)] for row in results for run in row.runs},
        "notes": [note for row in results for note in row.notes],
        "level": engine.level,
        "intact": intact,
        "threads": threading.active_count(),
        "user": os.getuid(),
    }
    print(json.dumps(answer))


def _listen(path: Path) -> socket.socket:
    """Return a server at a socket that everybody may connect to."""
    found = socket.socket(socket.AF_UNIX)
    found.bind(str(path))
    found.listen()
    path.chmod(0o777)
    return found


def filled(source: str, words: dict[str, str]) -> str:
    """Return a case's source with the words replaced by what they stand for."""
    for word, text in words.items():
        source = source.replace(word, text)
    return source + "\n"


if __name__ == "__main__":
    main()

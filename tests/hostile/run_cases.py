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
from pathlib import Path

from pytest_brt.execute import sandbox
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.row import Limits, Row, TestTarget
from pytest_brt.execute.subject import find_subject
from tests.execute.projects import make_project
from tests.hostile.cases import CASES

#: What root's rows run as here: a fork bomb uses up what its user may have, and other tests
#: that run at the same time are of the usual one.
ALONE = 65533
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


def main() -> None:
    """Make a project, run every case on it, and tell what came of it."""
    level, folder, mark, shown = sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    sandbox.NOBODY = ALONE
    home, outside, root = Path.home() / f"brt-{mark}", folder / "outside", folder / "project"
    for path in (home, outside):
        path.mkdir()
    (home / "secret").write_text("secret", encoding="utf-8")
    (outside / "kept").write_text("kept", encoding="utf-8")
    outside.chmod(0o777)
    make_project(root)
    with (root / "pkg/core.py").open("a", encoding="utf-8") as stream:
        stream.write(CORE)
    os.environ["BRT_TEST_TOKEN"] = "secret"
    server = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{mark}")
    abstract.listen()
    held = [_listen(outside / "socket"), _listen(shown / "socket")]
    os.mkfifo(shown / "pipe")
    (shown / "pipe").chmod(0o666)
    pipe = os.open(shown / "pipe", os.O_RDWR)
    (shown / "kept").write_text("kept", encoding="utf-8")
    _, terminal = os.openpty()
    Path(os.ttyname(terminal)).chmod(0o666)
    words = {
        "SHOWN": str(shown),
        "TERMINAL": os.ttyname(terminal),
        "KEYCTL": "219" if platform.machine() == "aarch64" else "250",
        "SECRET": str(home / "secret"),
        "HOME_FOLDER": str(home),
        "OUTSIDE": str(outside),
        "PORT": str(server.getsockname()[1]),
        "ABSTRACT": mark,
        "MARK": f"brt-note-{mark}",
        "TMP": "__import__('tempfile').gettempdir()",
    }
    before = [digest(path) for path in (root, home, outside, shown)]
    subject = find_subject(root, python=None, env={"BRT_TEST_MARK": mark})
    engine = open_engine(subject, sandbox=level, limits=Limits(seconds=4.0, start_seconds=20.0))
    targets = [
        TestTarget(
            id=name, path="tests/test_h.py", source=_filled(case.source, words), node="test_a"
        )
        for name, case in CASES.items()
    ]
    try:
        result = engine.run(Row(targets=tuple(targets)))
    finally:
        engine.close()
        os.close(pipe)
        for server_socket in held:
            server_socket.close()
    answer = {
        "runs": {run.test: [run.verdict, run.reason] for run in result.runs},
        "notes": result.notes,
        "level": engine.level,
        "intact": before == [digest(path) for path in (root, home, outside, shown)],
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


def _filled(source: str, words: dict[str, str]) -> str:
    for word, text in words.items():
        source = source.replace(word, text)
    return source + "\n"


if __name__ == "__main__":
    main()

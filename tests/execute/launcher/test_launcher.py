from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

from pytest_brt.execute.launcher.launcher import read_line
from pytest_brt.execute.worker import LAUNCHER


def test_what_follows_a_line_is_left_for_the_next_process() -> None:
    reader, writer = os.pipe()
    os.write(writer, b'{"a": 1}\n{"b": 2}\n')
    os.close(writer)
    assert read_line(reader) == b'{"a": 1}\n'
    assert os.read(reader, 100) == b'{"b": 2}\n'
    assert read_line(reader) == b""
    os.close(reader)


def test_a_problem_is_told_in_one_line() -> None:
    ours, theirs = socket.socketpair()
    life, held = os.pipe()
    with ours, theirs:
        ours.sendall(b'{"level": "ns"}\n')
        ended = subprocess.run(
            [sys.executable, "-P", "-S", "-E", LAUNCHER, str(theirs.fileno()), str(life)],
            pass_fds=(theirs.fileno(), life),
            capture_output=True,
            timeout=60,
            check=False,
        )
        told = ours.recv(4096)
    os.close(life)
    os.close(held)
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert json.loads(told.removeprefix(b"r")) == {"event": "problem", "text": "KeyError: 'group'"}

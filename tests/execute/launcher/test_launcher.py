from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

from pytest_brt.execute.zygote import LAUNCHER


def test_a_problem_is_told_in_one_line_and_one_line_is_read() -> None:
    ours, theirs = socket.socketpair()
    life, held = os.pipe()
    with ours, theirs:
        ours.sendall(b'{"level": "ns"}\nfor the next process')
        ended = subprocess.run(
            [sys.executable, "-P", "-S", "-E", LAUNCHER, str(theirs.fileno()), str(life)],
            pass_fds=(theirs.fileno(), life),
            capture_output=True,
            timeout=60,
            check=False,
        )
        told = ours.recv(4096)
        assert theirs.recv(4096) == b"for the next process"
    os.close(life)
    os.close(held)
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert json.loads(told) == {"event": "problem", "text": "KeyError: 'group'"}

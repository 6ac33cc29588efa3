"""Run a command, and wait for all that it leaves: their CPU seconds count as those of this process.

    python bench/spent.py SECONDS COMMAND ARGUMENT...

It is killed after so many seconds.
bubblewrap ends when its program ends, and does not wait for the process that has waited for it.
Whoever adopts orphans (prctl(2), PR_SET_CHILD_SUBREAPER) can wait for it instead.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def main(seconds: int, command: list[str]) -> int:
    """Return the exit status of the command, as a shell does, when nothing of it is left."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = subprocess.Popen(command)
    signal.signal(signal.SIGALRM, lambda *_: child.kill())
    signal.alarm(seconds)
    status = 0
    while True:
        try:
            pid, ended = os.wait()
        except ChildProcessError:
            return status if status >= 0 else 128 - status
        if pid == child.pid:
            status = child.returncode = os.waitstatus_to_exitcode(ended)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))

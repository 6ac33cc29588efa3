"""Begins processes, and ends those that a test left behind. Standard library, Python 3.8+."""

import errno
import os
import signal
import time
import warnings
from contextlib import suppress

#: Seconds to wait for others to end; the tool then asks again, with a new limit.
PATIENCE = 5.0


class NoProcess(Exception):
    """The user may have no more processes, or there is no memory: nothing that a test has done."""


def fork():
    """Fork as `os.fork` does.

    Raises:
        NoProcess: what the user may have, or the machine has, did not do for `PATIENCE` seconds.
    """
    last = time.monotonic() + PATIENCE
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return os.fork()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOMEM):
                raise
            if time.monotonic() > last:
                raise NoProcess("no process can be started: %s" % error) from None
        time.sleep(0.05)


#: Seconds to wait for killed processes to end: one in the middle of a disk access takes its time.
KILL_PATIENCE = 2.0


def kill_reachable():
    """Kill every process that can be signalled, but this one.

    Only for a process whose signals are kept in (own process namespace, or Landlock's
    scope): elsewhere this would be everything the user runs.
    """
    with suppress(ProcessLookupError, PermissionError):  # nobody was left
        os.kill(-1, signal.SIGKILL)


def kill_children(kill):
    """Call `kill` until this process, a subreaper, has no child any more."""
    last = time.monotonic() + KILL_PATIENCE
    pause = 0.0
    while reap() and time.monotonic() < last:
        kill()
        time.sleep(pause)
        pause = 0.001


def parents():
    """Return the parent of each process that can be seen."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as stream:
                text = stream.read()
        except OSError:
            continue  # it ended meanwhile
        found[int(name)] = int(text.rpartition(b")")[2].split()[1])
    return found


def kill_descendants(pid):
    """Kill all that stems from `pid`, again and again until nothing does.

    Daemons are found only when `pid` is a subreaper (prctl), as they become its children.
    """
    for _ in range(50):
        known = parents()
        reached = below = {pid}
        while below:
            below = {child for child, parent in known.items() if parent in below} - reached
            reached = reached | below
        reached = reached - {pid}
        if not reached:
            return
        for child in reached:
            with suppress(OSError):  # it ended meanwhile
                os.kill(child, signal.SIGKILL)
        if pid == os.getpid():
            reap()


def reap():
    """Collect children that have ended; return whether there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True

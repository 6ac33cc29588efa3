"""Shuts itself in, starts the subject's interpreter, and stays until it or the tool is gone.

The first line from the CONTROL socket is the specification; the end of the LIFE pipe means
that the tool is gone.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress

from pytest_brt.execute.inside import processes, seccomp, syscalls
from pytest_brt.execute.launcher import Specification
from pytest_brt.execute.launcher.namespaces import drop_user, enter_namespaces


class Launcher:
    """Sets up one sandbox, and holds it while it is needed."""

    def __init__(self, spec: Specification, control: int, life: int) -> None:
        self.spec = spec
        self.control = control
        self.life = life

    def run(self) -> int:
        """Start the subject's interpreter and stay until it, or the tool, is gone."""
        if self.spec["group"]:
            with open(self.spec["group"], "w", encoding="ascii") as stream:
                stream.write(str(os.getpid()))
        # Where the machine's memory is used up, what is in here ends before anything else.
        with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as stream:
            stream.write("1000")
        if self.spec["level"] == "ns":
            enter_namespaces(self.spec)
        else:
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        child = os.fork()
        if child == 0:
            self._start()
        os.close(self.control)
        try:
            return self._wait(child)
        finally:
            self._end(child)

    def _wait(self, child: int) -> int:
        """Return when the child ends, or the tool does."""
        if not syscalls.ends_before(child, self.life):
            return 1
        os.waitpid(child, 0)
        return 0

    def _end(self, child: int) -> None:
        """Kill what is left; the end of a process namespace's first process ends all in it."""
        with suppress(ProcessLookupError):  # it has ended, and was collected
            os.kill(child, signal.SIGKILL)
        if self.spec["level"] != "ns":
            processes.kill_descendants(os.getpid())
        processes.reap()

    def _start(self) -> None:
        """Become the subject's interpreter, with one process in between where needed."""
        if self.spec["level"] == "ns":
            syscalls.fork_from_first((self.control,), lambda code: None)
            syscalls.give_up_capabilities()
        syscalls.die_with_parent(os.getppid())
        os.close(self.life)
        if self.spec["level"] == "landlock":
            drop_user(self.spec["uid"], keep_reading=bool(self.spec["private"]))
            restrict_files(self.spec)
        elif self.spec["level"] == "process":
            drop_user(self.spec["uid"], keep_reading=True)
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        if self.spec["level"] in ("ns", "landlock"):
            self._refuse_calls()
        os.set_inheritable(self.control, True)
        os.chdir("/")
        argv = [self.spec["python"], "-u", self.spec["script"], "zygote", str(self.control)]
        os.execve(argv[0], argv, self.spec["env"])

    def _refuse_calls(self) -> None:
        """Refuse the calls by which code could get past the level's other means."""
        groups = [seccomp.KEYS, seccomp.OTHER_PROCESSES, seccomp.KERNEL, seccomp.MEMORY]
        if self.spec["level"] == "ns":
            steps = seccomp.program(groups, (seccomp.UNIX, *seccomp.NETWORKS))
        else:
            groups.append(seccomp.MESSAGES)
            if self.spec["uid"] is None:  # else no file but the copy's is the user's own
                groups.append(seccomp.METADATA)
            steps = seccomp.program(groups, seccomp.NETWORKS, attributes=True, no_users=True)
        seccomp.install(steps)


def restrict_files(spec: Specification) -> None:
    """Allow reading what is shown, and writing to a few folders (Landlock)."""
    from landlockpy import AccessFS, AccessNet, Ruleset

    reading = AccessFS.READ_FILE | AccessFS.READ_DIR | AccessFS.EXECUTE
    devices = AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.IOCTL_DEV
    net = None if spec["net"] == "none" else AccessNet.NONE
    with Ruleset(handled_net=net) as rules:
        everything = rules.handled_fs
        for path in _readable(spec):
            allowed = reading if os.path.isdir(path) else reading & ~AccessFS.READ_DIR
            rules.allow_path(path, allowed)
        for name in ("null", "zero", "full", "random", "urandom"):
            if os.path.exists(f"/dev/{name}"):
                rules.allow_path(f"/dev/{name}", devices)
        for path in spec["writable"]:
            rules.allow_path(path, everything)
        rules.restrict()
    if spec["scope"]:
        syscalls.keep_signals_in()


def _readable(spec: Specification) -> Iterator[str]:
    """Yield the folders and files below which everything may be read."""
    yield from ("/proc", "/sys")
    for path in spec["shown"]:
        if os.path.islink(path):
            continue  # what it leads to has its own place on the list, if it may be read
        if path == "/etc" and spec["private"]:
            yield from _public_files(path)
        else:
            yield path


def _public_files(folder: str) -> Iterator[str]:
    """Yield the files of a folder that everybody may read: who may read all is to see no more."""
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if _mode(here, name) & stat.S_IXOTH]
        for name in files:
            mode = _mode(here, name)
            if stat.S_ISREG(mode) and mode & stat.S_IROTH:
                yield os.path.join(here, name)


def _mode(folder: str, name: str) -> int:
    return os.lstat(os.path.join(folder, name)).st_mode


def main() -> int:
    """Do what the specification says; a problem becomes one line on the control socket."""
    control, life = int(sys.argv[1]), int(sys.argv[2])
    # Without a buffer nothing past the line is read: that belongs to the next process.
    with open(control, "rb", buffering=0, closefd=False) as stream:
        spec: Specification = json.loads(stream.readline())
    me = os.getpid()
    try:
        return Launcher(spec, control, life).run()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        answer = json.dumps({"event": "problem", "text": text})
        os.write(control, answer.encode("ascii") + b"\n")
        return 1
    finally:
        if os.getpid() != me:
            os._exit(1)

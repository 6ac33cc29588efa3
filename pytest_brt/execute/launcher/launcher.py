"""Shuts itself in, starts the subject's interpreter, and stays until it or the tool is gone.

The first line from the CONTROL socket is the specification; the end of the LIFE pipe means
that the tool is gone.
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import sys
from contextlib import suppress

from pytest_brt.execute.inside import processes, seccomp, syscalls
from pytest_brt.execute.launcher import Specification
from pytest_brt.execute.launcher.namespaces import drop_user, enter_namespaces

#: Folders with much in them that is not for everybody, and nothing that a program needs.
_NOT_FOR_ALL = {"/var", "/srv", "/mnt", "/media", "/home", "/boot", "/root", "/lost+found"}


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
        if self.spec["level"] == "ns":
            enter_namespaces(self.spec)
        else:
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        me = os.getpid()
        child = os.fork()
        if child == 0:
            self._start(me)
        os.close(self.control)
        try:
            return self._wait(child)
        finally:
            self._end(child)

    def _wait(self, child: int) -> int:
        """Return when the child ends, or the tool does."""
        ending: int = syscalls.pidfd_open(child)
        ready, _, _ = select.select([self.life, ending], [], [])
        if ending not in ready:
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

    def _start(self, parent: int) -> None:
        """Become the subject's interpreter, with one process in between where needed."""
        if self.spec["level"] == "ns":
            self._be_first(parent)
        syscalls.die_with_parent(os.getppid())
        os.close(self.life)
        if self.spec["level"] == "landlock":
            drop_user(self.spec["uid"], keep_reading=self.spec["reads_all"])
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
        if steps is not None:
            seccomp.install(steps)

    def _be_first(self, parent: int) -> None:
        """Be the first process of the namespace: collect orphans; return in its child."""
        # The parent has no number in this namespace, so it cannot be asked for.
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
        syscalls.mount("proc", "/proc", "proc", flags)
        child = os.fork()
        if child == 0:
            # Over exec only ambient capabilities stay with a user that is not root.
            syscalls.set_capabilities(syscalls.FOR_MOUNTING, ambient=True)
            return
        os.close(self.control)
        while True:
            pid, _ = os.waitpid(-1, 0)
            if pid == child:
                os._exit(0)


def restrict_files(spec: Specification) -> None:
    """Allow reading what is not hidden, and writing to a few folders (Landlock)."""
    from landlockpy import AccessFS, AccessNet, Ruleset

    reading = AccessFS.READ_FILE | AccessFS.READ_DIR | AccessFS.EXECUTE
    devices = AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.IOCTL_DEV
    net = None if spec["net"] == "none" else AccessNet.NONE
    with Ruleset(handled_net=net) as rules:
        everything = rules.handled_fs
        hidden = {*spec["hidden"], "/dev"}
        if spec["uid"] is not None and spec["reads_all"]:
            hidden |= unreadable("/etc") | _NOT_FOR_ALL
        for path in (*visible_paths("/", frozenset(hidden)), *spec["needed"]):
            if os.path.isdir(path):
                rules.allow_path(path, reading)
            elif os.path.exists(path):
                rules.allow_path(path, reading & ~AccessFS.READ_DIR)
        for name in ("null", "zero", "full", "random", "urandom"):
            if os.path.exists(f"/dev/{name}"):
                rules.allow_path(f"/dev/{name}", devices)
        for path in spec["writable"]:
            rules.allow_path(path, everything)
        rules.restrict()
    if spec["scope"]:
        syscalls.keep_signals_in()


def unreadable(folder: str) -> set[str]:
    """Return what in a folder not everybody may read: it is not for who may read all."""
    found: set[str] = set()
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(here, name)
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode) and not mode & (0o001 if stat.S_ISDIR(mode) else 0o004):
                found.add(path)
        folders[:] = [name for name in folders if os.path.join(here, name) not in found]
    return found


def visible_paths(folder: str, hidden: frozenset[str]) -> list[str]:
    """Return the paths that together are all of `folder` but what is hidden."""
    if folder in hidden:
        return []
    if not any(path.startswith(folder.rstrip("/") + "/") for path in hidden):
        return [folder]
    found: list[str] = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            found += visible_paths(path, hidden)
    return found


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
        os.write(control, b"r" + answer.encode("ascii") + b"\n")
        return 1
    finally:
        if os.getpid() != me:
            os._exit(1)

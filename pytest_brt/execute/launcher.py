"""Shuts itself in and starts the subject's interpreter: a subprocess, never imported.

``python launcher.py CONTROL LIFE``: the first line from the CONTROL socket is the
specification; the end of the LIFE pipe means that the tool is gone. The process has one
thread, as leaving for another user namespace demands, and never runs code of the subject.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import select
import signal
import socket
import stat
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import TypedDict

INSIDE = Path(__file__).parent / "inside"


class Specification(TypedDict):
    """What the tool asks for."""

    level: str
    python: str
    script: str
    env: dict[str, str]
    cwd: str
    #: The project's folder.
    root: str
    #: Paths that must stay visible: interpreter, libraries, our own scripts, the project.
    needed: list[str]
    #: Folders whose content is nobody's business.
    hidden: list[str]
    #: Folders that the subject may write to (level landlock).
    writable: list[str]
    #: Where the level `ns` mounts its scratch file system.
    scratch: str
    #: Libraries that lie in the project's folder.
    covered: list[str]
    #: The user to become, or None.
    uid: int | None
    net: str
    #: Landlock can keep signals in.
    scope: bool
    #: Bytes of one private file system.
    size: int


def _load(name: str) -> ModuleType:
    """Return one of the scripts for the subject, which are not a package."""
    spec = importlib.util.spec_from_file_location(f"_brt_{name}", INSIDE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Launcher:
    """Sets up one sandbox, and holds it while it is needed."""

    def __init__(self, spec: Specification, control: int, life: int) -> None:
        self.spec = spec
        self.control = control
        self.life = life
        self.linux = sys.platform == "linux"
        self.calls = _load("syscalls") if self.linux else None
        self.sweep = _load("sweep")

    def run(self) -> int:
        """Start the subject's interpreter and stay until it, or the tool, is gone."""
        if self.spec["level"] == "ns":
            self._enter_namespaces()
        elif self.linux:
            assert self.calls is not None
            self.calls.prctl(self.calls.PR_SET_CHILD_SUBREAPER, 1)
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
        if self.linux:
            assert self.calls is not None
            ending: int = self.calls.pidfd_open(child)
            ready, _, _ = select.select([self.life, ending], [], [])
            if ending not in ready:
                return 1
            os.waitpid(child, 0)
        else:
            while not select.select([self.life], [], [], 0.1)[0]:
                if os.waitpid(child, os.WNOHANG)[0]:
                    return 0
            return 1
        return 0

    def _end(self, child: int) -> None:
        """Kill what is left; the end of a process namespace's first process ends all in it."""
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended, and was collected
        if self.spec["level"] != "ns" and self.linux:
            self.sweep.kill_descendants(os.getpid())
        self.sweep.reap()

    def _start(self, parent: int) -> None:
        """Become the subject's interpreter, with one process in between where needed."""
        if self.spec["level"] == "ns":
            self._be_first(parent)
        if self.linux:
            assert self.calls is not None
            self.calls.die_with_parent(os.getppid())
        os.close(self.life)
        if self.spec["level"] == "landlock":
            self._drop_user(keep_reading=True)
            self._restrict_files()
        elif self.spec["level"] == "process":
            self._drop_user(keep_reading=True)
        if self.linux:
            assert self.calls is not None
            self.calls.prctl(self.calls.PR_SET_NO_NEW_PRIVS, 1)
        self._exec()

    def _be_first(self, parent: int) -> None:
        """Be the first process of the namespace: collect orphans; return in its child."""
        assert self.calls is not None
        # The parent has no number in this namespace, so it cannot be asked for.
        self.calls.prctl(self.calls.PR_SET_PDEATHSIG, signal.SIGKILL)
        flags = self.calls.MS_NOSUID | self.calls.MS_NODEV | self.calls.MS_NOEXEC
        self.calls.mount("proc", "/proc", "proc", flags)
        child = os.fork()
        if child == 0:
            # Over exec only ambient capabilities stay with a user that is not root.
            self.calls.set_capabilities(self.calls.FOR_MOUNTING, ambient=True)
            return
        os.close(self.control)
        while True:
            pid, _ = os.waitpid(-1, 0)
            if pid == child:
                os._exit(0)

    def _exec(self) -> None:
        os.set_inheritable(self.control, True)
        os.chdir(self.spec["cwd"])
        argv = [self.spec["python"], "-u", self.spec["script"], str(self.control)]
        os.execve(argv[0], argv, self.spec["env"])

    # -- level ns ------------------------------------------------------------------------

    def _enter_namespaces(self) -> None:
        calls = self.calls
        assert calls is not None
        spaces = calls.CLONE_NEWUSER | calls.CLONE_NEWNS | calls.CLONE_NEWPID
        spaces |= calls.CLONE_NEWIPC | calls.CLONE_NEWUTS
        if self.spec["net"] == "none":
            spaces |= calls.CLONE_NEWNET
        uid, gid = os.getuid(), os.getgid()
        if self.spec["uid"] is not None:
            # As root: arrange the files first, then go on as a user without any power.
            calls.unshare(calls.CLONE_NEWNS)
            uid = gid = self.spec["uid"]
            self._arrange(uid)
            self._drop_user(keep_reading=False)
            calls.unshare(spaces)
            calls.map_own_ids(uid, gid)
        else:
            calls.unshare(spaces)
            calls.map_own_ids(uid, gid)
            self._arrange(None)
        if self.spec["net"] == "none":
            _loopback_up()

    def _arrange(self, owner: int | None) -> None:
        """Hide what is private, keep what is needed, make all read-only, add scratch space."""
        calls = self.calls
        assert calls is not None
        calls.make_private()
        scratch = self.spec["scratch"]
        base = calls.open_tree(self.spec["root"])
        if owner is not None:
            self._show_as_owned(base, owner)
        covered = [calls.open_tree(path) for path in self.spec["covered"]]
        self._hide()
        os.makedirs(scratch, exist_ok=True)
        calls.set_read_only("/")
        if owner is not None:
            calls.set_writable("/proc")  # the new user's ids are still to be written there
        data = f"mode=700,size={self.spec['size']}"
        if owner is not None:
            data += f",uid={owner},gid={owner}"
        calls.mount("tmpfs", scratch, "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, data)
        for name in ("base", "row", "cell", "tmp", "needed"):
            self._make_folder(f"{scratch}/{name}", owner)
        calls.move_mount(base, f"{scratch}/base")
        for number, tree in enumerate(covered):
            self._make_folder(f"{scratch}/needed/{number}", owner)
            calls.move_mount(tree, f"{scratch}/needed/{number}")
        calls.set_read_only(f"{scratch}/base")

    @staticmethod
    def _make_folder(path: str, owner: int | None) -> None:
        os.mkdir(path)
        if owner is not None:
            os.chown(path, owner, owner)

    def _hide(self) -> None:
        """Put empty folders over the hidden ones, and show the needed paths again in them.

        From the top down: what is hidden may lie in what is needed, and the other way round.
        """
        calls = self.calls
        assert calls is not None
        needed: dict[str, int | str] = {}
        for path in set(self.spec["needed"]):
            if os.path.islink(path):
                needed[path] = os.readlink(path)
            elif os.path.exists(path):
                needed[path] = calls.open_tree(path)
        for path in sorted({*self.spec["hidden"], *needed}):
            if path in needed:
                self._show(path, needed[path])
            elif os.path.isdir(path) and not os.path.islink(path):
                mode = "1777" if path in ("/tmp", "/var/tmp", "/dev/shm") else "755"
                flags = calls.MS_NOSUID | calls.MS_NODEV
                calls.mount("tmpfs", path, "tmpfs", flags, f"mode={mode},size=1m")

    def _show(self, path: str, source: int | str) -> None:
        """Show a link, by its target, or a tree where it is hidden."""
        calls = self.calls
        assert calls is not None
        if isinstance(source, str):
            if not os.path.lexists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(source, path)
            return
        if not os.path.lexists(path):
            _make_place(path, source)
            calls.move_mount(source, path)
        os.close(source)

    def _show_as_owned(self, tree: int, owner: int) -> None:
        """Let the project's files appear as the new user's own."""
        calls = self.calls
        assert calls is not None
        real = os.stat(self.spec["root"]).st_uid
        group = os.stat(self.spec["root"]).st_gid
        namespace = _user_namespace(calls, (real, owner), (group, owner))
        try:
            calls.set_owner_map(tree, namespace)
        finally:
            os.close(namespace)

    # -- users and Landlock --------------------------------------------------------------

    def _drop_user(self, *, keep_reading: bool) -> None:
        """Become the user named in the specification, able to read files but nothing else."""
        uid = self.spec["uid"]
        if uid is None:
            return
        calls = self.calls
        if keep_reading and calls is not None:
            calls.prctl(calls.PR_SET_KEEPCAPS, 1)
        parent = os.getppid()
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        if calls is None:
            return
        if keep_reading:
            calls.set_capabilities((calls.CAP_DAC_READ_SEARCH,), ambient=True)
            calls.die_with_parent(parent)  # changing the user has undone it
        calls.prctl(calls.PR_SET_DUMPABLE, 1)

    def _restrict_files(self) -> None:
        """Allow reading what is not hidden, and writing to a few folders (Landlock)."""
        from landlockpy import AccessFS, AccessNet, Ruleset

        reading = AccessFS.READ_FILE | AccessFS.READ_DIR | AccessFS.EXECUTE
        devices = AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.IOCTL_DEV
        net = None if self.spec["net"] == "none" else AccessNet.NONE
        with Ruleset(handled_net=net) as rules:
            everything = rules.handled_fs
            for path in (*_visible("/", frozenset(self.spec["hidden"])), *self.spec["needed"]):
                if os.path.isdir(path):
                    rules.allow_path(path, reading)
                elif os.path.exists(path):
                    rules.allow_path(path, reading & ~AccessFS.READ_DIR)
            for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"):
                if os.path.exists(f"/dev/{name}"):
                    rules.allow_path(f"/dev/{name}", devices)
            for path in self.spec["writable"]:
                rules.allow_path(path, everything)
            rules.restrict()
        if self.spec["scope"]:
            assert self.calls is not None
            self.calls.keep_signals_in()


def _visible(folder: str, hidden: frozenset[str]) -> list[str]:
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
            found += _visible(path, hidden)
    return found


def _user_namespace(calls: ModuleType, uids: tuple[int, int], gids: tuple[int, int]) -> int:
    """Return a descriptor of a user namespace that maps one user and one group."""
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            calls.unshare(calls.CLONE_NEWUSER)
            os.write(ready[1], b"x")
            os.read(go[0], 1)
        finally:
            os._exit(0)
    os.close(ready[1])
    try:
        if os.read(ready[0], 1) != b"x":
            raise OSError("no user namespace")
        for name, (inner, outer) in (("uid_map", uids), ("gid_map", gids)):
            Path(f"/proc/{child}/{name}").write_text(f"{inner} {outer} 1", encoding="ascii")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.write(go[1], b"x")
        os.waitpid(child, 0)
        for descriptor in (ready[0], *go):
            os.close(descriptor)


def _make_place(path: str, tree: int) -> None:
    """Make the empty folder, or file, on which a tree can be shown."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(path, exist_ok=True)
    else:
        Path(path).touch()


def _loopback_up() -> None:
    """Switch on the loopback interface of a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14s", b"lo", 0x1 | 0x40, b"")  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(sock, 0x8914, request)  # SIOCSIFFLAGS


def read_line(descriptor: int) -> bytes:
    """Return one line, read byte by byte: what follows belongs to the next process."""
    line = bytearray()
    while not line.endswith(b"\n"):
        data = os.read(descriptor, 1)
        if not data:
            break
        line += data
    return bytes(line)


def main() -> int:
    """Do what the specification says; a problem becomes one line on the control socket."""
    control, life = int(sys.argv[1]), int(sys.argv[2])
    spec: Specification = json.loads(read_line(control))
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


if __name__ == "__main__":
    sys.exit(main())

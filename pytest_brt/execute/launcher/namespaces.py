"""The level `ns`: own namespaces, and what there is to be seen of the file system in them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import struct
from pathlib import Path
from types import ModuleType

from pytest_brt.execute.launcher import Specification
from pytest_brt.execute.launcher.root import NewRoot


def drop_user(uid: int | None, calls: ModuleType, *, keep_reading: bool) -> None:
    """Become the user `uid`, if there is one, without any power.

    With `keep_reading` it may read every file.
    """
    if uid is None:
        return
    if keep_reading:
        calls.prctl(calls.PR_SET_KEEPCAPS, 1)
    parent = os.getppid()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if keep_reading:
        calls.set_capabilities((calls.CAP_DAC_READ_SEARCH,), ambient=True)
        calls.die_with_parent(parent)  # changing the user has undone it
    calls.prctl(calls.PR_SET_DUMPABLE, 1)


class Namespaces:
    """Leaves for new namespaces with the calling process."""

    def __init__(self, spec: Specification, calls: ModuleType) -> None:
        self.spec = spec
        self.calls = calls

    def enter(self) -> None:
        """Arrange the files, and go on in the namespaces as a user without any power."""
        spaces = self.calls.CLONE_NEWUSER | self.calls.CLONE_NEWNS | self.calls.CLONE_NEWPID
        spaces |= self.calls.CLONE_NEWIPC | self.calls.CLONE_NEWUTS
        if self.spec["net"] == "none":
            spaces |= self.calls.CLONE_NEWNET
        uid, gid = os.getuid(), os.getgid()
        if self.spec["uid"] is not None:
            # As root: arrange the files first, then go on as a user without any power.
            self.calls.unshare(self.calls.CLONE_NEWNS)
            uid = gid = self.spec["uid"]
            self._arrange(uid)
            drop_user(self.spec["uid"], self.calls, keep_reading=False)
            self._leave(spaces, uid, gid)
        else:
            self._leave(spaces, uid, gid)
            self._arrange(None)

    def _leave(self, spaces: int, uid: int, gid: int) -> None:
        self.calls.unshare(spaces)
        self.calls.map_own_ids(uid, gid)
        if spaces & self.calls.CLONE_NEWNET:
            _loopback_up()
            _forget_closed_connections()

    def _arrange(self, owner: int | None) -> None:
        """Hide what is private, keep what is needed, make all read-only, add scratch space."""
        self.calls.make_private()
        scratch = self.spec["scratch"]
        base = self.calls.open_tree(self.spec["root"])
        if owner is not None:
            self._show_as_owned(base, owner)
        covered = [self.calls.open_tree(path) for path in self.spec["covered"]]
        needed = self._needed()
        NewRoot(self.calls, frozenset(self.spec["hidden"])).enter()
        self._hide(needed)
        os.makedirs(scratch, exist_ok=True)
        self.calls.set_read_only("/")
        if owner is not None:
            self.calls.set_writable("/proc")  # the new user's ids are still to be written there
        data = f"mode=700,size={self.spec['size']}"
        if owner is not None:
            data += f",uid={owner},gid={owner}"
        flags = self.calls.MS_NOSUID | self.calls.MS_NODEV
        self.calls.mount("tmpfs", scratch, "tmpfs", flags, data)
        for name in ("base", "row", "cell", "tmp", "needed"):
            _make_folder(f"{scratch}/{name}", owner)
        self.calls.move_mount(base, f"{scratch}/base")
        for number, tree in enumerate(covered):
            _make_folder(f"{scratch}/needed/{number}", owner)
            self.calls.move_mount(tree, f"{scratch}/needed/{number}")
        self.calls.set_read_only(f"{scratch}/base")

    def _needed(self) -> dict[str, int | str]:
        """Return the needed paths: links by their targets, all others as detached trees."""
        needed: dict[str, int | str] = {}
        for path in set(self.spec["needed"]):
            if os.path.islink(path):
                needed[path] = os.readlink(path)
            elif os.path.exists(path):
                needed[path] = self.calls.open_tree(path)
        return needed

    def _hide(self, needed: dict[str, int | str]) -> None:
        """Put empty folders over the hidden ones, and show the needed paths again in them.

        From the top down: what is hidden may lie in what is needed, and the other way round.
        """
        for path in sorted({*self.spec["hidden"], *needed}):
            if path in needed:
                self._show(path, needed[path])
            elif os.path.isdir(path) and not os.path.islink(path):
                mode = "1777" if path in ("/tmp", "/var/tmp", "/dev/shm") else "755"
                flags = self.calls.MS_NOSUID | self.calls.MS_NODEV
                self.calls.mount("tmpfs", path, "tmpfs", flags, f"mode={mode},size=1m")

    def _show(self, path: str, source: int | str) -> None:
        """Show a link, by its target, or a tree where it is hidden."""
        if isinstance(source, str):
            if not os.path.lexists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(source, path)
            return
        if not os.path.lexists(path):
            _make_place(path, source)
            self.calls.move_mount(source, path)
        os.close(source)

    def _show_as_owned(self, tree: int, owner: int) -> None:
        """Let the project's files appear as the new user's own."""
        real = os.stat(self.spec["root"]).st_uid
        group = os.stat(self.spec["root"]).st_gid
        namespace = _user_namespace(self.calls, (real, owner), (group, owner))
        try:
            self.calls.set_owner_map(tree, namespace)
        finally:
            os.close(namespace)


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


def _make_folder(path: str, owner: int | None) -> None:
    os.mkdir(path)
    if owner is not None:
        os.chown(path, owner, owner)


def _make_place(path: str, tree: int) -> None:
    """Make the empty folder, or file, on which a tree can be shown."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(path, exist_ok=True)
    else:
        Path(path).touch()


def _forget_closed_connections() -> None:
    """Free a port as soon as a row closes its connection, so that the next row can have it.

    Kernels that give a namespace no such setting, or no right to it, keep the port for a minute:
    no reason to do without the namespaces.
    """
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv4/tcp_max_tw_buckets").write_text("0", encoding="ascii")


def _loopback_up() -> None:
    """Switch on the loopback interface of a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14s", b"lo", 0x1 | 0x40, b"")  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(sock, 0x8914, request)  # SIOCSIFFLAGS

"""The level `ns`: own namespaces, and what there is to be seen of the file system in them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import struct
from pathlib import Path

from pytest_brt.execute.inside import syscalls
from pytest_brt.execute.launcher import Specification

#: Devices that lead to nobody.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
#: What is not files of the machine.
_KERNEL = ("proc", "sys", "dev")
#: Where the root is put together: a folder that is hidden anyway.
_PLACE = "/tmp"


def drop_user(uid: int | None, *, keep_reading: bool) -> None:
    """Become the user `uid`, if there is one, without any power.

    With `keep_reading` it may read every file.
    """
    if uid is None:
        return
    if keep_reading:
        syscalls.prctl(syscalls.PR_SET_KEEPCAPS, 1)
    parent = os.getppid()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if keep_reading:
        syscalls.set_capabilities((syscalls.CAP_DAC_READ_SEARCH,), ambient=True)
        syscalls.die_with_parent(parent)  # changing the user has undone it
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def enter_namespaces(spec: Specification) -> None:
    """Arrange the files, and go on in the namespaces as a user without any power."""
    spaces = syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID
    spaces |= syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
    if spec["net"] == "none":
        spaces |= syscalls.CLONE_NEWNET
    uid, gid = os.getuid(), os.getgid()
    if spec["uid"] is not None:
        # As root: arrange the files first, then go on as a user without any power.
        syscalls.unshare(syscalls.CLONE_NEWNS)
        uid = gid = spec["uid"]
        _arrange(spec, uid)
        drop_user(spec["uid"], keep_reading=False)
        _leave(spaces, uid, gid)
    else:
        _leave(spaces, uid, gid)
        _arrange(spec, None)


def _leave(spaces: int, uid: int, gid: int) -> None:
    syscalls.unshare(spaces)
    syscalls.map_own_ids(uid, gid)
    if spaces & syscalls.CLONE_NEWNET:
        _loopback_up()
        _forget_closed_connections()


def _arrange(spec: Specification, owner: int | None) -> None:
    """Hide what is private, keep what is needed, make all read-only, add scratch space."""
    syscalls.make_private()
    scratch = spec["scratch"]
    base = syscalls.open_tree(spec["root"])
    shown = syscalls.open_tree(spec["root"])
    if owner is not None:
        _show_as_owned(spec["root"], (base, shown), owner)
    covered = [syscalls.open_tree(path) for path in spec["covered"]]
    needed = _needed(spec)
    enter_new_root(frozenset(spec["hidden"]))
    _hide(spec, needed)
    # For an interpreter in the project: rows show their own views here.
    syscalls.move_mount(shown, spec["root"])
    os.close(shown)
    os.makedirs(scratch, exist_ok=True)
    syscalls.set_read_only("/")
    if owner is not None:
        syscalls.set_writable("/proc")  # the new user's ids are still to be written there
    data = f"mode=700,size={spec['size']}"
    if owner is not None:
        data += f",uid={owner},gid={owner}"
    _tmpfs(scratch, data)
    for name in ("base", "row", "cell", "tmp", "needed"):
        _make_folder(f"{scratch}/{name}", owner)
    syscalls.move_mount(base, f"{scratch}/base")
    for number, tree in enumerate(covered):
        _make_folder(f"{scratch}/needed/{number}", owner)
        syscalls.move_mount(tree, f"{scratch}/needed/{number}")
    syscalls.set_read_only(f"{scratch}/base")


def _needed(spec: Specification) -> dict[str, int | str]:
    """Return the needed paths: links by their targets, all others as detached trees."""
    needed: dict[str, int | str] = {}
    for path in set(spec["needed"]):
        if os.path.islink(path):
            needed[path] = os.readlink(path)
        elif os.path.exists(path):
            needed[path] = syscalls.open_tree(path)
    return needed


def _hide(spec: Specification, needed: dict[str, int | str]) -> None:
    """Put empty folders over the hidden ones, and show the needed paths again in them.

    From the top down: what is hidden may lie in what is needed, and the other way round.
    """
    for path in sorted({*spec["hidden"], *needed}):
        if path in needed:
            _show(path, needed[path])
        elif os.path.isdir(path) and not os.path.islink(path):
            mode = "1777" if path in ("/tmp", "/var/tmp", "/dev/shm") else "755"
            _tmpfs(path, f"mode={mode},size=1m")


def _show(path: str, source: int | str) -> None:
    """Show a link, by its target, or a tree where it is hidden."""
    if isinstance(source, str):
        if not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(source, path)
        return
    if not os.path.lexists(path):
        syscalls.make_place(path, source)
        syscalls.move_mount(source, path)
    os.close(source)


def _show_as_owned(root: str, trees: tuple[int, ...], owner: int) -> None:
    """Let the project's files appear as the new user's own."""
    real = os.stat(root)
    namespace = _user_namespace((real.st_uid, owner), (real.st_gid, owner))
    try:
        for tree in trees:
            syscalls.set_owner_map(tree, namespace)
    finally:
        os.close(namespace)


def _user_namespace(uids: tuple[int, int], gids: tuple[int, int]) -> int:
    """Return a descriptor of a user namespace that maps one user and one group."""
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            syscalls.unshare(syscalls.CLONE_NEWUSER)
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


def enter_new_root(hidden: frozenset[str]) -> None:
    """Go on with a root of our own: the machine's files, and nothing that leads out by them.

    Each folder is shown through an overlay without an upper layer. Its files are the machine's, but
    sockets and pipes in it are not: nobody listens at them, for the kernel tells them by the file
    system that they are reached through. Making a mount read-only does not do that.

    Raises:
        OSError: the kernel does not have, or allow, what this takes.
    """
    names = sorted(os.listdir("/"))
    trees = {"proc": syscalls.open_tree("/proc")}
    try:
        trees["sys"] = syscalls.open_tree("/sys", recursive=False)
    except OSError:  # what is mounted within may not be taken away there
        trees["sys"] = syscalls.open_tree("/sys")
    devices = {name: syscalls.open_tree(f"/dev/{name}") for name in DEVICES}
    mounts = _mounts()
    _tmpfs(_PLACE)
    os.mkdir(f"{_PLACE}/root")
    os.mkdir(f"{_PLACE}/empty")
    _tmpfs(f"{_PLACE}/root")
    for name in names:
        if name not in _KERNEL:
            _mirror(name, hidden, [path for path in mounts if path.startswith(f"/{name}/")])
    for name, tree in trees.items():
        os.mkdir(f"{_PLACE}/root/{name}")
        _attach(tree, f"{_PLACE}/root/{name}")
    _make_devices(f"{_PLACE}/root/dev", devices)
    syscalls.enter_root(f"{_PLACE}/root")


def _mirror(name: str, hidden: frozenset[str], within: list[str]) -> None:
    """Show one entry of the old root in the new one, with the mounts within it."""
    old, new = f"/{name}", f"{_PLACE}/root/{name}"
    if os.path.islink(old):
        os.symlink(os.readlink(old), new)
    elif os.path.isdir(old):
        os.mkdir(new)
        if old not in hidden and old != _PLACE and _has_content(old):
            _overlay(old, new, within)
    elif os.path.isfile(old):
        Path(new).touch()
        _attach(syscalls.open_tree(old), new)


def _overlay(old: str, new: str, within: list[str]) -> None:
    """Show a folder through an overlay; as it is where the kernel refuses that.

    It does so for a folder with mounts of the outer namespace in it.
    """
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    try:
        data = f"lowerdir={old}:{_PLACE}/empty"
        syscalls.mount("overlay", new, "overlay", flags, data)
    except OSError:
        _attach(syscalls.open_tree(old), new)
        return
    for path in within:
        target = f"{_PLACE}/root{path}"
        if os.path.lexists(target) and not os.path.islink(target):
            _attach(syscalls.open_tree(path, recursive=False), target)


def _make_devices(folder: str, devices: dict[str, int]) -> None:
    """Make a folder of harmless devices, with terminals of its own."""
    os.mkdir(folder)
    _tmpfs(folder)
    for name, tree in devices.items():
        Path(folder, name).touch()
        _attach(tree, f"{folder}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{folder}/{name}")
    data = "newinstance,ptmxmode=0666,mode=620"
    syscalls.mount("devpts", f"{folder}/pts", "devpts", syscalls.MS_NOSUID, data)
    os.symlink("pts/ptmx", f"{folder}/ptmx")
    os.symlink("/proc/self/fd", f"{folder}/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{folder}/{name}")


def _tmpfs(path: str, data: str = "mode=755,size=4m") -> None:
    syscalls.mount("tmpfs", path, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, data)


def _attach(tree: int, target: str) -> None:
    syscalls.move_mount(tree, target)
    os.close(tree)


def _has_content(folder: str) -> bool:
    try:
        return bool(os.listdir(folder))
    except PermissionError:
        return True


def _mounts() -> list[str]:
    """Return where file systems are mounted, from the top down."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    paths = {line.split(" ")[4] for line in lines.splitlines()}
    return sorted(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), p) for p in paths)

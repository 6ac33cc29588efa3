"""The level `ns`: namespaces of its own, and a root that holds nothing but what is shown."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import socket
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_brt.execute.inside import syscalls
from pytest_brt.execute.inside.tree import is_below
from pytest_brt.execute.launcher import Specification

#: Devices that lead to nobody.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
#: Where the root is put together: what is covered there is not needed meanwhile.
_PLACE = "/sys"
_ROOT = f"{_PLACE}/root"
_EMPTY = f"{_PLACE}/empty"
#: Empty folders that programs expect.
_TEMPORARY = ("/tmp", "/var/tmp")


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
    """Arrange the files, and go on in namespaces in which nobody can undo that.

    How files were mounted, as that they are read-only, can only be changed by who has power over
    the user namespace in which that was done: never the one that is gone on in, nor one made in it.
    """
    user = spec["uid"]
    if user is None:
        syscalls.enter_user_namespace(syscalls.CLONE_NEWNS)
    else:
        syscalls.unshare(syscalls.CLONE_NEWNS)
    _arrange(spec, user)
    drop_user(user, keep_reading=False)
    kinds = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID
    kinds |= syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
    is_cut_off = spec["net"] == "none"
    syscalls.enter_user_namespace(kinds | (syscalls.CLONE_NEWNET if is_cut_off else 0))
    if is_cut_off:
        _loopback_up()
        _forget_closed_connections()


def _arrange(spec: Specification, owner: int | None) -> None:
    """Show what is to be seen, make all of it read-only, and add scratch space."""
    syscalls.make_private()
    root, scratch = spec["root"], spec["scratch"]
    base, project = syscalls.open_tree(root), syscalls.open_tree(root)
    if owner is not None:
        _show_as_owned(root, (base, project), owner)
    _enter_new_root(spec, project)
    os.makedirs(scratch)
    syscalls.set_read_only("/")
    syscalls.set_writable("/proc")  # the user's ids in further namespaces are to be written there
    syscalls.mount_empty(scratch, 0o700, spec["size"], owner)
    for name in ("base", "row", "cell", "tmp"):
        os.mkdir(f"{scratch}/{name}")
        if owner is not None:
            os.chown(f"{scratch}/{name}", owner, owner)
    _attach(base, f"{scratch}/base")
    syscalls.set_read_only(f"{scratch}/base")


def _show_as_owned(root: str, trees: tuple[int, ...], owner: int) -> None:
    """Let the project's files appear as the new user's own."""
    namespace = _user_namespace(os.stat(root), owner)
    try:
        for tree in trees:
            syscalls.set_owner_map(tree, namespace)
    finally:
        os.close(namespace)


def _user_namespace(real: os.stat_result, owner: int) -> int:
    """Return a descriptor of a user namespace that maps the real owner and group to another."""
    child = os.fork()
    if child == 0:
        try:
            syscalls.unshare(syscalls.CLONE_NEWUSER)
            os.kill(os.getpid(), signal.SIGSTOP)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        raise OSError("no user namespace")
    try:
        place = Path(f"/proc/{child}")
        (place / "uid_map").write_text(f"{real.st_uid} {owner} 1", encoding="ascii")
        (place / "gid_map").write_text(f"{real.st_gid} {owner} 1", encoding="ascii")
        return os.open(place / "ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


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


def _enter_new_root(spec: Specification, project: int) -> None:
    """Go on with a root of our own: what is shown, the project, and nothing else.

    The project may lie in what is shown, and that in the project; `project` is a detached tree
    of it.

    Raises:
        OSError: the kernel does not have, or allow, what this takes.
    """
    mounts = _mounts()
    _make_root()
    root = spec["root"]
    private = [path for path in spec["private"] if not is_below(path, root)]
    shown = [path for path in spec["shown"] if not is_below(path, root) and os.path.lexists(path)]
    for path in _parts(shown, private):
        if path not in private:
            _show(path, [mount for mount in mounts if is_below(mount, path)])
        elif os.path.isdir(_ROOT + path):
            syscalls.mount_empty(_ROOT + path)
    # Last, so that nothing covers it.
    syscalls.make_place(_ROOT + root, project)
    _attach(project, _ROOT + root)
    syscalls.enter_root(_ROOT)


def _make_root() -> None:
    """Make the new root with what is not files of the machine: /proc, /sys, a few devices."""
    system = _open_sys()
    syscalls.mount_empty(_PLACE)
    for folder in (_ROOT, _EMPTY):
        os.mkdir(folder)
    syscalls.mount_empty(_ROOT)
    for folder in _TEMPORARY:
        os.makedirs(_ROOT + folder)
        os.chmod(_ROOT + folder, 0o1777)
    for name in ("proc", "sys", "dev"):
        os.mkdir(f"{_ROOT}/{name}")
    syscalls.bind("/proc", f"{_ROOT}/proc")
    _attach(system, f"{_ROOT}/sys")
    _make_devices(f"{_ROOT}/dev")


def _open_sys() -> int:
    """Return a detached tree of /sys: without what is mounted within, where that may be left."""
    try:
        tree: int = syscalls.open_tree("/sys", recursive=False)
    except OSError:
        tree = syscalls.open_tree("/sys")
    return tree


def _parts(shown: Sequence[str], private: Sequence[str]) -> list[str]:
    """Return the paths of which the new root is made, the upper ones first.

    A path is seen through a shown folder that it lies in, but through no private one: that is a
    part itself, empty but for the parts in it.
    """
    parts: list[str] = []
    for path in sorted({*shown, *private}, key=lambda path: path.split("/")):
        above = [part for part in parts if is_below(path, part)]
        if path in private or not above or above[-1] in private:
            parts.append(path)
    return parts


def _show(path: str, mounts: Iterable[str]) -> None:
    """Show in the new root what is at a path: a link, a file, or a folder with its mounts."""
    target = _ROOT + path
    if os.path.islink(path):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(os.readlink(path), target)
        return
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    syscalls.make_place(target, descriptor)
    is_overlay = os.path.isdir(path) and _overlay(descriptor, target)
    os.close(descriptor)
    if not is_overlay:
        syscalls.bind(path, target)
        return
    for mount in mounts:
        # Some may not be looked at, as another user's.
        if mount != path and os.path.lexists(mount) and os.path.lexists(_ROOT + mount):
            syscalls.bind(mount, _ROOT + mount, recursive=False)


def _overlay(folder: int, target: str) -> bool:
    """Show an open folder through an overlay without an upper layer, where the kernel can.

    Its files are the machine's, but sockets and pipes in it are not: nobody listens at them, for
    the kernel tells them by the file system that they are reached through. Making a mount
    read-only does not do that. The kernel refuses it for a folder with mounts in it that are of
    the outer namespace.
    """
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    try:
        # By its descriptor: in a path, commas and colons would have to be escaped.
        data = f"lowerdir=/proc/self/fd/{folder}:{_EMPTY}"
        syscalls.mount("overlay", target, "overlay", flags, data)
    except OSError:
        return False
    return True


def _make_devices(folder: str) -> None:
    """Fill a folder with harmless devices, and terminals of its own."""
    syscalls.mount_empty(folder)
    for name in DEVICES:
        Path(folder, name).touch()
        syscalls.bind(f"/dev/{name}", f"{folder}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{folder}/{name}")
    data = "newinstance,ptmxmode=0666,mode=620"
    syscalls.mount("devpts", f"{folder}/pts", "devpts", syscalls.MS_NOSUID, data)
    os.symlink("pts/ptmx", f"{folder}/ptmx")
    os.symlink("/proc/self/fd", f"{folder}/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{folder}/{name}")


def _attach(tree: int, target: str) -> None:
    syscalls.move_mount(tree, target)
    os.close(tree)


def _mounts() -> list[str]:
    """Return where file systems are mounted, from the top down."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    paths = {line.split(" ")[4] for line in lines.splitlines()}
    return sorted(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), p) for p in paths)

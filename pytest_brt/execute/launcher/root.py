"""A root of its own for the level `ns`: the machine's files, and nothing that leads out by them.

Each folder is shown through an overlay without an upper layer. Its files are the machine's, but
sockets and pipes in it are not: nobody listens at them, for the kernel tells them by the file
system that they are reached through. Making a mount read-only does not do that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pytest_brt.execute.inside import syscalls

#: Devices that lead to nobody.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
#: What is not files of the machine.
_KERNEL = ("proc", "sys", "dev")
#: Where the root is put together: a folder that is hidden anyway.
_PLACE = "/tmp"


class NewRoot:
    """Puts the root together, in a mount namespace of its own."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self.hidden = hidden

    def enter(self) -> None:
        """Go on with the new root.

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
        self._tmpfs(_PLACE)
        os.mkdir(f"{_PLACE}/root")
        os.mkdir(f"{_PLACE}/empty")
        self._tmpfs(f"{_PLACE}/root")
        for name in names:
            if name not in _KERNEL:
                self._mirror(name, [path for path in mounts if path.startswith(f"/{name}/")])
        for name, tree in trees.items():
            os.mkdir(f"{_PLACE}/root/{name}")
            self._attach(tree, f"{_PLACE}/root/{name}")
        self._make_devices(f"{_PLACE}/root/dev", devices)
        syscalls.enter_root(f"{_PLACE}/root")

    def _mirror(self, name: str, within: list[str]) -> None:
        """Show one entry of the old root in the new one, with the mounts within it."""
        old, new = f"/{name}", f"{_PLACE}/root/{name}"
        if os.path.islink(old):
            os.symlink(os.readlink(old), new)
        elif os.path.isdir(old):
            os.mkdir(new)
            if old not in self.hidden and old != _PLACE and _has_content(old):
                self._overlay(old, new, within)
        elif os.path.isfile(old):
            Path(new).touch()
            self._attach(syscalls.open_tree(old), new)

    def _overlay(self, old: str, new: str, within: list[str]) -> None:
        """Show a folder through an overlay; as it is where the kernel refuses that.

        It does so for a folder with mounts of the outer namespace in it.
        """
        flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
        try:
            data = f"lowerdir={old}:{_PLACE}/empty"
            syscalls.mount("overlay", new, "overlay", flags, data)
        except OSError:
            self._attach(syscalls.open_tree(old), new)
            return
        for path in within:
            target = f"{_PLACE}/root{path}"
            if os.path.lexists(target) and not os.path.islink(target):
                self._attach(syscalls.open_tree(path, recursive=False), target)

    def _make_devices(self, folder: str, devices: dict[str, int]) -> None:
        """Make a folder of harmless devices, with terminals of its own."""
        os.mkdir(folder)
        self._tmpfs(folder)
        for name, tree in devices.items():
            Path(folder, name).touch()
            self._attach(tree, f"{folder}/{name}")
        for name in ("pts", "shm"):
            os.mkdir(f"{folder}/{name}")
        data = "newinstance,ptmxmode=0666,mode=620"
        syscalls.mount("devpts", f"{folder}/pts", "devpts", syscalls.MS_NOSUID, data)
        os.symlink("pts/ptmx", f"{folder}/ptmx")
        os.symlink("/proc/self/fd", f"{folder}/fd")
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.symlink(f"/proc/self/fd/{number}", f"{folder}/{name}")

    def _tmpfs(self, path: str) -> None:
        flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
        syscalls.mount("tmpfs", path, "tmpfs", flags, "mode=755,size=4m")

    def _attach(self, tree: int, target: str) -> None:
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

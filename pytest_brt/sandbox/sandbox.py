"""The sandbox that this machine has, and the command that shuts a process in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.sandbox.seccomp import filter_program
from pytest_brt.sandbox.shown import ETC, SYSTEM, is_below, is_private

#: The user that root's processes run as: nobody.
NOBODY = 65534
#: The program that shuts a process in by Landlock.
_CONFINE = str(Path(__file__).with_name("confine.py"))
#: What is read of the kernel where there are no namespaces.
_KERNEL = ("/proc", "/sys/devices/system/cpu")
#: Bytes that a process may write to its own /tmp, and to its shared memory.
_TMP, _SHM = 512 << 20, 64 << 20
#: The first version of bubblewrap that can forbid further user namespaces.
_FORBIDS_USERS = (0, 8)


class Isolation(StrEnum):
    """What shuts code of a project in, strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The folders and variables of one process; pairs are a folder's real path and its name."""

    #: The project's own path, and the private copy of it.
    root: str
    copy: str
    #: Where the process finds the project: at its own path, or where the copy lies.
    tree: str
    env: Mapping[str, str]
    shown: tuple[tuple[str, str], ...] = ()
    #: Virtual environments of the project, of which no copy is made.
    environments: tuple[tuple[str, str], ...] = ()
    #: The folder of what it writes elsewhere.
    temporary: str
    #: The folder of our scripts, and where the process finds it.
    tools: str
    tools_inside: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What shuts the processes of a project in on this machine."""

    isolation: Isolation
    #: They have the machine's network.
    network: bool = False
    #: Folders that they may read because the user says so.
    shown: tuple[str, ...] = ()
    #: Why no stronger isolation can be had, and what this one does not keep.
    remarks: tuple[str, ...] = ()
    #: Root's processes read as root: what they need may be root's alone (a umask of 077).
    reads_as_root: bool = False

    @property
    def has_own_root(self) -> bool:
        """Whether the project's copy lies at the project's own path, and /tmp is private."""
        return self.isolation is Isolation.BUBBLEWRAP

    @property
    def user(self) -> int | None:
        """The user that processes run as, None for the one that we are."""
        keeps_ours = self.isolation is Isolation.NONE or self.reads_as_root
        return NOBODY if not keeps_ours and os.geteuid() == 0 and _has_nobody() else None

    def for_folders(self, folders: Iterable[str]) -> Sandbox:
        """Return the sandbox in which processes can read what lies in folders, as far as we may."""
        is_refused = self.has_own_root and self.user is not None and any(map(is_private, folders))
        return replace(self, reads_as_root=True) if is_refused else self

    @property
    def filter(self) -> bytes:
        """The filter of system calls, b"" for none."""
        if self.isolation is Isolation.NONE:
            return b""
        return filter_program(apart=self.has_own_root, network=self.network)

    def command(self, argv: Sequence[str], view: View, plan: int) -> list[str]:
        """Return what runs `argv`; it reads what `plan` returns from a descriptor."""
        if not self.has_own_root:
            return [sys.executable, "-I", "-S", _CONFINE, str(plan)]
        line = ["bwrap", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        line += ["--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
        line += [] if self.network else ["--unshare-net"]
        line += ["--seccomp", str(plan)] if self.filter else []
        become: list[str] = []
        if self.user is None:
            line += ["--unshare-user", *_no_more_users()]
            # They are nobody to themselves, and root outside, without any of its powers.
            line += ["--uid", str(NOBODY), "--gid", str(NOBODY)] if os.geteuid() == 0 else []
        else:
            # Root's need no namespace of users: what they see may lie where only root can enter.
            line += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
            become = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        line += [*_root_options(), *_view_options(view, self.user)]
        line += ["--remount-ro", "/", "--chdir", "/"]
        # By `env`: what the variables name is loaded by nothing that has a power left.
        variables = [f"{name}={value}" for name, value in view.env.items()]
        return [*line, *become, "env", "-i", *variables, *argv]

    def plan(self, argv: Sequence[str], view: View, events: int) -> bytes:
        """Return the filter for bubblewrap, or the order for the program that does without it."""
        if self.has_own_root:
            return self.filter
        libraries = find_spec("landlockpy")
        shown = (real for real, _ in (*view.shown, *view.environments))
        system = (*SYSTEM, *(f"/etc/{name}" for name in ETC), *_KERNEL)
        order = {
            "argv": argv,
            "env": dict(view.env),
            "readable": [*system, *shown, view.tools],
            "writable": [view.copy, view.temporary],
            "landlock": self.isolation is Isolation.LANDLOCK,
            "libraries": str(Path(libraries.origin or "").parents[1]) if libraries else "",
            "filter": self.filter.hex(),
            "user": self.user,
            "events": events,
        }
        return json.dumps(order).encode("utf-8")


def _has_nobody() -> bool:
    """Return whether nobody is a user here; in a namespace of users, root may be the only one."""
    lines = Path("/proc/self/uid_map").read_text("ascii").splitlines()
    ranges = [(int(first), int(number)) for first, _, number in map(str.split, lines)]
    return any(first <= NOBODY < first + number for first, number in ranges)


@lru_cache(maxsize=1)
def _no_more_users() -> tuple[str, ...]:
    done = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False)
    version = tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))
    return ("--disable-userns",) if version >= _FORBIDS_USERS else ()


def _root_options() -> list[str]:
    """Return the options for an empty root with what is of the system."""
    options: list[str] = []
    for path in SYSTEM:
        if os.path.islink(path):
            options += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            options += ["--ro-bind", path, path]
    for name in ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for path, size in (("/tmp", _TMP), ("/dev/shm", _SHM)):
        options += ["--perms", "1777", "--size", str(size), "--tmpfs", path]
    return options


def _view_options(view: View, user: int | None) -> list[str]:
    """Return the options for what is shown of this project to a user, None for who we are."""
    mounts = [("--ro-bind", real, named) for real, named in view.shown]
    mounts += [("--ro-bind", view.tools, view.tools_inside), ("--bind", view.copy, view.root)]
    mounts += [("--ro-bind", real, named) for real, named in view.environments]
    options: list[str] = []
    made = {"/", "/tmp"}
    places = [*SYSTEM]
    covered: list[str] = []
    # What holds another is shown first, and the other in it.
    for kind, real, named in sorted(mounts, key=lambda mount: mount[2].count("/")):
        for folder in map(str, reversed(Path(named).parents)):
            if folder in made or is_below(folder, view.root):
                continue
            is_shown = any(is_below(folder, place) for place in places)
            if not is_shown or any(is_below(folder, place) for place in covered):
                # Folders on the way are made for their owner alone, if they are not made first.
                options += ["--perms", "0755", "--dir", folder]
            elif user is not None and is_private(folder):
                # Nobody could not get through it to what is shown in it: tox makes such a one.
                options += ["--perms", "0755", "--tmpfs", folder]
                covered.append(folder)
            else:
                continue
            made.add(folder)
        options += [kind, real, named]
        places.append(named)
    return options

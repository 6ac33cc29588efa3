"""The sandbox that this machine has, and the command that shuts a process in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from pytest_brt.sandbox.seccomp import filter_program
from pytest_brt.sandbox.shown import is_below, is_private
from pytest_brt.sandbox.view import View

#: The user that root's processes run as: nobody.
NOBODY = 65534
#: The program that shuts a process in by Landlock.
_CONFINE = str(Path(__file__).with_name("confine.py"))
#: What is read of the kernel where there are no namespaces.
_KERNEL = ("/proc", "/sys/devices/system/cpu")
#: Bytes that a process may write to its own /tmp, and to its shared memory.
_OWN_FOLDERS = (("/tmp", 512 << 20), ("/dev/shm", 64 << 20))


class Isolation(StrEnum):
    """What shuts code of a project in, strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


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

    @property
    def has_own_root(self) -> bool:
        """Whether the project's copy lies at the project's own path, and /tmp is private."""
        return self.isolation is Isolation.BUBBLEWRAP

    @property
    def user(self) -> int | None:
        """The user that processes run as, None for the one that we are."""
        if self.isolation is Isolation.NONE or os.geteuid():
            return None
        # In a namespace of users, root may be the only one.
        first, _, number = Path("/proc/self/uid_map").read_text("ascii").split()[-3:]
        return NOBODY if int(first) + int(number) > NOBODY else None

    @property
    def filter(self) -> bytes:
        """The filter of system calls, b"" for none."""
        if self.isolation is Isolation.NONE:
            return b""
        return filter_program(apart=self.has_own_root, network=self.network)

    def command(self, argv: Sequence[str], view: View, plan: int) -> list[str]:
        """Return what runs `argv`; it reads what `plan` returns from a descriptor."""
        if not self.has_own_root:
            return [sys.executable, "-P", _CONFINE, str(plan)]
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
        line += [*_mounts(view, self.user), "--remount-ro", "/", "--chdir", "/"]
        # By `env`: what the variables name is loaded by nothing that has a power left.
        variables = [f"{name}={value}" for name, value in view.env.items()]
        return [*line, *become, "env", "-i", *variables, *argv]

    def plan(self, argv: Sequence[str], view: View, events: int) -> bytes:
        """Return the filter for bubblewrap, or the order for the program that does without it."""
        if self.has_own_root:
            return self.filter
        order = {
            "argv": argv,
            "env": dict(view.env),
            "readable": [*_KERNEL, *(real for real, _ in view.shown)],
            "writable": os.path.dirname(view.copy),
            "landlock": self.isolation is Isolation.LANDLOCK,
            "filter": self.filter.hex(),
            "user": self.user,
            "events": events,
        }
        return json.dumps(order).encode("utf-8")


@lru_cache(maxsize=1)
def _no_more_users() -> tuple[str, ...]:
    done = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False)
    option = "--disable-userns"  # bubblewrap 0.8
    return (option,) if option in done.stdout else ()


def _mounts(view: View, user: int | None) -> list[str]:
    """Return the options for an empty root, and what a user sees in it; None is who we are."""
    options = ["--proc", "/proc", "--dev", "/dev"]
    for path, size in _OWN_FOLDERS:
        options += ["--perms", "1777", "--size", str(size), "--tmpfs", path]
    mounts = [("--bind", view.copy, view.root)]
    mounts += [("--ro-bind-try", *pair) for pair in view.shown]
    made = {"/", "/tmp"}
    # What holds another is shown first, and the other in it.
    for kind, real, named in sorted(mounts, key=lambda mount: mount[2].count("/")):
        for folder in map(str, reversed(Path(named).parents)):
            if folder not in made and not is_below(folder, view.root):
                # Nobody could not get through a private one to what is shown in it, such as tox
                # makes; and bubblewrap makes what is missing for its owner alone.
                is_shut = user is not None and is_private(folder)
                options += ["--perms", "0755", "--tmpfs" if is_shut else "--dir", folder]
                made.add(folder)
        options += [kind, real, named]
    return options

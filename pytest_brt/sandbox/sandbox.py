"""How the processes of a project are shut in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from pytest_brt.sandbox.bubblewrap import bubblewrap_command
from pytest_brt.sandbox.seccomp import filter_program
from pytest_brt.sandbox.shown import ETC, SYSTEM
from pytest_brt.sandbox.view import View

#: The user that root's processes run as: nobody.
NOBODY = 65534
#: The program that shuts a process in by Landlock.
_CONFINE = str(Path(__file__).with_name("confine.py"))
#: What is read of the kernel where there are no namespaces.
_KERNEL = ("/proc", "/sys/devices/system/cpu")


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
    #: Path of bubblewrap.
    program: str = ""

    @property
    def has_own_root(self) -> bool:
        """Whether the project's copy lies at the project's own path, and /tmp is private."""
        return self.isolation is Isolation.BUBBLEWRAP

    @property
    def user(self) -> int | None:
        """The user that processes run as, None for the one that we are."""
        is_shut_in = self.isolation is not Isolation.NONE
        return NOBODY if is_shut_in and os.geteuid() == 0 and _has_nobody() else None

    @property
    def filter(self) -> bytes:
        """The filter of system calls, b"" for none."""
        if self.isolation is Isolation.NONE:
            return b""
        return filter_program(apart=self.has_own_root, network=self.network)

    def command(
        self,
        argv: Sequence[str],
        view: View,
        *,
        order_fd: int = -1,
        filter_fd: int = -1,
        info_fd: int = -1,
        block_fd: int = -1,
    ) -> list[str]:
        """Return what runs `argv` in the sandbox.

        bubblewrap takes the filter from `filter_fd`, tells `info_fd` of its process and waits for
        `block_fd`. Elsewhere the program reads what `order` returns from `order_fd`.
        """
        if not self.has_own_root:
            return [sys.executable, "-I", "-S", _CONFINE, str(order_fd)]
        return bubblewrap_command(
            self.program,
            argv,
            view,
            user=self.user,
            network=self.network,
            filter_fd=filter_fd,
            info_fd=info_fd,
            block_fd=block_fd,
        )

    def order(
        self, argv: Sequence[str], view: View, *, events_fd: int, limits: Mapping[str, int]
    ) -> bytes:
        """Return the order for the program that shuts in by Landlock, or by nothing."""
        libraries = find_spec("landlockpy")
        shown = (real for real, _ in (*view.shown, *view.environments))
        system = (*SYSTEM, *(f"/etc/{name}" for name in ETC), *_KERNEL)
        order = {
            "argv": argv,
            "env": dict(view.env),
            "readable": [*system, *shown, view.tools],
            "writable": [view.copy, *(real for real, _ in view.writable)],
            "landlock": self.isolation is Isolation.LANDLOCK,
            "libraries": str(Path(libraries.origin or "").parents[1]) if libraries else "",
            "filter": self.filter.hex(),
            "user": self.user,
            "limits": limits,
            "events": events_fd,
        }
        return json.dumps(order).encode("utf-8")


def _has_nobody() -> bool:
    """Return whether nobody is a user here; in a namespace of users, root may be the only one."""
    lines = Path("/proc/self/uid_map").read_text("ascii").splitlines()
    ranges = [(int(first), int(number)) for first, _, number in map(str.split, lines)]
    return any(first <= NOBODY < first + number for first, number in ranges)

"""The sandbox that this machine has, and how a process is started in it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from pytest_brt.errors import SandboxProblem, UsageProblem
from pytest_brt.sandbox.shown import SYSTEM, View, check_folder
from pytest_brt.types.note import value

#: The user that root's processes run as, and that others' are to themselves: nobody.
NOBODY = 65534
#: The program that shuts a process in by Landlock.
_CONFINE = str(Path(__file__).with_name("confine.py"))
#: Namespaces of its own, a session, and no powers.
_BUBBLEWRAP = (
    "bwrap", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
)  # fmt: skip
_AS_NOBODY = ("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))
_MAY_BECOME = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
#: What is read of the kernel where there is no root of its own.
_KERNEL = ("/proc", "/sys/devices/system/cpu", "/dev/zero", "/dev/random", "/dev/urandom")
#: Bytes that a process may write to its own /tmp, and to its shared memory.
_OWN_FOLDERS = (("/tmp", 512 << 20), ("/dev/shm", 64 << 20))


class Isolation(StrEnum):
    """What shuts code of a project in, strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


@value
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

    def command(self, argv: Sequence[str], view: View, *options: str) -> list[str]:
        """Return what runs `argv`; the options are bubblewrap's."""
        # By `env`: what the variables name is loaded by nothing that has a power left.
        program = [
            "env",
            "-i",
            *(f"{name}={text}" for name, text in view.env.items()),
            *argv,
        ]
        if self.user is not None:
            ids = (f"--reuid={self.user}", f"--regid={self.user}")
            program = ["setpriv", *ids, "--clear-groups", *program]
        if not self.has_own_root:
            shut_in = [sys.executable, "-P", _CONFINE]
            if self.isolation is Isolation.LANDLOCK:
                readable = (real for real, _ in view.shown)
                net = "host" if self.network else "none"
                shut_in += [net, os.path.dirname(view.copy), *_KERNEL, *readable]
            return [*shut_in, "--", *program]
        line = [*_BUBBLEWRAP, *options]
        if not self.network:
            line += ["--unshare-net"]
        # Root's need no namespace of users: what they see may lie where only root can enter.
        line += _AS_NOBODY if self.user is None else _MAY_BECOME
        return [*line, *_mounts(view, self.user), "--remount-ro", "/", *program]


def _mounts(view: View, user: int | None) -> list[str]:
    """Return the options for an empty root, and what a user sees in it; None is who we are."""
    options = ["--proc", "/proc", "--dev", "/dev"]
    for path, size in _OWN_FOLDERS:
        options += ["--perms", "1777", "--size", str(size), "--tmpfs", path]
    mounts = [("--bind", view.copy, view.root)]
    mounts += [("--ro-bind-try", *pair) for pair in view.shown]
    made: set[str] = set()
    # What holds another is shown first, and the other in it.
    for kind, real, named in sorted(mounts, key=lambda mount: mount[2].count("/")):
        for folder in map(str, reversed(Path(named).parents)):
            if folder not in made:
                # Nobody could not get through a private one to what is shown in it, such as tox
                # makes; and bubblewrap makes what is missing for its owner alone.
                is_shut = user is not None and not os.stat(folder).st_mode & stat.S_IXOTH
                is_covered = is_shut and not Path(folder).is_relative_to(view.root)
                options += ["--perms", "0755", "--tmpfs" if is_covered else "--dir", folder]
                made.add(folder)
        options += [kind, real, named]
    return options


def open_sandbox(wanted: str, *, net: str = "none", shown: Sequence[str] = ()) -> Sandbox:
    """Return the sandbox called `wanted`; "auto" is the strongest that this machine has.

    It has the network `net`: "none", or "host" for the machine's. Each is tried with a small
    program of the system: nothing of a project can choose it.

    Raises:
        UsageProblem: an unknown sandbox or network, or a folder that cannot be shown.
        SandboxProblem: it does not work here; or none does, and the user has to say that tests
            may run without.
    """
    known = ("auto", *Isolation)
    if wanted not in known:
        raise UsageProblem(
            f"--brt-sandbox: unknown sandbox {wanted!r} (one of {', '.join(known)})"
        )
    if net not in ("none", "host"):
        raise UsageProblem(f"--brt-net: unknown network {net!r} (one of none, host)")
    if sys.platform != "linux":
        raise SandboxProblem(f"tests are run on Linux only, and this is {sys.platform}")
    folders = tuple(map(check_folder, shown))
    sandbox = Sandbox(isolation=Isolation.NONE, network=net == "host", shown=folders)
    if wanted == Isolation.NONE:
        return replace(sandbox, remarks=("tests can read and change all that you can",))
    remarks: list[str] = []
    for isolation in (Isolation.BUBBLEWRAP, Isolation.LANDLOCK):
        if wanted in ("auto", isolation):
            opened = replace(sandbox, isolation=isolation, remarks=tuple(remarks))
            why_not = _try(opened)
            if not why_not:
                return opened
            remarks.append(f"no {isolation}: {why_not}")
    raise SandboxProblem(
        f"--brt-sandbox: tests cannot be isolated here ({'; '.join(remarks)}); install bubblewrap,"
        " or add --brt-sandbox none to run them as processes that can change your files"
    )


def _try(sandbox: Sandbox) -> str:
    """Return why a small program does not run in a sandbox, "" where it does."""
    if sandbox.has_own_root and not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    # In place of a project: nothing is written there, and nothing is left when we are killed.
    folder, shown = str(Path(__file__).parent), tuple((path, path) for path in SYSTEM)
    view = View(root=folder, copy=folder, tree=folder, env={}, shown=shown)
    command = sandbox.command(["/bin/true"], view)
    trial = subprocess.run(command, capture_output=True, text=True, check=False)
    words = [f"exit status {trial.returncode}", *trial.stderr.strip().splitlines()]
    return words[-1] if trial.returncode else ""

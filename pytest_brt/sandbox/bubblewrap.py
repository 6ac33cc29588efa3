"""The command that shuts a process in by bubblewrap: namespaces, an empty root, what is shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from pytest_brt.sandbox.shown import ETC, SYSTEM, is_below
from pytest_brt.sandbox.view import View

#: Bytes that a process may write to its own /tmp, and to its shared memory.
_TMP, _SHM = 512 << 20, 64 << 20
#: The first one that can forbid further user namespaces.
_FORBIDS_USERS = (0, 8)


def find_bubblewrap() -> tuple[str, str]:
    """Return the path of the program, "" where there is none, and why it cannot be used."""
    path = shutil.which("bwrap")
    if path is None:
        return "", "bubblewrap is not installed"
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        return "", "root needs setpriv, of util-linux, to run tests as nobody"
    return path, ""


def bubblewrap_command(
    path: str,
    argv: Sequence[str],
    view: View,
    *,
    user: int | None,
    network: bool,
    filter_fd: int,
    info_fd: int,
    block_fd: int,
) -> list[str]:
    """Return what runs `argv` with the private copy in the place of the project.

    Root's processes become `user` when all is shut, and need no namespace of users for that: what
    they see may lie in folders that only root can enter. bubblewrap tells `info_fd` which process
    it shuts in, waits until it can read from `block_fd`, and takes a filter of system calls from
    `filter_fd`; below 0 there is none.
    """
    line = [path, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    line += ["--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    if not network:
        line.append("--unshare-net")
    if user is not None:
        line += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        line.append("--unshare-user")
        if _version(path) >= _FORBIDS_USERS:
            line.append("--disable-userns")
    line += ["--info-fd", str(info_fd), "--block-fd", str(block_fd)]
    if filter_fd >= 0:
        line += ["--seccomp", str(filter_fd)]
    line += [*_root_options(), *_view_options(view), "--remount-ro", "/", "--chdir", "/"]
    if user is not None:
        line += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    # By itself: what the variables name is loaded by nothing that has a power left.
    return [*line, "env", "-i", *(f"{name}={value}" for name, value in view.env.items()), *argv]


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


def _view_options(view: View) -> list[str]:
    """Return the options for what is shown of this project."""
    mounts = [("--ro-bind", real, named) for real, named in view.shown]
    mounts += [("--ro-bind", view.tools, view.tools_inside), ("--bind", view.copy, view.root)]
    mounts += [("--ro-bind", real, named) for real, named in view.environments]
    mounts += [("--bind", real, named) for real, named in view.writable]
    options: list[str] = []
    # Folders on the way are made for their owner alone, if they are not made first.
    places = [*SYSTEM]
    made = {"/", "/tmp"}
    for kind, real, named in mounts:
        for folder in map(str, reversed(Path(named).parents)):
            if folder not in made and not any(is_below(folder, place) for place in places):
                options += ["--perms", "0755", "--dir", folder]
                made.add(folder)
        options += [kind, real, named]
        places.append(named)
    return options


@lru_cache(maxsize=1)
def _version(path: str) -> tuple[int, ...]:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))

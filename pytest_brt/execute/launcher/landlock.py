"""The level `landlock`: which files can be read and written."""

from __future__ import annotations

import os
import stat

from pytest_brt.execute.inside import syscalls
from pytest_brt.execute.launcher import Specification

#: Folders with much in them that is not for everybody, and nothing that a program needs.
_NOT_FOR_ALL = {"/var", "/srv", "/mnt", "/media", "/home", "/boot", "/root", "/lost+found"}


def restrict_files(spec: Specification) -> None:
    """Allow reading what is not hidden, and writing to a few folders (Landlock)."""
    from landlockpy import AccessFS, AccessNet, Ruleset

    reading = AccessFS.READ_FILE | AccessFS.READ_DIR | AccessFS.EXECUTE
    devices = AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.IOCTL_DEV
    net = None if spec["net"] == "none" else AccessNet.NONE
    with Ruleset(handled_net=net) as rules:
        everything = rules.handled_fs
        hidden = {*spec["hidden"], "/dev"}
        if spec["uid"] is not None and spec["reads_all"]:
            hidden |= unreadable("/etc") | _NOT_FOR_ALL
        for path in (*visible_paths("/", frozenset(hidden)), *spec["needed"]):
            if os.path.isdir(path):
                rules.allow_path(path, reading)
            elif os.path.exists(path):
                rules.allow_path(path, reading & ~AccessFS.READ_DIR)
        for name in ("null", "zero", "full", "random", "urandom"):
            if os.path.exists(f"/dev/{name}"):
                rules.allow_path(f"/dev/{name}", devices)
        for path in spec["writable"]:
            rules.allow_path(path, everything)
        rules.restrict()
    if spec["scope"]:
        syscalls.keep_signals_in()


def unreadable(folder: str) -> set[str]:
    """Return what in a folder not everybody may read: it is not for who may read all."""
    found: set[str] = set()
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(here, name)
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode) and not mode & (0o001 if stat.S_ISDIR(mode) else 0o004):
                found.add(path)
        folders[:] = [name for name in folders if os.path.join(here, name) not in found]
    return found


def visible_paths(folder: str, hidden: frozenset[str]) -> list[str]:
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
            found += visible_paths(path, hidden)
    return found

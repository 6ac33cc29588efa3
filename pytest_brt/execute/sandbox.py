"""What a sandbox is to be like: which files are seen, hidden and written, and as whom."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.execute.process import INSIDE
from pytest_brt.execute.subject import Subject

#: Oldest pytest whose collection can be forked; below it each test gets a new process.
FORKABLE = (6, 2)
#: The user that root's rows run as: nobody.
NOBODY = 65534
#: Where the level `ns` puts its scratch file system: below a folder that is hidden anyway.
SCRATCH = "/run/brt"
#: Bytes that one test may write to its private file system.
PRIVATE_BYTES = 512 * 1024 * 1024
#: Folders in which other programs keep what is nobody's business: sockets, keys, drafts.
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/run", "/dev/shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """One rung of the ladder, with what there is to know about this machine."""

    level: str
    net: str = "none"
    #: The user to become, or None.
    uid: int | None = None
    #: Signals can be kept in (Landlock's scope).
    scope: bool = False
    #: Processes that one test may have: in a user namespace of its own, or on top of what
    #: its user has anyway; None for no limit.
    processes: int | None = None

    #: Rows are forked from a zygote in it; else each test is a process of ours.
    forks: bool = True

    def specification(
        self, subject: Subject, *, tree: str, writable: Sequence[str], env: dict[str, str]
    ) -> dict[str, object]:
        """Return what the launcher takes, its `Specification`, and `inside/zygote.py` after it."""
        needed = needed_paths(subject, tree)
        private = private_folders(needed) if self.uid is not None else set()
        # What the project's folders hold must not be run while the interpreter starts.
        path = env.pop("PYTHONPATH")
        if outer := dict(subject.env).get("PYTHONPATH"):
            env["PYTHONPATH"] = outer
        return {
            "level": self.level,
            "python": subject.python,
            "script": str(INSIDE / "start.py"),
            "env": env,
            "path": path,
            "root": tree,
            "packages": subject.packages,
            "libraries": [path for path in subject.paths if path.startswith(f"{subject.root}/")],
            "needed": needed,
            "hidden": sorted({*hidden_folders(), *private}),
            "writable": writable,
            "scratch": SCRATCH,
            "covered": covered_paths(subject),
            "uid": self.uid,
            "reads_all": bool(private),
            "net": self.net,
            "group": "",
            "scope": self.scope,
            "size": PRIVATE_BYTES,
            "outer_pid_ns": os.readlink("/proc/self/ns/pid"),
            "fork": subject.pytest_version >= FORKABLE,
        }


def drop_to() -> int | None:
    """Return the user that rows run as, None for the one we are.

    Root of a user namespace, as in a container without root, may be the only user there is.
    """
    if not hasattr(os, "getuid") or os.getuid() != 0:
        return None
    maps = (Path("/proc/self/uid_map"), Path("/proc/self/gid_map"))
    return NOBODY if all(_has_user(path, NOBODY) for path in maps) else None


def _has_user(id_map: Path, user: int) -> bool:
    """Return whether a user namespace's map (user_namespaces(7)) has `user` in it."""
    try:
        rows = [line.split() for line in id_map.read_text(encoding="ascii").splitlines()]
    except OSError:
        return True  # no such namespaces here
    return any(int(first) <= user < int(first) + int(count) for first, _, count in rows)


def can_keep_signals_in() -> bool:
    """Return whether the kernel's Landlock can confine signals."""
    try:
        from landlockpy import Scope, abi_version, scope_for_abi
    except ImportError:
        return False
    return bool(scope_for_abi(abi_version()) & Scope.SIGNAL)


def hidden_folders() -> list[str]:
    """Return the folders whose content code of the subject has no business with."""
    import pwd  # not on every platform that this module is imported on

    homes = {os.path.expanduser("~")}
    homes.update(entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid == os.getuid())
    found = {os.path.realpath(home) for home in homes if os.path.isdir(home)} - {"/"}
    found.update(folder for folder in SHARED_FOLDERS if os.path.isdir(folder))
    return sorted(found)


def private_folders(paths: Iterable[str]) -> set[str]:
    """Return the folders above `paths` that only their owner can look into.

    Rows that run as another user could not reach what is needed in there.
    """
    above = {folder for path in paths for folder in Path(path).parents}
    return {str(folder) for folder in above if _is_private(folder)} - {"/"}


def _is_private(folder: Path) -> bool:
    try:
        return not folder.stat().st_mode & stat.S_IXOTH
    except OSError:
        return False  # it is not there, and nothing in it


def needed_paths(subject: Subject, tree: str) -> list[str]:
    """Return the paths that must be seen whatever is hidden."""
    paths = {tree, str(INSIDE), *subject.paths, *_links(subject.python)}
    env = dict(subject.env)
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH"):
        paths.update(filter(None, env.get(name, "").split(os.pathsep)))
    paths.update(filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))
    paths.update(os.path.realpath(path) for path in list(paths) if os.path.exists(path))
    return sorted(path for path in paths if os.path.isabs(path) and path != "/")


def _links(path: str) -> list[str]:
    """Return each link of the chain that leads to a file, and the file."""
    found = [path]
    while os.path.islink(path) and len(found) < 40:
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        found.append(path)
    return found


def covered_paths(subject: Subject) -> list[str]:
    """Return libraries in the project's folder that an overlay would hide.

    An overlay shows one file system; what is mounted within the project is not in it.
    """
    root = subject.root + os.sep
    device = os.stat(subject.root).st_dev
    return sorted(
        path
        for path in subject.paths
        if path.startswith(root) and os.path.isdir(path) and os.stat(path).st_dev != device
    )


def tasks_of(uid: int | None) -> int:
    """Return how many processes and threads a user (None: this one) has now, on Linux.

    The kernel holds RLIMIT_NPROC against all of them (setrlimit(2)), whoever started them.
    """
    wanted = os.getuid() if uid is None else uid
    count = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if folder.stat().st_uid == wanted:
                count += sum(1 for _ in (folder / "task").iterdir())
        except OSError:
            continue  # it ended meanwhile
    return count

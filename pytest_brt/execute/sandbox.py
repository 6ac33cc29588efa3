"""What a sandbox is to be like: which files are seen and written, as whom, in how much memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.bounded import is_folder
from pytest_brt.execute.inside.tree import is_below
from pytest_brt.execute.layout import is_environment
from pytest_brt.execute.process import INSIDE, scrubbed
from pytest_brt.types.subject import Subject
from pytest_brt.types.trouble import LevelTrouble

#: Oldest pytest whose collection can be forked; below it each test gets a new process.
FORKABLE = (6, 2)
#: The user that root's rows run as: nobody.
NOBODY = 65534
#: Where the level `ns` puts its scratch file system: in a folder of which nothing is shown.
SCRATCH = "/run/brt"
#: Bytes that one test may write to its private file system.
PRIVATE_BYTES = 512 * 1024 * 1024
#: Levels at which code can change no files but its private ones, strongest first.
SAFE_LEVELS = ("ns", "landlock")
#: What a program and its libraries need of any system, and everybody may know.
SYSTEM_FOLDERS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix", "/gnu"),
)
#: Variables that name folders which tests may read, wherever these are.
_FOLDERS_TO_READ = ("PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH")
#: Folders that a sandbox has of its own, or that the kernel makes.
_OWN_FOLDERS = ("/tmp", "/var/tmp", "/run", "/dev/shm", "/proc", "/sys")


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
    #: Folders that may be read, because the user says so.
    shown: tuple[str, ...] = ()
    #: Why no stronger one could be had.
    troubles: tuple[LevelTrouble, ...] = ()

    @property
    def keeps_files(self) -> bool:
        """Whether code in it can change no files but its private ones."""
        return self.level in SAFE_LEVELS

    def specification(
        self, subject: Subject, tree: str, writable: Sequence[str], env: Mapping[str, str]
    ) -> dict[str, object]:
        """Return what the launcher takes, its `Specification`, and `inside/zygote.py` after it."""
        shown = shown_paths(subject, tree, self.shown)
        return {
            "level": self.level,
            "python": subject.python,
            "script": str(INSIDE / "start.py"),
            "env": env,
            # Not in the environment: nothing of it may run while the interpreter starts.
            "path": subject.import_path(tree),
            "root": tree,
            "packages": subject.packages,
            "libraries": [path for path in subject.paths if path.startswith(f"{subject.root}/")],
            "shown": shown,
            "writable": writable,
            "scratch": SCRATCH,
            "uid": self.uid,
            "private": [] if self.uid is None else sorted(private_folders(shown)),
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
    rows = [line.split() for line in read_text(id_map).splitlines()]
    # Without such a map there are no such namespaces here.
    ranges = [range(int(first), int(first) + int(count)) for first, _, count in rows]
    return not ranges or any(user in known for known in ranges)


def read_text(path: Path) -> str:
    """Return what a file of the system says, "" where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def can_keep_signals_in() -> bool:
    """Return whether the kernel's Landlock can confine signals."""
    try:
        from landlockpy import Scope, abi_version, scope_for_abi
    except ImportError:
        return False
    return bool(scope_for_abi(abi_version()) & Scope.SIGNAL)


def private_folders(paths: Iterable[str]) -> set[str]:
    """Return the folders above `paths` that only their owner can look into.

    Rows that run as another user could not reach what is needed in there.
    """
    above = {folder for path in paths for folder in Path(os.path.realpath(path)).parents}
    return {str(folder) for folder in above if _is_private(folder)} - {"/"}


def _is_private(folder: Path) -> bool:
    try:
        return not folder.stat().st_mode & stat.S_IXOTH
    except OSError:
        return False  # it is not there, and nothing in it


def shown_paths(subject: Subject, tree: str, added: Iterable[str] = ()) -> list[str]:
    """Return the only paths that code of the subject, which is in `tree`, may read.

    What its variables name is among them, unless that would show more than libraries.
    """
    loaded = scrubbed(dict(subject.env)).get("LD_LIBRARY_PATH", "").split(os.pathsep)
    libraries = [
        path
        for path in (*subject.users_path, *loaded)
        if os.path.isabs(path) and not shows_too_much(path)
    ]
    paths = {str(INSIDE), *subject.paths, *libraries, *added, *SYSTEM_FOLDERS}
    paths.update([os.path.realpath(path) for path in paths])
    paths.update((tree, *_links(subject.python)))
    return sorted(path for path in paths if os.path.isabs(path) and os.path.exists(path))


def shows_too_much(folder: str) -> bool:
    """Return whether a folder is, or holds, the user's home or what a sandbox has of its own."""
    real = os.path.realpath(folder)
    return any(is_below(path, real) for path in (*_homes(), *_OWN_FOLDERS))


def _homes() -> set[str]:
    import pwd  # not on every platform that this module is imported on

    homes = {os.path.expanduser("~")}
    # With sudo, HOME is root's, and the files are those of who called it.
    users = (str(os.getuid()), os.environ.get("SUDO_UID"))
    homes.update(entry.pw_dir for entry in pwd.getpwall() if str(entry.pw_uid) in users)
    return {os.path.realpath(home) for home in homes if os.path.isdir(home)}


def may_be_named(path: str, *, apart: bool = False) -> bool:
    """Return whether what a project names outside of itself may be read: any path can be named.

    Not where it shows too much, nor what a home hides, as ``.ssh``, but for what is installed in
    an environment; with `apart` nothing else.
    """
    if "\0" in path or shows_too_much(path):
        return False
    real = Path(os.path.realpath(path))
    is_free = not apart and not any(part.startswith(".") for part in real.parts)
    return is_free or any(map(is_prefix, (real, *real.parents)))


def is_prefix(folder: Path) -> bool:
    """Return whether a folder is that of an interpreter or an environment: any can be named.

    A home that looks like one, as where Python was installed to it, is shown by nobody's word.
    """
    looks_so = is_environment(folder) or bool(glob_folders(folder, "lib*/py*/encodings"))
    return looks_so and not shows_too_much(str(folder))


def glob_folders(folder: Path, pattern: str) -> list[Path]:
    """Return the folders that match a pattern; none where that may not be looked at."""
    try:
        return [path for path in folder.glob(pattern) if is_folder(path)]
    except (OSError, ValueError):  # no folder has a null character in its name
        return []


def find_outside(name: str, value: str, root: Path) -> str:
    """Return the first folder of a variable that has tests of the project in `root` read more."""
    for entry in value.split(os.pathsep) if name in _FOLDERS_TO_READ else ():
        if not is_below(os.path.realpath(root / entry), os.path.realpath(root)):
            return entry
    return ""


def _links(path: str) -> Iterator[str]:
    """Yield each link of the chain that leads to a file, as the kernel follows it, and the file."""
    if os.path.islink(path):
        yield path
        # What stands before ".." may be a link itself.
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.readlink(path))
        folder, name = os.path.split(path)
        yield from _links(os.path.join(os.path.realpath(folder), name))
    elif os.path.isfile(path) and may_be_named(path):
        yield from (path, os.path.realpath(path))


def tasks_of(uid: int | None) -> int:
    """Return how many processes and threads a user (None: this one) has now, on Linux.

    The kernel holds RLIMIT_NPROC against all of them (setrlimit(2)), whoever started them.
    """
    wanted = os.getuid() if uid is None else uid
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            if folder.stat().st_uid == wanted:
                count += sum(1 for _ in (folder / "task").iterdir())
    return count

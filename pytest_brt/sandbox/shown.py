"""What code of a project sees of the machine: a list, and what our own interpreter finds of it.

A checkout may be a stranger's, and can hold links and settings that name any folder. So nothing
that the project names is shown, but for what is an installed Python.
"""

from __future__ import annotations

import os
import pwd
import stat
import sys
from collections.abc import Iterator
from glob import escape, glob
from pathlib import Path

from pytest_brt.bounded import is_file
from pytest_brt.errors import UsageProblem

#: What programs and their libraries need of any system, and everybody may know.
SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/passwd",
    "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf",
    "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/mime.types",
    "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/fonts", "/etc/magic",
)  # fmt: skip
#: Folders that a sandbox has of its own, or that the kernel makes.
_OWN = ("/tmp", "/var/tmp", "/run", "/dev/shm", "/proc", "/sys")
#: Variables that name folders which tests may read, wherever these are.
_FOLDERS_TO_READ = ("PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH")
#: Links that lead to an interpreter; the kernel follows no more either.
_MOST_LINKS = 40


def interpreter_folders(python: str, root: str) -> Iterator[tuple[str, str]]:
    """Yield the folders outside of `root` that an interpreter starts from: real, and as named.

    These are those of the links that lead to it which hold an installed Python. The first one may
    be an environment: outside of the project, the user has chosen it.
    """
    hop = os.path.abspath(python)
    for number in range(_MOST_LINKS):
        named = os.path.dirname(os.path.dirname(hop))
        real = os.path.realpath(named)
        holds_python = glob(f"{escape(real)}/lib*/python3*/os.py") and not shows_too_much(real)
        is_chosen = number == 0 and is_file(Path(real, "pyvenv.cfg"))
        if not is_below(real, root) and (is_chosen or holds_python):
            # A link in the project is in its copy too, and leads to where the folder is.
            yield real, real if is_below(named, root) else named
        if not os.path.islink(hop):
            return
        folder = os.path.realpath(os.path.dirname(hop))
        hop = os.path.normpath(os.path.join(folder, os.readlink(hop)))


def is_private(folder: str) -> bool:
    """Return whether only its owner and their group can enter a folder."""
    return not os.stat(folder).st_mode & stat.S_IXOTH


def own_import_folders(python: str, root: str) -> Iterator[str]:
    """Yield what our own interpreter imports from, where it is the project's too.

    Whoever started us has started it so: what `.pth` files in it name is the user's choice.
    """
    for entry in sys.path if python == sys.executable else ():
        if os.path.isdir(entry) and not is_below(entry, root) and not shows_too_much(entry):
            yield os.path.abspath(entry)


def check_folder(named: str) -> str:
    """Return the path of a folder that a person wants shown.

    Raises:
        UsageProblem: there is none, or it would show a home, or what a sandbox has of its own.
    """
    folder = os.path.normpath(Path(named).absolute())
    if not named or not os.path.isdir(folder):
        raise UsageProblem(f"--brt-show: no such folder: {named!r} (give one that exists)")
    if shows_too_much(folder):
        raise UsageProblem(
            f"--brt-show: {named!r} holds your home, or folders that each test has of its own"
            " (give a folder in it)"
        )
    return folder


def shows_too_much(folder: str) -> bool:
    """Return whether a folder is, or holds, the user's home or what a sandbox has of its own."""
    # With sudo, HOME is root's, and the files are those of who called it.
    users = (str(os.getuid()), os.environ.get("SUDO_UID"))
    homes = [entry.pw_dir for entry in pwd.getpwall() if str(entry.pw_uid) in users]
    private = filter(os.path.isdir, (os.path.expanduser("~"), *homes))
    real = os.path.realpath(folder)
    return any(is_below(path, real) for path in (*map(os.path.realpath, private), *_OWN))


def find_outside(name: str, value: str, root: Path) -> str:
    """Return the first folder of a variable that has tests of the project in `root` read more."""
    for entry in value.split(os.pathsep) if name in _FOLDERS_TO_READ else ():
        if not is_below(os.path.realpath(root / entry), os.path.realpath(root)):
            return entry
    return ""


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is that of a folder, or of something in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")

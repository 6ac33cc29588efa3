"""Whether a patch may change the file that a path names.

What ``git apply`` refuses is refused, and some of what it accepts: symbolic links, and names that
clash on other systems.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import encode
from pytest_brt.types.refused import PathFault, UnsafePath

#: Names that Windows gives to devices, whatever their suffix.
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
#: Limits of common file systems, in bytes.
_LONGEST_PART, _LONGEST_PATH = 255, 1024
_MODES = {"120000": "a symbolic link", "160000": "a submodule"}


def check_mode(path: str, mode: str) -> None:
    """Raise a PatchProblem when `mode` (six octal digits, or "") is no ordinary file's."""
    if mode and not mode.startswith("100"):
        what = _MODES.get(mode, f"mode {mode!r}")
        fault = PathFault.NO_FILE_IN_PATCH
        raise PatchProblem(UnsafePath(path=path, fault=fault, detail=what))


def check_path(path: str, root: Path) -> None:
    """Raise a PatchProblem when `path` leaves `root` or means something special.

    Both the words of the path and what lies in the tree along it are looked at; nothing is
    followed.
    """
    unsafe = _fault_in_words(path) or _fault_in_tree(path, root)
    if unsafe is not None:
        raise PatchProblem(unsafe)


def check_new_path(path: str, root: Path, *, removed: frozenset[str] = frozenset()) -> None:
    """Raise a PatchProblem when a file called `path` cannot be created on every system.

    Files in `removed` are deleted by the same patch and clash with nothing.
    """
    for part in path.split("/"):
        if part.split(".")[0].rstrip(" ").casefold() in _DEVICES:
            raise PatchProblem(UnsafePath(path=path, fault=PathFault.RESERVED, detail=part))
    for known in _clashes(path, root):
        if known not in removed:
            raise PatchProblem(UnsafePath(path=path, fault=PathFault.CASE, detail=known))


def _clashes(path: str, root: Path) -> Iterator[str]:
    """Yield what is in the tree and clashes with the first part of `path` that is not."""
    folder = PurePosixPath()
    for part in path.split("/"):
        if os.path.lexists(root / folder / part):
            folder /= part
            continue
        if (root / folder).is_dir():
            for entry in (root / folder).iterdir():
                if is_clash(entry.name, part):
                    yield str(folder / entry.name)
        return


def is_clash(one: str, other: str) -> bool:
    """Whether two names are one file on a system that ignores case or Unicode forms."""
    folded = {unicodedata.normalize("NFC", name).casefold() for name in (one, other)}
    return one != other and len(folded) == 1


def _fault_in_words(path: str) -> UnsafePath | None:
    parts = path.split("/")
    # Windows drops dots and spaces at the end, and knows .git as git~1 too.
    plain = [part.rstrip(". ").casefold() for part in parts]
    # Cf has letters that nobody sees and some file systems drop.
    hidden = any(unicodedata.category(letter) in ("Cc", "Cf") for letter in path)
    long = any(len(encode(part)) > _LONGEST_PART for part in parts)
    faults = (
        (PathFault.EMPTY, not path),
        (PathFault.ABSOLUTE, path.startswith("/") or path[1:2] == ":"),
        (PathFault.BACKSLASH, "\\" in path),
        (PathFault.CONTROL_CHARACTER, hidden),
        (PathFault.LEAVES_TREE, ".." in parts),
        (PathFault.EMPTY_PART, "" in parts or "." in parts),
        (PathFault.GIT_FOLDER, ".git" in plain or "git~1" in plain),
        (PathFault.TOO_LONG, long or len(encode(path)) > _LONGEST_PATH),
    )
    found = next((fault for fault, is_so in faults if is_so), None)
    return None if found is None else UnsafePath(path=path, fault=found)


def _fault_in_tree(path: str, root: Path) -> UnsafePath | None:
    *folders, name = PurePosixPath(path).parts
    at = PurePosixPath()
    try:
        for part in folders:
            at /= part
            mode = (root / at).lstat().st_mode
            if stat.S_ISLNK(mode):
                return UnsafePath(path=path, fault=PathFault.THROUGH_LINK, detail=str(at))
            if not stat.S_ISDIR(mode):
                return UnsafePath(path=path, fault=PathFault.THROUGH_FILE, detail=str(at))
        mode = (root / at / name).lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        said = error.strerror or str(error)
        return UnsafePath(path=path, fault=PathFault.UNREADABLE, detail=said)
    if stat.S_ISLNK(mode):
        return UnsafePath(path=path, fault=PathFault.LINK)
    if not stat.S_ISREG(mode):
        return UnsafePath(path=path, fault=PathFault.NO_FILE_IN_TREE)
    return None

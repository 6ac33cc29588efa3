"""Whether a patch may change the file that a path names.

What ``git apply`` refuses is refused, and symbolic links, which it accepts.
"""

from __future__ import annotations

import stat
import unicodedata
from pathlib import Path, PurePosixPath

from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import encode
from pytest_brt.types.refused import PathFault, UnsafePath

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


def _fault_in_words(path: str) -> UnsafePath | None:
    parts = path.split("/")
    control = any(unicodedata.category(letter) == "Cc" for letter in path)
    long = any(len(encode(part)) > _LONGEST_PART for part in parts)
    faults = (
        (PathFault.EMPTY, not path),
        (PathFault.ABSOLUTE, path.startswith("/")),
        (PathFault.CONTROL_CHARACTER, control),
        (PathFault.LEAVES_TREE, ".." in parts),
        (PathFault.EMPTY_PART, "" in parts or "." in parts),
        (PathFault.GIT_FOLDER, ".git" in [part.casefold() for part in parts]),
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

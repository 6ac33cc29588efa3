"""Whether a path that a patch names may be touched.

``git apply`` refuses most of these itself; what it accepts (symbolic links, names that
clash on other systems) is refused here, and nothing rests on one check alone.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path

from pytest_brt.errors import PatchProblem
from pytest_brt.patches.names import encode

#: Names that Windows gives to devices, whatever their suffix.
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
#: Limits of common file systems, in bytes.
_LONGEST_PART, _LONGEST_PATH = 255, 1024
_MODES = {
    "120000": "a symbolic link",
    "160000": "a submodule",
}


def check_mode(path: str, mode: str) -> None:
    """Raise a PatchProblem when `mode` (six octal digits, or "") is no ordinary file's."""
    if mode and not mode.startswith("100"):
        what = _MODES.get(mode, f"mode {mode!r}")
        raise PatchProblem(f"unsafe path: {path!r} is {what} in the patch; only files may change")


def check_path(path: str, root: Path) -> None:
    """Raise a PatchProblem when `path` leaves `root` or means something special.

    Both the words of the path and what lies in the tree along it are looked at; nothing is
    followed.
    """
    reason = _reason_in_words(path) or _reason_in_tree(path, root)
    if reason:
        raise PatchProblem(f"unsafe path: {path!r} {reason}")


def check_new_path(path: str, root: Path, *, removed: frozenset[str] = frozenset()) -> None:
    """Raise a PatchProblem when a file called `path` cannot be created on every system.

    Files in `removed` are deleted by the same patch and clash with nothing.
    """
    parts = path.split("/")
    for part in parts:
        if part.split(".")[0].rstrip(" ").casefold() in _DEVICES:
            raise PatchProblem(f"unsafe path: {path!r}: Windows reserves the name {part!r}")
    folder = root
    for number, part in enumerate(parts):
        if not os.path.lexists(folder / part):
            before = "/".join(parts[:number])
            for entry in folder.iterdir() if folder.is_dir() else ():
                known = f"{before}/{entry.name}".lstrip("/")
                if is_clash(entry.name, part) and known not in removed:
                    raise PatchProblem(
                        f"unsafe path: {path!r} differs from {known!r} in the tree by case only"
                    )
            return
        folder /= part


def exists(path: str, root: Path) -> bool:
    """Whether the tree has a file `path`, links not followed."""
    return os.path.lexists(root / path)


def is_clash(one: str, other: str) -> bool:
    """Whether two names are one file on a system that ignores case or Unicode forms."""
    return one != other and _fold(one) == _fold(other)


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _reason_in_words(path: str) -> str:
    parts = path.split("/")
    # Windows drops dots and spaces at the end, and knows .git as git~1 too.
    plain = [part.rstrip(". ").casefold() for part in parts]
    faults = {
        "is empty": not path,
        "is absolute": path.startswith("/") or path[1:2] == ":",
        "has a backslash": "\\" in path,
        # Cf has letters that nobody sees and some file systems drop.
        "has a control character": any(
            unicodedata.category(letter) in ("Cc", "Cf") for letter in path
        ),
        "leaves the tree": ".." in parts,
        "has an empty part": "" in parts or "." in parts,
        "is in git's own folder": ".git" in plain or "git~1" in plain,
        "is too long": len(encode(path)) > _LONGEST_PATH
        or any(len(encode(part)) > _LONGEST_PART for part in parts),
    }
    return next((fault for fault, is_so in faults.items() if is_so), "")


def _reason_in_tree(path: str, root: Path) -> str:
    parts = path.split("/")
    at = root
    for number, part in enumerate(parts):
        at /= part
        try:
            mode = at.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            return f"cannot be looked at: {error.strerror}"
        walked = "/".join(parts[: number + 1])
        is_last = number == len(parts) - 1
        if stat.S_ISLNK(mode):
            return "is a symbolic link" if is_last else f"goes through a symbolic link, {walked!r}"
        if is_last and not stat.S_ISREG(mode):
            return "is not an ordinary file in the tree"
        if not is_last and not stat.S_ISDIR(mode):
            return f"goes through a file, {walked!r}"
    return ""

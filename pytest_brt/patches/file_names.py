"""File names in a diff: as headers write them, and whether a patch may touch what they name.

The forms are those of ``git diff`` (git-diff(1), "Generating patch text with -p"), of POSIX
``diff -u`` (name, tab, date) and of ``svn diff``. What ``git apply`` refuses is refused here, and
some of what it accepts: symbolic links, and names that clash on other systems.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from pathlib import Path

from pytest_brt.patches.problem import PatchProblem
from pytest_brt.types.refused import PathFault, UnsafePath

#: What follows a name when the tab before it was lost: a date, or svn's revision.
_TRAILER = re.compile(
    r"[ \t]+(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[+-]\d{4}| ?Z)?"
    r"|\((?:revision \d+|working copy|nonexistent)\))$"
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = bytes.maketrans(b"abfnrtv", b"\a\b\f\n\r\t\v")
_PLAIN = re.compile(r"[A-Za-z0-9_./+@,=~-]+")
#: Prefixes that ``diff.mnemonicPrefix`` writes besides a/ and b/.
MNEMONIC = ("c/", "i/", "o/", "w/", "1/", "2/")


def encode(text: str) -> bytes:
    """Return the bytes that `text` was decoded from."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Return `data` as text from which `encode` makes the same bytes again."""
    return data.decode("utf-8", "surrogateescape")


def unquote(inner: str) -> str:
    r"""Return the name that git wrote between double quotes.

    >>> unquote(r"caf\303\251.py")
    'café.py'
    """

    def plain(match: re.Match[bytes]) -> bytes:
        mark = match[1]
        return bytes([int(mark, 8)]) if len(mark) == 3 else mark.translate(_LETTERS)

    return decode(_ESCAPE.sub(plain, encode(inner)))


def quote(name: str) -> str:
    r"""Return `name` as a header must write it so that git and unidiff read exactly it.

    A blank is written as a number too: unidiff looks for one between the two names of a line.

    >>> print(quote("a/pkg/m.py"), quote("a/sp ace.py"))
    a/pkg/m.py "a/sp\040ace.py"
    """
    if _PLAIN.fullmatch(name):
        return name
    inner = "".join(
        chr(byte) if 32 < byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in encode(name)
    )
    return f'"{inner}"'


def read_name(rest: str) -> str | None:
    r"""Return the file named in `rest`, the part of a line after '--- '; None for /dev/null.

    >>> read_name("a/m.py\t2024-01-01 10:00:00.0 +0000"), read_name("/dev/null")
    ('a/m.py', None)
    """
    quoted = _QUOTED.match(rest)
    name = unquote(quoted[1]) if quoted else _TRAILER.sub("", rest.partition("\t")[0])
    return None if name == "/dev/null" else name


def split_pair(rest: str) -> tuple[str, str] | None:
    """Return the two names of a 'diff --git' line; None when they cannot be told apart.

    Unquoted names may hold spaces; then both must be the same file, as git asks too.

    >>> split_pair("a/sp ace.py b/sp ace.py")
    ('a/sp ace.py', 'b/sp ace.py')
    """
    first = _QUOTED.match(rest)
    if first:
        second = rest[first.end() :].lstrip(" ")
        return unquote(first[1]), read_name(second) or ""
    if rest.endswith('"') and (last := _QUOTED.search(rest)):
        return rest[: last.start()].rstrip(" "), unquote(last[1])
    # Both halves name one file, so the space between them is the middle, give or take a prefix.
    spaces = [at for at, letter in enumerate(rest) if letter == " "]
    if len(spaces) == 1:
        return rest[: spaces[0]], rest[spaces[0] + 1 :]
    for at in spaces:
        old, new = rest[:at], rest[at + 1 :]
        if old == new or without_prefix(old) == without_prefix(new) != "":
            return old, new
    return None


def without_prefix(name: str) -> str:
    """Return `name` without its first folder ("" when it has none), as ``-p1`` does."""
    return name.partition("/")[2]


def is_prefixed(old: str | None, new: str | None) -> bool:
    """Whether these two names of one file begin with a prefix that is no folder.

    So they do when both begin with a/ or b/, and when they differ in the first folder only
    (``diff -ru pkg.orig pkg``).
    """
    names = [name for name in (old, new) if name is not None]
    if all(name.startswith(("a/", "b/")) for name in names):
        return True
    if len(names) == 2 and names[0] != names[1]:
        return without_prefix(names[0]) == without_prefix(names[1]) != ""
    return False


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
    parts = path.split("/")
    for part in parts:
        if part.split(".")[0].rstrip(" ").casefold() in _DEVICES:
            raise PatchProblem(UnsafePath(path=path, fault=PathFault.RESERVED, detail=part))
    folder = root
    for number, part in enumerate(parts):
        if not os.path.lexists(folder / part):
            before = "/".join(parts[:number])
            for entry in folder.iterdir() if folder.is_dir() else ():
                known = f"{before}/{entry.name}".lstrip("/")
                if is_clash(entry.name, part) and known not in removed:
                    raise PatchProblem(UnsafePath(path=path, fault=PathFault.CASE, detail=known))
            return
        folder /= part


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
    parts = path.split("/")
    at = root
    for number, part in enumerate(parts):
        at /= part
        try:
            mode = at.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            said = error.strerror or str(error)
            return UnsafePath(path=path, fault=PathFault.UNREADABLE, detail=said)
        walked = "/".join(parts[: number + 1])
        is_last = number == len(parts) - 1
        if stat.S_ISLNK(mode):
            if is_last:
                return UnsafePath(path=path, fault=PathFault.LINK)
            return UnsafePath(path=path, fault=PathFault.THROUGH_LINK, detail=walked)
        if is_last and not stat.S_ISREG(mode):
            return UnsafePath(path=path, fault=PathFault.NO_FILE_IN_TREE)
        if not is_last and not stat.S_ISDIR(mode):
            return UnsafePath(path=path, fault=PathFault.THROUGH_FILE, detail=walked)
    return None

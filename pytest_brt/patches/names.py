"""File names as the headers of a diff write them: quotes, dates, prefixes.

The forms are those of ``git diff`` (git-diff(1), "Generating patch text with -p"), of
POSIX ``diff -u`` (name, tab, date) and of ``svn diff``.
"""

from __future__ import annotations

import re

#: What follows a name when the tab before it was lost: a date, or svn's revision.
_TRAILER = re.compile(
    r"[ \t]+(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[+-]\d{4}| ?Z)?"
    r"|\((?:revision \d+|working copy|nonexistent)\))$"
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
_PLAIN = re.compile(r"[A-Za-z0-9_./+@,=~-]+")
#: Prefixes that ``diff.mnemonicPrefix`` writes besides a/ and b/.
_MNEMONIC = ("c/", "i/", "o/", "w/", "1/", "2/")


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
        return bytes([int(mark, 8)]) if len(mark) == 3 else _LETTERS.get(mark, mark)

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


def has_mnemonic(name: str) -> bool:
    """Whether `name` begins as ``diff.mnemonicPrefix`` lets names begin."""
    return name.startswith(_MNEMONIC)

"""File names as the headers of a diff write them.

The forms are those of ``git diff`` (git-diff(1), "Generating patch text with -p"), of POSIX
``diff -u`` (name, tab, date) and of ``svn diff``.
"""

from __future__ import annotations

import re

from pytest_brt.patches.text import decode, encode

#: What follows a name when the tab before it was lost: a date, or svn's revision.
_TRAILER = re.compile(
    r"[ \t]+(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[+-]\d{4}| ?Z)?"
    r"|\((?:revision \d+|working copy|nonexistent)\))$"
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = bytes.maketrans(b"abfnrtv", b"\a\b\f\n\r\t\v")


def unquote(inner: str) -> str:
    r"""Return the name that git wrote between double quotes.

    >>> unquote(r"caf\303\251.py")
    'café.py'
    """

    def unescape(match: re.Match[bytes]) -> bytes:
        mark = match[1]
        return bytes([int(mark, 8)]) if len(mark) == 3 else mark.translate(_LETTERS)

    return decode(_ESCAPE.sub(unescape, encode(inner)))


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
    if rest.count(" ") == 1:
        old, _, new = rest.partition(" ")
        return old, new
    # Both names are one file, so they part at the middle space, give or take a prefix.
    for space in re.finditer(" ", rest):
        old, new = rest[: space.start()], rest[space.end() :]
        if old == new or without_prefix(old) == without_prefix(new) != "":
            return old, new
    return None


def without_prefix(name: str) -> str:
    """Return `name` without its first folder ("" when it has none), as ``-p1`` does."""
    return name.partition("/")[2]

"""Reads files that the user named, or found in a folder, whatever they turn out to be."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

#: Bytes that a file of text may have.
MOST_TEXT = 64 << 20
#: What a shell's ``<(command)`` and ``<`` have opened already: read to its end, as "-" is.
_OPENED = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip


def read_bounded(path: Path, most: int = MOST_TEXT) -> bytes:
    """Return what the file at `path` holds, without waiting for anybody.

    Links are followed. A pipe that a shell opened for us is read until it ends.

    Raises:
        OSError: it cannot be read, is no regular file, or holds more than `most` bytes;
            `strerror` says which.
    """
    opened = str(path).startswith(_OPENED)
    if not opened:
        _refuse(path.stat().st_mode, path)  # opening a tape drive rewinds it
    descriptor = os.open(path, os.O_RDONLY | (0 if opened else os.O_NONBLOCK))
    with os.fdopen(descriptor, "rb") as file:
        if not opened:
            _refuse(os.fstat(descriptor).st_mode, path)
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most >> 20} MB", str(path))
    return data


def bounded_text(path: Path, most: int = MOST_TEXT) -> str:
    """Return the text of the UTF-8 file at `path`, with ends of lines as Python has them.

    Raises:
        OSError: as `read_bounded` does.
        UnicodeDecodeError: it is not UTF-8.
    """
    text = read_bounded(path, most).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_file(path: Path) -> bool:
    """Whether a regular file is there for us; `Path.is_file` raises where it may not look."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there for us; `Path.is_dir` raises where it may not look."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _refuse(mode: int, path: Path) -> None:
    kind = _KINDS.get(stat.S_IFMT(mode))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if kind:
        raise OSError(errno.EINVAL, f"it is {kind}, and no regular file", str(path))

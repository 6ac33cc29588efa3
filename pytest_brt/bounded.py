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


def read_bounded(path: Path, most: int = MOST_TEXT) -> bytes:
    """Return what the file at `path` holds, without waiting for anybody.

    Links are followed. A pipe that a shell opened for us is read until it ends.

    Raises:
        OSError: it cannot be read, is no regular file, or holds more than `most` bytes;
            `strerror` says which.
    """
    is_opened = str(path).startswith(_OPENED)
    flags = 0 if is_opened else os.O_NONBLOCK
    with open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags)) as file:
        if not is_opened and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most >> 20} MB", str(path))
    return data


def bounded_text(path: Path) -> str:
    """Return the text of the UTF-8 file at `path`, with ends of lines as Python has them.

    Raises:
        OSError: as `read_bounded` does.
        UnicodeDecodeError: it is not UTF-8.
    """
    text = read_bounded(path).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_file(path: Path) -> bool:
    """Whether a regular file is there for us; `Path.is_file` raises where it may not look."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether a folder is there for us; `Path.is_dir` raises where it may not look."""
    return os.path.isdir(path)  # noqa: PTH112

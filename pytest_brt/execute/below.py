"""Files below one folder, reached without following a link, whoever may have put one there.

Code of the subject can swap a folder for a link at any moment; what is then written or removed
through it would be a file of the user's. So each step of a path is opened by itself.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Below:
    """The files below `root`; a name is relative to it, with slashes.

    Every method raises OSError as the system does; a link in the middle of a name is ELOOP
    or ENOTDIR.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def folder(self, name: str, *, make: bool = False, unlock: bool = False) -> Iterator[int]:
        """Open a folder ("" for the root itself).

        With `make` it is made where it is missing; with `unlock` it is let be read.
        """
        here = os.open(self.root, _FOLDER)
        try:
            for part in filter(None, name.split("/")):
                if make and _lstat(part, here) is None:
                    os.mkdir(part, 0o755, dir_fd=here)
                there = _open(part, here, unlock=unlock)
                os.close(here)
                here = there
            yield here
        finally:
            os.close(here)

    @contextmanager
    def at(self, name: str) -> Iterator[tuple[str, int]]:
        """Give the last part of a name, and the folder that it is in."""
        parent, _, last = name.rpartition("/")
        with self.folder(parent) as folder:
            yield last, folder

    def stat(self, name: str) -> os.stat_result | None:
        """Return what `lstat` says, None where there is nothing."""
        try:
            with self.at(name) as (last, folder):
                return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def walk(self, name: str = "", *, unlock: bool = False) -> Iterator[tuple[str, os.stat_result]]:
        """Yield all that is below a folder, in order, a folder before what it holds."""
        try:
            with self.folder(name, unlock=unlock) as here:
                with os.scandir(here) as entries:
                    names = sorted(entry.name for entry in entries)
                found = [(entry, _lstat(entry, here)) for entry in names]
        except (PermissionError, FileNotFoundError, NotADirectoryError):
            return
        for entry, seen in found:
            path = f"{name}/{entry}" if name else entry
            if seen is not None:
                yield path, seen
                if stat.S_ISDIR(seen.st_mode):
                    yield from self.walk(path, unlock=unlock)

    def remove(self, name: str) -> None:
        """Remove a file, a link, or a folder with all in it, whatever permissions it has."""
        seen = self.stat(name)
        if seen is None:
            return
        with self.at(name) as (last, folder):
            if not stat.S_ISDIR(seen.st_mode):
                os.unlink(last, dir_fd=folder)
                return
            try:
                shutil.rmtree(last, dir_fd=folder)
            except PermissionError:
                for _ in self.walk(name, unlock=True):
                    continue  # it opens every folder
                shutil.rmtree(last, dir_fd=folder)

    def write(self, name: str, content: BinaryIO, mode: int, times: tuple[int, int]) -> None:
        """Make a file that is not there yet, with its times (access, change; in ns)."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            self.at(name) as (last, folder),
            os.fdopen(os.open(last, flags, 0o600, dir_fd=folder), "wb") as stream,
        ):
            shutil.copyfileobj(content, stream, 1 << 20)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.utime(stream.fileno(), ns=times)

    def read(self, name: str) -> BufferedReader:
        """Open a file; a pipe is not waited for."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self.at(name) as (last, folder):
            return os.fdopen(os.open(last, flags, dir_fd=folder), "rb")

    def link(self, name: str, target: str) -> None:
        """Make a link that is not there yet."""
        with self.at(name) as (last, folder):
            os.symlink(target, last, dir_fd=folder)

    def give(self, name: str, owner: int) -> None:
        """Let a user have what is there, a link itself included."""
        with self.at(name) as (last, folder):
            os.chown(last, owner, owner, dir_fd=folder, follow_symlinks=False)


def _lstat(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None  # it went meanwhile


def _open(name: str, folder: int, *, unlock: bool) -> int:
    """Open a folder, made readable first where that is wanted and needed."""
    try:
        there = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        if not unlock:
            raise
        _chmod(name, folder)
        return os.open(name, _FOLDER, dir_fd=folder)
    if unlock and os.fstat(there).st_mode & 0o700 != 0o700:
        os.fchmod(there, 0o755)
    return there


def _chmod(name: str, folder: int) -> None:
    """Let the owner into a folder that cannot even be opened."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, 0o755, dir_fd=folder, follow_symlinks=False)
        return
    there = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if stat.S_ISDIR(os.fstat(there).st_mode):
            Path(f"/proc/self/fd/{there}").chmod(0o755)
    finally:
        os.close(there)


def remove_tree(folder: Path) -> None:
    """Remove a folder and all in it, whatever permissions a test has set there."""
    Below(folder.parent).remove(folder.name)

"""A private copy of the project's working tree, and changes made to it."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pytest_brt.errors import UnsafeChange
from pytest_brt.execute.inside.tree import Tree
from pytest_brt.execute.layout import walk
from pytest_brt.types import FileChange

#: What the system says where nothing more can be written.
FULL = (errno.ENOSPC, errno.EDQUOT)


def _tells_of_mapped_writes(probe: Path) -> bool:
    """Return whether a file's time changes when its memory is written to; on tmpfs it does not."""
    try:
        with probe.open("xb+") as stream:
            stream.write(b"0")
            stream.flush()
            os.utime(stream.fileno(), ns=(0, 0))
            with mmap.mmap(stream.fileno(), 1) as memory:
                memory[0] += 1  # read first: where the page is there, tmpfs sees no write
            return os.fstat(stream.fileno()).st_mtime_ns != 0
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)


class _Stamp(NamedTuple):
    """What shows that a file or folder was touched."""

    mode: int
    #: Of a file: its size, times (that of its change cannot be set back), and so on.
    facts: tuple[int | bytes, ...] = ()

    @property
    def kind(self) -> int:
        """Whether it is a file, a folder or what else."""
        return stat.S_IFMT(self.mode)


class TreeCopy:
    """A copy of a working tree that can be changed and set back again.

    What is copied is the working tree, not what git knows: projects need generated files.
    """

    def __init__(self, source: Path, place: Path, *, owner: int | None = None) -> None:
        """Copy `source` to `place`, which must not exist, as files of the user `owner`."""
        self.source = source
        self.place = place
        self._tree = Tree(str(place), owner)
        self._stamps: dict[str, _Stamp] = {}
        place.mkdir(parents=True)
        if owner is not None:
            os.chown(place, owner, owner)
        self._is_told = _tells_of_mapped_writes(place / ".brt-probe")
        for name, is_folder in walk(source):
            if (source / name).is_symlink() or not is_folder:
                self._copy(name)
            else:
                self._tree.make_folder(name)
        self.settle()

    def settle(self) -> None:
        """Take the tree as it is now to be the state that `restore` goes back to."""
        self._stamps = self._look()

    def restore(self) -> None:
        """Set every file back to what it was.

        What was not there goes, whatever it is: pipes, sockets and empty folders too.
        """
        found = self._look()
        for name, stamp in found.items():
            before = self._stamps.get(name)
            if before is None or before.kind != stamp.kind:
                self._tree.remove(name)
        for name, before in list(self._stamps.items()):
            if found.get(name) != before:
                self._remake(name, before)

    def apply(self, changes: Iterable[FileChange]) -> None:
        """Make `changes`; bytecode of every file changed goes too.

        Raises:
            UnsafeChange: a path leads out of the tree.
        """
        for change in changes:
            _check_path(change.path)
            try:
                self._tree.apply([change])
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                    raise
                raise UnsafeChange(f"{change.path!r} leads through a link") from error

    def _look(self) -> dict[str, _Stamp]:
        """Return what tells of each file and folder whether it was touched."""
        return {name: self._stamp(name, seen) for name, seen in self._tree.walk()}

    def _stamp(self, name: str, seen: os.stat_result) -> _Stamp:
        if stat.S_ISDIR(seen.st_mode):
            return _Stamp(seen.st_mode)
        content = b""
        # Where the file system does not tell of every write, what is in the file tells.
        if not self._is_told and stat.S_ISREG(seen.st_mode):
            try:
                with self._tree.read(name) as stream:
                    content = hashlib.file_digest(stream, "sha256").digest()
            except OSError:
                content = b"cannot be read"  # what was copied could be: the mode tells
        times = (seen.st_mtime_ns, seen.st_ctime_ns)
        return _Stamp(seen.st_mode, (seen.st_size, *times, seen.st_ino, content))

    def _remake(self, name: str, before: _Stamp) -> None:
        """Make a file or folder as it was; a file that the source lacks is given up."""
        if stat.S_ISDIR(before.mode):
            self._tree.make_folder(name)
            self._tree.set_mode(name, stat.S_IMODE(before.mode))
            return
        self._tree.remove(name)
        self._copy(name)
        seen = self._tree.stat(name)
        if seen is None:
            del self._stamps[name]
        else:
            self._stamps[name] = self._stamp(name, seen)

    def _copy(self, name: str) -> None:
        path = self.source / name
        try:
            if path.is_symlink():
                self._tree.link(name, str(path.readlink()))
            elif path.is_file():  # and no socket, pipe or device
                seen = path.stat()
                times = (seen.st_atime_ns, seen.st_mtime_ns)
                with path.open("rb") as stream:
                    self._tree.write(name, stream, stat.S_IMODE(seen.st_mode), times)
        except OSError as error:
            # What we cannot read is left out; for lack of room, the copy would not be whole.
            if error.errno in FULL:
                raise


def remove_tree(folder: Path) -> None:
    """Remove a folder and all in it, whatever permissions a test has set there."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        Tree(str(folder.parent)).remove(folder.name)


def _check_path(name: str) -> None:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise UnsafeChange(f"{name!r} does not lie in the tree")

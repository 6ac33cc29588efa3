"""A private copy of the project's working tree, and changes made to it."""

from __future__ import annotations

import errno
import hashlib
import io
import mmap
import os
import stat
import time
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path, PurePosixPath

from pytest_brt.errors import UnsafeChange
from pytest_brt.execute.below import Below
from pytest_brt.execute.layout import walk
from pytest_brt.types import FileChange

#: What tells that a file was touched; the change time in it cannot be set back.
_Stamp = tuple[int | bytes, ...]
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


class TreeCopy:
    """A copy of a working tree that can be changed and set back again.

    What is copied is the working tree, not what git knows: projects need generated files.
    """

    def __init__(self, source: Path, place: Path, *, owner: int | None = None) -> None:
        """Copy `source` to `place`, which must not exist, as files of the user `owner`."""
        self.source = source
        self.place = place
        self.owner = owner
        self._files = Below(place)
        self._stamps: dict[str, _Stamp] = {}
        self._modes: dict[str, int] = {}
        place.mkdir(parents=True)
        if owner is not None:
            os.chown(place, owner, owner)
        self._is_told = _tells_of_mapped_writes(place / ".brt-probe")
        for name, is_folder in walk(source):
            if (source / name).is_symlink() or not is_folder:
                self._copy(name)
            else:
                self._make_folder(name)
        self.settle()

    def settle(self) -> None:
        """Take the tree as it is now to be the state that `restore` goes back to."""
        self._stamps.clear()
        self._modes.clear()
        for name, seen in self._files.walk(unlock=True):
            if stat.S_ISDIR(seen.st_mode):
                self._modes[name] = seen.st_mode
            else:
                self._stamps[name] = self._stamp(name, seen)

    def restore(self) -> None:
        """Set every file back to what it was.

        What was not there goes, whatever it is: pipes, sockets and empty folders too.
        """
        files, folders = dict(self._stamps), dict(self._modes)
        strange: list[str] = []
        for name, seen in list(self._files.walk(unlock=True)):
            if stat.S_ISDIR(seen.st_mode) and name in folders:
                if seen.st_mode != folders.pop(name):
                    self._set_mode(name)
            elif not stat.S_ISDIR(seen.st_mode) and name in files:
                if self._stamp(name, seen) != files.pop(name):
                    self._replace(name)
            else:
                strange.append(name)
        for name in strange:
            self._files.remove(name)
        for name in folders:
            self._make_folder(name)
        for name in files:
            self._replace(name)

    def apply(self, changes: Iterable[FileChange]) -> None:
        """Make `changes`; bytecode of every file changed goes too.

        Raises:
            UnsafeChange: a path leads out of the tree.
        """
        for change in changes:
            _check_path(change.path)
            try:
                self._apply(change)
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                    raise
                raise UnsafeChange(f"{change.path!r} leads through a link") from error

    def _apply(self, change: FileChange) -> None:
        """Write or delete one file, and remove the bytecode that belongs to it.

        Stale bytecode would be taken for valid when size and second of change agree, and so
        would pytest's rewritten tests before 9.2.
        """
        files, name = self._files, change.path
        parent = name.rpartition("/")[0]
        before = files.stat(name)
        self._drop_bytecode(name)
        if change.content is None:
            if before is not None and not stat.S_ISDIR(before.st_mode):
                files.remove(name)
                while parent and self._drop_if_empty(parent):
                    parent = parent.rpartition("/")[0]
            return
        self._make_folder(parent)
        files.remove(name)
        later = max(time.time_ns(), (before.st_mtime_ns if before else 0) + 2_000_000_000)
        mode = 0o755 if change.executable else 0o644
        files.write(name, io.BytesIO(change.content), mode, (later, later))
        self._give(name)

    def _stamp(self, name: str, seen: os.stat_result) -> _Stamp:
        content = b""
        # Where the file system does not tell of every write, what is in the file tells.
        if not self._is_told and stat.S_ISREG(seen.st_mode):
            try:
                with self._files.read(name) as stream:
                    content = hashlib.file_digest(stream, "sha256").digest()
            except PermissionError:
                content = b"cannot be read"  # what was copied could be: the mode tells
        times = (seen.st_mtime_ns, seen.st_ctime_ns)
        return (seen.st_mode, seen.st_size, *times, seen.st_ino, content)

    def _make_folder(self, name: str) -> None:
        """Make a folder and those above it, as the owner's; a file that stands there goes."""
        parts = filter(None, name.split("/"))
        for path in accumulate(parts, "{}/{}".format):
            seen = self._files.stat(path)
            if seen is not None and stat.S_ISREG(seen.st_mode):
                self._files.remove(path)
                seen = None
            with self._files.folder(path, make=True):
                pass
            if seen is None:
                self._give(path)
                if path in self._modes:
                    self._set_mode(path)

    def _give(self, name: str) -> None:
        if self.owner is not None:
            self._files.give(name, self.owner)

    def _set_mode(self, name: str) -> None:
        """Give a folder the permissions back that it had."""
        with self._files.folder(name) as folder:
            os.fchmod(folder, stat.S_IMODE(self._modes[name]))

    def _replace(self, name: str) -> None:
        self._files.remove(name)
        self._make_folder(name.rpartition("/")[0])
        self._copy(name)
        seen = self._files.stat(name)
        if seen is not None:
            self._stamps[name] = self._stamp(name, seen)
        else:
            self._stamps.pop(name, None)

    def _copy(self, name: str) -> None:
        path = self.source / name
        try:
            if path.is_symlink():
                self._files.link(name, str(path.readlink()))
            elif not path.is_file():
                return  # a socket, a pipe or a device
            else:
                seen = path.stat()
                with path.open("rb") as stream:
                    mode, times = stat.S_IMODE(seen.st_mode), (seen.st_atime_ns, seen.st_mtime_ns)
                    self._files.write(name, stream, mode, times)
            self._give(name)
        except OSError as error:
            # What we cannot read is left out; for lack of room, the copy would not be whole.
            if error.errno in FULL:
                raise

    def _drop_bytecode(self, name: str) -> None:
        """Remove what Python and pytest compiled from the module of that name."""
        if not name.endswith(".py"):
            return
        folder, _, last = name.rpartition("/")
        cache = f"{folder}/__pycache__" if folder else "__pycache__"
        for path, _ in list(self._files.walk(cache, unlock=True)):
            if path.rpartition("/")[2].startswith(last[:-2]):
                self._files.remove(path)
        self._files.remove(f"{name}c")
        self._drop_if_empty(cache)

    def _drop_if_empty(self, name: str) -> bool:
        if self._files.stat(name) is None or any(self._files.walk(name, unlock=True)):
            return False
        self._files.remove(name)
        return True


def _check_path(name: str) -> None:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise UnsafeChange(f"{name!r} does not lie in the tree")

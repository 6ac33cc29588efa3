"""A private copy of the project's working tree, and changes made to it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_brt.errors import PatchProblem
from pytest_brt.execute.layout import LEFT_OUT, is_environment
from pytest_brt.types import FileChange

#: What the system says where nothing more can be written.
FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stamp:
    """What tells that a file was touched: the change time cannot be set back."""

    mode: int
    size: int
    mtime: int
    ctime: int
    inode: int


def _stamp(path: str) -> _Stamp:
    found = os.lstat(path)
    return _Stamp(
        mode=found.st_mode,
        size=found.st_size,
        mtime=found.st_mtime_ns,
        ctime=found.st_ctime_ns,
        inode=found.st_ino,
    )


class TreeCopy:
    """A copy of a working tree that can be changed and set back again.

    What is copied is the working tree, not what git knows: projects need generated files.
    """

    def __init__(self, source: Path, place: Path, *, owner: int | None = None) -> None:
        """Copy `source` to `place`, which must not exist, as files of the user `owner`."""
        self.source = source
        self.place = place
        self.owner = owner
        #: Files that could not be read, relative to the tree.
        self.unread: list[str] = []
        self._stamps: dict[str, _Stamp] = {}
        self._modes: dict[str, int] = {}
        place.mkdir(parents=True)
        self._give(place)
        for name, is_folder in _walk(source, private=False):
            if is_folder:
                (place / name).mkdir(exist_ok=True)
                self._give(place / name)
            else:
                self._copy(name)
        self.settle()

    def settle(self) -> None:
        """Take the tree as it is now to be the state that `restore` goes back to."""
        self._stamps.clear()
        self._modes.clear()
        for name, is_folder in _walk(self.place, private=True):
            stamp = _stamp(str(self.place / name))
            if is_folder:
                self._modes[name] = stamp.mode
            else:
                self._stamps[name] = stamp

    def restore(self) -> tuple[str, ...]:
        """Set every file back to what it was; return the paths that had been touched."""
        touched: list[str] = []
        left = dict(self._stamps)
        for name, is_folder in list(_walk(self.place, private=True)):
            path = self.place / name
            if is_folder:
                self._set_mode(name)
                continue
            known = left.pop(name, None)
            if known is None:
                path.unlink()
                touched.append(name)
            elif _stamp(str(path)) != known:
                self._replace(name)
                touched.append(name)
        for name in left:
            self._replace(name)
            touched.append(name)
        if touched:
            self._drop_empty_folders()
        return tuple(touched)

    def apply(self, changes: Iterable[FileChange]) -> None:
        """Make `changes`; bytecode of every file changed goes too.

        Raises:
            PatchProblem: a path leads out of the tree.
        """
        for change in changes:
            apply_change(self.place, change)
            if self.owner is not None:
                self._give_with_parents(self.place / change.path)

    def _give(self, path: Path) -> None:
        """Let the owner have a file or folder, links themselves included."""
        if self.owner is not None and os.path.lexists(path):
            os.chown(path, self.owner, self.owner, follow_symlinks=False)

    def _give_with_parents(self, path: Path) -> None:
        while path != self.place:
            self._give(path)
            path = path.parent

    def _set_mode(self, name: str) -> None:
        """Give a folder the permissions back that it had."""
        mode = self._modes.get(name)
        if mode is not None and os.lstat(self.place / name).st_mode != mode:
            (self.place / name).chmod(stat.S_IMODE(mode))

    def _replace(self, name: str) -> None:
        path = self.place / name
        _clear_the_way(self.place, path)
        self._copy(name)
        self._give_with_parents(path.parent)
        for parent in path.parents:
            if parent == self.place:
                break
            self._set_mode(parent.relative_to(self.place).as_posix())
        if path.exists() or path.is_symlink():
            self._stamps[name] = _stamp(str(path))
        else:
            self._stamps.pop(name, None)

    def _copy(self, name: str) -> None:
        try:
            shutil.copy2(self.source / name, self.place / name, follow_symlinks=False)
            self._give(self.place / name)
        except OSError as error:
            if error.errno in FULL:
                raise  # a copy that is not whole would fail for reasons of its own
            self.unread.append(name)

    def _drop_empty_folders(self) -> None:
        """Remove folders that the source does not have."""
        folders = [name for name, is_folder in _walk(self.place, private=True) if is_folder]
        for name in reversed(folders):
            here = self.place / name
            if not (self.source / name).is_dir() and not any(here.iterdir()):
                here.rmdir()


def apply_change(tree: Path, change: FileChange) -> None:
    """Write or delete one file of a tree, and remove the bytecode that belongs to it.

    Stale bytecode would be taken for valid when size and second of change agree, and so
    would pytest's rewritten tests before 9.2.

    Raises:
        PatchProblem: the path leads out of the tree.
    """
    path = _inside(tree, change.path)
    before = path.stat().st_mtime_ns if path.is_file() else 0
    drop_bytecode(path)
    if change.content is None:
        if not path.is_symlink() and not path.is_file():
            return
        path.unlink()
        for parent in path.parents:
            if parent == tree or any(parent.iterdir()):
                break
            parent.rmdir()
        return
    _clear_the_way(tree, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(change.content)
    path.chmod(0o755 if change.executable else 0o644)
    later = max(time.time_ns(), before + 2_000_000_000)
    os.utime(path, ns=(later, later))


def drop_bytecode(path: Path) -> None:
    """Remove what Python and pytest compiled from the module at `path`."""
    if path.suffix != ".py" or not path.parent.is_dir():
        return
    for found in (path.parent / "__pycache__").glob(f"{_literal(path.stem)}.*"):
        found.unlink()
    path.with_suffix(".pyc").unlink(missing_ok=True)
    cache = path.parent / "__pycache__"
    if cache.is_dir() and not any(cache.iterdir()):
        cache.rmdir()


def _literal(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _inside(tree: Path, name: str) -> Path:
    pure = PurePosixPath(name)
    path = tree / pure
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise PatchProblem(f"unsafe path in a change: {name!r} (must lie in the project)")
    if not path.parent.resolve().is_relative_to(tree.resolve()):
        raise PatchProblem(f"unsafe path in a change: {name!r} (leads out through a link)")
    return path


def _clear_the_way(tree: Path, path: Path) -> None:
    """Remove what stands where a file is to be written: a link, or a folder."""
    for parent in path.parents:
        if parent == tree:
            break
        if parent.is_symlink() or (parent.exists() and not parent.is_dir()):
            parent.unlink()
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)


def _walk(root: Path, *, private: bool) -> Iterator[tuple[str, bool]]:
    """Yield (relative path, is a folder), folders before what they hold.

    With `private` false the folders that a copy does without are skipped; links are files;
    sockets, pipes and devices are nothing.
    """
    pending = [""]
    while pending:
        prefix = pending.pop()
        found = _entries(root / prefix, unlock=private)
        for entry in found:
            name = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir(follow_symlinks=False):
                if not private and (entry.name in LEFT_OUT or is_environment(Path(entry.path))):
                    continue
                yield name, True
                pending.append(name)
            elif entry.is_symlink() or stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                yield name, False


def _entries(folder: Path, *, unlock: bool) -> list[os.DirEntry[str]]:
    """Return what lies in a folder; with `unlock`, one that a test has shut is opened."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except PermissionError:
        if not unlock:
            return []
        folder.chmod(0o755)
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)


def remove_tree(folder: Path) -> None:
    """Remove a folder and all in it, whatever permissions a test has set there."""

    def unlock(function: Callable[..., object], path: str, error: BaseException) -> None:
        if isinstance(error, FileNotFoundError):
            return
        for place in (Path(path).parent, Path(path)):
            if place.is_dir() and not place.is_symlink():
                place.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=unlock)
    else:
        shutil.rmtree(folder, onerror=lambda function, path, info: unlock(function, path, info[1]))

"""Folders of ours among the temporary files, and what runs that were killed have left there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_brt.errors import StoreProblem
from pytest_brt.execute.tree import FULL, remove_tree
from pytest_brt.store import hold

#: Names the engine's folder in the environment of every process that it starts, to know it by.
MARK = "PYTEST_BRT_SCRATCH"
#: Bytes without which no test can leave so much as its result.
ROOM = 4 << 20
#: How `tempfile` calls folders of ours: those that are held, and those of a moment's use.
_NAME = re.compile(r"(?:pytest-)?brt-(?:[a-z]+-)?[a-z0-9_]{8}")
_BRIEF = re.compile(r"brt-(?:ask|diff|draw|git|patch)-[a-z0-9_]{8}")
#: Seconds after which an empty folder, or one of a moment's use, belongs to nobody any more.
_EMPTY_SECONDS, _BRIEF_SECONDS = 60.0, 3600.0


class RoomUsedUp(StoreProblem):
    """There was room on the disk, and what ran meanwhile has used it up."""


class HeldFolder:
    """A folder that is held while its process lives, so that the next run knows when it is not."""

    def __init__(self, prefix: str) -> None:
        """Make it, with a name that begins with `prefix`: "brt-" or "pytest-brt-", and a word."""
        self._lock: int | None = None
        for _ in range(3):
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            with suppress(OSError):
                self._lock = hold(self.path / "lock")
            if self._lock is not None and (self.path / "lock").exists():
                return  # else a run that swept held it first, and removes it

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder; safe to call twice."""
        if self.path.exists():
            _remove_held(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class Scratch(HeldFolder):
    """The folder that one engine writes to."""

    def __init__(self) -> None:
        """Clear away what runs left that were killed, and make a new folder."""
        clear_stale()
        super().__init__("brt-")
        self.path.chmod(0o755)

    @contextmanager
    def room(self, least: int = ROOM) -> Iterator[None]:
        """Tell a full disk from a failure of what is run on it; `least` bytes must be free first.

        Raises:
            StoreProblem: there is no room; or `RoomUsedUp`, there was none in the middle.
        """
        full = (
            f"no space left in {str(self.path.parent)!r}, where private copies of the project are "
            "made (free some, or set TMPDIR to another folder)"
        )
        # Not of the folder itself: an engine may be closed while its rows still end.
        if least and shutil.disk_usage(self.path.parent).free < least:
            raise StoreProblem(full)
        try:
            yield
        except OSError as error:
            if error.errno in FULL:
                raise RoomUsedUp(full) from error
            raise


def clear_stale() -> None:
    """Remove the folders of this user's runs that were killed, and end their processes."""
    now = time.time()
    for folder in Path(tempfile.gettempdir()).glob("*brt-*"):
        # It may not be empty, be held by a living run, or by one that has just ended.
        with suppress(OSError):
            seen = folder.lstat()
            if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid():
                continue
            if (folder / "lock").exists() and (
                folder.name.startswith("brt-") or _NAME.fullmatch(folder.name)
            ):
                _clear_held(folder)
            elif _BRIEF.fullmatch(folder.name) and now - seen.st_mtime > _BRIEF_SECONDS:
                remove_tree(folder)
            elif _NAME.fullmatch(folder.name) and now - seen.st_mtime > _EMPTY_SECONDS:
                folder.rmdir()


def _clear_held(folder: Path) -> None:
    if (folder / "lock").lstat().st_uid != os.getuid():
        return
    lock = hold(folder / "lock")
    if lock is not None:
        try:
            end_marked(folder)
            _remove_held(folder)
        finally:
            os.close(lock)


def _remove_held(folder: Path) -> None:
    """Remove a folder, its lock last: by that the next run knows it, if we are killed meanwhile."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            remove_tree(path)
        elif path.name != "lock":
            path.unlink(missing_ok=True)
    remove_tree(folder)


def end_marked(folder: Path) -> None:
    """Kill the processes whose environment names `folder`, until there are none.

    They were started for it, and got away from their own parents.
    """
    mark = f"{MARK}={folder}\0".encode()
    for _ in range(20):
        found = [pid for pid, text in _environments() if mark in text]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):  # it ended meanwhile; is not ours
                os.kill(pid, signal.SIGKILL)


def _environments() -> Iterator[tuple[int, bytes]]:
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) != os.getpid():
            with suppress(OSError):  # another user's, or it ended meanwhile
                yield int(folder.name), (folder / "environ").read_bytes() + b"\0"

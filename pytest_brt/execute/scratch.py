"""The folder that one engine writes to, and what earlier ones may have left."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_brt.errors import StoreProblem
from pytest_brt.execute.below import remove_tree
from pytest_brt.execute.tree import FULL

PREFIX = "brt-"
#: Names the engine's folder in the environment of every process that it starts.
MARK = "PYTEST_BRT_SCRATCH"


#: Bytes without which no test can leave so much as its result.
ROOM = 4 << 20


class Scratch:
    """A folder that is held while the engine lives, so that the next one knows when it is not."""

    def __init__(self) -> None:
        """Clear away what engines left that were killed, and make a new folder."""
        clear_stale()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.path.chmod(0o755)
        self._lock = _hold(self.path)

    def environment(self) -> dict[str, str]:
        """Return the variable by which a process of this engine can be known."""
        return {MARK: str(self.path)}

    @contextmanager
    def room(self, least: int = ROOM) -> Iterator[None]:
        """Tell a full disk from a failure of what is run on it.

        Args:
            least: bytes that must be free for it to begin.

        Raises:
            StoreProblem: there is, or was in the middle, no room.
        """
        full = StoreProblem(
            f"no space left in {str(self.path.parent)!r}, where private copies of the project are "
            "made (free some, or set TMPDIR to another folder)"
        )
        # Not of the folder itself: an engine may be closed while its rows still end.
        if least and shutil.disk_usage(self.path.parent).free < least:
            raise full
        try:
            yield
        except OSError as error:
            if error.errno in FULL:
                raise full from error
            raise

    def end_processes(self) -> None:
        """Kill what was started for this folder and got away from its own parent."""
        end_marked(self.path)

    def close(self) -> None:
        """Remove the folder; safe to call twice."""
        if self.path.exists():
            remove_tree(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def clear_stale() -> None:
    """Remove the folders of this user's engines that were killed, and end their processes."""
    for folder in _folders():
        lock = _hold(folder)
        if lock is None:
            continue
        try:
            end_marked(folder)
            remove_tree(folder)
        finally:
            os.close(lock)


def _folders() -> Iterator[Path]:
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/lock"):
        try:
            if path.lstat().st_uid == os.getuid():
                yield path.parent
        except OSError:
            continue  # its engine has just closed


def _hold(folder: Path) -> int | None:
    """Return a descriptor that holds a folder's lock, None when a living engine does."""
    if sys.platform == "win32":
        return None
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(folder / "lock", flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def end_marked(folder: Path) -> None:
    """Kill the processes whose environment names `folder`, until there are none."""
    mark = f"{MARK}={folder}\0".encode()
    for _ in range(20):
        found = [pid for pid, text in _environments() if mark in text]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue  # it ended meanwhile, or is not ours


def _environments() -> Iterator[tuple[int, bytes]]:
    proc = Path("/proc")
    if not proc.is_dir():
        return
    for folder in proc.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                text = (folder / "environ").read_bytes()
            except OSError:
                continue  # another user's, or it ended meanwhile
            yield int(folder.name), text + b"\0"

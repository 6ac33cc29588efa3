"""Private copies of the project: made, changed, and removed whatever becomes of this process."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_brt.errors import SandboxProblem, UnsafeChange
from pytest_brt.project.layout import EXCLUDED, is_environment
from pytest_brt.types import FileChange

#: Removes a folder when nobody holds the other end of its input any more.
_CLEANER = (
    "trap '' INT TERM HUP; read -r _; "
    'for _ in 1 2 3; do chmod -R u+rwX "$1"; rm -rf -- "$1" && exit; sleep 1; done'
)


class NoRoom(SandboxProblem):
    """There is no space left for private copies."""


@contextmanager
def name_full_disk() -> Iterator[None]:
    """Say on one line that a disk is full.

    Raises:
        NoRoom: it is.
    """
    try:
        yield
    except OSError as error:
        # Copying tells several errors together, as text.
        if not any(os.strerror(full) in str(error) for full in (errno.ENOSPC, errno.EDQUOT)):
            raise
        raise NoRoom(
            f"no space left in {tempfile.gettempdir()!r}, where private copies of the project are"
            " made (free some, or set TMPDIR to another folder)"
        ) from error


class Scratch:
    """A folder for private copies, removed by a process of its own, also where ours is killed."""

    def __init__(self) -> None:
        """Make the folder."""
        self.path = Path(tempfile.mkdtemp(prefix="brt-"))
        self._cleaner = subprocess.Popen(
            ["/bin/sh", "-c", _CLEANER, "sh", str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Remove the folder."""
        self._cleaner.communicate()


class Workspace:
    """A private copy of a project, and a folder beside it."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Copy the project without what tools keep; pipes and the like are no part of it."""
        self.copy = folder / "tree"
        #: For what is written elsewhere, where processes have no /tmp of their own.
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        #: Virtual environments of the project, which are not copied: tox keeps some in a folder.
        places = (path for pattern in ("*", "*/*") for path in root.glob(pattern))
        # What a link leads to is not the project's.
        own = (path for path in places if os.path.realpath(path) == str(path))
        self.environments = [str(path) for path in own if is_environment(path)]
        shutil.copytree(root, self.copy, symlinks=True, ignore=self._left_out)
        # Tests are put into folders that may be read alone in the project.
        unlock(self.copy)
        for path in self.environments:
            (self.copy / os.path.relpath(path, root)).mkdir(parents=True, exist_ok=True)

    def _left_out(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return what of a folder is not copied; links are, whatever they lead to."""
        left_out = {*EXCLUDED.intersection(names)}
        for name in names:
            path = os.path.join(folder, name)
            is_plain = os.path.isfile(path) or os.path.isdir(path)
            # What we may not read is no part of it.
            is_copied = os.path.islink(path) or (is_plain and os.access(path, os.R_OK))
            if path in self.environments or not is_copied:
                left_out.add(name)
        return left_out

    def keep_bytecode(self, kept: Path) -> None:
        """Keep what was compiled here for other copies: compiling costs more than many suites.

        What ran here is to be the unpatched project with its own tests alone: others could leave
        something else than what was compiled.
        """
        unlock(self.copy)
        folder = Path(tempfile.mkdtemp(dir=kept.parent))
        for compiled in self.copy.rglob("__pycache__"):
            if not compiled.is_symlink():  # what it leads to is not ours
                shutil.copytree(compiled, folder / compiled.relative_to(self.copy), symlinks=True)
        with suppress(OSError):  # another run has kept it meanwhile
            folder.rename(kept)

    def give(self, user: int) -> None:
        """Give the copy to a user, who may enter the folders that it is in."""
        for folder in (self.copy.parent, self.copy.parent.parent):
            os.chown(folder, -1, user)
            folder.chmod(0o710)
        owned = (str(self.copy), str(self.temporary))
        subprocess.run(["chown", "-hR", f"{user}:{user}", *owned], check=True)

    def write(self, changes: Iterable[FileChange]) -> None:
        """Make changes of the copy, in which nothing has run yet.

        Raises:
            UnsafeChange: a path leads out of the copy.
        """
        for change in changes:
            place = Path(os.path.normpath(self.copy / change.path))
            folder = Path(os.path.realpath(place.parent))
            if not folder.is_relative_to(self.copy):
                raise UnsafeChange(f"the change of {change.path!r} leads out of the project")
            place.unlink(missing_ok=True)
            # What was compiled of it would be taken for valid where size and second agree.
            cache = folder / "__pycache__"
            if cache.is_symlink():
                cache.unlink()
            for stale in cache.glob(f"{place.stem}.*"):
                stale.unlink()
            if change.content is not None:
                folder.mkdir(parents=True, exist_ok=True)
                place.write_bytes(change.content)
                place.chmod(0o755 if change.executable else 0o644)


@contextmanager
def private_copy(root: Path, parent: Path, compiled: Path) -> Iterator[Workspace]:
    """Give a private copy of the project with what was compiled of it, and remove it."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        workspace = Workspace(root, folder)
        if compiled.exists():
            shutil.copytree(compiled, workspace.copy, symlinks=True, dirs_exist_ok=True)
        yield workspace
    finally:
        unlock(folder)
        shutil.rmtree(folder)


def unlock(folder: Path) -> None:
    """Have all folders and files in a folder be ours to change; links are not followed."""
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False, capture_output=True)

"""Private copies of the project: made, changed, and removed whatever becomes of this process."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_brt.bounded import is_file, is_folder
from pytest_brt.errors import SandboxProblem, UnsafeChange
from pytest_brt.sandbox.shown import is_below
from pytest_brt.types import FileChange

#: Folders that a copy does without.
EXCLUDED = frozenset(
    {
        ".git", ".hg", ".svn", ".bzr", ".tox", ".nox", ".mypy_cache", ".pytest_cache",
        ".ruff_cache", ".hypothesis", ".import_linter_cache", ".pytype", ".pyre",
        "node_modules", ".idea", ".vscode",
    }
)  # fmt: skip
_INSIDE = Path(__file__).with_name("inside")
#: Removes a folder when nobody holds the other end of its input any more.
_CLEANER = (
    "trap '' INT TERM HUP; read -r _; "
    'for _ in 1 2 3; do chmod -R u+rwX "$1"; rm -rf -- "$1" && exit; sleep 1; done'
)


def is_environment(folder: Path) -> bool:
    """Return whether a folder is a virtual environment (venv, virtualenv, conda)."""
    return is_file(folder / "pyvenv.cfg") or is_folder(folder / "conda-meta")


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
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise NoRoom(
            f"no space left in {tempfile.gettempdir()!r}, where private copies of the project are"
            " made (free some, or set TMPDIR to another folder)"
        ) from error


class HeldFolder:
    """A folder that a process of its own removes when this one closes it, ends or is killed."""

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


class Scratch(HeldFolder):
    """The folder for what is run."""

    def __init__(self, user: int | None = None) -> None:
        """Make the folder; `user` is who runs there, if not we."""
        super().__init__()
        self.user = user
        if user is not None:
            _let_enter(self.path, user)
        #: What Python compiled of the unpatched project: see `Workspace.keep_bytecode`.
        self.bytecode = self.path / "bytecode"
        #: Our scripts, where everybody can read them: our own folder may lie in a private one.
        self.tools = self.path / "inside"
        shutil.copytree(_INSIDE, self.tools, ignore=shutil.ignore_patterns("__pycache__"))
        _let_read(self.tools)

    @contextmanager
    def workspace(self, root: Path) -> Iterator[Workspace]:
        """Give a private copy of the project, and remove it."""
        folder = Path(tempfile.mkdtemp(dir=self.path))
        try:
            workspace = Workspace(root, folder, self.user)
            if self.bytecode.exists():
                shutil.copytree(self.bytecode, workspace.copy, dirs_exist_ok=True)
            yield workspace
        finally:
            remove_tree(folder)


class Workspace:
    """A private copy of a project, and folders beside it."""

    def __init__(self, root: Path, folder: Path, user: int | None) -> None:
        """Copy the project without what tools keep; pipes and the like are no part of it."""
        self.user = user
        self.copy = folder / "tree"
        #: For what is written elsewhere, where processes have no /tmp of their own.
        self.temporary = folder / "tmp"
        #: Virtual environments of the project, which are not copied.
        self.environments: list[str] = []
        if user is not None:
            _let_enter(folder, user)
        for path in (self.copy, self.temporary):
            path.mkdir()
            self._own(path)
        self._copy(root, self.copy)

    def _copy(self, source: Path, target: Path) -> None:
        with os.scandir(source) as entries:
            for entry in entries:
                place = target / entry.name
                with suppress(PermissionError):  # what we may not read is no part of it
                    if entry.is_symlink():
                        place.symlink_to(os.readlink(entry.path))
                    elif entry.is_dir():
                        self._copy_folder(Path(entry.path), place)
                    elif entry.is_file():
                        shutil.copy2(entry.path, place)
                    self._own(place)

    def _copy_folder(self, source: Path, target: Path) -> None:
        if source.name in EXCLUDED:
            # What tox and nox keep are environments, and we may run in one of them.
            for folder in filter(is_environment, source.iterdir()):
                self._show_environment(folder, target / folder.name)
        elif is_environment(source):
            self._show_environment(source, target)
        else:
            self._copy_contents(source, target)

    def _show_environment(self, folder: Path, place: Path) -> None:
        place.mkdir(parents=True)
        self.environments.append(str(folder))

    def _copy_contents(self, source: Path, target: Path) -> None:
        target.mkdir()
        self._copy(source, target)
        target.chmod(stat.S_IMODE(source.stat().st_mode) | stat.S_IRWXU)

    def _own(self, path: Path) -> None:
        if self.user is not None and os.path.lexists(path):
            os.chown(path, self.user, self.user, follow_symlinks=False)

    def keep_bytecode(self, folder: Path) -> None:
        """Keep what was compiled here for other copies: compiling costs more than many suites.

        What ran here is to be the unpatched project with its own tests alone: others could leave
        something else than what was compiled.
        """
        kept = Path(tempfile.mkdtemp(dir=folder.parent))
        top = os.path.realpath(self.copy)
        for compiled in self.copy.rglob("__pycache__/*.pyc"):
            if is_below(os.path.realpath(compiled), top):  # what ran may have left links
                place = kept / compiled.relative_to(self.copy)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(compiled, place)
        _let_read(kept)
        with suppress(OSError):  # another run has kept it meanwhile
            kept.rename(folder)

    def write(self, changes: Iterable[FileChange]) -> None:
        """Make changes of the copy, in which nothing has run yet.

        Raises:
            UnsafeChange: a path leads out of the copy.
        """
        for change in changes:
            self._write(change)

    def _write(self, change: FileChange) -> None:
        top = self.copy
        place = Path(os.path.normpath(top / change.path))
        if not is_below(os.path.realpath(place.parent), str(top)) or place == top:
            raise UnsafeChange(f"the change of {change.path!r} leads out of the project")
        before = place.lstat() if os.path.lexists(place) else None
        cache = place.parent / "__pycache__"
        for stale in cache.glob(f"{place.stem}.*"):
            if not cache.is_symlink():  # what it leads to is not ours
                stale.unlink()
        if before is not None and not stat.S_ISDIR(before.st_mode):
            place.unlink()
        if change.content is None:
            _remove_empty(place.parent, top)
            return
        missing = [folder for folder in place.parents if not folder.exists()]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(change.content)
        place.chmod(0o755 if change.executable else 0o644)
        # Bytecode would be taken for valid where size and second of a change agree.
        later = max(time.time_ns(), (before.st_mtime_ns if before else 0) + 2_000_000_000)
        os.utime(place, ns=(later, later))
        for path in (place, *missing):
            self._own(path)


def remove_tree(folder: Path) -> None:
    """Remove a folder with all in it, whatever permissions it was given."""
    try:
        shutil.rmtree(folder)
    except OSError:
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False, capture_output=True)
        shutil.rmtree(folder)


def _let_enter(folder: Path, user: int) -> None:
    """Let the group of a user enter a folder, whose names it cannot list."""
    os.chown(folder, -1, user)
    folder.chmod(0o710)


def _let_read(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _remove_empty(folder: Path, top: Path) -> None:
    """Remove a folder that has nothing left, and those above it: a diff has no empty folders."""
    with suppress(OSError):
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        while folder != top:
            folder.rmdir()
            folder = folder.parent

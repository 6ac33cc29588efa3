"""Private copies of the project: made, changed, and removed whatever becomes of this process."""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from pytest_brt.bounded import is_file, is_folder
from pytest_brt.errors import SandboxProblem, UnsafeChange
from pytest_brt.project.layout import EXCLUDED, files_of, is_environment
from pytest_brt.types import FileChange

#: Its files are kept in memory, where making one costs a tenth of what it costs on many disks.
IN_MEMORY = Path("/dev/shm")
#: How many times the project's size is to be free there, and bytes besides, for what tests write.
_COPIES, _WRITTEN = 16, 2 << 30
#: Removes a folder when nobody holds the other end of its input any more.
_CLEANER = (
    "exec >/dev/null 2>&1; trap '' INT TERM HUP; read -r _; "
    'for _ in 1 2 3; do chmod -R u+rwX "$1"; rm -rf -- "$1" && exit; sleep 1; done'
)


class NoRoom(SandboxProblem):
    """There is no space left for private copies."""


@contextmanager
def name_full_disk(place: Path) -> Iterator[None]:
    """Say on one line that the disk of a folder is full.

    Raises:
        NoRoom: it is.
    """
    try:
        yield
    except OSError as error:
        # Copying tells several errors together, as text.
        if not any(
            os.strerror(full) in str(error) for full in (errno.ENOSPC, errno.EDQUOT)
        ):
            raise
        raise NoRoom(
            f"no space left in '{place}', where private copies of the project are"
            " made (free some, or set TMPDIR to another folder)"
        ) from error


class Scratch:
    """A folder for private copies, removed by a process of its own, also where ours is killed."""

    def __init__(self, root: Path, user: int | None = None) -> None:
        """Make a folder for copies of the project at `root`.

        They belong to the `user`, where tests run as somebody else.
        """
        self.root = root
        self._user = user
        place = IN_MEMORY if _fits_into_memory(root) else None
        self.path = Path(tempfile.mkdtemp(prefix="brt-", dir=place))
        # Root's tests run as somebody else, who has to come through to a folder of his own.
        self.path.chmod(0o711)
        #: Who holds it makes a copy, or removes all.
        self._making = Lock()
        #: The first copy, which no process sees: others are made of it.
        self._first = self.path / "first"
        #: Whether there is something in it that Python compiled.
        self.has_bytecode = False
        self._cleaner = subprocess.Popen(
            ["/bin/sh", "-c", _CLEANER, "sh", str(self.path)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def close(self) -> None:
        """Remove the folder; no copy can be made any more."""
        with self._making:  # else one that is being made would be there again
            self._cleaner.communicate()

    @contextmanager
    def copied(self, changes: Iterable[FileChange] = ()) -> Iterator[Path]:
        """Give a private copy with changes, and remove it with all that is beside it.

        It is in a folder of its own, with "tmp" for what is written elsewhere where processes have
        no /tmp of their own. The project is read once: what happens to it later is in no copy.

        Raises:
            UnsafeChange: the path of a change leads out of the copy.
        """
        folder = Path(tempfile.mkdtemp(dir=self.path))
        copy = folder / "tree"
        try:
            with self._making:
                if not self._first.exists():
                    self._copy_project(folder)
                    folder.rename(self._first)
                    folder.mkdir(0o700)
                _run("cp", "-a", f"{self._first}/.", str(folder))
                for change in sorted(
                    changes, key=lambda change: change.content is not None
                ):
                    self._write(copy, change)
            yield copy
        finally:
            _remove(folder)

    def _copy_project(self, folder: Path) -> None:
        """Copy the project into a folder."""
        (folder / "tmp").mkdir()
        # Where copies are made inside of the project, they are no part of it.
        shutil.copytree(
            self.root,
            folder / "tree",
            symlinks=True,
            ignore=lambda *found: {*_left_out(*found), self.path.name},
        )
        # Tests are put into folders that may be read alone in the project.
        _unlock(folder)
        if self._user is not None:
            _run("chown", "-hR", f"{self._user}:{self._user}", str(folder))

    def keep_bytecode(self, copy: Path) -> None:
        """Keep what was compiled in a copy for others: compiling costs more than many suites.

        What ran there is to be the unpatched project with its own tests alone, or nothing of it:
        others could leave something else than what was compiled.
        """
        self.has_bytecode = True
        _unlock(copy)
        with self._making:
            tree = self._first / "tree"
            for path in _bytecode_in(copy):
                if not (tree / path).exists():
                    change = FileChange(path=path, content=(copy / path).read_bytes())
                    with suppress(UnsafeChange):  # a link is in the place of its folder
                        self._write(tree, change)

    def imported_in(self, copy: Path) -> list[str]:
        """Return files of the project that were compiled in a copy, where anything may have run."""
        _unlock(copy)
        tree = self._first / "tree"
        names = (
            re.sub(r"__pycache__/([^/.]+)\.[^/]+$", r"\1.py", path)
            for path in _bytecode_in(copy)
        )
        return [name for name in names if is_file(tree / name)]

    def _write(self, copy: Path, change: FileChange) -> None:
        """Make a change of a copy, in which nothing has run yet."""
        place = Path(os.path.normpath(copy / change.path))
        folder = Path(os.path.realpath(place.parent))
        if not folder.is_relative_to(copy):
            raise UnsafeChange(f"the change of {change.path!r} leads out of the project")
        if is_folder(place) and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        # What was compiled of it would be taken for valid where size and second agree.
        cache = folder / "__pycache__"
        if cache.is_symlink():
            cache.unlink()
        for stale in cache.glob(f"{glob.escape(place.stem)}.*"):
            stale.unlink()
        if change.content is not None:
            folder.mkdir(parents=True, exist_ok=True)
            place.write_bytes(change.content)
            place.chmod(0o755 if change.executable else 0o644)
            if self._user is not None:
                for made in (place, folder, *folder.parents[: -len(copy.parts)]):
                    os.chown(made, self._user, self._user)


def _fits_into_memory(root: Path) -> bool:
    """Return whether copies of a project can be kept in memory, and programs in them be run."""
    if "TMPDIR" in os.environ or not os.access(IN_MEMORY, os.W_OK):
        return False
    memory = os.statvfs(IN_MEMORY)
    size = sum((root / path).lstat().st_size for path in files_of(root))
    if memory.f_flag & os.ST_NOEXEC:
        return False
    return memory.f_bavail * memory.f_frsize >= _COPIES * size + _WRITTEN


def _left_out(folder: str, names: Sequence[str]) -> set[str]:
    """Return what of a folder is not copied; links are, whatever they lead to."""
    left_out = EXCLUDED.intersection(names)
    plain = [path for name in names if not (path := Path(folder, name)).is_symlink()]
    return {*left_out, *(path.name for path in plain if not _is_copied(path))}


def _is_copied(path: Path) -> bool:
    """Return whether a file or folder is part of the project: no pipe, nor what we may not read."""
    is_part = is_file(path) or (is_folder(path) and not is_environment(path))
    return is_part and os.access(path, os.R_OK)


def _bytecode_in(copy: Path) -> Iterator[str]:
    """Yield the files in a copy that were compiled, whatever may have run there."""
    for path in copy.rglob("__pycache__/*.pyc"):
        if is_file(path) and not path.is_symlink():
            yield str(path.relative_to(copy))


def _run(*command: str) -> None:
    """Run a program of the system.

    Raises:
        OSError: it fails; the text is what it says.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise OSError(done.stderr)


def _remove(folder: Path) -> None:
    """Remove a folder, in which others may be nested more deeply than Python can go."""
    command = ["rm", "-rf", "--", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        _unlock(folder)
        subprocess.run(command, check=False)


def _unlock(folder: Path) -> None:
    """Have all folders and files in a folder be ours to change; links are not followed."""
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False, capture_output=True)

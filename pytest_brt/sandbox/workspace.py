"""Private copies of the project: made, changed, and removed whatever becomes of this process."""

from __future__ import annotations

import errno
import glob
import os
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
#: Removes a folder, also one that its owner may not enter.
_REMOVE = (
    'rm -rf -- "$1" 2>/dev/null || { chmod -R u+rwX "$1"; rm -rf -- "$1"; } 2>/dev/null'
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
                _run("cp", "-dpR", f"{self._first}/.", str(folder))
                for change in sorted(
                    changes, key=lambda change: change.content is not None
                ):
                    _write(copy, change)
                if self._user is not None:
                    _run("chown", "-hR", f"{self._user}:{self._user}", str(folder))
            yield copy
        finally:
            # Folders may be nested more deeply than Python can go.
            subprocess.run(["/bin/sh", "-c", _REMOVE, "sh", str(folder)], check=False)

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
        # Tests are put into folders that are perhaps only to be read in the project; links are
        # not followed.
        subprocess.run(
            ["chmod", "-R", "u+rwX", str(folder)], check=False, capture_output=True
        )

    def keep_bytecode(self, copy: Path) -> None:
        """Keep what was compiled in a copy for others: compiling costs more than many suites.

        What ran there is to be the unpatched project with its own tests alone: others could leave
        something else than what was compiled.
        """
        tree = self._first / "tree"
        with self._making:
            for path in set(bytecode_in(copy)).difference(bytecode_in(tree)):
                # In the place of its folder there may be a link; and it may be locked.
                with suppress(UnsafeChange, OSError):
                    content = (copy / path).read_bytes()
                    _write(tree, FileChange(path=path, content=content))


def bytecode_in(copy: Path) -> list[str]:
    """Return the files in a copy that were compiled; anything may have run there."""
    find = ("find", ".", "-path", "*/__pycache__/*.pyc", "-type", "f", "-print0")
    found = subprocess.run(find, cwd=copy, capture_output=True, check=False).stdout
    return os.fsdecode(found).split("\0")[:-1]


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


def _write(copy: Path, change: FileChange) -> None:
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


def _run(*command: str) -> None:
    """Run a program of the system.

    Raises:
        OSError: it fails, with what it says.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise OSError(os.fsdecode(done.stderr))

"""Where a worker's code of the subject sees the project, and how that is changed."""

from __future__ import annotations

import base64
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_brt.errors import PatchProblem
from pytest_brt.execute.below import remove_tree
from pytest_brt.execute.plain import copy_files
from pytest_brt.execute.sandbox import SCRATCH
from pytest_brt.execute.tree import FULL, TreeCopy
from pytest_brt.types import FileChange

#: A file as the subject's process takes it: path, content in base64 or None, executable.
Sent = list[tuple[str, str | None, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The folders of one test, as it sees them."""

    tmp: str
    home: str
    #: Working directory of a program.
    work: str

    def plain(self) -> dict[str, str]:
        """Return what `inside/cell.py` takes."""
        return {"tmp": self.tmp, "home": self.home, "work": self.work}

    def env(self) -> dict[str, str]:
        """Return the variables that name them."""
        return {"HOME": self.home, "TMPDIR": self.tmp, "TEMP": self.tmp, "TMP": self.tmp}


class TreeSpoilt(Exception):
    """A row keeps its tree from being set back; never seen outside this layer."""


class View(Protocol):
    """A worker's view of the project."""

    #: Where its processes see the project.
    tree: str
    #: Folders that they may write to.
    writable: tuple[str, ...]
    #: Folders of the process that all tests of a row stem from.
    row_folders: Folders

    def begin_row(self, changes: Sequence[FileChange]) -> Sent:
        """Start a row; return the changes that its own process must make."""
        ...

    @contextmanager
    def cell(
        self, files: Sequence[FileChange], work: Sequence[FileChange]
    ) -> Iterator[tuple[Folders, Sent, Sent]]:
        """Lend the folders of one test, and say which files it must write itself.

        Args:
            files: of the project's tree.
            work: of the program's working directory.
        """
        ...

    def keep(self) -> None:
        """Take what was written to be what rows start from."""
        ...


class MountedView:
    """The project at its own path: every process mounts what it is to see (level ns)."""

    def __init__(self, root: str) -> None:
        self.tree = root
        self.writable: tuple[str, ...] = ()
        self.row_folders = Folders(
            tmp=f"{SCRATCH}/row/tmp", home=f"{SCRATCH}/row/home", work=f"{SCRATCH}/row/tmp"
        )

    def begin_row(self, changes: Sequence[FileChange]) -> Sent:
        """Return all changes: the row's process makes them in its own view."""
        return encode(changes)

    @contextmanager
    def cell(
        self, files: Sequence[FileChange], work: Sequence[FileChange]
    ) -> Iterator[tuple[Folders, Sent, Sent]]:
        """Name the folders that the test's process finds in its own view."""
        folders = Folders(tmp="/tmp", home="/tmp/home", work="/tmp/work")
        yield folders, encode(files), encode(work)

    def keep(self) -> None:
        """Nothing to do: the view's process wrote to the lower layer itself."""


class CopiedView:
    """A private copy of the project, set back between tests (levels below ns).

    Code of the subject may write to the tree and to `own`, and not to the folder that these
    are in: neither of them can be swapped for a link.
    """

    def __init__(self, source: Path, place: Path, owner: int | None) -> None:
        """Copy `source` below `place`, as files of the user `owner`."""
        self._own = place / "own"
        self._owner = owner
        place.mkdir()
        self._own.mkdir()
        self._copy = TreeCopy(source, place / "tree", owner=owner)
        self.tree = str(self._copy.place)
        self.writable: tuple[str, ...] = (self.tree, str(self._own))
        self._changes: Sequence[FileChange] = ()
        self.row_folders = self._folders("row")

    def begin_row(self, changes: Sequence[FileChange]) -> Sent:
        """Make the changes; nothing is left for the row's process to do."""
        self._changes = changes
        for entry in list(self._own.iterdir()):
            remove_tree(entry)
        self._copy.restore()
        self._copy.apply(changes)
        self._folders("row")
        return []

    @contextmanager
    def cell(
        self, files: Sequence[FileChange], work: Sequence[FileChange]
    ) -> Iterator[tuple[Folders, Sent, Sent]]:
        """Set the tree back, write the files, and lend folders that vanish afterwards.

        Raises:
            TreeSpoilt: the process of the row stands in the way.
        """
        name = f"cell-{secrets.token_hex(8)}"
        try:
            self._copy.restore()
            self._copy.apply(self._changes)
            self._copy.apply(files)
            folders = self._folders(name, work)
        except (OSError, PatchProblem) as error:
            if isinstance(error, OSError) and error.errno in FULL:
                raise
            raise TreeSpoilt(f"the tree cannot be set back: {error}") from error
        try:
            yield folders, [], []
        finally:
            remove_tree(self._own / name)

    def keep(self) -> None:
        """Take the tree as it is to be what `begin_row` sets back to."""
        self._copy.settle()

    def _folders(self, name: str, work: Sequence[FileChange] = ()) -> Folders:
        """Make the folders of a row or a test, which nobody else can reach meanwhile."""
        with tempfile.TemporaryDirectory(dir=self._own.parent) as made:
            place = Path(made) / name
            for folder in ("tmp", "home", "tmp/work"):
                (place / folder).mkdir(parents=True, exist_ok=True)
            copy_files(place / "tmp/work", work)
            if self._owner is not None:
                for path in (place, *place.rglob("*")):
                    shutil.chown(path, self._owner, self._owner)
            place.rename(self._own / name)
        place = self._own / name
        return Folders(tmp=f"{place}/tmp", home=f"{place}/home", work=f"{place}/tmp/work")


def encode(files: Sequence[FileChange]) -> Sent:
    """Return files as they cross to the subject's process."""
    return [
        (
            file.path,
            None if file.content is None else base64.b64encode(file.content).decode("ascii"),
            file.executable,
        )
        for file in files
    ]

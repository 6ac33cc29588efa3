"""Where a row's code of the subject sees the project, and how that is changed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.errors import UnsafeChange
from pytest_brt.execute.inside.tree import Tree
from pytest_brt.execute.sandbox import SCRATCH
from pytest_brt.execute.tree import FULL, TreeCopy
from pytest_brt.types import FileChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The folders of one test, as it sees them."""

    tmp: str
    home: str

    @property
    def work(self) -> str:
        """The working directory of a program."""
        return f"{self.tmp}/work"

    def env(self) -> dict[str, str]:
        """Return the variables that name them."""
        return {"HOME": self.home, "TMPDIR": self.tmp, "TEMP": self.tmp, "TMP": self.tmp}


class RowDied(Exception):
    """A row cannot go on: its process ended, or its tree cannot be set back; the zygote lives."""


class View:
    """The project at its own path: every process mounts, and writes, what it is to see (ns)."""

    #: Folders that its processes may write to.
    writable: tuple[str, ...] = ()
    #: A process that forks rows sees the project as it is, before the first of them.
    is_untouched = True

    def __init__(self, tree: str) -> None:
        """Show the project at `tree`."""
        self.tree = tree
        #: Folders of the process that rows are forked from, and of a row's.
        self.first_folders = Folders(tmp=f"{SCRATCH}/tmp", home=f"{SCRATCH}/tmp")
        self.row_folders = Folders(tmp=f"{SCRATCH}/row/tmp", home=f"{SCRATCH}/row/home")

    def begin_row(self, changes: Sequence[FileChange]) -> None:
        """Start a row: have its changes in the tree."""

    @contextmanager
    def cell(self, files: Sequence[FileChange], work: Sequence[FileChange]) -> Iterator[Folders]:
        """Lend the folders of one test, with its `files` in the tree, `work` in its `tmp`."""
        yield Folders(tmp="/tmp", home="/tmp/home")

    def keep(self) -> None:
        """Take what was written to be what rows start from."""

    def clear(self) -> None:
        """Remove what processes have left, which have ended."""


class CopiedView(View):
    """A private copy of the project, set back between tests (levels below ns).

    Code of the subject may write to the tree and to `own`, and not to the folder that these
    are in: neither of them can be swapped for a link.
    """

    def __init__(self, source: Path, place: Path, owner: int | None) -> None:
        """Copy `source` below `place`, as files of the user `owner`."""
        own = place / "own"
        own.mkdir(parents=True)
        self._own = Tree(str(own), owner)
        self._copy = TreeCopy(source, place / "tree", owner=owner)
        self.tree = str(self._copy.place)
        self.writable = (self.tree, self._own.root)
        self._changes: Sequence[FileChange] = ()
        self.first_folders = self.row_folders = self._folders("row")

    def begin_row(self, changes: Sequence[FileChange]) -> None:
        """Set the tree back and make the changes."""
        self.is_untouched = False
        self._changes = changes
        self.clear()
        self._copy.restore()
        self._copy.apply(changes)

    @contextmanager
    def cell(self, files: Sequence[FileChange], work: Sequence[FileChange]) -> Iterator[Folders]:
        """Set the tree back, write the files, and lend folders that vanish afterwards.

        Raises:
            RowDied: the process of the row stands in the way.
        """
        name = f"cell-{secrets.token_hex(8)}"
        try:
            self._copy.restore()
            self._copy.apply(self._changes)
            self._copy.apply(files)
            folders = self._folders(name, work)
        except (OSError, UnsafeChange) as error:
            if isinstance(error, OSError) and error.errno in FULL:
                raise
            raise RowDied(f"the tree cannot be set back: {error}") from error
        try:
            yield folders
        finally:
            self._own.remove(name)

    def clear(self) -> None:
        """Remove the folders of a row and its tests, and make the row's anew."""
        for name in self._own.names(""):
            self._own.remove(name)
        self._folders("row")

    def keep(self) -> None:
        """Take the tree as it is to be what `begin_row` sets back to."""
        self._copy.settle()

    def _folders(self, name: str, work: Iterable[FileChange] = ()) -> Folders:
        """Make the folders of a row or a test, as the owner's."""
        for folder in ("home", "tmp/work"):
            self._own.make_folder(f"{name}/{folder}")
        self._own.apply([replace(file, path=f"{name}/tmp/{file.path}") for file in work])
        place = f"{self._own.root}/{name}"
        return Folders(tmp=f"{place}/tmp", home=f"{place}/home")

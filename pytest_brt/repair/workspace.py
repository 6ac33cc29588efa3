"""The private tree of a dialogue that edits files: the project with what its steps changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.dialogue.tool import changed_files
from pytest_brt.repair.site import Site
from pytest_brt.types import FileChange, Step


@dataclass(frozen=True, slots=True)
class Workspace:
    """The files as they are after some steps; nothing of it is on disk."""

    site: Site
    changed: dict[str, FileChange]

    @classmethod
    def after(cls, site: Site, steps: Sequence[Step]) -> Workspace:
        """Return the files after `steps`."""
        return cls(site, changed_files(steps))

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """What differs from the user's tree."""
        return tuple(
            change
            for path, change in sorted(self.changed.items())
            if change.content != self.site.read(path)
        )

    @property
    def unindexed(self) -> tuple[str, ...]:
        """The files that are other than the index knows them."""
        changed = tuple(change.path for change in self.changes)
        return (*changed, self.site.added.path) if self.site.added else changed

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None when there is no such file."""
        if path in self.changed:
            return self.changed[path].content
        return self.site.read(path)

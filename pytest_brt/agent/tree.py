"""The files that an agent looks at and changes: those of the project, and what its steps made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_brt.agent.action import Refusal
from pytest_brt.agent.paths import Paths
from pytest_brt.code.scan import leads_out
from pytest_brt.code.source import SourceText, read_source
from pytest_brt.errors import EditProblem
from pytest_brt.types import FileChange, Step


def changed_files(steps: Iterable[Step]) -> dict[str, FileChange]:
    """Return the files that `steps` changed, by path, as they are after the last of them."""
    return {change.path: change for step in steps for change in step.changes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A private tree: the project's files, and those that are other than on disk."""

    root: Path
    #: Paths that may be named.
    files: frozenset[str]
    changed: Mapping[str, FileChange] = field(default_factory=dict)

    def after(self, steps: Sequence[Step]) -> Tree:
        """Return the tree as `steps` left it."""
        return replace(self, changed={**self.changed, **changed_files(steps)})

    def changes_by(self, steps: Sequence[Step]) -> tuple[FileChange, ...]:
        """Return what `steps` made of the files, without those that are as they were."""
        changed = sorted(changed_files(steps).items())
        return tuple(change for path, change in changed if change.content != self.read(path))

    @property
    def paths(self) -> Paths:
        """The files that a model may name."""
        return Paths(self.files).also(self.changed)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None when there is no such file."""
        if path in self.changed:
            return self.changed[path].content
        if path not in self.files or leads_out(self.root, path):
            return None
        try:
            return (self.root / path).read_bytes()
        except OSError:
            return None

    def lines(self, path: str) -> tuple[str, ...]:
        """Return the lines of a file, without line ends.

        Raises:
            Refusal: there is no such file.
        """
        content = self.read(path)
        if content is None:
            raise Refusal(f"There is no file {path!r} (use a path that an action showed).")
        return text_lines(content)

    def find(self, path: str) -> str:
        """Return the tree's path for one as a model wrote it.

        Raises:
            Refusal: none is meant by it, or several.
        """
        meant = self.paths.find(path)
        if not meant.name:
            raise Refusal(meant.problem(repr(path)))
        return meant.name


def text_of(path: str, content: bytes) -> SourceText:
    """Return a file as text; one that is not in the encoding it declares as Latin-1."""
    try:
        return read_source(path, content)
    except EditProblem:
        return SourceText(path=path, text=content.decode("latin-1"), encoding="latin-1")


def text_lines(content: bytes) -> tuple[str, ...]:
    """Return the lines of a file, without line ends, as their numbers count them."""
    lines = text_of("", content).text.split("\n")
    whole = lines[:-1] if lines[-1] == "" else lines
    return tuple(line.removesuffix("\r") for line in whole)

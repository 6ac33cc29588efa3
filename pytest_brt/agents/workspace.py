"""What the tools of an agent work on: the project's files, with the changes of this run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.model.model import Model
from pytest_brt.model.request import Message
from pytest_brt.project.index import Index
from pytest_brt.project.layout import escapes_root
from pytest_brt.pysource.parse import decode
from pytest_brt.types import Effect, FileChange, Issue, Step

#: The line, or the test, that a model writes behind a path.
_BEHIND = re.compile(r"(?::\d[\d:,-]*|::.*)$")


class Refused(Exception):
    """A tool was not run; the text tells the model what to do instead."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool returns that has more than text to say; `Finished` among the effects ends."""

    text: str
    effects: tuple[Effect, ...] = ()


@dataclass(kw_only=True)
class Workspace:
    """A private view of the project: nothing of the user's is written."""

    issue: Issue
    index: Index
    model: Model
    #: Writes code where another model thinks; the same as `model` else.
    editor: Model
    #: The run's first seed; each question has its own.
    seed: int = 0
    say: Callable[[str], None] = lambda _: None
    #: Files that are other than on disk, by path.
    changed: dict[str, bytes] = field(default_factory=dict)
    #: The messages that the dialogue began with, and the steps so far.
    opening: tuple[Message, ...] = ()
    steps: list[Step] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self.index.root

    @property
    def files(self) -> list[str]:
        """The paths that may be named."""
        return sorted({*self.index.layout.files, *self.changed})

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The files that differ from the project's."""
        changed = sorted(self.changed.items())
        return tuple(FileChange(path=p, content=c) for p, c in changed if c != self.on_disk(p))

    def next_seed(self) -> int:
        """Return the seed of this step's questions."""
        return (self.seed + 1000 * len(self.steps)) % 2**31

    def find(self, path: str) -> str:
        """Return the project's path for one as a model wrote it.

        Raises:
            Refused: none is meant by it, or several.
        """
        bare = _BEHIND.sub("", path.strip(" '\"`")).removeprefix(f"{self.root}/")
        bare, known = bare.removeprefix("./"), self.files
        if bare in known:
            return bare
        like = [one for one in known if one.endswith(f"/{bare}")]
        like = like or difflib.get_close_matches(bare, known, n=2, cutoff=0.9)
        if len(like) == 1:
            return like[0]
        like = like or difflib.get_close_matches(bare, known, cutoff=0.5)
        raise Refused(f"There is no file {path!r}. Files like it: {', '.join(like[:4]) or 'none'}.")

    def on_disk(self, path: str) -> bytes | None:
        """Return a file as the project has it, None where it has none."""
        if path not in self.index.layout.files or escapes_root(self.root, path):
            return None
        return (self.root / path).read_bytes()

    def read(self, path: str) -> bytes:
        """Return a file as it is now, b"" where there is none."""
        return self.changed[path] if path in self.changed else self.on_disk(path) or b""

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file, as their numbers count them."""
        return decode(self.read(path)).removesuffix("\n").split("\n")


def named(name: str, names: Iterable[str]) -> str:
    """Return the known name that `name` means: the same, part of it, or nearly so; "" for none.

    >>> named("search", ["cat", "code_search"])
    'code_search'
    """
    known = list(names)
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    found = [one for one in known if one in {name, plain}]
    found = found or [one for one in known if len(plain) > 2 and (plain in one or one in plain)]
    found = found or difflib.get_close_matches(plain, known, n=2, cutoff=0.9)
    return found[0] if len(found) == 1 else ""

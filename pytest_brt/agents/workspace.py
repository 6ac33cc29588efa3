"""What the tools of an agent work on: the project's files, with the changes of this run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.agents.prompts import report_text, system_and_user
from pytest_brt.model.model import Model
from pytest_brt.model.request import Message, Reply, Request
from pytest_brt.project.index import Index
from pytest_brt.project.layout import escapes_root
from pytest_brt.pysource.parse import decode
from pytest_brt.types import FileChange, Issue, Step, Verdict

#: The line, or the test, that a model writes behind a path.
_BEHIND = re.compile(r"(?::\d[\d:,-]*|::.*)$")


class Refused(Exception):
    """A tool was not run; the text tells the model what to do instead."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool returns that has more than text to say."""

    text: str
    #: Files of the private tree that it changed, as they are now.
    changes: tuple[FileChange, ...] = ()
    #: What the tests did that it ran.
    verdict: Verdict | None = None
    #: The fixes that it tried and took back.
    diffs: tuple[str, ...] = ()
    #: Whether the dialogue ends.
    is_over: bool = False


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

    def next_seed(self) -> int:
        """Return the seed of this step's questions."""
        return (self.seed + 1000 * len(self.steps)) % 2**31

    def ask(
        self, model: Model, name: str, longest: int, n: int = 1, /, **values: object
    ) -> list[Reply]:
        """Return the replies to a question that a tool asks, in at most so many tokens each."""
        report = report_text(self.issue, model.context)
        return model.complete(
            Request(
                messages=system_and_user(name, title=self.issue.title, report=report, **values),
                n=n,
                temperature=0.2 if n == 1 else 0.9,
                seed=self.next_seed(),
                max_tokens=min(longest, model.context // 4),
            )
        )

    def find(self, path: str) -> str:
        """Return the project's path for one as a model wrote it.

        Raises:
            Refused: none is meant by it, or several.
        """
        bare = _BEHIND.sub("", path.strip(" '\"`"))
        if found := bare if bare in self.changed else self.index.layout.find_path(bare):
            return found
        like = difflib.get_close_matches(bare, self.index.layout.files, n=4, cutoff=0.5)
        raise Refused(f"There is no file {path!r}. Files like it: {', '.join(like) or 'none'}.")

    def on_disk(self, path: str) -> bytes:
        """Return a file as the project has it, b"" where it has none."""
        if path not in self.index.layout.files or escapes_root(self.root, path):
            return b""
        return (self.root / path).read_bytes()

    def read(self, path: str) -> bytes:
        """Return a file as it is now, b"" where there is none."""
        return self.changed[path] if path in self.changed else self.on_disk(path)

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
    if name in known or plain in known:
        return name if name in known else plain
    like = [one for one in known if len(plain) > 2 and (plain in one or one in plain)]
    like = like or difflib.get_close_matches(plain, known, n=2, cutoff=0.9)
    return like[0] if len(like) == 1 else ""

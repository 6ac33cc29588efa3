"""All that a repair looks at, shared by every run on an issue, and what one run may use.

Beside it how lines are shown to a model: as many as fit, with their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_brt.agent.action import Tool, changed_files
from pytest_brt.agent.history import largest, short_line
from pytest_brt.agent.paths import Paths
from pytest_brt.agent.prompts import Prompts
from pytest_brt.agent.trajectory import Log
from pytest_brt.code.index import Index
from pytest_brt.code.layout import leads_out
from pytest_brt.errors import FixProblem
from pytest_brt.execute.touched import edits
from pytest_brt.model.base import Model
from pytest_brt.repair.fix import lines_of
from pytest_brt.repair.states import Without
from pytest_brt.repair.trial import Trials
from pytest_brt.store import Journal
from pytest_brt.types import FileChange, Issue, JudgedTest, Place, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A bug, the project that has it, and what is known of both."""

    issue: Issue
    root: Path
    index: Index
    #: Tests that fail because of the bug, the most trusted first.
    failing: tuple[JudgedTest, ...]
    #: Where the bug may be, likeliest first; found when first asked for.
    places: Callable[[], tuple[Place, ...]]
    #: Whether the places were given by the user.
    perfect: bool
    trials: Trials
    model: Model
    prompts: Prompts
    #: The existing test files that are nearest to changes, the nearest first.
    tests_near: Callable[[tuple[FileChange, ...]], tuple[str, ...]]
    #: Files that are other than on disk: those that steps changed, and a test that is in no patch.
    changed: Mapping[str, FileChange] = field(default_factory=dict)

    def after(self, steps: Sequence[Step]) -> Site:
        """Return the site with the files as `steps` left them."""
        return replace(self, changed={**self.changed, **changed_files(steps)})

    def changes(self, steps: Sequence[Step]) -> tuple[FileChange, ...]:
        """Return what `steps` made of the files, but for those that are as they were."""
        changed = sorted(changed_files(steps).items())
        return tuple(change for path, change in changed if change.content != self.read(path))

    @property
    def paths(self) -> Paths:
        """The files that a model may name."""
        return Paths(self.index.layout.files).also(self.changed)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file of the tree; None when there is no such file."""
        if path in self.changed:
            return self.changed[path].content
        if path not in self.index.layout.files or leads_out(self.root, path):
            return None
        try:
            return (self.root / path).read_bytes()
        except OSError:
            return None

    def lines(self, path: str) -> tuple[str, ...]:
        """Return the lines of a file of the tree.

        Raises:
            FixProblem: there is no such file.
        """
        content = self.read(path)
        if content is None:
            raise FixProblem(f"there is no file {path!r} (use a path that a tool showed)")
        return lines_of(content)

    def find(self, path: str) -> str:
        """Return the tree's path for one as a model wrote it.

        Raises:
            FixProblem: none is meant by it, or several.
        """
        meant = self.paths.find(path)
        if meant.name:
            return meant.name
        raise FixProblem(meant.problem(repr(path)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairBench:
    """All that the runs of one strategy on a bug may use."""

    site: Site
    #: The test that this run is given, of strategies that give one to every other run; None when
    #: it is given none.
    brt: JudgedTest | None = None
    #: Writes code when another model thinks; None when one does both.
    editor: Model | None = None
    #: Steps that the user wants; None leaves it to the strategy.
    steps: int | None = None
    #: Variants of a fix that fails.
    variants: int = 30
    without: frozenset[Without] = frozenset()
    #: Whether a bug is repaired without any failing test too: existing tests alone judge then.
    blind: bool = False
    #: The first seed of the run; each has its own.
    seed: int = 0
    #: When all must be over, as `time.monotonic` counts.
    deadline: float = math.inf
    journal: Journal | None = None
    #: Folder of the run's record, for dialogues.
    record: Path | None = None
    #: Further tools of the repair agent, by name; allowed where information is collected.
    tools: Mapping[str, Tool] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _: None

    def log(self, strategy: str, index: int) -> Log:
        """Return where the steps of a run go."""
        name = f"repair-{strategy}-{index:02}"
        issue = self.site.issue
        return Log(issue.id, name, title=issue.title, journal=self.journal, folder=self.record)


def listing(lines: tuple[str, ...], first: int, last: int) -> str:
    """Return lines with their numbers, as models are shown them.

    >>> print(listing(("a", "b"), 2, 9))
        2| b
    """
    shown = enumerate(lines[first - 1 : last], start=first)
    return "\n".join(f"{number:5}| {line}" for number, line in shown)


#: Tokens of a usual line with its number, and of what stands above and below them all.
_LINE, _NOTE = 16, 100
#: Lines that are shown around a place that was changed.
_AROUND = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much one observation can hold."""

    #: Tokens.
    most: int
    count: Callable[[str], int]

    @property
    def lines(self) -> int:
        """About how many lines of code it holds, in tens."""
        return max(10, self.most // _LINE // 10 * 10)


def window(lines: Sequence[str], first: int, last: int, room: Room) -> tuple[int, str]:
    """Return the lines from `first` on with their numbers, and the number of the last of them.

    They go up to `last` or as far as they fit; at least one is shown, where there is any. Very
    long lines are shortened.
    """
    short = tuple(map(short_line, lines[:last]))
    most = room.most - _NOTE
    end = min(last, len(lines))
    end = min(end, largest(first, end, lambda end: room.count(listing(short, first, end)) <= most))
    return end, listing(short, first, end)


def shown_lines(lines: tuple[str, ...], wanted: Iterable[int]) -> str:
    """Return the wanted lines with their numbers, and a mark where lines are left out.

    >>> print(shown_lines(("a", "b", "c"), {1, 3}))
        1| a
      […]
        3| c
    """
    out = []
    before = 0
    for number in sorted(wanted):
        if number != before + 1:
            out.append("  […]")
        out.append(listing(lines, number, number))
        before = number
    if before < len(lines):
        out.append("  […]")
    return "\n".join(out)


def changed_lines(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return the numbers of the lines of `new` that differ from `old`, and those around them.

    >>> changed_lines([str(n) for n in range(40)], [str(n) for n in range(40) if n != 20])[::5]
    [16, 21]
    """
    wanted: set[int] = set()
    for edit in edits(old, new):
        wanted.update(range(edit.new_start + 1 - _AROUND, edit.new_end + _AROUND + 1))
    return sorted(number for number in wanted if 1 <= number <= len(new))

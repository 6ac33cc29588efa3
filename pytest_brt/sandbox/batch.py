"""Tests that are run by the same pytest, in one process after the other, and what they did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from pytest_brt.sandbox.conditions import Test
from pytest_brt.sandbox.process import ProcessResult
from pytest_brt.sandbox.project_view import PathMap
from pytest_brt.sandbox.sandbox import Isolation
from pytest_brt.sandbox.verdicts import Item, Reading, items_of
from pytest_brt.sandbox.view import View
from pytest_brt.types import FileChange, TestRun, Verdict
from pytest_brt.types.cause import Timed, TookTooLong

#: The verdict of several items that count as one: the first of these that occurs.
_MOST_SEVERE = (
    Verdict.TAMPERED, Verdict.INVALID, Verdict.CRASH, Verdict.TIMEOUT, Verdict.FAIL,
    Verdict.BROKEN, Verdict.PASS, Verdict.XFAIL, Verdict.SKIP,
)  # fmt: skip
#: pytest's exit status for what it cannot do as it was asked.
_USAGE_ERROR = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTest:
    """A test, and the path of its file: no other one with another source has the same."""

    test: Test
    path: str

    @property
    def files(self) -> tuple[FileChange, ...]:
        """The files that it brings."""
        if self.test.source is None:
            return self.test.support
        content = self.test.source.encode("utf-8", "surrogatepass")
        return (*self.test.support, FileChange(path=self.path, content=content))

    @property
    def alias(self) -> tuple[str, str]:
        """The name of its file, and of that which it stands for; "" where it is the same."""
        if self.path == self.test.path:
            return "", ""
        return PurePosixPath(self.path).stem, PurePosixPath(self.test.path).stem


def place_tests(tests: Sequence[Test]) -> Iterator[list[PlacedTest]]:
    """Yield tests at paths of their own, in groups that can lie in one tree together.

    Two tests may bring the same file, as a conftest, with different content.
    """
    groups: list[_Group] = []
    sources: dict[str, list[str]] = {}
    for test in tests:
        path = test.path
        if test.source is not None:
            known = sources.setdefault(path, [])
            if test.source not in known:
                known.append(test.source)
            if number := known.index(test.source):
                path = f"{path.removesuffix('.py')}__brt{number}.py"
        placed = PlacedTest(test=test, path=path)
        fitting = [group for group in groups if group.takes(placed)]
        if not fitting:
            fitting = [_Group()]
            groups += fitting
        fitting[0].add(placed)
    yield from (group.tests for group in groups)


@dataclass(slots=True)
class _Group:
    """Tests that can lie in one tree, and the files that they bring."""

    tests: list[PlacedTest] = field(default_factory=list)
    files: dict[str, FileChange] = field(default_factory=dict)

    def takes(self, placed: PlacedTest) -> bool:
        """Return whether a test brings no file that is here with another content."""
        return all(self.files.get(file.path, file) == file for file in placed.files)

    def add(self, placed: PlacedTest) -> None:
        """Take a test in."""
        self.tests.append(placed)
        self.files |= {file.path: file for file in placed.files}


@dataclass(slots=True, kw_only=True)
class Batch:
    """What the processes told of some tests that lie in one tree."""

    tests: Sequence[PlacedTest]
    isolation: Isolation
    #: Seconds that a test has.
    seconds: float
    #: Modules of the project are changed.
    is_patched: bool = False
    #: The items that were begun, and the process that told of each.
    told: dict[str, tuple[Item, ProcessResult]] = field(default_factory=dict)
    #: Those that were collected, and not begun yet.
    left: list[str] = field(default_factory=list)
    view: View | None = None
    last: ProcessResult = field(default_factory=ProcessResult)

    def add(self, result: ProcessResult, view: View) -> bool:
        """Take in what a process told; return whether another one may do what is left."""
        items = items_of(result.events)
        self.told |= {node: (item, result) for node, item in items.items()}
        collected = result.first("collected")
        nodes = collected.nodes if collected else ()
        self.left = [node for node in nodes if node not in self.told]
        self.last, self.view = result, view
        return bool(items and self.left)

    @property
    def files(self) -> dict[str, list[str] | None]:
        """The files of the tests, and the nodes wanted below each, None for all of them."""
        files: dict[str, list[str] | None] = {}
        for placed in self.tests:
            names = placed.test.names
            known = files.setdefault(placed.path, [])
            files[placed.path] = [*known, *names] if names and known is not None else None
        return files

    def halves(self) -> tuple[Sequence[PlacedTest], ...]:
        """Return the tests in two parts, of which one may be well; () where that is known.

        A file that ends the process, or a conftest that cannot be imported, ends all of them.
        """
        paths = list(self.files)
        folders = {path.rpartition("/")[0] for path in paths}
        is_known = self.last.status == _USAGE_ERROR and len(folders) == 1
        if self.told or self.last.first("collected") or len(paths) == 1 or is_known:
            return ()
        half = frozenset(paths[: len(paths) // 2])
        return (
            [placed for placed in self.tests if placed.path in half],
            [placed for placed in self.tests if placed.path not in half],
        )

    def runs(self, late: TookTooLong | None) -> dict[str, tuple[TestRun, ...]]:
        """Return what each test did, by its id; what was not begun was too late."""
        return {placed.test.id: tuple(self._runs_of(placed, late)) for placed in self.tests}

    def _runs_of(self, placed: PlacedTest, late: TookTooLong | None) -> list[TestRun]:
        test = placed.test
        runs = [
            self._reading(placed, result).run_of(item)
            for node, (item, result) in self.told.items()
            if _is_meant(placed, node)
        ]
        for node in self.left:
            if _is_meant(placed, node):
                cause = late or TookTooLong(what=Timed.ROW)
                below = node.partition("::")[2]
                runs.append(TestRun(test=test.id, node=below, verdict=Verdict.TIMEOUT, cause=cause))
        if not runs:
            whole = self._reading(placed, self.last).without_items(placed.path)
            runs = [replace(whole, node=test.node)]
        return [replace(most_severe(runs), node=test.node)] if test.node else runs

    def _reading(self, placed: PlacedTest, result: ProcessResult) -> Reading:
        assert self.view is not None, "a process has told of the tests"
        return Reading(
            test=placed.test.id,
            path=placed.test.path,
            result=result,
            paths=PathMap(view=self.view, alias=placed.alias),
            isolation=self.isolation,
            seconds=self.seconds,
            is_patched=self.is_patched,
        )


def most_severe(runs: Sequence[TestRun]) -> TestRun:
    """Return the run of several, as of one test with several parameters, that says most ill.

    Its seconds, and the lines that it executed, are those of all.
    """
    worst = min(runs, key=lambda run: _MOST_SEVERE.index(run.verdict))
    lines: dict[str, int] = {}
    for path, executed in (pair for run in runs for pair in run.ran):
        lines[path] = lines.get(path, 0) | int(executed, 16)
    return replace(
        worst,
        seconds=sum(run.seconds for run in runs),
        cpu=sum(run.cpu for run in runs),
        ran=tuple((path, f"{executed:x}") for path, executed in lines.items()),
    )


def _is_meant(placed: PlacedTest, node: str) -> bool:
    path, _, below = node.partition("::")
    names = placed.test.names
    is_named = not names or below in names or below.partition("[")[0] in names
    return path == placed.path and is_named

"""Tests to be run, on what tree and how, and what one of them may use up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

from pytest_brt.types import FileChange

#: Bytes of one file, and how many may be open.
_FILE_BYTES, _OPEN_FILES = 256 << 20, 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one test may use up."""

    #: Wall-clock seconds of one test.
    seconds: float = 60.0
    #: Wall-clock seconds of starting and collecting, where `seconds` is not more.
    start_seconds: float = 60.0
    #: Address space of one test process, in MiB.
    memory_mb: int = 2048
    #: Wall-clock seconds of all tests on one tree.
    row_seconds: float = 1800.0

    @property
    def of_processes(self) -> dict[str, int]:
        """The limits that the system keeps."""
        memory = self.memory_mb << 20
        return {"AS": memory, "CORE": 0, "FSIZE": _FILE_BYTES, "NOFILE": _OPEN_FILES}


def memory_for(jobs: int) -> int:
    """Return the MiB that each of so many processes gets of half of the machine's memory."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(512, (machine >> 21) // jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One test, some tests of a file, or all of a file."""

    #: pytest must not take this for a test class.
    __test__: ClassVar[bool] = False

    id: str
    #: Test file, relative to the project.
    path: str
    #: Content to put at `path` first; None when the tree already holds it. Such a test runs in a
    #: fork, so that it leaves nothing to another one.
    source: str | None = None
    #: Other files to put there.
    support: tuple[FileChange, ...] = ()
    #: Node below the file ("test_a", "TestX::test_y[1]"); "" for all of them, or for `nodes`.
    node: str = ""
    #: The nodes that are meant, where there are several.
    nodes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes that are meant; none for all of the file."""
        return self.nodes or ((self.node,) if self.node else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """On what tree, and how, tests are run."""

    changes: tuple[FileChange, ...] = ()
    hash_seed: int = 0
    #: Last test first.
    reverse: bool = False
    #: Wall-clock seconds of one test, and of all, where they are to be less than usual.
    test_seconds: float | None = None
    seconds: float | None = None
    #: Files of which each test is to tell the lines that it executes.
    watch: tuple[str, ...] = ()


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

    def has(self, node: str) -> bool:
        """Return whether an item of pytest is meant."""
        path, _, below = node.partition("::")
        names = self.test.names
        is_named = not names or below in names or below.partition("[")[0] in names
        return path == self.path and is_named


def place_tests(tests: Sequence[Test]) -> list[list[PlacedTest]]:
    """Return tests at paths of their own, in groups that can lie in one tree together.

    Two tests may bring the same file, as a conftest, with different content.
    """
    groups: list[tuple[dict[str, FileChange], list[PlacedTest]]] = []
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
        files = {file.path: file for file in placed.files}
        fitting = (
            (brought, group)
            for brought, group in groups
            if all(brought.get(file, change) == change for file, change in files.items())
        )
        brought, group = next(fitting, ({}, []))
        if not group:
            groups.append((brought, group))
        brought |= files
        group.append(placed)
    return [group for _, group in groups]

"""Tests to be run, on what tree and how, and what one of them may use up."""

from __future__ import annotations

from dataclasses import dataclass
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
    #: What the tree is called, as by its patch.
    name: str = ""
    hash_seed: int = 0
    #: Last test first.
    reverse: bool = False
    #: Wall-clock seconds of one test, and of all, where they are to be less than usual.
    test_seconds: float | None = None
    seconds: float | None = None
    #: Files of which each test is to tell the lines that it executes.
    watch: tuple[str, ...] = ()

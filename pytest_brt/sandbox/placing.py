"""Tests to be run, and where their files are put."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pytest_brt.types import Author, CandidateTest, FileChange
from pytest_brt.types.note import value

#: What comes before a number in the name of a test file whose own another test has.
ALIAS = "__brt"


@value
class Test:
    """One test, or all of a file."""

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
    #: Node below the file ("test_a", "TestX::test_y[1]"); "" for all of them.
    node: str = ""
    #: Whether a patch brings it.
    is_brought: bool = False

    @classmethod
    def of(cls, test: CandidateTest) -> Test:
        """Return a test of a bug as it is run."""
        return cls(
            id=test.id,
            path=test.path,
            source=test.source,
            support=test.support,
            node=test.name,
            is_brought=test.origin.author is Author.PATCH,
        )

    @property
    def files(self) -> tuple[FileChange, ...]:
        """The files that it brings."""
        if self.source is None:
            return self.support
        content = self.source.encode("utf-8", "surrogatepass")
        return (*self.support, FileChange(path=self.path, content=content))


def place_tests(tests: Sequence[Test]) -> list[list[Test]]:
    """Return tests in groups that can lie in one tree together, each source at a path of its own.

    Two tests may bring the same file with different content, and a conftest is for its own alone.
    What a patch brings could change others while it is imported.
    """
    groups: defaultdict[tuple[object, ...], list[Test]] = defaultdict(list)
    sources: defaultdict[str, dict[str | None, int]] = defaultdict(dict)
    for test in tests:
        known = sources[test.path] if test.source is not None else {}
        number = known.setdefault(test.source, len(known))
        path = f"{test.path.removesuffix('.py')}{ALIAS}{number}.py" if number else test.path
        key = frozenset(test.support), test.is_brought
        groups[key].append(replace(test, path=path))
    return [*groups.values()]

"""The project's own tests, read as text: nothing is imported or run."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pytest_brt.execute.layout import LEFT_OUT, is_environment
from pytest_brt.guard.classes import Classes
from pytest_brt.syntax import parse

_TEST = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+test", re.MULTILINE)
_CLASS = re.compile(r"^[ \t]*class[ \t]", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
#: A class with one of these is none of tests, unless it is unittest's.
_MADE = frozenset({"__init__", "__new__"})
#: Bytes; a longer test file is generated data.
_LONGEST = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingTest:
    """A test function of the project, or one that a test class inherits."""

    #: The file in which pytest finds it; of an inherited one that of the class.
    path: str
    #: As in "test_a" or "TestX::test_y".
    node: str
    #: Every identifier in its source, and every word in its strings.
    words: frozenset[str]
    source: str

    @property
    def name(self) -> str:
        """The test as pytest names it."""
        return f"{self.path}::{self.node}"


@dataclass(frozen=True)
class Suite:
    """The test files of a project, by path."""

    files: dict[str, str]
    #: The project's folder, where bases of test classes are looked for in other files too.
    root: Path | None = None
    _tests: dict[str, tuple[ExistingTest, ...]] = field(default_factory=dict, init=False)

    @cached_property
    def classes(self) -> Classes:
        """What the test classes inherit."""
        return Classes(self.files, self.root)

    @cached_property
    def total(self) -> int:
        """Number of test functions in all files, with those that classes inherit.

        A file without classes need not be parsed for that.
        """
        return sum(
            len(self.tests(path) if _CLASS.search(text) else _TEST.findall(text))
            for path, text in self.files.items()
        )

    def tests(self, path: str) -> tuple[ExistingTest, ...]:
        """Return the test functions of a file, with those that its classes inherit."""
        if path not in self._tests:
            self._tests[path] = read_tests(path, self.files[path], self.classes)
        return self._tests[path]

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """Every word of each file."""
        return {path: frozenset(_WORD.findall(text)) for path, text in self.files.items()}

    def having(self, word: str) -> int:
        """Return how many files have a word."""
        return sum(word in words for words in self.words.values())

    def rarity(self, word: str) -> float:
        """Return how much a word tells: the logarithm of files over files that have it.

        Nothing when no file has it, and still a little when every file does.
        """
        having = self.having(word)
        return 0.2 + math.log((len(self.files) + 1) / (having + 1)) if having else 0.0


def read_suite(root: Path) -> Suite:
    """Return the test files below `root`: test_*.py and *_test.py, environments left out."""
    files = {}
    for path in sorted(_test_files(root)):
        if path.stat().st_size <= _LONGEST:
            files[path.relative_to(root).as_posix()] = path.read_text("utf-8", "replace")
    return Suite(files=files, root=root)


def read_tests(path: str, text: str, classes: Classes | None = None) -> tuple[ExistingTest, ...]:
    """Return the test functions of a file; none when it cannot be parsed.

    Args:
        path: of the file.
        text: its content.
        classes: knows what classes inherit; without it only bases in this file are known.
    """
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return ()
    reader = _Reader(path=path, lines=text.splitlines(), classes=classes or Classes({path: text}))
    return tuple(reader.tests(tree, ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Finds the tests in the syntax tree of one file."""

    path: str
    lines: list[str]
    classes: Classes

    def tests(self, tree: ast.AST, prefix: str) -> Iterator[ExistingTest]:
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.ClassDef) and self._collects(node, nested=bool(prefix)):
                yield from self.tests(node, f"{prefix}{node.name}::")
                yield from self._inherited(node, f"{prefix}{node.name}::")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node.name.startswith("test"):
                    source = "\n".join(self.lines[node.lineno - 1 : node.end_lineno])
                    yield self._test(f"{prefix}{node.name}", source)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                yield from self.tests(node, prefix)

    def _inherited(self, node: ast.ClassDef, prefix: str) -> Iterator[ExistingTest]:
        """Yield the tests that a class does not define itself.

        What it sets for them, as in ``Kind = Mapping``, is what they are about.
        """
        own = self.classes.own(self.path, node)
        settings = self.classes.settings(self.path, node)
        for name, source in self.classes.members(self.path, node).names.items():
            if name.startswith("test") and source is not None and name not in own:
                yield self._test(f"{prefix}{name}", source, settings)

    def _test(self, node: str, source: str, settings: str = "") -> ExistingTest:
        words = frozenset((*_WORD.findall(source), *_WORD.findall(settings)))
        return ExistingTest(path=self.path, node=node, words=words, source=source)

    def _collects(self, node: ast.ClassDef, *, nested: bool) -> bool:
        """Say whether pytest takes a class for one of tests, by its default rules."""
        members = self.classes.members(self.path, node)
        if members.is_unittest or nested:
            return True
        return node.name.startswith("Test") and members.names.keys().isdisjoint(_MADE)


def _test_files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        folders[:] = [
            name
            for name in folders
            if name not in LEFT_OUT and name != "__pycache__" and not is_environment(here / name)
        ]
        for name in names:
            if name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")):
                yield here / name

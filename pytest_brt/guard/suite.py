"""The project's own tests, read as text: nothing is imported or run."""

from __future__ import annotations

import ast
import doctest
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from pytest_brt.code.ini import read_ini
from pytest_brt.code.layout import USUAL, Collected
from pytest_brt.execute.layout import files_of
from pytest_brt.guard.classes import Classes
from pytest_brt.syntax import parse_or_empty

_TEST = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+test", re.MULTILINE)
_CLASS = re.compile(r"^[ \t]*class[ \t]", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
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
    #: Whether it is the examples of a docstring, and `path` the module's.
    is_doctest: bool = False

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
    collected: Collected = USUAL
    _tests: dict[str, tuple[ExistingTest, ...]] = field(default_factory=dict, init=False)

    @cached_property
    def classes(self) -> Classes:
        """What the test classes inherit."""
        return Classes(self.files, self.root)

    @cached_property
    def total(self) -> int:
        """Number of test functions in all files, with those that classes inherit.

        A file without classes need not be parsed for that where tests have their usual names.
        """
        usual = self.collected.functions == USUAL.functions
        return sum(
            len(_TEST.findall(text) if usual and not _CLASS.search(text) else self.tests(path))
            for path, text in self.files.items()
        )

    def tests(self, path: str) -> tuple[ExistingTest, ...]:
        """Return the test functions of a file, with those that its classes inherit."""
        if path not in self._tests:
            self._tests[path] = read_tests(path, self.files[path], self.classes, self.collected)
        return self._tests[path]

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """Every word of each file."""
        return {path: frozenset(WORD.findall(text)) for path, text in self.files.items()}

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
    """Return what the project's settings take for test files, environments left out."""
    collected = read_ini(root).collected
    files = {}
    for path in sorted(filter(collected.has_file, files_of(root))):
        if (root / path).is_file() and (root / path).stat().st_size <= _LONGEST:
            files[path] = (root / path).read_text("utf-8", "replace")
    return Suite(files=files, root=root, collected=collected)


def read_tests(
    path: str, text: str, classes: Classes | None = None, collected: Collected = USUAL
) -> tuple[ExistingTest, ...]:
    """Return the test functions of a file; none when it cannot be parsed.

    Without `classes`, which knows what they inherit, only bases in this file are known.
    """
    reader = _Reader(path, text.splitlines(), classes or Classes({path: text}), collected)
    return tuple(reader.tests(parse_or_empty(text)))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Finds the tests in the syntax tree of one file."""

    path: str
    lines: list[str]
    classes: Classes
    collected: Collected

    def tests(
        self, tree: ast.AST, prefix: str = "", *, of_unittest: bool = False
    ) -> Iterator[ExistingTest]:
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.ClassDef):
                yield from self._of_class(node, f"{prefix}{node.name}::")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if self._is_test(node.name, of_unittest):
                    source = "\n".join(self.lines[node.lineno - 1 : node.end_lineno])
                    yield self._test(f"{prefix}{node.name}", source)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                yield from self.tests(node, prefix, of_unittest=of_unittest)

    def _of_class(self, node: ast.ClassDef, prefix: str) -> Iterator[ExistingTest]:
        """Yield the tests of a class, and those that it does not define itself.

        What it sets for them, as in ``Kind = Mapping``, is what they are about.
        """
        members = self.classes.members(self.path, node)
        is_named = self.collected.has_class(node.name) and members.names.keys().isdisjoint(_MADE)
        if not members.is_unittest and not is_named:
            return
        yield from self.tests(node, prefix, of_unittest=members.is_unittest)
        own = self.classes.own(self.path, node)
        settings = self.classes.settings(self.path, node)
        for name, source in members.names.items():
            if source is not None and name not in own and self._is_test(name, members.is_unittest):
                yield self._test(f"{prefix}{name}", source, settings)

    def _is_test(self, name: str, of_unittest: bool) -> bool:
        return name.startswith("test") if of_unittest else self.collected.has_function(name)

    def _test(self, node: str, source: str, settings: str = "") -> ExistingTest:
        words = frozenset((*WORD.findall(source), *WORD.findall(settings)))
        return ExistingTest(path=self.path, node=node, words=words, source=source)


_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def read_doctests(path: str, text: str, root: Path) -> tuple[ExistingTest, ...]:
    """Return the examples of the module at `path` below `root`, a test for each docstring.

    Their names are those of pytest, which imports a module from above its outermost package.
    The source of each has what is expected as an assert.
    """
    found = []
    for name, node in _documented(parse_or_empty(text), _module(path, root)):
        docstring = ast.get_docstring(node) or ""
        if ">>>" in docstring and (source := _source(docstring)):
            words = frozenset(WORD.findall(source))
            found.append(
                ExistingTest(path=path, node=name, words=words, source=source, is_doctest=True)
            )
    return tuple(found)


def _documented(node: _Documented, name: str) -> Iterator[tuple[str, _Documented]]:
    yield name, node
    if isinstance(node, ast.Module | ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _documented(inner, f"{name}.{inner.name}")


def _module(path: str, root: Path) -> str:
    file = PurePosixPath(path).with_suffix("")
    parts = [] if file.name == "__init__" else [file.name]
    for folder in file.parents:
        if not folder.name or not (root / folder / "__init__.py").is_file():
            break
        parts.append(folder.name)
    return ".".join(reversed(parts))


def _source(docstring: str) -> str:
    r"""Return examples as a test's source; "" where they are not written as doctest wants them.

    >>> _source(">>> double(2)\n4\n>>> x = 1")
    'assert double(2) == 4\nx = 1'
    """
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return ""
    lines = []
    for example in examples:
        said, wanted = example.source.strip(), " ".join(example.want.split())
        lines.append(f"assert {said} == {wanted}" if wanted else said)
    return "\n".join(lines)

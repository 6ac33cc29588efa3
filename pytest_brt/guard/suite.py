"""The project's own tests, read as text: nothing is imported or run."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pytest_brt.execute.layout import files_of
from pytest_brt.project.pytest_config import USUAL, CollectionPatterns, read_config
from pytest_brt.pysource.parse import parse_or_empty

_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
#: A class with one of these is none of tests, unless it is unittest's.
_MADE = frozenset({"__init__", "__new__"})
#: Bytes; a longer test file is generated data.
_LONGEST = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingTest:
    """A test function of the project, as it is written."""

    path: str
    #: As in "test_a" or "TestX::test_y".
    node: str
    source: str

    @property
    def name(self) -> str:
        """The test as pytest names it."""
        return f"{self.path}::{self.node}"

    @property
    def words(self) -> frozenset[str]:
        """Every identifier in its source, and every word in its strings."""
        return words_of(self.source)


@dataclass(frozen=True)
class Suite:
    """The test files of a project, by path."""

    files: Mapping[str, str]
    collected: CollectionPatterns = USUAL
    _tests: dict[str, tuple[ExistingTest, ...]] = field(default_factory=dict, init=False)

    def tests(self, path: str) -> tuple[ExistingTest, ...]:
        """Return the test functions of a file."""
        if path not in self._tests:
            self._tests[path] = read_tests(path, self.files[path], self.collected)
        return self._tests[path]

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many test functions each file seems to have; pytest may find more, or fewer."""
        return {
            path: sum(map(self._is_test, _DEFINED.findall(text)))
            for path, text in self.files.items()
        }

    def _is_test(self, name: str) -> bool:
        return self.collected.has_function(name)

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """Every word of each file."""
        return {path: words_of(text) for path, text in self.files.items()}

    def rarity(self, word: str) -> float:
        """Return how much a word tells: the logarithm of files over files that have it.

        Nothing when no file has it, and still a little when every file does.
        """
        having = sum(word in words for words in self.words.values())
        return 0.2 + math.log((len(self.files) + 1) / (having + 1)) if having else 0.0


def words_of(text: str) -> frozenset[str]:
    """Return every word of a text that could be a name."""
    return frozenset(_WORD.findall(text))


def read_suite(root: Path) -> Suite:
    """Return what the project's settings take for test files, environments left out."""
    ini = read_config(root)
    files = {}
    for path in ini.test_files(files_of(root)):
        if (root / path).is_file() and (root / path).stat().st_size <= _LONGEST:
            files[path] = (root / path).read_text("utf-8", "replace")
    return Suite(files=files, collected=ini.collected)


def read_tests(
    path: str, text: str, collected: CollectionPatterns = USUAL
) -> tuple[ExistingTest, ...]:
    """Return the test functions of a file; none when it cannot be parsed.

    What a class inherits from another class of the file is among its tests; what it inherits from
    elsewhere only pytest knows.
    """
    tree = parse_or_empty(text)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    reader = _Reader(path, text.splitlines(), classes, collected)
    return tuple(reader.tests(tree))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Finds the tests in the syntax tree of one file."""

    path: str
    lines: list[str]
    classes: Mapping[str, ast.ClassDef]
    collected: CollectionPatterns

    def tests(
        self, tree: ast.AST, prefix: str = "", *, of_unittest: bool = False
    ) -> Iterator[ExistingTest]:
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.ClassDef):
                yield from self._of_class(node, f"{prefix}{node.name}::")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if self._is_test(node.name, of_unittest):
                    source = "\n".join(self.lines[node.lineno - 1 : node.end_lineno])
                    yield ExistingTest(path=self.path, node=f"{prefix}{node.name}", source=source)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                yield from self.tests(node, prefix, of_unittest=of_unittest)

    def _of_class(self, node: ast.ClassDef, prefix: str) -> Iterator[ExistingTest]:
        """Yield the tests of a class: of itself and of its bases, the nearest first."""
        family = self._family(node)
        bases = [_base_name(base) for one in family for base in one.bases]
        of_unittest = any("Test" in base for base in bases if base not in self.classes)
        makes = any(_name_of(item) in _MADE for one in family for item in one.body)
        if not of_unittest and (makes or not self.collected.has_class(node.name)):
            return
        seen: set[str] = set()
        for one in family:
            for test in self.tests(one, prefix, of_unittest=of_unittest):
                if test.node not in seen:
                    yield test
            seen |= {f"{prefix}{_name_of(item)}" for item in one.body}

    def _family(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """Return a class and its bases in this file, each once."""
        family = [node]
        for one in family:  # which grows meanwhile
            bases = (self.classes.get(_base_name(base)) for base in one.bases)
            family += [base for base in bases if base is not None and base not in family]
        return family

    def _is_test(self, name: str, of_unittest: bool) -> bool:
        return name.startswith("test") if of_unittest else self.collected.has_function(name)


def _base_name(base: ast.expr) -> str:
    """Return the name of a base without what stands before a dot, as in "TestCase"."""
    plain = base.value if isinstance(base, ast.Subscript) else base
    return ast.unparse(plain).rpartition(".")[2]


def _name_of(item: ast.stmt) -> str:
    return str(getattr(item, "name", ""))

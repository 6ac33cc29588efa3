"""The project's own tests, read as text: nothing is imported or run."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_brt.execute.layout import LEFT_OUT, is_environment
from pytest_brt.syntax import parse

_TEST = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+test", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
#: Bytes; a longer test file is generated data.
_LONGEST = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingTest:
    """A test function of the project."""

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

    @cached_property
    def total(self) -> int:
        """Number of test functions in all files."""
        return sum(len(_TEST.findall(text)) for text in self.files.values())

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
    return Suite(files=files)


def read_tests(path: str, text: str) -> tuple[ExistingTest, ...]:
    """Return the test functions of a file; none when it cannot be parsed."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return ()
    lines = text.splitlines()
    return tuple(_tests(tree, path, lines, ""))


def _tests(tree: ast.AST, path: str, lines: list[str], prefix: str) -> Iterator[ExistingTest]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and _collects(node, nested=bool(prefix)):
            yield from _tests(node, path, lines, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                words = frozenset(_WORD.findall(source))
                name = f"{prefix}{node.name}"
                yield ExistingTest(path=path, node=name, words=words, source=source)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _tests(node, path, lines, prefix)


def _collects(node: ast.ClassDef, *, nested: bool) -> bool:
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    return node.name.startswith("Test") or any("Test" in base for base in bases) or nested


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

"""The project's own test files, read as text: nothing is imported or run."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

from pytest_brt.execute.layout import files_of
from pytest_brt.guard.changes import Touched
from pytest_brt.project.pytest_config import USUAL, CollectionPatterns, read_config
from pytest_brt.pysource.parse import is_constant, parse

_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
#: Bytes; a longer test file is generated data.
_LONGEST = 2_000_000
#: For the test file that is called after the changed file (test_core.py of core.py), for each
#: folder beyond the first in which they lie together, and for a word of the candidate tests,
#: compared with a name that is changed.
_TWIN, _NEAR, _HINT = 3.0, 0.7, 0.4


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


class TestFiles:
    """The test files of a project, by path, as its settings have them; environments left out."""

    #: pytest must not take this for a test class.
    __test__ = False

    def __init__(self, root: Path) -> None:
        """Read them."""
        ini = read_config(root)
        self.collected = ini.collected
        files = [root / path for path in ini.test_files(files_of(root))]
        self.texts = {
            file.relative_to(root).as_posix(): file.read_text("utf-8", "replace")
            for file in files
            if file.is_file() and file.stat().st_size <= _LONGEST
        }

    def count(self, path: str) -> int:
        """Return how many test functions a file seems to have; pytest may find more, or fewer."""
        return sum(map(self.collected.has_function, _DEFINED.findall(self.texts[path])))

    def nearest(self, pool: Iterable[Touched], hints: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the files, the likeliest to notice what patches change first.

        A file is near by its name and place, and by the words in it: a name that few files know
        says more than one that all know. The `hints` are names that candidate tests use.
        """
        touched = tuple(pool)
        changed = {path for part in touched for path in part.files}
        words = {path: frozenset(_WORD.findall(text)) for path, text in self.texts.items()}
        having = Counter(chain.from_iterable(words.values()))
        # As in "from pkg.core import walk".
        parts = {part for path in changed for part in PurePosixPath(path).with_suffix("").parts}
        names = parts.union(*(part.names for part in touched))
        weights = {
            name: weight * (0.2 + math.log((len(words) + 1) / (having[name] + 1)))
            for name, weight in {**dict.fromkeys(hints, _HINT), **dict.fromkeys(names, 1.0)}.items()
        }

        def distance(path: str) -> tuple[float, str]:
            place = max((_closeness(path, file) for file in changed), default=0.0)
            return -place - sum(weights[name] for name in words[path] & weights.keys()), path

        return tuple(sorted(self.texts, key=distance))


def _closeness(test: str, changed: str) -> float:
    """Return how near a test file lies to a changed file, by their names and folders.

    >>> _closeness("pkg/tests/test_core.py", "pkg/core.py") > _closeness("tests/test_a.py", "b.py")
    True
    """
    test_path, changed_path = PurePosixPath(test), PurePosixPath(changed)
    stem = test_path.stem.removeprefix("test_").removesuffix("_test")
    own = changed_path.stem if changed_path.stem != "__init__" else changed_path.parent.name
    shared = set(test_path.parent.parts) & set(changed_path.parent.parts)
    return _TWIN * (stem.strip("_") == own.strip("_")) + _NEAR * max(0, len(shared) - 1)


def read_tests(
    path: str, text: str, collected: CollectionPatterns = USUAL
) -> tuple[ExistingTest, ...]:
    """Return the test functions of a file; none when it cannot be parsed."""
    tests, _ = _parts(text, collected)
    return tuple(ExistingTest(path=path, node=n, source=code) for n, code in tests.items())


def altered_tests(
    path: str, before: str | None, after: str, collected: CollectionPatterns = USUAL
) -> tuple[ExistingTest, ...]:
    """Return the tests of a file that are new in it or changed, `before` None for a new file.

    Where what stands beside the tests is changed, a table, a fixture or a ``setUp``, all of them
    are.
    """
    old, old_rest = _parts(before or "", collected)
    _, new_rest = _parts(after, collected)
    everything = before is not None and old_rest != new_rest
    tests = read_tests(path, after, collected)
    return tuple(t for t in tests if everything or old.get(t.node) != t.source)


_Body = list[ast.stmt]
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(
    tree: ast.AST, collected: CollectionPatterns, above: tuple[str, ...] = (), kind: str = ""
) -> Iterator[tuple[tuple[str, ...], _Function, _Body]]:
    """Yield the names of each test function, itself, and the body that it stands in.

    `kind` says what its class is: "unittest", or "" for one of pytest's.
    """
    for field in ("body", "orelse", "handlers", "finalbody"):
        body = getattr(tree, field, [])
        for node in body:
            if isinstance(node, ast.ClassDef):
                bases = " ".join(map(ast.unparse, node.bases))
                of_unittest = "unittest" if "Test" in bases else ""
                if of_unittest or collected.has_class(node.name):
                    yield from _functions(node, collected, (*above, node.name), of_unittest)
            elif isinstance(node, _Function):
                is_test = (
                    node.name.startswith("test") if kind else collected.has_function(node.name)
                )
                if is_test:
                    yield (*above, node.name), node, body
            elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
                yield from _functions(node, collected, above, kind)


def _parts(text: str, collected: CollectionPatterns) -> tuple[dict[str, str], str]:
    """Return the code of each test function by its node, decorators included, and all the rest."""
    try:
        tree = parse(text)  # anew: it is changed
    except SyntaxError:
        return {}, text
    tests: dict[str, str] = {}
    for names, function, body in list(_functions(tree, collected)):
        tests["::".join(names)] = ast.unparse(function)
        body.remove(function)
    return tests, "\n".join(ast.unparse(node) for node in tree.body if not _is_shell(node))


def _is_shell(node: ast.stmt) -> bool:
    """Whether a statement only serves the tests of its file: an import, a class of nothing else."""
    if isinstance(node, ast.ClassDef):
        return all(is_constant(inner) for inner in node.body)
    return isinstance(node, ast.Import | ast.ImportFrom) or is_constant(node)

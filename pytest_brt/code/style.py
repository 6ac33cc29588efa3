"""How the tests of a file are written, so that a new one can be written alike."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_brt.code.words import split_identifier
from pytest_brt.syntax.parse import Function, parse, tree_of

if TYPE_CHECKING:  # a new file is styled without an index
    from pytest_brt.code.index import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class HostClass:
    """A class of tests in a file."""

    name: str
    #: Whether it is a ``unittest.TestCase``, by name.
    unittest: bool
    #: 1-based line of ``class``.
    line: int
    #: Names of its test methods.
    tests: tuple[str, ...]


#: Fixtures that come with pytest itself (docs: "Fixtures reference", "Built-in fixtures").
PYTEST_FIXTURES = frozenset(
    {"cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "capteesys"}
    | {"doctest_namespace", "monkeypatch", "pytestconfig", "pytester", "record_property"}
    | {"record_testsuite_property", "record_xml_attribute", "recwarn", "request", "subtests"}
    | {"testdir", "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory"}
)


def host_classes(source: str) -> tuple[HostClass, ...]:
    """Return the classes of tests in `source`, () when more of its tests stand outside of them.

    Raises:
        SyntaxError: it is not Python for this interpreter.
    """
    tree = parse(source)
    classes = tuple(_classes(tree))
    functions = [node for node in _functions(tree.body) if node.name.startswith("test")]
    return classes if sum(len(item.tests) for item in classes) > len(functions) else ()


def best_class(classes: Sequence[HostClass], source: str) -> HostClass | None:
    """Return which of the `classes` the test `source` fits into, None when there are none.

    It is the one that shares most words with the test; ties go to the last one.
    """
    words = Counter(split_identifier(source))
    own = {item.name: _class_words(item) for item in classes}
    common = set.intersection(*own.values()) if len(own) > 1 else set()

    def fit(item: HostClass) -> tuple[float, int]:
        mine = own[item.name] - common
        return sum(min(words[word], 3) for word in mine) / (1 + len(mine)) ** 0.5, item.line

    return max(classes, key=fit, default=None)


def _class_words(item: HostClass) -> set[str]:
    names = [item.name, *item.tests]
    return {word for name in names for word in split_identifier(name)} - {"test", "tests"}


def _functions(body: Iterable[ast.stmt]) -> Iterator[Function]:
    return (node for node in body if isinstance(node, Function))


def _classes(tree: ast.Module) -> Iterator[HostClass]:
    """Yield the classes with tests in them; a base class is followed within the file."""
    unittests: set[str] = set()
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        bases = [ast.unparse(base) for base in node.bases]
        is_unittest = any(base.endswith("TestCase") or base in unittests for base in bases)
        if is_unittest:
            unittests.add(node.name)
        tests = tuple(f.name for f in _functions(node.body) if f.name.startswith("test"))
        if tests and (is_unittest or node.name.startswith("Test")):
            yield HostClass(name=node.name, unittest=is_unittest, line=node.lineno, tests=tests)


def fixtures_in_scope(path: str, index: Index) -> frozenset[str]:
    """Return the names of the fixtures that a test in `path` can use.

    Those of the file itself, of the ``conftest.py`` files above it, and of pytest; fixtures
    of installed plugins are not known.
    """
    files = [path, *(str(folder / "conftest.py") for folder in PurePosixPath(path).parents)]
    known = (file for file in files if file in index.layout.files)
    return PYTEST_FIXTURES.union(*(_fixtures_of(file, index) for file in known))


def _fixtures_of(path: str, index: Index) -> Iterator[str]:
    try:
        tree = tree_of(index.source(path))
    except (SyntaxError, OSError):
        return  # pytest itself will tell
    for node in _functions(tree.body):
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            name = ast.unparse(call.func if call else decorator)
            if name.rpartition(".")[2] in ("fixture", "yield_fixture"):
                given = [k.value for k in call.keywords if k.arg == "name"] if call else []
                known = given[0] if given else None
                if isinstance(known, ast.Constant) and isinstance(known.value, str):
                    yield known.value
                else:
                    yield node.name

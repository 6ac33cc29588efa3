"""What a test file has for a test that is added to it: its fixtures, helpers and imports."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from pytest_brt.code.file_facts import DefinitionKind
from pytest_brt.code.fixtures import PYTEST_FIXTURES, fixtures_in_scope
from pytest_brt.code.imports import add_imports
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.words import rank_hosts
from pytest_brt.reproduce.model_tests.split import lines_of
from pytest_brt.syntax.names import bound_names, undefined_names
from pytest_brt.syntax.parse import Function, bound_targets, parse

#: Exceptions that Python has, and that a project may have under the same name.
_BUILTINS = frozenset(name for name in dir(builtins) if name[:1].isupper())
#: Helpers of a host file that a test may take along, one after the other.
_MOST_ADOPTED = 12
#: Test files that are looked at for the fixtures that a test asks for.
_MOST_HOSTS = 10


def choose_host(source: str, index: Index, *, host: str) -> str:
    """Return the test file that a test is to be added to, "" when there is none.

    It is `host`, or without one the file that is most like the test; but where these do not
    have a fixture that the test asks for, the next that does.

    Raises:
        SyntaxError: `source` is not Python.
    """
    asked = _fixtures_asked(source) - PYTEST_FIXTURES
    if host and not asked:
        return host
    ranked = rank_hosts(source, index.test_tokens)[: _MOST_HOSTS if asked else 1]
    paths = [path for path in (host, *ranked) if path]
    paths += [path for path in _defining(asked, index) if path not in paths]
    fitting = (path for path in paths if asked <= fixtures_in_scope(path, index))
    return next(fitting, next(iter(paths), ""))


def _defining(names: frozenset[str], index: Index) -> list[str]:
    """Return the test files that define one of `names`, or stand below a conftest that does."""
    found: list[str] = []
    in_suite = index.layout.collected.has_file
    for name in sorted(names):
        for definition in index.definitions(name):
            if definition.kind is DefinitionKind.FUNCTION and is_test_path(definition.path):
                folder, _, file = definition.path.rpartition("/")
                start = f"{folder}/test" if folder else "test"
                near = [p for p in index.layout.files if p.startswith(start) and in_suite(p)]
                found += sorted(near)[:1] if file == "conftest.py" else [definition.path]
    return list(dict.fromkeys(found))


def _fixtures_asked(source: str) -> frozenset[str]:
    tree = parse(source)
    own = {node.name for node in tree.body if isinstance(node, Function)}
    return frozenset(_arguments(tree)) - own - {"self", "cls"}


def _arguments(tree: ast.Module) -> Iterator[str]:
    """Yield the arguments of tests and fixtures that neither a default nor a mark gives."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            marks = " ".join(map(ast.unparse, node.decorator_list))
            if node.name.startswith("test") or "fixture" in marks:
                asked = node.args.args[: len(node.args.args) - len(node.args.defaults)]
                yield from (argument.arg for argument in asked if argument.arg not in marks)


def with_names_of(host: str, source: str, index: Index) -> str:
    """Return the test with what its host file says its names are: helpers, fixtures, imports.

    Raises:
        SyntaxError: `source` is not Python.
    """
    source = _with_definitions(host, source, index)
    known = {item.bound: item.statement for item in index.imports_in(host) if item.top}
    # The file may mean another one: `ConnectionError` is a builtin, and one of many libraries'.
    other = sorted((_read(source) & _BUILTINS & known.keys()) - bound_names(source))
    missing = (*undefined_names(source), *other)
    wanted = [known[name] for name in missing if name in known and "*" not in known[name]]
    return add_imports(source, tuple(dict.fromkeys(wanted)))


def _read(source: str) -> frozenset[str]:
    nodes = (node for node in ast.walk(parse(source)) if isinstance(node, ast.Name))
    return frozenset(node.id for node in nodes if isinstance(node.ctx, ast.Load))


def _with_definitions(host: str, source: str, index: Index) -> str:
    try:
        text = index.source(host)
        theirs = parse(text)
    except (SyntaxError, OSError):
        return source  # nothing to be had from it
    lines = text.split("\n")
    known: dict[str, ast.stmt] = {}
    for node in theirs.body:
        if isinstance(node, Function | ast.ClassDef):
            known.setdefault(node.name, node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for name in bound_targets(node):
                known.setdefault(name, node)
    own = bound_names(source)
    for _ in range(_MOST_ADOPTED):
        wanted = [name for name in _wanted(source, own) if name in known]
        if not wanted:
            return source
        source = _insert(source, lines_of(known.pop(wanted[0]), lines))
        own = bound_names(source)
    return source


def _wanted(source: str, own: frozenset[str]) -> list[str]:
    """Return undefined names, and the arguments of tests and fixtures that nothing defines."""
    names = [*undefined_names(source), *_arguments(parse(source))]
    return [name for name in dict.fromkeys(names) if name not in own and name != "self"]


def _insert(source: str, text: str) -> str:
    lines = source.split("\n")
    after = 0
    for node in parse(source).body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
        after = node.end_lineno or after
    return "\n".join([*lines[:after], "", "", text, "", *lines[after:]])

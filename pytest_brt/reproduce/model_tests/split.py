"""One module with several tests → modules with one test each, laid out as a person would.

A model's file that fails says nothing of its single tests: those that pass on the buggy tree
must go, and one that is broken must not take its neighbours down (paper 001, section on the
validity of generated tests: a part of them adds passing tests).
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_brt.syntax.parse import Function, bound_targets, first_line, is_constant, parse

_Import = ast.Import | ast.ImportFrom
#: Calls at the margin that would run tests while they are collected.
_RUNNERS = re.compile(r"^(?:(?:pytest|unittest)\.main|test\w*|sys\.exit|exit|quit|breakpoint)$")
#: Marks with which a test would not say what it sees.
_HIDING = re.compile(r"(?:^|\.)(?:xfail|skip|skipif|skipIf|skipUnless|expectedFailure)\b")
#: Tests of one reply that are looked at.
MOST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """A module that has exactly one test."""

    #: Below the file, as in "test_a" or "TestX::test_a".
    name: str
    source: str


def split_tests(code: str, stem: str) -> tuple[Single, ...]:
    """Return the tests in `code`, each as a module of its own; () when there is none.

    Code without a test function becomes one called ``test_<stem>``.

    Raises:
        SyntaxError: `code` is not Python.
    """
    tree = parse(code)
    body = [node for node in tree.body if not _is_runner(node)]
    found = list(_tests(body))
    if not found:
        body = _as_test(body, f"test_{stem}")
        found = list(_tests(body))
    own = frozenset(map(id, tree.body))
    singles = [_single(body, holder, test, code, own) for holder, test in found[:MOST]]
    return tuple(single for single in singles if parses(single.source))


def _is_runner(node: ast.stmt) -> bool:
    """Say whether a statement at the margin runs something, or marks the whole module."""
    if isinstance(node, ast.If):
        return "__name__" in ast.unparse(node.test)
    if isinstance(node, ast.Assign):
        return any(ast.unparse(target) == "pytestmark" for target in node.targets)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return bool(_RUNNERS.match(ast.unparse(node.value.func)))
    return is_constant(node)


def _tests(body: Iterable[ast.stmt]) -> Iterator[tuple[ast.ClassDef | None, Function]]:
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield None, node
        elif isinstance(node, ast.ClassDef) and _holds_tests(node):
            for inner in node.body:
                if isinstance(inner, Function) and inner.name.startswith("test"):
                    yield node, inner


def _holds_tests(node: ast.ClassDef) -> bool:
    methods = [inner.name for inner in node.body if isinstance(inner, Function)]
    plain = node.name.startswith("Test") or not node.bases
    tests = any(name.startswith("test") for name in methods)
    named = plain and tests and "__init__" not in methods
    return named or any("TestCase" in ast.unparse(base) for base in node.bases)


def _as_test(body: Sequence[ast.stmt], name: str) -> list[ast.stmt]:
    """Make a test of a script, or of the first function that checks something."""
    for number, node in enumerate(body):
        checks = any(isinstance(inner, ast.Assert | ast.Raise) for inner in ast.walk(node))
        if isinstance(node, ast.FunctionDef) and checks and not _asks(node):
            named = copy.copy(node)
            named.name = name
            others = [*body[:number], named, *body[number + 1 :]]
            return [other for other in others if not isinstance(other, ast.Expr)]
    imports = [node for node in body if isinstance(node, _Import)]
    above = [node for node in body if isinstance(node, Function | ast.ClassDef)]
    rest = [node for node in body if node not in imports and node not in above]
    if not any(isinstance(inner, ast.Call) for node in rest for inner in ast.walk(node)):
        return []
    made = parse(f"def {name}():\n    pass\n").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = rest
    return [*imports, *above, made]


def _asks(node: ast.FunctionDef) -> bool:
    arguments = node.args
    given = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return given > 0 or any(default is None for default in arguments.kw_defaults)


def _single(
    body: Sequence[ast.stmt],
    holder: ast.ClassDef | None,
    test: Function,
    code: str,
    own: frozenset[int],
) -> Single:
    """Return the module with `test` alone; `own` are the statements as they stand in `code`."""
    kept: list[ast.stmt] = []
    chosen: ast.stmt = _alone(holder, test) if holder else _plain(test)
    needed = _names(chosen)
    for node in reversed(body):
        if node is holder or node is test:
            kept.append(chosen)
        elif isinstance(node, _Import):
            kept.append(node)  # what nothing uses goes at the end
        elif _is_needed(node, needed):
            needed |= _names(node)
            kept.append(node)
    kept.reverse()
    # What a helper needs may stand below it.
    for node in body:
        late = not any(node is other for other in (*kept, holder, test))
        if late and isinstance(node, Function | ast.ClassDef) and _is_needed(node, needed):
            needed |= _names(node)
            imports = (n for n, other in enumerate(kept) if isinstance(other, _Import))
            kept.insert(max(imports, default=-1) + 1, node)
    kept = [part for node in kept for part in _used(node, needed)]
    module = sorted(kept, key=lambda node: not _is_future(node))
    changed = [node for node in module if id(node) not in own]
    name = f"{_class_name(holder)}::{test.name}" if holder else test.name
    return Single(name=name, source=laid_out(module, code, changed))


def _plain(test: Function) -> Function:
    kept = [mark for mark in test.decorator_list if not _HIDING.search(ast.unparse(mark))]
    if len(kept) == len(test.decorator_list):
        return test
    plain = copy.copy(test)
    plain.decorator_list = kept
    return plain


def _alone(holder: ast.ClassDef, test: Function) -> ast.ClassDef:
    body: list[ast.stmt] = []
    for node in holder.body:
        if node is test:
            body.append(_plain(test))
        elif not (isinstance(node, Function) and node.name.startswith("test")):
            body.append(node)
    kept = [mark for mark in holder.decorator_list if not _HIDING.search(ast.unparse(mark))]
    name = _class_name(holder)
    if (body, kept, name) == (holder.body, holder.decorator_list, holder.name):
        return holder
    alone = copy.copy(holder)
    alone.name = name
    alone.body, alone.decorator_list = body, kept
    return alone


def _class_name(holder: ast.ClassDef) -> str:
    """Return a name by which the class is known for one of tests, whatever it derives from."""
    return holder.name if holder.name.startswith("Test") else f"Test{holder.name.lstrip('_')}"


def _is_needed(node: ast.stmt, needed: set[str]) -> bool:
    if isinstance(node, Function | ast.ClassDef):
        if node.name.startswith("test") or (isinstance(node, ast.ClassDef) and _holds_tests(node)):
            return node.name in needed
        return node.name in needed or "autouse" in "".join(map(ast.unparse, node.decorator_list))
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        bound = set(bound_targets(node))
        return bool(bound & needed) or not bound
    return True


def _names(node: ast.AST) -> set[str]:
    """Return every name in `node`: what it reads, and the fixtures that it asks for."""
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    found |= {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
    strings = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
    # As in @pytest.mark.usefixtures("name").
    return found | {text for text in strings if isinstance(text, str) and text.isidentifier()}


def _used(node: ast.stmt, needed: set[str]) -> Iterator[ast.stmt]:
    """Yield the statement; of an import only what is used of it: the rest may not exist."""
    if not isinstance(node, _Import) or _is_future(node):
        yield node
        return
    names = [
        alias
        for alias in node.names
        if alias.name == "*" or (alias.asname or alias.name.partition(".")[0]) in needed
    ]
    if len(names) == len(node.names):
        yield node
    elif names:
        part = copy.copy(node)
        part.names = names
        yield part


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def parses(code: str) -> bool:
    """Say whether `code` is a Python module that can be compiled."""
    try:
        compile(parse(code), "<reply>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def laid_out(body: Sequence[ast.stmt], source: str, changed: Collection[ast.stmt] = ()) -> str:
    """Return the module of the statements `body`, with two blank lines around definitions.

    Their lines of `source`, which they were parsed from, are kept; not of those (by identity)
    that were `changed` since.
    """
    lines = source.split("\n")
    other = {id(node) for node in changed} | crowded(body)
    out: list[str] = []
    before: ast.stmt | None = None
    for node in body:
        if before is not None:
            out.append(_between(before, node))
        out.append(ast.unparse(node) if id(node) in other else lines_of(node, lines))
        before = node
    return "".join(out) + "\n"


def _between(before: ast.stmt, node: ast.stmt) -> str:
    if isinstance(node, Function | ast.ClassDef) or isinstance(before, Function | ast.ClassDef):
        return "\n\n\n"
    if isinstance(before, _Import) and not isinstance(node, _Import):
        return "\n\n"
    return "\n"


def crowded(body: Sequence[ast.stmt]) -> set[int]:
    """Return the ids of the statements that share a line with another one."""
    return {
        id(node)
        for one, other in pairwise(body)
        if first_line(other) <= (one.end_lineno or one.lineno) and other.lineno >= one.lineno
        for node in (one, other)
    }


def lines_of(node: ast.stmt, lines: Sequence[str]) -> str:
    """Return the text of a statement, with the comments right above it."""
    first = first_line(node)
    while first > 1 and lines[first - 2].startswith("#"):
        first -= 1
    text = "\n".join(line.rstrip() for line in lines[first - 1 : node.end_lineno])
    return text.rstrip().removesuffix(";")

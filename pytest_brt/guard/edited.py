"""What a patch changes in the tests of a file."""

from __future__ import annotations

import ast
from contextlib import suppress
from textwrap import dedent

from pytest_brt.code.collected import USUAL, Collected
from pytest_brt.guard.suite import ExistingTest, read_tests
from pytest_brt.syntax.parse import is_constant, parse, parse_or_empty
from pytest_brt.types import Edit


def altered_tests(
    path: str, before: str | None, after: str, collected: Collected = USUAL
) -> tuple[ExistingTest, ...]:
    """Return the tests of a file that are new in it or changed, `before` None for a new file.

    Where what stands beside the tests is changed, a table, a fixture or a ``setUp``, all of them
    are.
    """
    old, old_rest = _parts(before or "", collected)
    new, new_rest = _parts(after, collected)
    everything = before is not None and old_rest != new_rest
    return tuple(
        test
        for test in read_tests(path, after, collected)
        if everything or old.get(test.node) != new.get(test.node)
    )


def edits_of(
    path: str, before: str, after: str | None, collected: Collected = USUAL
) -> tuple[Edit, ...]:
    """Return the tests of a file from which statements go; `after` is None for no file."""
    new = {test.node: test for test in read_tests(path, after or "", collected)}
    found = []
    for test in read_tests(path, before, collected):
        now = new.get(test.node)
        left = said_by(now.source) if now is not None else frozenset()
        gone = said_by(test.source) - left
        if gone:
            found.append(Edit(test=test.name, gone=tuple(sorted(gone))))
    return tuple(found)


def said_by(source: str) -> frozenset[str]:
    """Return the statements of a test, each on one line, and a block that has to raise as one."""
    found = set()
    for node in ast.walk(parse_or_empty(dedent(source))):
        if isinstance(node, ast.Assert | ast.Expr | ast.With | ast.Assign | ast.Return):
            with suppress(RecursionError):  # one that is nested too deeply to be written
                found.add(" ".join(ast.unparse(node).split()))
    return frozenset(found)


def _parts(text: str, collected: Collected) -> tuple[dict[str, str], str]:
    """Return the code of each test function by its node, decorators included, and all the rest."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return {}, text
    tests: dict[str, str] = {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for body, above in [(tree.body, ""), *((node.body, f"{node.name}::") for node in classes)]:
        for node in list(body):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
                node.name.startswith("test") or collected.has_function(node.name)
            ):
                tests[above + node.name] = ast.unparse(node)
                body.remove(node)
    rest = (ast.unparse(node) for node in tree.body if not _is_shell(node))
    return tests, "\n".join(rest)


def _is_shell(node: ast.stmt) -> bool:
    """Whether a statement only serves the tests of its file: an import, a class of nothing else."""
    if isinstance(node, ast.ClassDef):
        return all(is_constant(inner) for inner in node.body)
    return isinstance(node, ast.Import | ast.ImportFrom) or is_constant(node)

"""What a patch changes in the tests of a file."""

from __future__ import annotations

import ast

from pytest_brt.guard.suite import ExistingTest, read_tests
from pytest_brt.project.pytest_config import USUAL, CollectionPatterns
from pytest_brt.pysource.parse import is_constant, parse


def altered_tests(
    path: str, before: str | None, after: str, collected: CollectionPatterns = USUAL
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


def _parts(text: str, collected: CollectionPatterns) -> tuple[dict[str, str], str]:
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

"""Which modules of the project a test file imports when it is loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from pytest_brt.syntax import parse


def project_imports(source: str, packages: Iterable[str]) -> frozenset[str]:
    r"""Return the modules of `packages` that a module's top level imports, parents included.

    >>> sorted(project_imports("from a.b import c\nimport os, d", {"a"}))
    ['a', 'a.b']
    """
    wanted = frozenset(packages)
    try:
        body = parse(source).body
    except (SyntaxError, ValueError):
        return frozenset()
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] in wanted:
                found.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return frozenset(found)


def common_imports(sources: Iterable[str], packages: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that every one of the test files imports, parents first.

    Only these may be loaded before the tests part ways: what one of them would not have
    loaded could change what it does.
    """
    wanted = frozenset(packages)
    sets = [project_imports(source, wanted) for source in sources]
    common = frozenset.intersection(*sets) if sets else frozenset()
    return tuple(sorted(common, key=lambda name: (name.count("."), name)))

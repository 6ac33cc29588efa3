"""The modules of the project that several test files load."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache

from pytest_brt.code.file_facts import imported
from pytest_brt.syntax.parse import parse_or_empty


@lru_cache(maxsize=1 << 8)  # asked of the same test files with each patch
def project_imports(source: str, packages: frozenset[str]) -> frozenset[str]:
    r"""Return the modules of `packages` that a module's top level imports, parents included.

    >>> sorted(project_imports("from a.b import c\nimport os, d", frozenset("a")))
    ['a', 'a.b']
    """
    found: set[str] = set()
    for node in parse_or_empty(source).body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for item in imported(node):
            parts = item.module.split(".")
            if parts[0] in packages:
                found.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return frozenset(found)


def common_imports(sources: Iterable[str], packages: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that every one of the test files imports, parents first.

    Only these may be loaded before the tests part ways: what one of them would not have
    loaded could change what it does.
    """
    wanted = frozenset(packages)
    sets = [project_imports(source, wanted) for source in set(sources)]
    common = frozenset.intersection(*sets) if sets else frozenset()
    return tuple(sorted(common, key=lambda name: (name.count("."), name)))

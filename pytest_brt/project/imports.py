"""How names are imported: the likeliest statement for one, and which imports cannot work.

A project's own name comes before one of the standard library. Some try each way in the project
(`observe.run_snippets`), others take the first.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain

from pytest_brt.project.index import Index, shortest
from pytest_brt.pysource.names import Use, undefined_names, uses_in
from pytest_brt.pysource.parse import is_constant, parse

#: Modules whose names say where they are from. What others have is called like much else: `add`,
#: `name`, `run`, `search`.
_NAMES_OF = (
    "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions",
    "functools", "io", "itertools", "json", "math", "pathlib", "random", "tempfile", "textwrap",
    "time", "types", "typing", "uuid", "unittest", "unittest.mock",
)  # fmt: skip
#: Modules that people use without saying where they are from.
_MODULES = (*_NAMES_OF, "operator", "os", "re", "string", "subprocess", "sys")
_NO_USE = Use()


def import_candidates(
    name: str, packages: Collection[str], offering: Sequence[str], use: Use = _NO_USE
) -> Iterator[str]:
    """Yield the ways to import a name that need no search of the project.

    It is a module of the standard library, where only that has what is asked of it; a package of
    the project; or what one of the modules `offering` it has.
    """
    if _is_module(name, use):
        yield f"import {name}"
    if "__call__" in use and name in offering:
        yield f"from {name} import {name}"
    if name in packages:
        yield f"import {name}"
    yield from (f"from {module} import {name}" for module in offering)


def project_candidates(name: str, defining: Collection[str], usual: Iterable[str]) -> Iterator[str]:
    """Yield the ways to import a name that a search of the project gives.

    Of the modules `defining` it that with the shortest path, and how the project's files import
    it, the most `usual` way first.
    """
    if module := shortest(defining):
        yield f"from {module} import {name}"
    yield from usual


def standard_candidates(name: str, use: Use = _NO_USE) -> Iterator[str]:
    """Yield how a name may be imported from the standard library.

    A class that is called as its module is, is meant where something is done with it that only a
    class can. A name in small letters has to be used as what is found.

    >>> list(standard_candidates("datetime", Use({"now"})))
    ['from datetime import datetime', 'import datetime']
    >>> list(standard_candidates("Path")), list(standard_candidates("name"))
    (['from pathlib import Path'], [])
    """
    having = [module for module in _NAMES_OF if use or not name.islower()]
    having = [module for module in having if _has(module, name, use)]
    if name in having and not _is_module(name, use):
        yield f"from {name} import {name}"
    if name in sys.stdlib_module_names:
        yield f"import {name}"
    yield from (f"from {module} import {name}" for module in having if module != name)


def _is_module(name: str, use: Use) -> bool:
    """Say whether a name is only used as the module of the standard library of that name."""
    return bool(use) and name in _MODULES and all(hasattr(import_module(name), a) for a in use)


def _has(module: str, name: str, use: Use) -> bool:
    """Say whether a module offers a name that can be used so."""
    offering = import_module(module)
    # The one called "main" starts a run of all tests; a single letter means anything.
    if name == "main" or len(name) == 1 or not hasattr(offering, name):
        return False
    return all(hasattr(getattr(offering, name), attribute) for attribute in use)


def find_import(name: str, index: Index, *, near: str = "", use: Use = _NO_USE) -> str:
    """Return the import statement that gives `name` its meaning in the tree, "" when none does.

    The file `near` imports it in the most usual way. This is how LIBRO finds the package of a class
    that it does not know (paper 001, requirement 21 of its code).
    """
    is_module_too = name in index.packages and index.definitions(name)
    definition = index.unique_definition(name)
    defining = [index.layout.module_of(definition.path)] if definition else []
    imports = index.imports_of(name)
    counts = Counter(one.statement for one in imports)
    counts.update({one.statement: len(imports) for one in imports if one.path == near})
    usual = [way for way, _ in counts.most_common()]
    cheap = import_candidates(name, index.packages, [name] if is_module_too else [], use)
    return next(chain(cheap, project_candidates(name, defining, usual)), "")


# -- a piece of test code --


def resolve(source: str, index: Index, *, near: str = "") -> str:
    """Return `source` with imports for its undefined names, as far as something is called so.

    What the project calls so comes before the standard library.

    Raises:
        SyntaxError: `source` is not Python.
    """
    uses = uses_in(source)
    added = []
    for name in undefined_names(source):
        use = uses.get(name, _NO_USE)
        way = find_import(name, index, near=near, use=use)
        added.append(way or next(standard_candidates(name, use), ""))
    return add_imports(source, list(filter(None, added)))


def add_imports(source: str, statements: Sequence[str]) -> str:
    """Return `source` with `statements` after its docstring, comment and ``__future__`` imports."""
    lines = source.split("\n")
    after = next((at for at, line in enumerate(lines) if not line.startswith("#")), 0)
    for node in parse(source).body:
        if not is_constant(node) and getattr(node, "module", "") != "__future__":
            break
        after = node.end_lineno or after
    return "\n".join([*lines[:after], *statements, *lines[after:]])


def can_import(node: ast.ImportFrom, index: Index) -> bool:
    """Say whether a test that stands alone can import so, as far as the tree tells.

    Relative imports cannot work, nor those of what the project does not have. One of them takes a
    whole test file down when it is collected.
    """
    module, layout = node.module or "", index.layout
    top = module.partition(".")[0]
    if node.level or top not in index.packages:
        return not node.level and top not in layout.roots
    path = layout.path_of(module)
    if path is None:
        return False
    stars = (layout.path_of(one.module) for one in index.imports_in(path) if one.bound == "*")
    files = [path, *filter(None, stars)]
    names = {one.name for file in files for one in index.definitions_in(file) if one.top}
    names |= {one.bound for file in files for one in index.imports_in(file)}
    wanted = {one.name for one in node.names} - names - {"*"}
    return "__getattr__" in names or all(layout.path_of(f"{module}.{one}") for one in wanted)

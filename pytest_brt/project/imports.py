"""How names are imported, the likeliest way first, and which imports cannot work.

A project's own name comes before one of the standard library. Some try each way in the project
(`observe.run_snippets`), others take the first.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module

from pytest_brt.project.index import Index
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


def project_imports(
    name: str,
    index: Index,
    *,
    offering: Iterable[str] = (),
    near: str = "",
    use: Use = _NO_USE,
) -> Iterator[str]:
    """Yield how a name may be imported that the project knows, the likeliest way first.

    It is a module of the standard library, where only that has what is asked of it; a package of
    the project; what one of the modules `offering` it has, or one of the project defines. Or it
    is what the project's files import most, those of the file `near` first. This is how LIBRO
    finds the package of a class that it does not know (paper 001, requirement 21 of its code).
    """
    if _is_module(name, use):
        yield f"import {name}"
    if name in index.packages:
        if "__call__" in use:  # no module can be called
            yield f"from {name} import {name}"
        yield f"import {name}"
    yield from (f"from {module} import {name}" for module in offering)
    if definition := index.unique_definition(name):
        yield f"from {index.layout.module_of(definition.path)} import {name}"
    counts = Counter(one.statement for one in index.imports_of(name))
    here = {one.statement for one in index.imports_in(near)}
    yield from sorted(counts, key=lambda way: (way not in here, -counts[way]))[:1]


def standard_imports(name: str, use: Use = _NO_USE) -> Iterator[str]:
    """Yield how a name may be imported from the standard library.

    A class that is called as its module is, is meant where something is done with it that only a
    class can. A name in small letters has to be used as what is found.

    >>> list(standard_imports("datetime", Use({"now"})))
    ['from datetime import datetime', 'import datetime']
    >>> list(standard_imports("Path")), list(standard_imports("name"))
    (['from pathlib import Path'], [])
    """
    offering = [module for module in _NAMES_OF if _has(module, name, use)]
    if name in offering and not _is_module(name, use):
        yield f"from {name} import {name}"
    if name in sys.stdlib_module_names:
        yield f"import {name}"
    yield from (f"from {module} import {name}" for module in offering if module != name)


def _is_module(name: str, use: Use) -> bool:
    """Say whether a name is only used as the module of the standard library of that name."""
    return (
        bool(use) and name in _MODULES and all(hasattr(import_module(name), a) for a in use)
    )


def _has(module: str, name: str, use: Use) -> bool:
    """Say whether a module offers a name that can be used so."""
    found = getattr(import_module(module), name, None)
    # The one called "main" starts a run of all tests; a single letter means anything.
    if found is None or name == "main" or len(name) == 1 or (name.islower() and not use):
        return False
    return all(hasattr(found, attribute) for attribute in use)


# -- a piece of test code --


def resolve(source: str, index: Index, *, near: str = "") -> str:
    """Return `source` with imports for its undefined names, as far as something is called so.

    What the project calls so comes before the standard library.

    Raises:
        SyntaxError: `source` is not Python.
    """
    uses = uses_in(source)
    added: list[str] = []
    for name in undefined_names(source):
        use = uses.get(name, _NO_USE)
        own = project_imports(name, index, near=near, use=use)
        added += [*own, *standard_imports(name, use)][:1]
    return add_imports(source, added)


def add_imports(source: str, statements: Sequence[str]) -> str:
    """Return `source` with `statements` after its docstring, comment and ``__future__`` imports."""
    lines = source.split("\n")
    after = next((at for at, line in enumerate(lines) if not line.startswith("#")), 0)
    for node in parse(source).body:
        if not is_constant(node) and getattr(node, "module", "") != "__future__":
            break
        after = node.end_lineno or after
    lines[after:after] = statements
    return "\n".join(lines)


def can_import(node: ast.ImportFrom, index: Index) -> bool:
    """Say whether a test that stands alone can import so, as far as the tree tells.

    Relative imports cannot work, nor those of what the project does not have. One of them takes a
    whole test file down when it is collected.
    """
    module, layout = node.module or "", index.layout
    path = layout.path_of(module)
    if node.level:
        return False
    if path is None:
        return module.partition(".")[0] not in {*index.packages, *layout.roots}
    stars = (one.module for one in index.imports_in(path) if one.bound == "*")
    files = [path, *filter(None, map(layout.path_of, stars))]
    names = {one.name for file in files for one in index.definitions_in(file) if one.top}
    names |= {one.bound for file in files for one in index.imports_in(file)}
    wanted = {one.name for one in node.names} - names - {"*"}
    return "__getattr__" in names or all(
        layout.path_of(f"{module}.{one}") for one in wanted
    )

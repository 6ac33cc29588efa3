"""How a name that code lacks may be imported, the likeliest way first.

Some try each way in the project (`observe.names`), others take the first (`code.imports`).
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib import import_module

from pytest_brt.pysource.names import Use

#: Modules that people use without saying where they are from.
_MODULES = frozenset(
    {"collections", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions"}
    | {"functools", "io", "itertools", "json", "math", "operator", "os", "pathlib", "random", "re"}
    | {"string", "subprocess", "sys", "tempfile", "textwrap", "time", "typing", "uuid"}
)
#: Modules whose names say where they are from. What the others have is called like much else:
#: `add`, `name`, `run`, `search`.
_NAMES_OF = (
    "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions",
    "functools", "io", "itertools", "json", "math", "pathlib", "random", "tempfile", "textwrap",
    "time", "types", "typing", "uuid", "unittest", "unittest.mock",
)  # fmt: skip
#: Modules inside of others that are known by their own name.
_INNER = {"mock": "unittest.mock", "path": "os.path"}
_NO_USE = Use()


def near_ways(
    name: str, packages: Collection[str], offering: Sequence[str], use: Use = _NO_USE
) -> Iterator[str]:
    """Yield the ways that need no search of the project.

    It is a module of the standard library, where only that has what is asked of it; a package of
    the project; or what one of the modules `offering` it has.
    """
    if _is_module(name, use):
        yield _import_of_module(name)
    if use.called and name in offering:
        yield f"from {name} import {name}"
    if name in packages:
        yield f"import {name}"
    yield from (f"from {module} import {name}" for module in offering)


def found_ways(name: str, defining: Collection[str], usual: Iterable[str]) -> Iterator[str]:
    """Yield the ways that a search of the project gives.

    Of the modules `defining` it that with the shortest path, and how the project's files import
    it, the most `usual` way first.
    """
    if module := shortest(defining):
        yield f"from {module} import {name}"
    yield from usual


def shortest(modules: Collection[str]) -> str:
    """Return the module with the shortest path, "" where that is not one alone.

    >>> shortest(["p.a.b", "p.a"]), shortest(["p.a", "p.b"])
    ('p.a', '')
    """
    least = min((module.count(".") for module in modules), default=0)
    found = {module for module in modules if module.count(".") == least}
    return found.pop() if len(found) == 1 else ""


def standard_ways(name: str, use: Use = _NO_USE) -> Iterator[str]:
    """Yield how a name may be imported from the standard library.

    A class that is called as its module is, is meant where something is done with it that only a
    class can. A name in small letters has to be used as what is found.

    >>> list(standard_ways("datetime", Use(attributes=frozenset({"now"}))))
    ['from datetime import datetime', 'import datetime']
    >>> list(standard_ways("Path")), list(standard_ways("name"))
    (['from pathlib import Path'], [])
    """
    if _is_module(name, use):
        yield _import_of_module(name)
    inside = [module for module in _NAMES_OF if _has(module, name, use)]
    is_used = use.called or use.attributes
    own = name in inside and is_used
    if own:
        yield f"from {name} import {name}"
    if name in sys.stdlib_module_names:
        yield f"import {name}"
    if is_used or not name.islower():
        yield from (f"from {module} import {name}" for module in inside if module != name)


def _is_module(name: str, use: Use) -> bool:
    """Say whether a name is only used as the module of the standard library of that name."""
    if not use.attributes or use.called or name not in _MODULES | _INNER.keys():
        return False
    found = import_module(_INNER.get(name, name))
    return all(hasattr(found, attribute) for attribute in use.attributes)


def _import_of_module(name: str) -> str:
    around = _INNER.get(name, "").rpartition(".")[0]
    return f"from {around} import {name}" if around else f"import {name}"


def _has(module: str, name: str, use: Use) -> bool:
    """Say whether a module offers a name that can be used so."""
    found = import_module(module)
    offered = getattr(found, "__all__", None) or [n for n in vars(found) if n[:1] != "_"]
    # The one that starts a run of all tests.
    if name not in offered or len(name) == 1 or name == "main":
        return False
    return all(hasattr(getattr(found, name), attribute) for attribute in use.attributes)

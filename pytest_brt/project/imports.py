"""How names are imported: the likeliest statement for one, and what is wrong with others.

A project's own name comes before one of the standard library. Some try each way in the project
(`observe.names`), others take the first.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module

from pytest_brt.project.index import Index, shortest
from pytest_brt.project.layout import is_test_path
from pytest_brt.pysource.names import Use, undefined_names, uses_in
from pytest_brt.pysource.parse import is_constant, parse

#: Modules that people use without saying where they are from.
_MODULES = frozenset(
    {
        "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum",
        "fractions", "functools", "io", "itertools", "json", "math", "operator", "os", "pathlib",
        "random", "re", "string", "subprocess", "sys", "tempfile", "textwrap", "time", "typing",
        "uuid",
    }
)  # fmt: skip
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
#: Fixtures that come with pytest itself (docs: "Fixtures reference", "Built-in fixtures").
PYTEST_FIXTURES = frozenset(
    {
        "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "capteesys",
        "doctest_namespace", "monkeypatch", "pytestconfig", "pytester", "record_property",
        "record_testsuite_property", "record_xml_attribute", "recwarn", "request", "subtests",
        "testdir", "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory",
    }
)  # fmt: skip
_FIXTURE = re.compile(
    r"^@(?:\w+\.)*(?:yield_)?fixture\b(?:\(.*?name=[\"'](\w+)[\"'])?.*?^(?:async )?def (\w+)",
    re.MULTILINE | re.DOTALL,
)

#: Names that cannot be found, as in "pkg.core.thing" or "thing", in the order of their first use:
#: what is wrong with each in one line, and what to use instead if that is known.
NameProblems = Mapping[str, str]


# -- ways to import a name --


def import_candidates(
    name: str, packages: Collection[str], offering: Sequence[str], use: Use = _NO_USE
) -> Iterator[str]:
    """Yield the ways to import a name that need no search of the project.

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

    >>> list(standard_candidates("datetime", Use(attributes=frozenset({"now"}))))
    ['from datetime import datetime', 'import datetime']
    >>> list(standard_candidates("Path")), list(standard_candidates("name"))
    (['from pathlib import Path'], [])
    """
    if _is_module(name, use):
        yield _import_of_module(name)
    modules = [module for module in _NAMES_OF if _has(module, name, use)]
    is_used = use.called or use.attributes
    if name in modules and is_used:
        yield f"from {name} import {name}"
    if name in sys.stdlib_module_names:
        yield f"import {name}"
    if is_used or not name.islower():
        yield from (f"from {module} import {name}" for module in modules if module != name)


def _is_module(name: str, use: Use) -> bool:
    """Say whether a name is only used as the module of the standard library of that name."""
    if not use.attributes or use.called or name not in _MODULES | _INNER.keys():
        return False
    module = import_module(_INNER.get(name, name))
    return all(hasattr(module, attribute) for attribute in use.attributes)


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


def find_import(
    name: str, index: Index, *, near: str = "", use: Use = _NO_USE, is_fixture: bool = False
) -> str:
    """Return the import statement that gives `name` its meaning in the tree, "" when none does.

    The test file `near` imports it in the most usual way. Of a fixture it is the only one asked.
    """
    offering = [package for package in index.packages if _is_exported(name, package, index)]
    definition = index.unique_definition(name)
    defining = [index.layout.module_of(definition.path)] if definition else []
    for way in import_candidates(name, index.packages, offering, use):
        return way
    for way in project_candidates(name, defining, ()):
        return way
    own = [item.statement for item in index.imports_in(near) if item.bound == name]
    if own or is_fixture:
        return own[0] if own else ""
    return _most_common(name, index)


def _most_common(name: str, index: Index) -> str:
    """Return the import that binds `name` most often, in tests if there.

    This is how LIBRO finds the package of a class that it does not know (paper 001,
    requirement 21 of its code).
    """
    items = index.imports_of(name)
    counts = Counter(item.statement for item in items if is_test_path(item.path))
    counts = counts or Counter(item.statement for item in items)
    return min(counts, key=lambda statement: (-counts[statement], statement), default="")


def _is_exported(name: str, package: str, index: Index) -> bool:
    """Return whether `package` itself offers `name`: modules it merely uses do not count."""
    if name.startswith("_") or name not in (_names_of_module(package, index) or ()):
        return False
    if index.layout.path_of(f"{package}.{name}") or index.definitions(name, product=True):
        return True
    modules = (item.module.partition(".")[0] for item in index.imports_of(name))
    return all(module in index.packages for module in modules)


def _names_of_module(module: str, index: Index) -> set[str] | None:
    """Return the names that ``from module import name`` finds, None where more may be found.

    Star imports of the project are followed once.
    """
    path = index.layout.path_of(module)
    if path is None or "__getattr__" in index.source(path) or "globals()" in index.source(path):
        return None
    names = {one.name for one in index.definitions_in(path) if one.top}
    for item in index.imports_in(path):
        inner = index.layout.path_of(item.module) if item.bound == "*" else ""
        if inner is None:
            return None
        if inner:
            text = index.source(inner)
            starred = {one.name for one in index.definitions_in(inner) if one.top}
            starred |= {below.bound for below in index.imports_in(inner)}
            if "__all__" in text:  # a text names what it lists
                starred = {name for name in starred if re.search(rf"[\"']{name}[\"']", text)}
            names |= starred
        names.add(item.bound)
    return names


# -- a piece of test code --


def resolve(
    source: str, index: Index, *, near: str = "", fixtures: Collection[str] = ()
) -> tuple[str, NameProblems]:
    """Return `source` with imports for its undefined names, and those nothing was found for.

    What the project calls so comes before the standard library. Of one of the `fixtures` it does
    not matter how other tests import it.

    Raises:
        SyntaxError: `source` is not Python.
    """
    added: list[str] = []
    problems: dict[str, str] = {}
    imports = [node for node in ast.walk(parse(source)) if isinstance(node, ast.ImportFrom)]
    has_star = any(node.names[0].name == "*" for node in imports)
    uses = uses_in(source)
    for name in undefined_names(source):
        use = uses.get(name, _NO_USE)
        is_fixture = name in fixtures
        way = find_import(name, index, near=near, use=use, is_fixture=is_fixture)
        way = way or next(standard_candidates(name, use), "")
        if way:
            added.append(way)
        elif not is_fixture and not has_star:
            like = index.names_like(name, limit=3)
            hint = f" (is it {' or '.join(map(repr, like))}?)" if like else ""
            problems[name] = f"nothing in the project is called {name!r}{hint}"
    return add_imports(source, added), problems


def add_imports(source: str, statements: Sequence[str]) -> str:
    """Return `source` with `statements` after its docstring, comment and ``__future__`` imports."""
    lines = source.split("\n")
    after = next((at for at, line in enumerate(lines) if not line.startswith("#")), 0)
    for node in parse(source).body:
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_future and not is_constant(node):
            break
        after = node.end_lineno or after
    return "\n".join([*lines[:after], *statements, *lines[after:]])


def check_imports(source: str, index: Index) -> NameProblems:
    """Return which imports of `source` cannot work in the tree.

    These are relative ones, modules and names that the project does not have, and packages that
    neither the standard library nor any file of the tree knows. One of them takes a whole test file
    down when it is collected.

    Raises:
        SyntaxError: `source` is not Python.
    """
    problems: dict[str, str] = {}
    for node in ast.walk(parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, _IMPORT) else []
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names = [module, *(f"{module}.{name}" for name in names if name != "*")]
        for name in names:
            if name.rpartition(".")[0] not in problems and not _is_there(name, index):
                problems[name] = f"nothing in the project is called {name!r}"
                if name.startswith("."):
                    problems[name] = "a test that stands alone has no package to start from"
    return problems


_IMPORT = (ast.Import, ast.ImportFrom)


def _is_there(module: str, index: Index) -> bool:
    """Say whether a module, or a name of one, can be imported, as far as the tree tells."""
    if module.startswith("."):
        return False
    if index.importers(module):  # as modules are that are made when it is built
        return True
    top, layout = module.partition(".")[0], index.layout
    if top not in index.packages and not layout.is_folder(top):
        return top in sys.stdlib_module_names or top in ("pytest", "_pytest")
    if path := layout.path_of(module):
        return layout.module_of(path) == module
    inner = module.replace(".", "/")  # of an extension, say
    if any(any((index.root / root).glob(f"{inner}.*")) for root in layout.roots):
        return True
    above, _, name = module.rpartition(".")
    names = _names_of_module(above, index) if layout.path_of(above) else set[str]()
    return layout.is_folder(module) or names is None or name in names or name[:2] == "__"


def fixtures_in_scope(path: str, index: Index) -> frozenset[str]:
    """Return the names of the fixtures that a test in `path` can use.

    Those of the file itself, of the ``conftest.py`` files above it, and of pytest; fixtures
    of installed plugins are not known.
    """
    folders = path.split("/")[:-1]
    files = [path, *("/".join([*folders[:at], "conftest.py"]) for at in range(len(folders) + 1))]
    found = set(PYTEST_FIXTURES)
    for file in files:
        if file in index.layout.files:
            found |= {name or function for name, function in _FIXTURE.findall(index.source(file))}
    return frozenset(found)

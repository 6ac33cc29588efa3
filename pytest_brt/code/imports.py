"""Makes the names in a piece of test code mean something in the tree, before anything runs.

`resolve` adds the imports that are missing, `check_imports` finds those that cannot work.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.ways import found_ways, near_ways, standard_ways
from pytest_brt.pysource.names import Use, undefined_names, uses_in
from pytest_brt.pysource.parse import is_constant, parse

#: Names that cannot be found, as in "pkg.core.thing" or "thing", in the order of their first use:
#: what is wrong with each in one line, and what to use instead if that is known.
NameProblems = Mapping[str, str]


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
        use = uses.get(name, Use())
        is_fixture = name in fixtures
        statement = find_import(name, index, near=near, use=use, is_fixture=is_fixture)
        if way := statement or next(standard_ways(name, use), ""):
            added.append(way)
        elif not is_fixture and not has_star:
            problems[name] = _unknown(name, index)
    return add_imports(source, added), problems


def find_import(
    name: str, index: Index, *, near: str = "", use: Use | None = None, is_fixture: bool = False
) -> str:
    """Return the import statement that gives `name` its meaning in the tree, "" when none does.

    The test file `near` imports it in the most usual way. Of a fixture it is the only one asked.
    """
    packages = index.packages
    offering = [package for package in packages if _is_exported(name, package, index)]
    definition = index.unique_definition(name)
    defining = [index.module_of(definition)] if definition else []
    usual = _usual(name, index, near, is_fixture=is_fixture)
    near_by = near_ways(name, packages, offering, use or Use())
    return next(chain(near_by, found_ways(name, defining, usual)), "")


def _usual(name: str, index: Index, near: str, *, is_fixture: bool) -> Iterator[str]:
    yield from (i.statement for i in index.imports_in(near) if i.bound == name and i.top)
    if not is_fixture:
        yield from _most_common(name, index)


def _most_common(name: str, index: Index) -> Iterator[str]:
    """Yield the import that binds `name` most often, in tests if there.

    This is how LIBRO finds the package of a class that it does not know (paper 001,
    requirement 21 of its code).
    """
    items = [item for item in index.imports_of(name) if item.top]
    for wanted in (True, False):
        counts = Counter(item.statement for item in items if is_test_path(item.path) == wanted)
        if counts:
            yield min(counts, key=lambda statement: (-counts[statement], statement))
            return


def _is_exported(name: str, package: str, index: Index) -> bool:
    """Return whether `package` itself offers `name`: modules it merely uses do not count."""
    exports = index.exports(package)
    if name not in exports.public:
        return False
    if index.layout.path_of(f"{package}.{name}"):
        return True
    if any(d.top and not is_test_path(d.path) for d in index.definitions(name)):
        return True
    modules = (item.module.partition(".")[0] for item in index.imports_of(name))
    return all(module in index.packages for module in modules)


def _unknown(name: str, index: Index) -> str:
    near = index.names_like(name, limit=3)
    hint = f" (is it {' or '.join(map(repr, near))}?)" if near else ""
    return f"nothing in the project is called {name!r}{hint}"


def add_imports(source: str, statements: Sequence[str]) -> str:
    """Return `source` with `statements` after its docstring and ``__future__`` imports."""
    if not statements:
        return source
    after = 0
    for at, node in enumerate(parse(source).body):
        is_doc = at == 0 and is_constant(node)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (is_doc or is_future):
            break
        after = node.end_lineno or after
    lines = source.split("\n")
    if after == 0:
        while after < len(lines) and lines[after].startswith("#"):
            after += 1
    return "\n".join([*lines[:after], *statements, *lines[after:]])


def check_imports(source: str, index: Index) -> NameProblems:
    """Return which imports of `source` cannot work in the tree.

    These are relative ones, modules and names that the project does not have, modules
    imported through the wrong root (``src.pkg``), and packages that neither the standard library
    nor any file of the tree knows. One of them takes a whole test file down when it is collected.

    Raises:
        SyntaxError: `source` is not Python.
    """
    every = (n for n in ast.walk(parse(source)) if isinstance(n, ast.Import | ast.ImportFrom))
    problems: dict[str, str] = {}
    for node in sorted(every, key=lambda node: node.lineno):
        if isinstance(node, ast.Import):
            found = [(alias.name, _wrong_module(alias.name, index)) for alias in node.names]
        else:
            found = list(_wrong_names(node, index))
        problems |= {name: why for name, why in sorted(found) if why}
    return problems


def _wrong_module(module: str, index: Index) -> str:
    """Say why a module cannot be imported under this name, "" where it can."""
    if index.importers(module):
        return ""
    top, _, inner = module.partition(".")
    path = index.layout.path_of(module)
    if path:
        proper = index.layout.module_of(path)
        fits = proper in (module, "")
        return "" if fits else f"this tree imports {module!r} as {proper!r}"
    if index.layout.path_of(top) or top in index.packages:
        parent, _, name = module.rpartition(".")
        there = index.layout.is_folder(module) or _is_other_file(parent, name, index)
        return "" if there else f"the project has no module {module!r}"
    if top in sys.stdlib_module_names or top in ("pytest", "_pytest") or index.importers(top):
        return ""
    if index.layout.is_folder(top):
        hint = f" (use {inner!r})" if inner and index.layout.path_of(inner) else ""
        return f"{top!r} is a folder of this tree, not a package{hint}"
    return f"no file of the project imports {top!r}"


def _wrong_names(node: ast.ImportFrom, index: Index) -> Iterator[tuple[str, str]]:
    module = node.module or ""
    if node.level:
        yield "." * node.level + module, "a test that stands alone has no package to start from"
        return
    wrong = _wrong_module(module, index)
    if wrong:
        yield module, wrong
    if wrong or not (index.layout.path_of(module) or index.layout.is_folder(module)):
        return
    exports = index.exports(module)
    for alias in node.names:
        name = alias.name
        known = name == "*" or name in exports.names or not exports.complete
        if not (known or _is_used(module, name, index) or _is_other_file(module, name, index)):
            yield f"{module}.{name}", f"{module!r} has no {name!r}{_hint(name, index)}"


def _hint(name: str, index: Index) -> str:
    elsewhere = [d for d in index.definitions(name) if d.top and not is_test_path(d.path)]
    if elsewhere:
        return f" (it is in {index.module_of(elsewhere[0])!r})"
    near = index.names_like(name, limit=1)
    return f" (is it {near[0]!r}?)" if near else ""


def _is_used(module: str, name: str, index: Index) -> bool:
    """Return whether some file of the tree has just this import: generated files are not there."""
    imports = (item for path in index.importers(module) for item in index.imports_in(path))
    return any(item.module == module and item.name == name for item in imports)


def _is_other_file(module: str, name: str, index: Index) -> bool:
    """Return whether `module` has a part `name` that is not Python text: an extension, say."""
    for root in index.layout.roots:
        folder = index.root / root / module.replace(".", "/")
        if folder.is_dir() and any(entry.name.split(".")[0] == name for entry in folder.iterdir()):
            return True
    return False

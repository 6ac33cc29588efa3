"""Which imports of a piece of test code, and which ``module.name`` in it, cannot work in the tree.

One invented import takes a whole test file down when it is collected; it is told before
anything is written or run.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pytest_brt.code.facts import Import
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.syntax import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class NameProblem:
    """A name that cannot be found."""

    #: As in "pkg.core.thing" or "thing".
    name: str
    #: 1-based line in the source that was given.
    line: int
    #: One line: what is wrong, and what to use instead if that is known.
    message: str


def check_imports(
    source: str, index: Index, *, installed: Collection[str] = ()
) -> tuple[NameProblem, ...]:
    """Return what is wrong with the imports of `source`, and with ``module.name`` in it.

    Checked: relative imports, modules and names that the project does not have, modules
    imported through the wrong root (``src.pkg``), packages that neither the standard library
    nor any file of the tree nor `installed` knows, and handlers that hide an ImportError.

    Raises:
        SyntaxError: `source` is not Python.
    """
    tree = parse(source)
    problems: list[NameProblem] = []
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                problems.extend(_check_module(alias.name, node.lineno, index, installed))
                bound = alias.asname or alias.name.partition(".")[0]
                modules[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom):
            problems.extend(_check_from(node, index, installed))
            modules.update(_modules_from(node, index))
        elif isinstance(node, ast.Try) and _hides_import_error(node):
            problems.append(
                NameProblem(
                    name="ImportError",
                    line=node.lineno,
                    message="an ImportError is swallowed here: the test would hide why it fails",
                )
            )
    problems.extend(_check_attributes(tree, modules, index))
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.name)))


def _check_module(
    module: str, line: int, index: Index, installed: Collection[str]
) -> Iterator[NameProblem]:
    top = module.partition(".")[0]
    path = index.layout.path_of(module)
    if path:
        proper = index.layout.module_of(path)
        if proper not in (module, "") and not _is_used(module, "", index):
            yield _problem(module, line, f"this tree imports {module!r} as {proper!r}")
        return
    own = index.layout.path_of(top) or top in index.packages
    if own:
        if index.layout.is_folder(module) or _is_used(module, "", index):
            return
        parent, _, name = module.rpartition(".")
        if not _is_other_file(parent, name, index):
            yield _problem(module, line, f"the project has no module {module!r}")
        return
    if index.layout.is_folder(top) and not _is_used(top, "", index):
        inner = module.partition(".")[2]
        known = index.layout.path_of(inner) if inner else None
        hint = f" (use {inner!r})" if known else ""
        yield _problem(module, line, f"{top!r} is a folder of this tree, not a package{hint}")
        return
    if top in sys.stdlib_module_names or top in installed or top in ("pytest", "_pytest"):
        return
    if not _is_used(top, "", index):
        yield _problem(module, line, f"no file of the project imports {top!r}")


def _check_from(
    node: ast.ImportFrom, index: Index, installed: Collection[str]
) -> Iterator[NameProblem]:
    module = node.module or ""
    if node.level:
        shown = "." * node.level + module
        yield _problem(shown, node.lineno, "a test that stands alone has no package to start from")
        return
    wrong = list(_check_module(module, node.lineno, index, installed))
    yield from wrong
    if wrong or not (index.layout.path_of(module) or index.layout.is_folder(module)):
        return
    exports = index.exports(module)
    for alias in node.names:
        known = alias.name == "*" or alias.name in exports.names or not exports.complete
        if known or _is_used(module, alias.name, index):
            continue
        if not _is_other_file(module, alias.name, index):
            yield _missing(f"{module}.{alias.name}", alias.name, module, node.lineno, index)


def _missing(whole: str, name: str, module: str, line: int, index: Index) -> NameProblem:
    elsewhere = [d for d in index.definitions(name) if d.top and not is_test_path(d.path)]
    if elsewhere:
        hint = f" (it is in {elsewhere[0].module!r})"
    else:
        near = index.names_like(name, limit=1)
        hint = f" (is it {near[0]!r}?)" if near else ""
    return _problem(whole, line, f"{module!r} has no {name!r}{hint}")


def _problem(name: str, line: int, message: str) -> NameProblem:
    return NameProblem(name=name, line=line, message=message)


def _is_used(module: str, name: str, index: Index) -> bool:
    """Return whether some file of the tree has just this import: generated files are not there."""
    files = index.importers(module)
    return bool(files) if not name else any(_has_import(f, module, name, index) for f in files)


def _has_import(path: str, module: str, name: str, index: Index) -> bool:
    items: Sequence[Import] = index.imports_in(path)
    return any(item.module == module and item.name == name for item in items)


def _is_other_file(module: str, name: str, index: Index) -> bool:
    """Return whether `module` has a part `name` that is not Python text: an extension, say."""
    for root in index.layout.roots:
        folder = index.root / root / module.replace(".", "/")
        if folder.is_dir() and any(entry.name.split(".")[0] == name for entry in folder.iterdir()):
            return True
    return False


def _hides_import_error(node: ast.Try) -> bool:
    if not any(isinstance(inner, ast.Import | ast.ImportFrom) for inner in node.body):
        return False
    for handler in node.handlers:
        caught = ast.unparse(handler.type) if handler.type else "Exception"
        broad = any(word in caught for word in ("ImportError", "ModuleNotFoundError", "Exception"))
        if broad and all(isinstance(inner, ast.Pass) for inner in handler.body):
            return True
    return False


def _modules_from(node: ast.ImportFrom, index: Index) -> dict[str, str]:
    """Return the modules of the project that a ``from`` import binds."""
    found = {}
    for alias in node.names:
        module = f"{node.module}.{alias.name}"
        path = index.layout.path_of(module)
        parent = index.layout.path_of(node.module or "")
        # A package may export a function under the name of one of its modules.
        shadowed = parent and any(i.bound == alias.name for i in index.imports_in(parent))
        if not node.level and path and not shadowed:
            found[alias.asname or alias.name] = module
    return found


def _check_attributes(
    tree: ast.Module, modules: dict[str, str], index: Index
) -> Iterator[NameProblem]:
    rebound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    seen = {
        f"{modules.get(_chain(node)[0])}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and _chain(node)
    }
    for node in ast.walk(tree):
        chain = _chain(node)
        if len(chain) < 2 or chain[0] in rebound or chain[0] not in modules:
            continue
        module = modules[chain[0]]
        for name in chain[1:]:
            if not index.layout.path_of(module):
                break
            exports = index.exports(module)
            if name not in exports.names:
                whole = f"{module}.{name}"
                used = _is_other_file(module, name, index) or _is_used(module, name, index)
                if exports.complete and not used and whole not in seen and name[:2] != "__":
                    seen.add(whole)
                    line = getattr(node, "lineno", 1)
                    yield _missing(whole, name, module, line, index)
                break
            module = f"{module}.{name}"


def _chain(node: ast.AST) -> tuple[str, ...]:
    """Return the names of ``a.b.c``, () when the expression is not of that form."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not names or not isinstance(node, ast.Name):
        return ()
    return (node.id, *reversed(names))

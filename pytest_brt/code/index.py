"""The index of a project: where names are defined and imported, where each term stands.

Answers come from sqlite (`database`), so that opening it again costs the time to look at the
tree's folders.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pytest_brt.code.database import connect, refresh
from pytest_brt.code.file_facts import (
    Definition,
    DefinitionKind,
    Exports,
    FileFacts,
    Import,
    Passage,
    find_exports,
)
from pytest_brt.code.ini import declared_roots, read_ini
from pytest_brt.code.layout import (
    Layout,
    TreePaths,
    find_layout,
    is_beside,
    is_test_path,
    leads_out,
)
from pytest_brt.code.words import code_tokens, stem, takes_tests
from pytest_brt.errors import StoreProblem
from pytest_brt.syntax.parse import decode


def open_index(root: Path, cache: Path | None = None) -> Index:
    """Return the index of the tree at `root`, brought up to date.

    The folder `cache` keeps it between runs; None keeps it in memory, as does a folder that cannot
    be written or is on a full disk.

    Raises:
        StoreProblem: `root` is not a folder, or cannot be read.
    """
    root = root.resolve()
    if not root.is_dir():
        raise StoreProblem(f"no such folder: {str(root)!r} (name the root of the project)")
    try:
        return _opened(root, cache)
    except StoreProblem:
        if cache is None:
            raise
        return _opened(root, None)


def _opened(root: Path, cache: Path | None) -> Index:
    connection = connect(root, cache)
    try:
        stamps = refresh(connection, root)
    except sqlite3.Error as error:
        connection.close()
        raise StoreProblem(
            f"the index in {str(cache)!r} cannot be used: {error} (delete that folder)"
        ) from error
    layout = find_layout(stamps, declared_roots(root), read_ini(root).collected)
    return Index(root, connection, layout)


class Index:
    """Answers questions about the tree as it was when it was opened.

    May be used from several threads. Close it, or use it with ``with``.
    """

    def __init__(self, root: Path, connection: sqlite3.Connection, layout: Layout) -> None:
        self.root = root
        self.layout = layout
        self._connection = connection
        self._lock = threading.Lock()
        self._exports: dict[str, Exports] = {}
        self._importers: dict[str, tuple[str, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; further questions raise ``sqlite3.ProgrammingError``."""
        self._connection.close()

    @cached_property
    def paths(self) -> TreePaths:
        """Finds the tree's file that a path from elsewhere names."""
        return TreePaths(self.layout)

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The names of the product's own top-level packages and modules, largest first."""
        return self.layout.packages()

    @cached_property
    def test_tokens(self) -> Mapping[str, frozenset[str]]:
        """The tokens of each file that takes tests, by its path; one of base classes does not."""
        collected = self.layout.collected
        texts = {
            path: self.source(path)
            for path in self.layout.files
            if collected.has_file(path) and not is_beside(path)
            if any(collected.has_function(one.name) for one in self.definitions_in(path))
        }
        return {path: code_tokens(text) for path, text in texts.items() if takes_tests(text)}

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def source(self, path: str) -> str:
        """Return the text of the tree's file `path`; raises OSError when it is gone."""
        if leads_out(self.root, path):
            raise FileNotFoundError(path)
        return decode((self.root / path).read_bytes())

    # -- definitions ----------------------------------------------------------------------

    def definitions(self, name: str) -> tuple[Definition, ...]:
        """Return where `name` is defined, the product before tests, short modules first.

        `name` may be qualified: "walk", "Thing.walk".
        """
        rows = self._rows(_DEFINITIONS + " where definitions.name = ?", name.rpartition(".")[2])
        found = [self._definition(row) for row in rows]
        if "." in name:
            found = [d for d in found if f".{d.qualname}".endswith(f".{name}")]
        return tuple(sorted(found, key=_nearness))

    def definitions_in(self, path: str) -> tuple[Definition, ...]:
        """Return what `path` defines, in its order."""
        rows = self._rows(_DEFINITIONS + " where files.path = ?", path)
        return tuple(sorted((self._definition(row) for row in rows), key=lambda d: d.line))

    def definition_at(self, path: str, line: int) -> Definition | None:
        """Return the innermost function or class around `line` of `path`, if there is one."""
        around = [
            d
            for d in self.definitions_in(path)
            if d.line <= line <= d.end_line and d.kind is not DefinitionKind.VARIABLE
        ]
        return max(around, key=lambda d: (d.line, -d.end_line), default=None)

    def unique_definition(self, name: str) -> Definition | None:
        """Return the one top-level definition of `name` in the product, else None.

        Of several, the one with the shortest module path is taken if it is the only one so short.
        """
        found = [d for d in self.definitions(name) if d.top and not is_test_path(d.path)]
        found = [d for d in found if d.module.partition(".")[0] in self.packages]
        short = {d.module for d in found if d.module.count(".") == found[0].module.count(".")}
        return found[0] if len(short) == 1 else None

    def names_like(self, name: str, *, limit: int = 5) -> tuple[str, ...]:
        """Return defined names that are spelled almost like `name`, nearest first."""
        from rapidfuzz import process

        rows = self._rows(
            "select distinct name from definitions where abs(length(name) - ?) < 4", len(name)
        )
        names = sorted(name for (name,) in rows)
        near = process.extract(name, names, limit=limit, score_cutoff=75)
        return tuple(match for match, _, _ in near if match != name)

    def _definition(self, row: tuple[Any, ...]) -> Definition:
        path, name, qualname, kind, line, end_line, signature = row
        return Definition(
            path=path,
            module=self.layout.module_of(path),
            name=name,
            qualname=qualname,
            kind=DefinitionKind(kind),
            line=line,
            end_line=end_line,
            signature=signature,
        )

    # -- modules, imports, exports --------------------------------------------------------

    def imports_in(self, path: str) -> tuple[Import, ...]:
        """Return what `path` imports, in its order."""
        return self._imports("where files.path = ?", path)

    def imports_of(self, bound: str) -> tuple[Import, ...]:
        """Return every import in the tree that binds the name `bound`."""
        return self._imports("where imports.bound = ?", bound)

    def importers(self, module: str) -> tuple[str, ...]:
        """Return the files that import `module` or something from it or from below it."""
        if module not in self._importers:
            last = module.rpartition(".")[2]
            rows = self._imports(
                "where imports.module like ? or imports.name = ?", f"%{last}%", last
            )
            found = {i.path for i in rows if f"{i.module}.{i.name}.".startswith(f"{module}.")}
            self._importers[module] = tuple(sorted(found))
        return self._importers[module]

    def _imports(self, where: str, *values: object) -> tuple[Import, ...]:
        rows = self._rows(
            "select files.path, imports.module, imports.name, bound, line, top"
            f" from imports join files on files.id = imports.file {where}"
            " order by files.path, line",
            *values,
        )
        return tuple(
            Import(
                path=path,
                module=absolute_module(module, path, self.layout),
                name=name,
                bound=bound,
                line=line,
                top=bool(top),
            )
            for path, module, name, bound, line, top in rows
        )

    def exports(self, module: str) -> Exports:
        """Return the names that ``from module import name`` finds, see `find_exports`."""
        if module not in self._exports:
            self._exports[module] = find_exports(module, self.layout, self._facts)
        return self._exports[module]

    def _facts(self, path: str) -> FileFacts:
        rows = self._rows("select dynamic, public from files where path = ?", path)
        dynamic, public = rows[0] if rows else (True, None)
        return FileFacts(
            definitions=self.definitions_in(path),
            imports=self.imports_in(path),
            public=None if public is None else frozenset(public.split()),
            dynamic=bool(dynamic),
        )

    # -- terms ----------------------------------------------------------------------------

    @cached_property
    def passages(self) -> Mapping[int, Passage]:
        """All passages of the tree, by number."""
        rows = self._rows(
            "select passages.id, path, qualname, line, end_line, passages.size from passages"
            " join files on files.id = passages.file"
            " left join definitions on definitions.id = passages.definition"
        )
        return {
            number: Passage(
                path=path, function=qualname or "", line=line or 1, end_line=last or 0, size=size
            )
            for number, path, qualname, line, last, size in rows
        }

    def passage_at(self, path: str, line: int) -> int | None:
        """Return the number of the passage that `line` of `path` belongs to, if it has any."""
        rows = self._rows(
            "select passages.id from passages join files on files.id = passages.file"
            " left join definitions on definitions.id = passages.definition"
            " where path = ? and (line is null or ? between line and end_line)"
            " order by line is null, end_line - line, passages.id limit 1",
            path,
            line,
        )
        return next((number for (number,) in rows), None)

    def spread(self, term: str) -> Mapping[int, tuple[str, ...]]:
        """Return the numbers of the passages that have `term`, with the fields it stands in."""
        found: dict[int, tuple[str, ...]] = {}
        for number, field in self._rows("select doc, col from spread where term = ?", term):
            found[number] = (*found.get(number, ()), field)
        return found

    def files_with(self, word: str) -> tuple[str, ...]:
        """Return the files that have the identifier or word `word`, whatever its case or ending."""
        term = stem(word.lower().strip("_"))
        return tuple(sorted({self.passages[number].path for number in self.spread(term)}))


_DEFINITIONS = (
    "select files.path, name, qualname, kind, line, end_line, signature"
    " from definitions join files on files.id = definitions.file"
)


def absolute_module(module: str, path: str, layout: Layout) -> str:
    """Return the absolute name of `module` as it is written in the file `path`.

    >>> layout = find_layout(["p/__init__.py", "p/q/__init__.py", "p/q/a.py"])
    >>> absolute_module("..b", "p/q/a.py", layout)
    'p.b'
    """
    inner = module.lstrip(".")
    level = len(module) - len(inner)
    if not level:
        return module
    package = layout.module_of(path).split(".")
    if not path.endswith("/__init__.py"):
        package.pop()
    package = package[: max(0, len(package) - level + 1)]
    return ".".join([*package, inner] if inner else package)


def _nearness(definition: Definition) -> tuple[bool, int, int, str, int]:
    module = definition.module
    return (
        is_test_path(definition.path),
        definition.qualname.count("."),
        module.count("."),
        module,
        definition.line,
    )

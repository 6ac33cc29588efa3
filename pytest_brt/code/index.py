"""The index of a project: where names are defined and imported, where each term stands.

Answers come from sqlite (`database`), so that opening it again costs the time to look at the
tree's folders.
"""

from __future__ import annotations

import difflib
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import Self

from pytest_brt.code.database import connect, ranked_passages, refresh, stored_facts
from pytest_brt.code.exports import Exports, find_exports
from pytest_brt.code.file_facts import (
    NO_FACTS,
    Definition,
    DefinitionKind,
    FileFacts,
    Import,
    Passage,
)
from pytest_brt.code.ini import declared_roots, read_ini
from pytest_brt.code.layout import Layout, find_layout, is_beside, is_test_path
from pytest_brt.code.scan import leads_out
from pytest_brt.code.tree_paths import TreePaths
from pytest_brt.code.ways import shortest
from pytest_brt.code.words import code_tokens, stem, takes_tests
from pytest_brt.errors import StoreProblem
from pytest_brt.pysource.parse import decode


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

    def source(self, path: str) -> str:
        """Return the text of the tree's file `path`; raises OSError when it is gone."""
        if leads_out(self.root, path):
            raise FileNotFoundError(path)
        return decode((self.root / path).read_bytes())

    def lines(self, path: str, first: int, last: int) -> str:
        """Return some lines of a file, 1-based, both of them included; raises as `source` does."""
        return "\n".join(self.source(path).split("\n")[first - 1 : last])

    # -- definitions ----------------------------------------------------------------------

    @cached_property
    def _files(self) -> Mapping[str, tuple[int, FileFacts]]:
        """The facts of each file, with the number of its first passage."""
        with self._lock:
            return stored_facts(self._connection)

    def _facts(self, path: str) -> FileFacts:
        return self._files[path][1] if path in self._files else NO_FACTS

    @cached_property
    def _by_name(self) -> Mapping[str, list[Definition]]:
        found: dict[str, list[Definition]] = {}
        for _, facts in self._files.values():
            for definition in facts.definitions:
                found.setdefault(definition.name, []).append(definition)
        return found

    def definitions(self, name: str) -> tuple[Definition, ...]:
        """Return where `name` is defined, the product before tests, short modules first.

        `name` may be qualified: "walk", "Thing.walk".
        """
        known = self._by_name.get(name.rpartition(".")[2], ())
        found = [d for d in known if f".{d.qualname}".endswith(f".{name}")]
        return tuple(sorted(found, key=self._nearness))

    def _nearness(self, definition: Definition) -> tuple[bool, int, int, str, int]:
        module = self.module_of(definition)
        return (
            is_test_path(definition.path),
            definition.qualname.count("."),
            module.count("."),
            module,
            definition.line,
        )

    def module_of(self, definition: Definition) -> str:
        """Return the dotted name of the module in which something is defined."""
        return self.layout.module_of(definition.path)

    def definitions_in(self, path: str) -> tuple[Definition, ...]:
        """Return what `path` defines, in its order."""
        return self._facts(path).definitions

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
        own = {self.module_of(d): d for d in reversed(found)}
        return own.get(shortest([m for m in own if m.partition(".")[0] in self.packages]))

    def names_like(self, name: str, *, limit: int = 5) -> tuple[str, ...]:
        """Return defined names that are spelled almost like `name`, nearest first."""
        alike = [known for known in self._by_name if abs(len(known) - len(name)) < _ALIKE]
        near = difflib.get_close_matches(name, sorted(alike), n=limit + 1, cutoff=0.75)
        return tuple(match for match in near if match != name)[:limit]

    # -- modules, imports, exports --------------------------------------------------------

    @cached_property
    def _imports(self) -> Mapping[str, tuple[Import, ...]]:
        """What each file imports, by its path, under absolute names."""
        return {
            path: tuple(
                replace(item, path=path, module=absolute_module(item.module, path, self.layout))
                for item in facts.imports
            )
            for path, (_, facts) in self._files.items()
        }

    def imports_in(self, path: str) -> tuple[Import, ...]:
        """Return what `path` imports, in its order."""
        return self._imports.get(path, ())

    def imports_of(self, bound: str) -> tuple[Import, ...]:
        """Return every import in the tree that binds the name `bound`."""
        every = chain.from_iterable(self._imports.values())
        return tuple(item for item in every if item.bound == bound)

    @cached_property
    def _importers(self) -> Mapping[str, set[str]]:
        """The files that import each module, or something of it or below it."""
        found: dict[str, set[str]] = {}
        for item in chain.from_iterable(self._imports.values()):
            for module in accumulate(f"{item.module}.{item.name}".split("."), "{}.{}".format):
                found.setdefault(module, set()).add(item.path)
        return found

    def importers(self, module: str) -> tuple[str, ...]:
        """Return the files that import `module` or something from it or from below it."""
        return tuple(sorted(self._importers.get(module, ())))

    def exports(self, module: str) -> Exports:
        """Return the names that ``from module import name`` finds, see `find_exports`."""
        if module not in self._exports:
            self._exports[module] = find_exports(module, self.layout, self._absolute)
        return self._exports[module]

    def _absolute(self, path: str) -> FileFacts:
        return replace(self._facts(path), imports=self.imports_in(path))

    # -- terms ----------------------------------------------------------------------------

    @cached_property
    def passages(self) -> Mapping[int, Passage]:
        """All passages of the tree, by number."""
        return {
            number: passage
            for first, facts in self._files.values()
            for number, passage in enumerate(facts.passages, first)
        }

    def passage_at(self, path: str, line: int) -> int | None:
        """Return the number of the passage that `line` of `path` belongs to, if it has any."""
        first, facts = self._files.get(path, (0, NO_FACTS))
        # The rest of the module comes first, and what is further in after what is around it.
        around = [
            number
            for number, passage in enumerate(facts.passages, first)
            if passage.line <= line <= passage.end_line or not passage.function
        ]
        return around[-1] if around else None

    def having(self, term: str) -> Mapping[int, float]:
        """Return the numbers of the passages that have `term`, with how much it says in each."""
        if not term.strip('"'):
            return {}
        with self._lock:
            return ranked_passages(self._connection, term)

    def files_with(self, word: str) -> tuple[str, ...]:
        """Return the files that have the identifier or word `word`, whatever its case or ending."""
        term = stem(word.lower().strip("_"))
        return tuple(sorted({self.passages[number].path for number in self.having(term)}))


#: By how many letters the names differ in length at most that are spelled almost alike.
_ALIKE = 4


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

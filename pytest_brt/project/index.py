"""The index of a project: where names are defined and imported, and where each term stands.

It is kept in a sqlite file, made of the tree alone and safe to delete, so that opening it again
costs the time to look at the tree's folders.
"""

from __future__ import annotations

import gc
import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Self

from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.project.definitions import (
    Definition,
    FileFacts,
    Import,
    read_facts,
    read_imports,
)
from pytest_brt.project.layout import (
    escapes_root,
    find_layout,
    is_product,
    is_support_code,
    scan_tree,
)
from pytest_brt.project.pytest_config import read_config
from pytest_brt.project.terms import TOKEN, Chunk, read_chunks, terms_of
from pytest_brt.pysource.parse import decode

#: Part of the file's name: another version starts afresh.
_VERSION = 16
#: Seconds to wait for another process that is writing.
_PATIENCE = 120.0
_SCHEMA = """
pragma journal_mode = wal;
create table if not exists files (path text primary key, stamp text, facts text);
create virtual table if not exists chunks using fts5 (
    path unindexed, function unindexed, line unindexed, end_line unindexed, name, scope, text,
    detail = column, tokenize = "ascii tokenchars '_'"
);
"""
#: A name says more than the names around it and the path, and these more than the text.
_SEARCH = """
select path, function, line, end_line, -bm25(chunks, 0, 0, 0, 0, 3, 2, 1)
from chunks where chunks match ?
"""
_DELETE = "delete from {} where path in (select value from json_each(?))"
#: What each term of a query is worth in a chunk that has it.
Shares = Mapping[Chunk, Mapping[str, float]]


def open_index(root: Path, cache: Path | None = None) -> Index:
    """Return the index of the tree at `root`.

    The folder `cache` keeps it between runs; None keeps it in memory, as does a folder that cannot
    be written or is on a full disk. A file that cannot be used is deleted.
    """
    root = root.resolve()
    if cache is not None:
        file = (
            cache
            / f"index-{_VERSION}-py{sys.version_info[1]}-{content_id(str(root))}.sqlite"
        )
        try:
            cache.mkdir(parents=True, exist_ok=True)
            return Index(root, str(file))
        except (OSError, sqlite3.Error, StoreProblem):
            with suppress(OSError):
                file.unlink()
    return Index(root, ":memory:")


class Index:
    """Answers questions about the tree as it was when it was opened.

    May be used from several threads. Close it, or use it with ``with``.
    """

    def __init__(self, root: Path, file: str) -> None:
        self.root = root
        config = read_config(root)
        self.collected = config.collected
        stamps = scan_tree(root)
        self.layout = find_layout(stamps, config.pythonpath)
        #: The names of the product's own top-level packages and modules, largest first.
        self.packages = self.layout.packages()
        self._connection = sqlite3.connect(
            file, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._connection.executescript(_SCHEMA)
            self._refresh(stamps)
            rows = self._connection.execute("select path, facts from files order by path")
            #: All imports of each file, and what it defines where it is the product's.
            self._facts = {path: from_json(text, FileFacts) for path, text in rows}
        except (sqlite3.Error, StoreProblem):
            self.close()
            raise
        #: Where modules of the product define each name.
        self.definitions: defaultdict[str, list[Definition]] = defaultdict(list)
        for one in chain(*(facts.definitions for facts in self._facts.values())):
            if one.top:
                self.definitions[one.name].append(one)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; further searches raise ``sqlite3.ProgrammingError``."""
        self._connection.close()

    def source(self, path: str) -> str:
        """Return the text of the tree's file `path`; raises OSError when it is gone."""
        if escapes_root(self.root, path):
            raise FileNotFoundError(path)
        return decode((self.root / path).read_bytes())

    def lines(self, one: Definition) -> str:
        """Return the lines of a definition; raises as `source` does."""
        return "\n".join(self.source(one.path).split("\n")[one.line - 1 : one.end_line])

    def _refresh(self, stamps: Mapping[str, str]) -> None:
        """Read the files that changed since; size and time of change decide."""
        gc.disable()  # it would walk every syntax tree in vain: a third of the time
        try:
            with self._connection as connection:
                connection.execute("begin immediate")
                known = dict(connection.execute("select path, stamp from files").fetchall())
                changed = [p for p in {*stamps, *known} if stamps.get(p) != known.get(p)]
                for table in ("files", "chunks") if changed else ():
                    connection.execute(_DELETE.format(table), [json.dumps(changed)])
                for path in sorted(stamps.keys() & changed):
                    # It may just have gone, or cannot be read.
                    with suppress(OSError):
                        self._read(path, stamps[path])
        finally:
            gc.enable()

    def _read(self, path: str, stamp: str) -> None:
        text, insert = self.source(path), self._connection.executemany
        facts = FileFacts(
            definitions=read_facts(text, path).definitions if is_product(path) else (),
            imports=read_imports(text, self._package_of(path)),
        )
        insert("insert into files values (?, ?, ?)", [(path, stamp, to_json(facts))])
        chunks = read_chunks(path, text, facts.definitions) if is_product(path) else ()
        rows = ((*chunk, *terms) for chunk, terms in chunks)
        insert("insert into chunks values (?, ?, ?, ?, ?, ?, ?)", rows)

    def _package_of(self, path: str) -> str:
        module = self.layout.module_of(path)
        return module if path.endswith("/__init__.py") else module.rpartition(".")[0]

    def _facts_of(self, path: str) -> FileFacts:
        """Return what a file defines, and what its module imports; it is read now."""
        with suppress(OSError):
            return read_facts(self.source(path), path, self._package_of(path))
        return FileFacts()

    # -- definitions --

    @cached_property
    def test_tokens(self) -> Mapping[str, frozenset[str]]:
        """The tokens of each test file, by its path."""
        return {
            path: frozenset(TOKEN.findall(self.source(path)))
            for path in sorted(self.layout.files)
            if self.collected.has_file(path) and not is_support_code(path)
        }

    def definitions_in(self, path: str) -> Sequence[Definition]:
        """Return what `path` defines, in its order."""
        facts = self._facts.get(path) if is_product(path) else self._facts_of(path)
        return facts.definitions if facts else ()

    def definition_at(self, path: str, line: int) -> Definition | None:
        """Return the innermost function or class around `line` of `path`, if there is one."""
        known = (d for d in self.definitions_in(path) if not d.is_variable)
        around = [one for one in known if one.line <= line <= one.end_line]
        return around[-1] if around else None

    def unique_definition(self, name: str) -> Definition | None:
        """Return the one top-level definition of `name` in the product, else None.

        Of several, the one with the shortest module path is taken if it is the only one so short.
        """
        known = {
            self.layout.module_of(one.path): one
            for one in self.definitions.get(name, [])[::-1]
        }
        own = [module for module in known if module.partition(".")[0] in self.packages]
        depths = [module.count(".") for module in own]
        nearest = min(depths, default=0)
        return known[own[depths.index(nearest)]] if depths.count(nearest) == 1 else None

    # -- imports, under absolute names --

    def imports_in(self, path: str) -> Sequence[Import]:
        """Return what the module `path` imports, in its order."""
        return self._facts_of(path).imports

    def imports_of(self, bound: str) -> tuple[Import, ...]:
        """Return every import in the tree that binds the name `bound`."""
        every = chain(*(one.imports for one in self._facts.values()))
        return tuple(one for one in every if one.bound == bound)

    # -- terms --

    def shares(self, query: Mapping[str, float]) -> Shares:
        """Return what the terms of a query, by their weights, are worth in the product's chunks.

        It is BM25: a rare term says more than a usual one, a name more than a body, a short chunk
        more than a long one that has the same terms. Each term counts once in a field: how often a
        variable is used says nothing of what a function is about
        (https://sqlite.org/fts5.html#the_bm25_function).
        """
        found: defaultdict[Chunk, dict[str, float]] = defaultdict(dict)
        for term, weight in query.items():
            for *place, worth in self._connection.execute(_SEARCH, [f'"{term}"']):
                found[Chunk(*place)][term] = weight * worth
        return found


def search_definitions(
    text: str, index: Index, limit: int
) -> tuple[tuple[Chunk, tuple[str, ...]], ...]:
    """Return what of the product has the words of a text, with these: most of them first."""
    found = index.shares(dict.fromkeys(terms_of(text), 1.0))
    order = sorted(
        found, key=lambda one: (-len(found[one]), -sum(found[one].values()), one)
    )
    return tuple((chunk, most_telling(found[chunk])) for chunk in order[:limit])


def most_telling(terms: Mapping[str, float]) -> tuple[str, ...]:
    """Return the terms of a chunk, the weightiest first."""
    return tuple(sorted(terms, key=lambda term: (-terms[term], term)))

"""The index of a project: where names are defined and imported, and where each term stands.

It is kept in a sqlite file, made of the tree alone and safe to delete, so that opening it again
costs the time to look at the tree's folders. The product is read at once, the tests and what lies
beside it when they are asked for: most questions are about the product.
"""

from __future__ import annotations

import difflib
import gc
import hashlib
import sqlite3
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pytest_brt.errors import StoreProblem
from pytest_brt.project.chunks import FIELDS, Chunk, read_chunks
from pytest_brt.project.definitions import Definition, DefinitionKind, Import, read_facts
from pytest_brt.project.layout import (
    Layout,
    escapes_root,
    find_layout,
    is_product,
    is_test_path,
    scan_tree,
)
from pytest_brt.project.pytest_config import CollectionPatterns, read_config
from pytest_brt.pysource.parse import decode

#: Part of the file's name: another version starts afresh.
_VERSION = 9
#: Seconds to wait for another process that is writing.
_PATIENCE = 120.0
#: How rare a term is goes by its own table: of the product, or of all else.
_TERMS = {True: "product_terms", False: "other_terms"}
_TABLES = ("files", "definitions", "imports", "chunks")
_SCHEMA = """
create table if not exists files (path text primary key, product int, stamp text);
create table if not exists definitions (
    name text, qualname text, kind text, line int, end_line int, signature text, path text,
    product int
);
create index if not exists names on definitions (name);
create index if not exists defining on definitions (path);
create table if not exists imports (module text, name text, bound text, path text);
create index if not exists binding on imports (bound);
create index if not exists importing on imports (path);
create table if not exists chunks (
    id integer primary key, path text, function text, line int, end_line int, product int
);
create index if not exists chunking on chunks (path);
""" + "".join(
    f"create virtual table if not exists {table} using fts5 ({', '.join(FIELDS)}, "
    "detail = column, tokenize = \"ascii tokenchars '_'\");"
    for table in _TERMS.values()
)
_DEFINITION = "select name, qualname, kind, line, end_line, signature, path from definitions "
_IMPORT = "select module, name, bound, path from imports "


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """How much the chunks and files of a project have to do with a query."""

    #: What has none of the terms is left out.
    chunks: Mapping[Chunk, float]
    #: By path: of each term, what the file's best chunk has.
    files: Mapping[str, float]
    #: What each term is worth where it stands.
    shares: Mapping[str, Mapping[Chunk, float]]

    def reasons(self, chunk: Chunk, most: int = 4) -> tuple[str, ...]:
        """Return the terms that say most of a chunk, the weightiest first."""
        own = {term: share[chunk] for term, share in self.shares.items() if chunk in share}
        return tuple(sorted(own, key=lambda term: (-own[term], term))[:most])


def open_index(root: Path, cache: Path | None = None) -> Index:
    """Return the index of the tree at `root`.

    The folder `cache` keeps it between runs; None keeps it in memory, as does a folder that cannot
    be written or is on a full disk. A file that is damaged is deleted.

    Raises:
        StoreProblem: `root` is not a folder.
    """
    root = root.resolve()
    if not root.is_dir():
        raise StoreProblem(f"no such folder: {str(root)!r} (name the root of the project)")
    if cache is not None:
        name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        file = cache / f"index-{_VERSION}-py{sys.version_info[1]}-{name}.sqlite"
        try:
            cache.mkdir(parents=True, exist_ok=True)
            return Index(root, str(file))
        except (OSError, sqlite3.OperationalError):
            pass
        except sqlite3.DatabaseError:
            file.unlink(missing_ok=True)
    return Index(root, ":memory:")


class Index:
    """Answers questions about the tree as it was when it was opened.

    May be used from several threads. Close it, or use it with ``with``.
    """

    def __init__(self, root: Path, file: str) -> None:
        self.root = root
        self._stamps = scan_tree(root)
        config = read_config(root)
        self.layout: Layout = find_layout(self._stamps, config.pythonpath)
        self.collected: CollectionPatterns = config.collected
        self._lock = threading.RLock()
        self._has_others = False
        self._chunks: dict[bool, dict[int, Chunk]] = {}
        self._connection = sqlite3.connect(
            file, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._connection.executescript(f"pragma journal_mode = wal; {_SCHEMA}")
            self._refresh(product=True)
        except sqlite3.Error:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; further questions raise ``sqlite3.ProgrammingError``."""
        self._connection.close()

    # -- files --

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The names of the product's own top-level packages and modules, largest first."""
        return self.layout.packages()

    def source(self, path: str) -> str:
        """Return the text of the tree's file `path`; raises OSError when it is gone."""
        if escapes_root(self.root, path):
            raise FileNotFoundError(path)
        return decode((self.root / path).read_bytes())

    def lines(self, path: str, first: int, last: int) -> str:
        """Return some lines of a file, 1-based, both of them included; raises as `source` does."""
        return "\n".join(self.source(path).split("\n")[first - 1 : last])

    # -- the database --

    def ask(self, query: str, *values: object, product: bool = True) -> list[tuple[Any, ...]]:
        """Return the rows of a query, once all files are read, or those of the `product`."""
        with self._lock:
            if not product and not self._has_others:
                self._refresh(product=False)
                self._has_others = True
            return self._connection.execute(query, values).fetchall()

    def _refresh(self, product: bool) -> None:
        """Read the files of one kind that changed since; size and time of change decide."""
        was_on = gc.isenabled()
        gc.disable()  # it would walk every syntax tree in vain: a third of the time
        try:
            if self._changed(product):
                with self._connection:
                    self._connection.execute("begin immediate")
                    # Another process may have done the work while this one waited for the lock.
                    for path in self._changed(product):
                        self._replace(path, product, self._stamps.get(path))
        finally:
            if was_on:
                gc.enable()

    def _changed(self, product: bool) -> list[str]:
        stamps = {p: stamp for p, stamp in self._stamps.items() if is_product(p) is product}
        query = "select path, stamp from files where product = ?"
        known = dict(self._connection.execute(query, (product,)).fetchall())
        return sorted(p for p in {*stamps, *known} if stamps.get(p) != known.get(p))

    def _replace(self, path: str, product: bool, stamp: str | None) -> None:
        run, table = self._connection.execute, _TERMS[product]
        run(f"delete from {table} where rowid in (select id from chunks where path = ?)", (path,))
        for name in _TABLES:
            run(f"delete from {name} where path = ?", (path,))
        try:
            text = decode((self.root / path).read_bytes()) if stamp else None
        except OSError:  # it has just gone, or may not be read
            text = None
        if text is None:
            return
        facts = read_facts(text, path)
        run("insert into files values (?, ?, ?)", (path, product, stamp))
        for one in facts.definitions:
            span = (one.kind, one.line, one.end_line, one.signature)
            row = (one.name, one.qualname, *span, path, product)
            run("insert into definitions values (?, ?, ?, ?, ?, ?, ?, ?)", row)
        for item in facts.imports:
            module = absolute_module(item.module, path, self.layout)
            run("insert into imports values (?, ?, ?, ?)", (module, item.name, item.bound, path))
        for chunk, terms in read_chunks(path, text, facts.definitions):
            new = run("insert into chunks values (null, ?, ?, ?, ?, ?)", (*chunk, product))
            marks = ", ".join("?" * len(terms))
            columns = ", ".join(FIELDS)
            run(
                f"insert into {table} (rowid, {columns}) values (?, {marks})",
                (new.lastrowid, *terms),
            )

    # -- definitions --

    def definitions(self, name: str, *, product: bool = False) -> tuple[Definition, ...]:
        """Return where `name` is defined, the product before tests, short modules first.

        `name` may be qualified: "walk", "Thing.walk". With `product` nothing else is looked at.
        """
        rows = self.ask(
            f"{_DEFINITION} where name = ? and product >= ?",
            name.rpartition(".")[2],
            product,
            product=product,
        )
        found = [one for one in map(_definition, rows) if f".{one.qualname}".endswith(f".{name}")]
        return tuple(sorted(found, key=self._nearness))

    def _nearness(self, one: Definition) -> tuple[bool, int, int, str, int]:
        module = self.layout.module_of(one.path)
        depth = one.qualname.count(".")
        return is_test_path(one.path), depth, module.count("."), module, one.line

    def definitions_in(self, path: str) -> tuple[Definition, ...]:
        """Return what `path` defines, in its order."""
        query = f"{_DEFINITION} where path = ? order by rowid"
        return tuple(map(_definition, self.ask(query, path, product=is_product(path))))

    def classes(self) -> tuple[Definition, ...]:
        """Return the classes of the product."""
        rows = self.ask(f"{_DEFINITION} where kind = 'class' and product = 1")
        return tuple(map(_definition, rows))

    def definition_at(self, path: str, line: int) -> Definition | None:
        """Return the innermost function or class around `line` of `path`, if there is one."""
        around = [
            one
            for one in self.definitions_in(path)
            if one.line <= line <= one.end_line and one.kind is not DefinitionKind.VARIABLE
        ]
        return max(around, key=lambda one: (one.line, -one.end_line), default=None)

    def unique_definition(self, name: str) -> Definition | None:
        """Return the one top-level definition of `name` in the product, else None.

        Of several, the one with the shortest module path is taken if it is the only one so short.
        """
        found = [one for one in self.definitions(name, product=True) if one.top]
        modules = {self.layout.module_of(one.path): one for one in reversed(found)}
        return modules.get(shortest([m for m in modules if m.partition(".")[0] in self.packages]))

    def names_like(self, name: str, *, limit: int = 5) -> tuple[str, ...]:
        """Return defined names that are spelled almost like `name`, nearest first."""
        known = [known for (known,) in self.ask("select distinct name from definitions")]
        near = difflib.get_close_matches(name, known, n=limit + 1, cutoff=0.75)
        return tuple(match for match in near if match != name)[:limit]

    # -- imports, of the product and of tests, under absolute names --

    def imports_in(self, path: str) -> tuple[Import, ...]:
        """Return what `path` imports, in its order."""
        rows = self.ask(f"{_IMPORT} where path = ? order by rowid", path, product=is_product(path))
        return tuple(map(_import, rows))

    def imports_of(self, bound: str) -> tuple[Import, ...]:
        """Return every import in the tree that binds the name `bound`."""
        return tuple(map(_import, self.ask(f"{_IMPORT} where bound = ?", bound, product=False)))

    def importers(self, module: str) -> tuple[str, ...]:
        """Return the files that import `module` or something from it or from below it."""
        query = (
            "select distinct path from imports where module||'.'||name||'.' glob ? order by path"
        )
        return tuple(path for (path,) in self.ask(query, f"{module}.*", product=False))

    # -- terms --

    def chunk_at(self, path: str, line: int) -> Chunk:
        """Return the chunk that a line belongs to."""
        one = self.definition_at(path, line)
        return Chunk(path, one.qualname, one.line, one.end_line) if one else Chunk(path)

    def chunks(self, *, product: bool = True) -> Mapping[int, Chunk]:
        """Return the chunks of the product, or of all else, by their numbers in the database."""
        query = "select id, path, function, line, end_line from chunks where product = ?"
        if product not in self._chunks:
            rows = self.ask(query, product, product=product)
            self._chunks[product] = {number: Chunk(*chunk) for number, *chunk in rows}
        return self._chunks[product]

    def relevance(self, query: Mapping[str, float], *, tests: bool = False) -> Relevance:
        """Return how much the product (or the tests) has to do with the weighted terms of a query.

        Chunks are told by BM25: a rare term says more than a usual one, a name more than a body, a
        short chunk more than a long one that has the same terms. Each term counts once in a field:
        how often a variable is used says nothing of what a function is about
        (https://sqlite.org/fts5.html#the_bm25_function).
        """
        every, table = self.chunks(product=not tests), _TERMS[not tests]
        weights = ", ".join(map(str, FIELDS.values()))
        search = f"select rowid, -bm25({table}, {weights}) from {table} where {table} match ?"
        chunks: dict[Chunk, float] = {}
        files: dict[str, float] = {}
        shares: dict[str, dict[Chunk, float]] = {}
        for term, weight in query.items():
            rows = self.ask(search, f'"{term}"')
            own = {every[n]: weight * worth for n, worth in rows if n in every}
            if tests:
                own = {chunk: share for chunk, share in own.items() if is_test_path(chunk.path)}
            shares[term] = own
            best: dict[str, float] = {}
            for chunk, share in own.items():
                chunks[chunk] = chunks.get(chunk, 0.0) + share
                best[chunk.path] = max(best.get(chunk.path, 0.0), share)
            for path, share in best.items():
                files[path] = files.get(path, 0.0) + share
        return Relevance(chunks=chunks, files=files, shares=shares)


def _definition(row: tuple[Any, ...]) -> Definition:
    name, qualname, kind, line, end_line, signature, path = row
    return Definition(name, qualname, DefinitionKind(kind), line, end_line, signature, path)


def _import(row: tuple[Any, ...]) -> Import:
    return Import(*row)


def shortest(modules: Iterable[str]) -> str:
    """Return the module with the shortest path, "" where that is not one alone.

    >>> shortest(["p.a.b", "p.a"]), shortest(["p.a", "p.b"])
    ('p.a', '')
    """
    ordered = sorted(set(modules), key=lambda module: module.count("."))
    if len(ordered) > 1 and ordered[0].count(".") == ordered[1].count("."):
        return ""
    return ordered[0] if ordered else ""


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

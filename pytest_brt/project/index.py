"""The index of a project: where names are defined and imported, and where each term stands.

It is kept in a sqlite file, made of the tree alone and safe to delete, so that opening it again
costs the time to look at the tree's folders. The product is indexed at once, the tests and what
lies beside them when they are first asked for: most questions are about the product.
"""

from __future__ import annotations

import difflib
import gc
import hashlib
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Self

import msgspec

from pytest_brt.errors import StoreProblem
from pytest_brt.project.chunks import FIELDS, Chunk, read_chunks
from pytest_brt.project.definitions import (
    Definition,
    DefinitionKind,
    FileFacts,
    Import,
    read_facts,
)
from pytest_brt.project.layout import (
    FileStamp,
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
_VERSION = 8
#: Seconds to wait for another process that is writing.
_PATIENCE = 120.0
#: Bits for the number of a chunk within its file; the number of the file stands above them.
_BITS = 20
_SCHEMA = """
create table if not exists files (
    id integer primary key,
    path text not null unique,      -- relative to the root, POSIX
    stamp blob not null,            -- size and time of change
    digest blob not null,           -- SHA-256 of the content
    facts blob not null             -- definitions, imports and chunks
);
"""
#: Of the product, and of all else: how rare a term is goes by its own table.
_TABLES = ("product_terms", "other_terms")
_TERMS = f"""
create virtual table if not exists %s using fts5 (
    {", ".join(FIELDS)}, detail = column, tokenize = "ascii tokenchars '_'"
);
"""


class _Indexed(msgspec.Struct, frozen=True):
    """What is kept of one file."""

    facts: FileFacts
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """How much the chunks and files of a project have to do with a query."""

    #: By the number of the chunk; what has none of the terms is left out.
    chunks: Mapping[int, float]
    #: By path: of each term, what the file's best chunk has.
    files: Mapping[str, float]
    #: What each term is worth where it stands, by term and number of the chunk.
    shares: Mapping[str, Mapping[int, float]]

    def reasons(self, number: int, most: int = 4) -> tuple[str, ...]:
        """Return the terms that say most of a chunk, the weightiest first."""
        own = {term: share[number] for term, share in self.shares.items() if number in share}
        return tuple(sorted(own, key=lambda term: (-own[term], term))[:most])


def open_index(root: Path, cache: Path | None = None) -> Index:
    """Return the index of the tree at `root`, brought up to date.

    The folder `cache` keeps it between runs; None keeps it in memory, as does a folder that cannot
    be written or is on a full disk.

    Raises:
        StoreProblem: `root` is not a folder.
    """
    root = root.resolve()
    if not root.is_dir():
        raise StoreProblem(f"no such folder: {str(root)!r} (name the root of the project)")
    if cache is not None:
        name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        python = f"{sys.version_info[0]}{sys.version_info[1]}"
        file = cache / f"index-{_VERSION}-py{python}-{name}.sqlite"
        for _ in range(2):  # one that is damaged is made anew
            try:
                cache.mkdir(parents=True, exist_ok=True)
                return Index(root, _connect(str(file)))
            except (OSError, sqlite3.OperationalError):
                break
            except sqlite3.DatabaseError:
                for damaged in cache.glob(f"{file.name}*"):
                    damaged.unlink(missing_ok=True)
    return Index(root, _connect(":memory:"))


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        if path != ":memory:":
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
        connection.executescript(_SCHEMA + "".join(_TERMS % table for table in _TABLES))
        connection.execute("select count(*) from files").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


class Index:
    """Answers questions about the tree as it was when it was opened.

    May be used from several threads. Close it, or use it with ``with``.
    """

    def __init__(self, root: Path, connection: sqlite3.Connection) -> None:
        self.root = root
        self._connection = connection
        self._lock = threading.RLock()
        self._stamps = scan_tree(root)
        config = read_config(root)
        self.layout: Layout = find_layout(self._stamps, config.pythonpath)
        self.collected: CollectionPatterns = config.collected
        self._product = self._load(is_product)

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

    def _load(self, is_wanted: Callable[[str], bool]) -> dict[str, tuple[int, _Indexed]]:
        """Bring the wanted files up to date in the database, and return what is kept of them.

        Each is told with the number of its first chunk. Size and time of change decide what is
        read, the content whether it is parsed again.
        """
        with self._lock:
            decode_facts = msgspec.msgpack.Decoder(_Indexed).decode
            stamps = {path: stamp for path, stamp in self._stamps.items() if is_wanted(path)}
            rows = self._connection.execute("select path, stamp from files").fetchall()
            known = {path: stamp for path, stamp in rows if is_wanted(path)}
            changed = [path for path in {*stamps, *known} if known.get(path) != _blob(stamps, path)]
            if changed:
                self._update(changed)
            kept = self._connection.execute("select path, id, facts from files order by path")
            return {
                path: (file << _BITS, decode_facts(facts))
                for path, file, facts in kept
                if path in stamps
            }

    def _update(self, changed: Iterable[str]) -> None:
        was_on = gc.isenabled()
        gc.disable()  # it would walk every syntax tree in vain: a third of the time
        try:
            with self._connection as connection:
                connection.execute("begin immediate")
                for path in sorted(changed):
                    self._replace(connection, path, _blob(self._stamps, path))
        finally:
            if was_on:
                gc.enable()

    def _replace(self, connection: sqlite3.Connection, path: str, stamp: bytes) -> None:
        """Bring one file up to date; without a stamp it is gone."""
        table = _TABLES[not is_product(path)]
        try:
            data = (self.root / path).read_bytes() if stamp else b""
        except OSError:  # it has just gone, or may not be read
            data = b""
        digest = hashlib.sha256(data).digest()
        row = connection.execute("select id, digest from files where path = ?", (path,)).fetchone()
        if row and row[1] == digest and stamp:
            connection.execute("update files set stamp = ? where id = ?", (stamp, row[0]))
            return
        if row:
            numbers = (row[0] << _BITS, (row[0] + 1) << _BITS)
            connection.execute(f"delete from {table} where rowid >= ? and rowid < ?", numbers)
            connection.execute("delete from files where id = ?", (row[0],))
        if not stamp:
            return
        text = decode(data)
        facts = read_facts(text, path)
        chunks = list(read_chunks(path, text, facts.definitions))
        indexed = _Indexed(facts=facts, chunks=tuple(chunk for chunk, _ in chunks))
        file = connection.execute(
            "insert into files (path, stamp, digest, facts) values (?, ?, ?, ?)",
            (path, stamp, digest, msgspec.msgpack.encode(indexed)),
        ).lastrowid
        assert file is not None, "a row was inserted"
        connection.executemany(
            f"insert into {table} (rowid, {', '.join(FIELDS)}) values (?, ?, ?, ?, ?, ?)",
            [((file << _BITS) + at, *terms) for at, (_, terms) in enumerate(chunks)],
        )

    @cached_property
    def _others(self) -> dict[str, tuple[int, _Indexed]]:
        """The tests, and what lies beside the product."""
        return self._load(lambda path: not is_product(path))

    def _file(self, path: str) -> tuple[int, _Indexed] | None:
        return self._product.get(path) if is_product(path) else self._others.get(path)

    # -- definitions --

    @cached_property
    def _of_product(self) -> Mapping[str, list[Definition]]:
        return _by_name(self._product)

    @cached_property
    def _of_others(self) -> Mapping[str, list[Definition]]:
        return _by_name(self._others)

    def definitions(self, name: str, *, product: bool = False) -> tuple[Definition, ...]:
        """Return where `name` is defined, the product before tests, short modules first.

        `name` may be qualified: "walk", "Thing.walk". With `product` nothing else is looked at.
        """
        bare = name.rpartition(".")[2]
        known = list(self._of_product.get(bare, ()))
        known += () if product else self._of_others.get(bare, ())
        found = [one for one in known if f".{one.qualname}".endswith(f".{name}")]
        return tuple(sorted(found, key=self._nearness))

    def _nearness(self, one: Definition) -> tuple[bool, int, int, str, int]:
        module = self.module_of(one)
        depth = one.qualname.count(".")
        return is_test_path(one.path), depth, module.count("."), module, one.line

    def module_of(self, definition: Definition) -> str:
        """Return the dotted name of the module in which something is defined."""
        return self.layout.module_of(definition.path)

    def definitions_in(self, path: str) -> tuple[Definition, ...]:
        """Return what `path` defines, in its order."""
        file = self._file(path)
        return file[1].facts.definitions if file else ()

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
        modules = {self.module_of(one): one for one in reversed(found)}
        return modules.get(shortest([m for m in modules if m.partition(".")[0] in self.packages]))

    def names_like(self, name: str, *, limit: int = 5) -> tuple[str, ...]:
        """Return defined names that are spelled almost like `name`, nearest first."""
        known = sorted({*self._of_product, *self._of_others})
        near = difflib.get_close_matches(name, known, n=limit + 1, cutoff=0.75)
        return tuple(match for match in near if match != name)[:limit]

    # -- imports --

    @cached_property
    def _imports(self) -> Mapping[str, tuple[Import, ...]]:
        """What each file imports, by its path, under absolute names."""
        return {
            path: tuple(
                replace(item, module=absolute_module(item.module, path, self.layout))
                for item in indexed.facts.imports
            )
            for path, (_, indexed) in chain(self._product.items(), self._others.items())
        }

    def imports_in(self, path: str) -> tuple[Import, ...]:
        """Return what `path` imports, in its order."""
        return self._imports.get(path, ())

    def imports_of(self, bound: str) -> tuple[Import, ...]:
        """Return every import in the tree that binds the name `bound`."""
        every = chain.from_iterable(self._imports.values())
        return tuple(item for item in every if item.bound == bound)

    def importers(self, module: str) -> tuple[str, ...]:
        """Return the files that import `module` or something from it or from below it."""
        return tuple(
            sorted(
                path
                for path, imports in self._imports.items()
                if any(f"{i.module}.{i.name}.".startswith(f"{module}.") for i in imports)
            )
        )

    # -- terms --

    @cached_property
    def chunks(self) -> Mapping[int, Chunk]:
        """The chunks of the product, by number."""
        return _numbered(self._product)

    @cached_property
    def other_chunks(self) -> Mapping[int, Chunk]:
        """The chunks of tests, and of what lies beside the product."""
        return _numbered(self._others)

    def chunk_at(self, path: str, line: int) -> int | None:
        """Return the number of the chunk that `line` of `path` belongs to, if it has any."""
        file = self._file(path)
        if file is None:
            return None
        # The rest of the module comes first, and what is further in after what is around it.
        around = [
            at
            for at, chunk in enumerate(file[1].chunks)
            if chunk.line <= line <= chunk.end_line or not chunk.function
        ]
        return file[0] + around[-1]

    def relevance(self, query: Mapping[str, float], *, tests: bool = False) -> Relevance:
        """Return how much the product (or the tests) has to do with the weighted terms of a query.

        Chunks are told by BM25: a rare term says more than a usual one, a name more than a body, a
        short chunk more than a long one that has the same terms. Each term counts once in a field:
        how often a variable is used says nothing of what a function is about
        (https://sqlite.org/fts5.html#the_bm25_function).
        """
        every = self.other_chunks if tests else self.chunks
        chunks: dict[int, float] = {}
        files: dict[str, float] = {}
        shares: dict[str, dict[int, float]] = {}
        for term, weight in query.items():
            own = {at: weight * worth for at, worth in self._having(term, tests) if at in every}
            if tests:
                own = {at: share for at, share in own.items() if is_test_path(every[at].path)}
            shares[term] = own
            best: dict[str, float] = {}
            for at, share in own.items():
                chunks[at] = chunks.get(at, 0.0) + share
                best[every[at].path] = max(best.get(every[at].path, 0.0), share)
            for path, share in best.items():
                files[path] = files.get(path, 0.0) + share
        return Relevance(chunks=chunks, files=files, shares=shares)

    def _having(self, term: str, tests: bool) -> list[tuple[int, float]]:
        """Return the numbers of the chunks that have a term, with what it is worth there."""
        weights, table = ", ".join(map(str, FIELDS.values())), _TABLES[tests]
        query = f"select rowid, -bm25({table}, {weights}) from {table} where {table} match ?"
        with self._lock:
            return self._connection.execute(query, (f'"{term}"',)).fetchall() if term else []


def _blob(stamps: Mapping[str, FileStamp], path: str) -> bytes:
    return msgspec.msgpack.encode(stamps[path]) if path in stamps else b""


def _by_name(files: Mapping[str, tuple[int, _Indexed]]) -> Mapping[str, list[Definition]]:
    found: dict[str, list[Definition]] = {}
    for _, indexed in files.values():
        for definition in indexed.facts.definitions:
            found.setdefault(definition.name, []).append(definition)
    return found


def _numbered(files: Mapping[str, tuple[int, _Indexed]]) -> Mapping[int, Chunk]:
    return {
        number: chunk
        for first, indexed in files.values()
        for number, chunk in enumerate(indexed.chunks, first)
    }


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

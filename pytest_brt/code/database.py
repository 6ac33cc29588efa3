"""The sqlite file behind the index: its tables, and keeping them like the tree.

Everything in it is derived from the tree and may be deleted at any time. Several processes
may use it at once (write-ahead log, one writer at a time).
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from pytest_brt.code.file_facts import FileFacts, Passage, read_facts
from pytest_brt.code.passages import FIELDS, read_passages
from pytest_brt.code.scan import FileStamp, scan_tree
from pytest_brt.errors import StoreProblem
from pytest_brt.pysource.parse import decode

#: Part of the file's name: another version starts afresh.
VERSION = 7
#: Seconds to wait for another process that is writing.
_PATIENCE = 120.0
#: Bits for the number of a passage within its file; the number of the file stands above them.
_BITS = 20
_SCHEMA = """
create table if not exists files (
    id integer primary key,
    path text not null unique,      -- relative to the root, POSIX
    size integer not null,          -- bytes
    mtime_ns integer not null,
    digest blob not null,           -- SHA-256 of the content
    facts blob not null             -- FileFacts, as MessagePack
);
create virtual table if not exists terms using fts5 (
    name, scope, doc, string, body, -- FIELDS: where in a passage a term stands, each told once
    detail = column, tokenize = "ascii tokenchars '_'"
);
"""


def connect(root: Path, cache: Path | None) -> sqlite3.Connection:
    """Open the database of the tree at `root` in the folder `cache`, or in memory.

    A damaged file is made anew.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    if cache is None:
        return _prepared(":memory:")
    name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    python = f"{sys.version_info[0]}{sys.version_info[1]}"
    path = cache / f"index-{VERSION}-py{python}-{name}.sqlite"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        try:
            return _prepared(str(path))
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            for damaged in (path, *path.parent.glob(path.name + "-*")):
                damaged.unlink(missing_ok=True)
            return _prepared(str(path))
    except (OSError, sqlite3.Error) as error:
        raise StoreProblem(
            f"cannot keep the index in {str(cache)!r}: {error} (name a folder that is writable)"
        ) from error


def _prepared(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        if path != ":memory:":
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
        connection.execute("select count(*) from sqlite_master").fetchone()
        connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def refresh(connection: sqlite3.Connection, root: Path) -> dict[str, FileStamp]:
    """Make the tables tell what the tree at `root` holds now; return its files.

    Size and time of change decide what is read, its content whether it is parsed again.
    """
    stamps = scan_tree(root)
    if not _differences(connection, stamps):
        return stamps
    with connection, _collector_off():
        connection.execute("begin immediate")
        # Another process may have done the work while this one waited for the lock.
        _update(connection, root, stamps, _differences(connection, stamps))
    return stamps


@contextlib.contextmanager
def _collector_off() -> Iterator[None]:
    """Keep the garbage collector from walking every syntax tree in vain: a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _differences(connection: sqlite3.Connection, stamps: Mapping[str, FileStamp]) -> list[str]:
    known = {
        path: (size, mtime_ns)
        for path, size, mtime_ns in connection.execute("select path, size, mtime_ns from files")
    }
    changed = [path for path, stamp in stamps.items() if known.get(path) != stamp]
    gone = [path for path in known if path not in stamps]
    return sorted(changed) + sorted(gone)


def _update(
    connection: sqlite3.Connection,
    root: Path,
    stamps: Mapping[str, FileStamp],
    changed: Sequence[str],
) -> None:
    for path in changed:
        row = connection.execute("select id, digest from files where path = ?", (path,)).fetchone()
        stamp = stamps.get(path)
        data = _read(root / path) if stamp else None
        digest = hashlib.sha256(data or b"").digest()
        if stamp and data is not None and row and row[1] == digest:
            connection.execute(
                "update files set size = ?, mtime_ns = ? where id = ?", (*stamp, row[0])
            )
            continue
        if row:
            _forget(connection, row[0])
        if stamp and data is not None:
            _insert(connection, path, stamp, digest, decode(data))


def _read(path: Path) -> bytes | None:
    """Return the content of `path`, None when it has just gone or may not be read."""
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return None


def _forget(connection: sqlite3.Connection, file: int) -> None:
    passages = (file << _BITS, (file + 1) << _BITS)
    connection.execute("delete from terms where rowid >= ? and rowid < ?", passages)
    connection.execute("delete from files where id = ?", (file,))


def _insert(
    connection: sqlite3.Connection, path: str, stamp: FileStamp, digest: bytes, text: str
) -> None:
    facts = read_facts(text, path)
    passages = []
    fields = []
    for number, terms in read_passages(path, text, facts.definitions):
        around = facts.definitions[number] if number >= 0 else None
        passages.append(
            Passage(
                path=path,
                function=around.qualname if around else "",
                line=around.line if around else 1,
                end_line=around.end_line if around else 0,
            )
        )
        fields.append([" ".join(terms[field]) for field in FIELDS])
    blob = msgspec.msgpack.encode(replace(facts, passages=tuple(passages)))
    file = connection.execute(
        "insert into files (path, size, mtime_ns, digest, facts) values (?, ?, ?, ?, ?)",
        (path, *stamp, digest, blob),
    ).lastrowid
    assert file is not None, "a row was inserted"
    connection.executemany(
        "insert into terms (rowid, name, scope, doc, string, body) values (?, ?, ?, ?, ?, ?)",
        [((file << _BITS) + at, *texts) for at, texts in enumerate(fields)],
    )


def stored_facts(connection: sqlite3.Connection) -> dict[str, tuple[int, FileFacts]]:
    """Return the facts of each file by its path, with the number of its first passage."""
    decoded = msgspec.msgpack.Decoder(FileFacts).decode
    rows = connection.execute("select path, id, facts from files order by path")
    return {path: (file << _BITS, decoded(facts)) for path, file, facts in rows}


def ranked_passages(connection: sqlite3.Connection, term: str) -> dict[int, float]:
    """Return the numbers of the passages that have `term`, with what BM25 makes of it there.

    A rare term says more than a usual one, and a short passage more than a long one
    (https://sqlite.org/fts5.html#the_bm25_function).
    """
    weights = ", ".join("?" * len(FIELDS))
    rows = connection.execute(
        f"select rowid, -bm25(terms, {weights}) from terms where terms match ?",
        (*FIELDS.values(), f'"{term}"'),
    )
    return dict(rows.fetchall())

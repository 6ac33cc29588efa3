"""What is kept between runs; only things that may vanish live here.

The journal has what an interrupted run had finished, a line per piece of work, appended when it is
done. A run that ends by itself removes it; one that is interrupted, or killed, leaves it for the
next run of the same things.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TypeVar

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.types import JudgedTest, Rank, Review, Telling

#: Files of what was kept: the tests that were written last, and the last ranking.
WRITTEN = "last-run.json"
RANKED = "last-ranking.json"
_SCHEMA = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The tests of the last run, so that patches can be ranked by them later; or a ranking."""

    schema: int = _SCHEMA
    tests: tuple[JudgedTest, ...]
    #: Of patches by these tests, best first.
    ranks: tuple[Rank, ...] = ()
    #: What they were made from, and when, as in "issue.md, 2026-01-31 12:00".
    about: str = ""
    #: Tests of other reports that a person accepted or rejected, for when these are read again.
    others: tuple[JudgedTest, ...] = ()
    #: Of a ranking: calls on which its leading patches differ.
    tellings: tuple[Telling, ...] = ()
    #: SHA-256 of the rest, as `to_json` writes it.
    digest: str = ""

    def followed_by(self, new: LastRun) -> LastRun:
        """Return what to keep after a run that left `new`: what a person said of tests stays.

        Where `new` has no candidate, the tests that were reviewed stay those to rank by.
        """
        said = {
            judged.test.id: judged
            for judged in (*self.others, *self.tests)
            if judged.review is not Review.OPEN
        }
        if not any(judged.judgement.candidate for judged in new.tests):
            mine = any(judged.test.id in said for judged in self.tests)
            bare = LastRun(tests=(), about=new.about, others=self.others)
            return self if mine else bare
        tests = tuple(
            replace(judged, review=said.get(judged.test.id, judged).review) for judged in new.tests
        )
        found = {judged.test.id for judged in tests}
        left = [judged for judged in said.values() if judged.test.id not in found]
        issues = {judged.test.issue for judged in tests}
        edited = (judged for judged in left if judged.test.issue in issues)
        others = tuple(judged for judged in left if judged.test.issue not in issues)
        return replace(new, tests=(*tests, *edited), others=others)


def save_last_run(folder: Path, last: LastRun, name: str = WRITTEN) -> None:
    """Keep `last` in `folder` as `name`, in place of that of the run before.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    write_text(folder / name, to_json(replace(last, digest=_digest(last))))


def load_last_run(folder: Path, name: str = WRITTEN) -> LastRun:
    """Return what `save_last_run` kept; no tests when there is none of this version, or a link.

    Raises:
        StoreProblem: the file is damaged, or was changed since it was written; it says which,
            so that it can be deleted.
    """
    path = folder / name
    if path.is_symlink() or not path.exists():
        return LastRun(tests=())
    try:
        last = from_json(read_bounded(path), LastRun)
    except (OSError, StoreProblem) as error:
        raise StoreProblem(f"cannot read {str(path)!r}: {error} (delete it)") from error
    if last.schema != _SCHEMA:
        return LastRun(tests=())
    if last.digest != _digest(last):
        raise StoreProblem(f"{str(path)!r} is not what was written: it is not used (delete it)")
    return last


def _digest(last: LastRun) -> str:
    text = to_json(replace(last, digest=""))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` whole or not at all, so that a full disk loses nothing.

    Raises:
        StoreProblem: it cannot be written; an earlier file at `path` is as it was.
    """
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() else 0o644
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(path)
        name = None
    except OSError as error:
        raise StoreProblem(f"cannot write {str(path)!r}: {error.strerror}") from error
    finally:
        if name:  # a second Ctrl-C leads here too
            Path(name).unlink(missing_ok=True)


#: Bytes of a journal, which holds all runs of a long night.
_MOST = 1 << 32

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line of the file."""

    key: str
    #: JSON, as text: what it is, its reader knows.
    value: str
    #: `content_id` of both; a line with another one was changed by somebody.
    digest: str = ""


class Journal:
    """Keeps finished work in a file; safe to use from many threads."""

    def __init__(self, path: Path, setting: str) -> None:
        """Read what an interrupted run left at `path`, if anything.

        `setting` names all that the results depend on besides what each is called by: the tree,
        the interpreter, the options. Work of another setting is not used.
        """
        self.path = path
        #: Pieces of work that were taken from the file.
        self.taken = 0
        self.setting = setting
        self._lock = Lock()
        self._closed = False
        self._lines: dict[str, str] = {}
        #: Lines that are not as they were written, and are not used.
        self.changed = 0
        data = b""
        with suppress(OSError):
            data = read_bounded(path, _MOST)
        #: The last line was cut off.
        self._torn = bool(data) and not data.endswith(b"\n")
        for text in data.splitlines():
            try:
                line = from_json(text, _Line)
            except StoreProblem:
                continue
            if line.digest == content_id(line.key, line.value):
                self._lines[line.key] = line.value
            else:
                self.changed += 1

    def get(self, kind: type[T], *names: str) -> T | None:
        """Return the finished work called by `names`; None when it is to be done."""
        with self._lock:
            text = self._lines.get(self._key(names))
        if text is None:
            return None
        try:
            value = from_json(text, kind)
        except StoreProblem:
            return None  # written by another version
        with self._lock:
            self.taken += 1
        return value

    def put(self, value: object, *names: str) -> None:
        """Keep finished work.

        A file that cannot be written costs the next run time, and nothing else: no error.
        """
        key, text = self._key(names), to_json(value)
        line = to_json(_Line(key=key, value=text, digest=content_id(key, text)))
        with self._lock:
            if self._closed:
                return
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab") as file:
                    # Not behind a line that was cut off: both would be lost.
                    start = b"\n" if self._torn else b""
                    file.write(start + line.encode("utf-8", "surrogateescape") + b"\n")
                self._torn = False
            except OSError:
                self._torn = True  # a disk that got full in the middle took a part of the line

    def close(self, *, interrupted: bool) -> None:
        """Remove the file, unless the run was interrupted.

        Nothing is kept any more: what ends after an interruption was cut short by it.
        """
        with self._lock:
            self._closed = True
        if not interrupted:
            self.path.unlink(missing_ok=True)

    def _key(self, names: tuple[str, ...]) -> str:
        return content_id(self.setting, *names)


def hold(path: Path) -> int | None:
    """Return a descriptor that holds the lock of a file, None where there are no such locks.

    Raises:
        BlockingIOError: another process holds it.
        OSError: there can be no such file.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor

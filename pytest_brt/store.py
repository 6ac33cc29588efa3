"""What is kept between runs, where only things live that may vanish; and in a run, by `Once`.

The journal has what an interrupted run had finished, a line per piece of work, appended when it is
done. A run that ends by itself removes it; one that is interrupted, or killed, leaves it for the
next run of the same things.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from pytest_brt.bounded import is_file, read_bounded
from pytest_brt.codec import content_id, from_json, to_json
from pytest_brt.errors import StoreProblem, UsageProblem
from pytest_brt.types import JudgedTest, Review, RunRecord, Telling, made_tests
from pytest_brt.types.note import value

#: The file of what the last run left.
LAST_RUN = "last-run.json"


@value
class LastRun:
    """What the last runs left: tests, so that patches can be ranked by them, and a ranking."""

    tests: tuple[JudgedTest, ...] = ()
    #: What they were made from, and when, as in "issue.md, 2026-01-31 12:00".
    about: str = ""
    #: Calls on which the leading patches of the last ranking differ, and the report's id.
    tellings: tuple[Telling, ...] = ()
    ranked: str = ""
    #: The tests of other reports that a person accepted or rejected.
    others: tuple[JudgedTest, ...] = ()
    #: The tests that the patches of the last ranking brought; one that is accepted is of `tests`.
    brought: tuple[JudgedTest, ...] = ()

    @property
    def reviewed(self) -> tuple[JudgedTest, ...]:
        """The tests that a person accepted or rejected, of whatever report."""
        tests = (*self.tests, *self.others, *self.brought)
        return tuple(judged for judged in tests if judged.review is not Review.OPEN)

    def followed_by(self, record: RunRecord) -> LastRun:
        """Return what to keep after a run at reports.

        These are its tests, and those that a person judged and it did not make again.
        """
        made = made_tests(record.attempts)
        ids = {judged.test.id for judged in (*made, *self.brought)}
        issues = {issue.id for issue in record.issues}
        gone = [judged for judged in self.reviewed if judged.test.id not in ids]
        reports = ", ".join(issue.source for issue in record.issues)
        return LastRun(
            tests=(*made, *(one for one in gone if one.test.issue in issues)),
            about=f"{reports}, {datetime.now():%Y-%m-%d %H:%M}",
            others=tuple(one for one in gone if one.test.issue not in issues),
            brought=self.brought,
        )


def save_last_run(folder: Path, last: LastRun) -> None:
    """Keep `last` in `folder`, in place of that of the run before.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    write_text(folder / LAST_RUN, to_json(last))


def load_last_run(folder: Path) -> LastRun:
    """Return what `save_last_run` kept; no tests when there is nothing that can be read."""
    try:
        return from_json(read_bounded(folder / LAST_RUN), LastRun)
    except (OSError, StoreProblem):  # of another version, mostly: this run replaces it
        return LastRun()


def find_last_run(root: str) -> tuple[Path, LastRun]:
    """Return the folder in which the project at `root` keeps its runs, and the last of them.

    A checkout may bring a link in its place: what that leads to was not kept there.

    Raises:
        UsageProblem: nothing was kept.
    """
    start = Path(root).resolve()
    kept = start / ".pytest_cache/d/brt"
    if not is_file(kept / LAST_RUN) or kept.resolve() != kept:
        raise UsageProblem(
            f"no earlier run is kept in {str(start)!r} (run 'pytest-brt issue FILE' there, with "
            "'--rank PATH' to rank patches)"
        )
    return kept, load_last_run(kept)


def keep(folder: Path, record: RunRecord) -> None:
    """Keep what a run left.

    Raises:
        StoreProblem: nothing can be written.
    """
    last = load_last_run(folder)
    if record.attempts:
        last = last.followed_by(record)
    if record.ranks:
        last = replace(
            last, tellings=record.tellings, ranked=record.ranked, brought=record.brought
        )
    save_last_run(folder, last)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` whole or not at all, so that a full disk loses nothing.

    Raises:
        StoreProblem: it cannot be written; an earlier file at `path` is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=path.parent, prefix=f".{path.name}."
        ) as folder:
            new = Path(folder, path.name)
            new.write_bytes(data)
            if path.exists():
                new.chmod(path.stat().st_mode)
            new.replace(path)
    except OSError as error:
        raise StoreProblem(f"cannot write {str(path)!r}: {error.strerror}") from error


#: Bytes of a journal, which holds all runs of a long night, or all replies of a study.
_MOST = 1 << 32

T = TypeVar("T")


class Journal:
    """Keeps finished work in a file of JSON lines; safe to use from many threads."""

    def __init__(self, path: Path | None, setting: str = "") -> None:
        """Read the file at `path`, which need not exist; None keeps the work in memory.

        `setting` names all that the work depends on besides what each is called by: the tree, the
        interpreter, the options. Work of another setting is not used, nor a line that was cut off.

        Raises:
            StoreProblem: the file cannot be read.
        """
        self.path, self.setting = path, setting
        #: Pieces of work that were taken from the file.
        self.taken = 0
        self._lock = Lock()
        self._lines: dict[str, str] = {}
        try:
            lines = read_bounded(path, _MOST).splitlines() if path and path.exists() else []
        except OSError as error:
            raise StoreProblem(f"cannot read {str(path)!r}: {error.strerror}") from error
        for text in lines:
            with suppress(StoreProblem, KeyError):
                line = from_json(text, dict[str, str])
                self._lines[line["key"]] = line["value"]
        if len(lines) > 1 and not self._lines:
            raise StoreProblem(f"no line of {str(path)!r} can be read (delete the file)")

    def get(self, kind: type[T], *names: str) -> T | None:
        """Return the finished work called by `names`; None when it is to be done."""
        text = self._lines.get(content_id(self.setting, *names))
        with suppress(StoreProblem):  # written by another version
            if text is not None:
                value = from_json(text, kind)
                self.taken += 1
                return value
        return None

    def put(self, value: object, *names: str) -> None:
        """Keep finished work.

        Raises:
            StoreProblem: the file cannot be written; the work is known in this run.
        """
        # The value is JSON, as text: what it is, its reader knows.
        line = {"key": content_id(self.setting, *names), "value": to_json(value)}
        self._lines[line["key"]] = line["value"]
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, self.path.open("ab") as file:
                file.write(f"{to_json(line)}\n".encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise StoreProblem(
                f"cannot write {str(self.path)!r}: {error.strerror}"
            ) from error

    def forget(self) -> None:
        """Remove the file: nothing is left to be taken from it."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


K = TypeVar("K")
V = TypeVar("V")


class Once(Generic[K, V]):
    """Values by their keys, each made by the thread that asks for it first.

    Others wait for its work, which has begun already, and not for a lock. Where it fails, they fail
    as it does.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[K, Future[V]] = {}

    def get(self, key: K, work: Callable[[], V]) -> V:
        """Return the value of `key`, by `work` where nobody has asked for it yet."""
        mine = Future[V]()
        with self._lock:
            future = self._known.setdefault(key, mine)
        if future is mine:
            try:
                mine.set_result(work())
            except BaseException as error:  # whoever waits gets it, we too
                mine.set_exception(error)
        return future.result()

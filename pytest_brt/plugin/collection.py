"""What all our modes have in common: the project's settings stay away, and items are theirs."""

from __future__ import annotations

import os
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import Any

import pytest

from pytest_brt.errors import BrtError
from pytest_brt.plugin.options import TYPED
from pytest_brt.pysource.parse import PARSING
from pytest_brt.run.progress import Progress
from pytest_brt.sandbox.process import hear_of_ends
from pytest_brt.shown import in_a_log, on_a_line, plain, show


def open_mode(
    config: pytest.Config, session: Callable[[pytest.Config], OwnCollection]
) -> OwnCollection:
    """Return the plugin of a mode.

    Raises:
        pytest.UsageError: an input cannot be used, with what to do about it.
    """
    _heed_signals()
    hear_of_ends()  # git is asked before there is a sandbox
    try:
        return session(config)
    except BrtError as error:
        # pytest shows it after "ERROR: ", and names of files may be a stranger's.
        raise pytest.UsageError(in_a_log(on_a_line(str(error)))) from None
    except KeyboardInterrupt:
        raise pytest.exit.Exception("interrupted before anything was run", 2) from None


def _heed_signals() -> None:
    """End like a run that is interrupted where a job is cancelled, or its terminal closed.

    That is with what was found, and with everything cleared away.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Under nohup it is ignored.
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.default_int_handler)


#: Where a session keeps its own.
PROGRESS = pytest.StashKey[Progress]()


#: Folders of the packages that run our items.
_RUNNERS = frozenset({"_pytest", "pluggy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How pytest shows an outcome of ours: in the last line, as a letter, and with ``-v``."""

    category: str
    letter: str
    word: str
    #: What is not reached with it of what was asked, for the line about the exit code.
    unmet: str = ""


class GoalMissed(Exception):
    """The work was done and the answer is no, or there was nothing to do."""

    def __init__(self, text: str, status: Status | None = None) -> None:
        """Say why in one line, and how it is shown: None skips the item."""
        super().__init__(text)
        self.status = status


class OwnItem(pytest.Item):
    """A piece of work that pytest shows as a test."""

    #: Seconds that the work itself took; waiting for others does not count.
    seconds: float | None = None
    #: How a success is shown; None for "passed".
    status: Status | None = None
    #: Why the answer is no, "" where it is not.
    missed: str = ""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show our own errors as one line; anything else is a defect, without pytest's frames."""
        if isinstance(excinfo.value, BrtError):
            return plain(str(excinfo.value))
        if self.config.getoption("tbstyle", "auto") == "auto":
            return _defect(excinfo.value)
        with PARSING:  # pytest parses the source of every frame, while our threads parse too
            return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        return Path(on_a_line(str(self.path))), None, self.name


def _defect(error: BaseException) -> str:
    """Return an exception that nobody expected, with the frames from our own code on."""
    told = TracebackException.from_exception(error)
    link: TracebackException | None = told
    while link is not None:
        link.stack = StackSummary.from_list(
            [frame for frame in link.stack if not _RUNNERS & set(Path(frame.filename).parts)]
        )
        link = link.__cause__ or link.__context__
    head = "internal error in pytest-brt: please report it with what follows (--tb=long shows more)"
    return f"{head}\n\n{''.join(told.format())}"


class OwnFile(pytest.File):
    """A file that we collect."""

    def __init__(
        self, *, items: Callable[[pytest.File], Iterator[pytest.Item]], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._items = items

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its items."""
        return self._items(self)


class OwnCollection(ABC):
    """The base of the plugin of a mode: collects its files, and nothing else from anywhere."""

    def __init__(self, config: pytest.Config, files: Mapping[Path, Any]) -> None:
        """Take what there is in each file that is collected."""
        self.config = config
        self.files = files

    @abstractmethod
    def items(self, inside: Any, parent: pytest.File) -> Iterator[pytest.Item]:
        """Yield the items of one file: `inside` is what `files` has of it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Collect our files and nothing else."""
        session.config.args[:] = list(map(str, self.files)) or [str(self.config.rootpath)]

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Replace whatever others would collect from our files."""
        yield
        inside = self.files.get(file_path)
        if inside is None:
            return []
        node: dict[str, Any] = {"path": file_path}
        if not file_path.is_relative_to(self.config.rootpath):
            # pytest would leave the name of a file outside of its root empty.
            node["nodeid"] = on_a_line(self.outside_name(file_path))
        elif not str(file_path).isprintable():
            # Reports of others write a node's name as it is, into terminals and into XML.
            node["nodeid"] = on_a_line(file_path.relative_to(self.config.rootpath).as_posix())
        return [OwnFile.from_parent(parent, items=partial(self.items, inside), **node)]

    def outside_name(self, path: Path) -> str:
        """Return how a file outside of the project is called in the names of its items."""
        return Path(os.path.relpath(path, self.config.rootpath)).as_posix()

    @abstractmethod
    def pytest_report_header(self) -> list[str]:
        """Say what is about to run."""

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, object, object]:
        """Show our lines of the header alone, to those who did not type "pytest"."""
        result = yield
        reporter: Any = session.config.pluginmanager.getplugin("terminalreporter")
        if TYPED in os.environ and reporter is not None:
            for line in self.pytest_report_header():
                show(reporter, line)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool:
        """Look at our files and the folders above them only, whatever their names."""
        path = collection_path
        return not any(ours == path or path in ours.parents for ours in self.files)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector:
        """Never a Package: that would import the project's ``__init__``."""
        return pytest.Dir.from_parent(parent, path=path)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Give the report its outcome, the reason of a no, and the seconds of the work itself."""
        report = yield
        status = item.status if isinstance(item, OwnItem) and report.passed else None
        if call.excinfo is not None and isinstance(call.excinfo.value, GoalMissed):
            status, reason = call.excinfo.value.status, plain(str(call.excinfo.value))
            report.outcome = "failed" if status else "skipped"
            report.longrepr = reason if status else (str(item.path), 0, f"Skipped: {reason}")
            if isinstance(item, OwnItem) and status:
                item.missed = reason
        if call.when == "call":
            report.brt_status = status
            if isinstance(item, OwnItem) and item.seconds is not None:
                report.duration = item.seconds
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Name the outcome in words of the mode: "1 reproduced" instead of "1 passed"."""
        status: Status | None = getattr(report, "brt_status", None)
        return (status.category, status.letter, status.word) if status else None

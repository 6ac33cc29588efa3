"""What all our modes have in common: they collect their own files only, and name each outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator
from dataclasses import dataclass
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import Any

import pytest

from pytest_brt.errors import BrtError
from pytest_brt.shown import on_a_line, plain
from pytest_brt.syntax import PARSING

#: Folders of the packages that run our items.
_RUNNERS = frozenset({"_pytest", "pluggy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How pytest shows an outcome of ours: in the last line, as a letter, and with ``-v``."""

    category: str
    letter: str
    word: str


class Missed(Exception):
    """The work was done and the answer is no, or there was nothing to do.

    Args:
        text: why, in one line.
        status: how it is shown; None for a skipped item.
    """

    def __init__(self, text: str, status: Status | None = None) -> None:
        super().__init__(text)
        self.status = status


class OurItem(pytest.Item):
    """A piece of work that pytest shows as a test."""

    #: Seconds that the work itself took; waiting for others does not count.
    seconds: float | None = None
    #: How a success is shown; None for "passed".
    status: Status | None = None
    #: Why the answer is no, "" where it is not.
    missed: str = ""
    #: What is told in one line.
    told: tuple[type[BaseException], ...] = (BrtError,)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show our own errors as one line; anything else is a defect, without pytest's frames."""
        if isinstance(excinfo.value, self.told):
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


class OurFiles(ABC):
    """The base of the plugin of a mode; what is collected from a file is the mode's own."""

    @abstractmethod
    def our_paths(self) -> Collection[Path]:
        """Return the files that are collected."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool:
        """Look at our files and the folders above them only, whatever their names."""
        path = collection_path
        return not any(ours == path or path in ours.parents for ours in self.our_paths())

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
        status = item.status if isinstance(item, OurItem) and report.passed else None
        if call.excinfo is not None and isinstance(call.excinfo.value, Missed):
            status, reason = call.excinfo.value.status, plain(str(call.excinfo.value))
            report.outcome = "failed" if status else "skipped"
            report.longrepr = reason if status else (str(item.path), 0, f"Skipped: {reason}")
            if isinstance(item, OurItem) and status:
                item.missed = reason
        if call.when == "call":
            report.brt_status = status
            if isinstance(item, OurItem) and item.seconds is not None:
                report.duration = item.seconds
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Name the outcome in words of the mode: "1 reproduced" instead of "1 passed"."""
        status: Status | None = getattr(report, "brt_status", None)
        return (status.category, status.letter, status.word) if status else None

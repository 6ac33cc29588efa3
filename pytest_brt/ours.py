"""What all our modes have in common: they collect their files alone, and show a miss as ``x``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import Any

import pytest

from pytest_brt.errors import BrtError
from pytest_brt.shown import on_a_line, plain
from pytest_brt.syntax import PARSING

#: Folders of the packages that run our items.
_RUNNERS = frozenset({"_pytest", "pluggy"})


class Missed(Exception):
    """The work was done and found nothing: an honest miss, shown as ``x``.

    Not `pytest.xfail`, which ``--runxfail`` turns off.
    """


class OurItem(pytest.Item):
    """A piece of work that pytest shows as a test."""

    #: Seconds that the work itself took; waiting for others does not count.
    seconds: float | None = None
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
    head = "a defect of pytest-brt: please report it with what follows (--tb=long shows more)"
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
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show a miss as ``x`` with its reason, and the seconds that the work took."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, Missed):
            report.outcome = "skipped"
            report.wasxfail = plain(str(call.excinfo.value))
        if isinstance(item, OurItem) and call.when == "call" and item.seconds is not None:
            report.duration = item.seconds
        return report

"""What all our modes have in common: the project's settings stay away, and items are theirs."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from traceback import StackSummary, TracebackException
from typing import Any

import pytest
from _pytest.config.findpaths import determine_setup

from pytest_brt.errors import BrtError
from pytest_brt.plugin.option_values import TYPED
from pytest_brt.shown import on_a_line, plain, show
from pytest_brt.syntax import PARSING

#: Ini keys of the project that may reach our session; all others are about its tests.
KEPT = ("brt_", "cache_dir", "console_output_style", "junit_", "log_", "tmp_path_")

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

    def pytest_report_header(self) -> list[str]:
        """Say what is about to run."""
        return []

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


def shed_project_settings(config: pytest.Config, args: list[str]) -> None:
    """Take the project's conftests, addopts and test settings out of `config` and `args`.

    They may need packages that only the project's interpreter has, or be the very bug; the tests
    that we start load them as usual. What is done here must be done while pytest starts, before it
    parses its arguments for good, and pytest offers no public way: where an attribute of its
    configuration is missing, its settings stay and the front-end ``pytest-brt`` still works.
    """
    added = list(config.getini("addopts"))
    _find_root_again(config)
    for start in range(len(args) - len(added) + 1):
        if added and args[start : start + len(added)] == added:
            del args[start : start + len(added)]
            break
    args.append("--noconftest")
    # What plugins find here was parsed with the addopts.
    config.known_args_namespace = config._parser.parse_known_args(
        args, namespace=copy(config.option)
    )
    settings = _settings(config)
    for key in [key for key in settings if not key.startswith(KEPT)]:
        del settings[key]
    getattr(config, "_inicache", {}).clear()


def _settings(config: pytest.Config) -> Any:
    """Return pytest's own mapping of ini values; it was public until 9.0."""
    return config._inicfg if hasattr(config, "_inicfg") else config.inicfg


def _find_root_again(config: pytest.Config) -> None:
    """Determine rootdir and ini file from the folder pytest was started in.

    When pytest first looks for them it does not know our options yet and takes their values,
    as in ``--brt-issue /elsewhere/issue.md``, for paths of tests.
    """
    known = config.known_args_namespace
    if known.rootdir or known.inifilename:
        return
    wanted: dict[str, Any] = {
        "inifile": None,
        "override_ini": known.override_ini,
        "args": [],
        "rootdir_cmd_arg": None,
        "invocation_dir": config.invocation_params.dir,
    }
    takes = inspect.signature(determine_setup).parameters
    found: Any = determine_setup(**{name: wanted[name] for name in takes if name in wanted})
    config._rootpath, config._inipath = found[0], found[1]
    settings = _settings(config)
    settings.clear()
    settings.update(found[2])

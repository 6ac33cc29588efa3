"""What happens while pytest starts in one of our modes, in the order in which it does."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def declare_hooks(manager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that other plugins may implement, where they are not declared yet."""
    from pytest_brt import hookspec

    finished = getattr(manager.hook, "pytest_brt_finished", None)
    if finished is None or not finished.has_spec():
        manager.add_hookspecs(hookspec)


class _UnrewrittenModules:
    """Finds our modules before pytest, which rewrites the asserts of plugins, would.

    What it makes of them it can only keep where it may write: in an image, or in an environment
    of somebody else, each run would compile all of them again.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith("pytest_brt.") else None


def set_apart(config: pytest.Config, args: list[str]) -> None:
    """Keep the project's conftests, addopts and ini away from our own session.

    They may need packages that only the project's interpreter has, or be the very bug. The
    tests that we start load them as usual.
    """
    if "-" in (config.known_args_namespace.brt_report or ()):
        from pytest_brt.plugin.stdout import keep_stdout

        keep_stdout(config)  # before pytest begins to capture
    # From here on nothing is imported from the project, whatever its modules are called.
    added = [str(path) for path in config.getini("pythonpath")]
    before = sys.path[:]
    for path in added:  # pytest put it there, and would take it away in the end
        if path in before:
            before.remove(path)
    config.add_cleanup(lambda: sys.path.__setitem__(slice(None), before))
    theirs = {"", os.getcwd(), *added}  # noqa: PTH109
    sys.path[:] = [path for path in sys.path if path not in theirs]
    finder = _UnrewrittenModules()
    sys.meta_path.insert(0, finder)
    config.add_cleanup(lambda: sys.meta_path.remove(finder))
    from pytest_brt.plugin.project_settings import drop_project_settings

    drop_project_settings(config, args)


def take_jobs(options: Any) -> None:
    """Take xdist's number of workers as one of jobs: one process drives all work."""
    asked = getattr(options, "numprocesses", None)
    if asked:
        options.brt_numprocesses = asked if isinstance(asked, int) else os.cpu_count()
        options.numprocesses = None
        options.dist = "no"
        options.tx = []


def register_mode(config: pytest.Config) -> None:
    """Register the plugin of a run of ours.

    Raises:
        UsageError: an input cannot be used, with what to do about it.
    """
    import pytest

    from pytest_brt.errors import BrtError
    from pytest_brt.plugin.session import Session
    from pytest_brt.sandbox.process import hear_of_ends
    from pytest_brt.shown import in_a_log, on_a_line

    declare_hooks(config.pluginmanager)
    _heed_signals(config)
    hear_of_ends()  # git is asked before there is a sandbox
    try:
        config.pluginmanager.register(Session(config), "brt-session")
    except BrtError as error:
        # pytest shows it after "ERROR: ", and names of files may be a stranger's.
        raise pytest.UsageError(in_a_log(on_a_line(str(error)))) from None
    except KeyboardInterrupt:
        raise pytest.exit.Exception("interrupted before anything was run", 2) from None


def _heed_signals(config: pytest.Config) -> None:
    """End like a run that is interrupted where a job is cancelled, or its terminal closed.

    That is with what was found, and with everything cleared away.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Under nohup one is ignored.
    ours = [n for name in names if signal.getsignal(n := getattr(signal, name)) is signal.SIG_DFL]

    def give_back() -> None:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)

    config.add_cleanup(give_back)
    for number in ours:
        signal.signal(number, signal.default_int_handler)

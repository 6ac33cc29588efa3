"""A run of ours: pytest without the project's settings and code, and our session in it.

They may need packages that only the project's interpreter has, or be the very bug. The tests that
we start load them as usual. The hooks that other plugins may implement are declared here.

It is loaded by one pytest before it is a plugin of another: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_brt.agents.loop import Agent
    from pytest_brt.reproduce.strategy import Strategy
    from pytest_brt.types import RunRecord

#: Bytes of standard input that are read.
_MOST = 64 << 20


class Hooks:
    """What other plugins may add; in runs of ours alone, so implementations are optional hooks."""

    @staticmethod
    def pytest_brt_strategies(  # type: ignore[empty-body]
        config: pytest.Config,
    ) -> Mapping[str, Strategy | Agent]:
        """Return strategies for ``--brt-strategy``: name → how tests are made, or fixes.

        They add to those that are built in; a name that is given twice is a usage error.

        In a plugin::

            import pytest
            from pytest_brt.reproduce.strategy import Strategy

            @pytest.hookimpl(optionalhook=True)
            def pytest_brt_strategies(config):
                return {"mine": Strategy(attempt=my_attempt)}
        """

    @staticmethod
    def pytest_brt_finished(record: RunRecord) -> None:
        """Look at everything that a run found out, after its last item."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks."""
    pluginmanager.add_hookspecs(Hooks)


class Ended:
    """The plugin of a pytest whose work was done by another one in its process."""

    def __init__(self, exit_code: int) -> None:
        self._exit_code = exit_code

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self) -> int:
        """Return how that ended."""
        return self._exit_code


def run_apart(config: pytest.Config) -> None:
    """Run pytest once more in this process, with what the user typed; it is what this one does."""
    _import_nothing_of_the_project(config)
    from pytest_brt.plugin.option_list import apart

    typed = config.invocation_params
    code = pytest.main([*apart(config.rootpath), *typed.args], plugins=list(typed.plugins or ()))
    config.pluginmanager.register(Ended(int(code)))


def _import_nothing_of_the_project(config: pytest.Config) -> None:
    """Import nothing from the project until the run ends, whatever its modules are called."""
    for name in ("path", "meta_path"):
        config.add_cleanup(partial(setattr, sys, name, getattr(sys, name)))
    theirs = {"", os.getcwd(), *map(str, config.getini("pythonpath"))}  # noqa: PTH109
    sys.path = [path for path in sys.path if path not in theirs]
    # pytest would rewrite our asserts, in each run where it may not keep what it makes of them.
    sys.meta_path = [one for one in sys.meta_path if "assertion" not in type(one).__module__]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Prepare a run of ours, before every plugin that acts on its options here already."""
    _import_nothing_of_the_project(early_config)
    options = early_config.known_args_namespace
    if "-" in (*(options.brt_issue or ()), options.brt_repair):  # before pytest captures
        early_config.option.brt_stdin = sys.stdin.buffer.read(_MOST + 1)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Take xdist's ``-n K`` as a number of jobs, before xdist sees it: one process drives all."""
    options: Any = config.option
    asked = getattr(options, "numprocesses", None)
    if asked:
        options.brt_numprocesses = asked if isinstance(asked, int) else os.cpu_count()
        options.numprocesses, options.dist, options.tx = None, "no", []
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin of a run of ours.

    Raises:
        UsageError: an input cannot be used, with what to do about it.
    """
    from pytest_brt.errors import BrtError
    from pytest_brt.plugin.session import Session
    from pytest_brt.shown import in_a_log, on_a_line

    _heed_signals(config)
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
    if threading.current_thread() is threading.main_thread():
        # Under nohup one is ignored.
        every = signal.SIGTERM, signal.SIGHUP
        numbers = [one for one in every if signal.getsignal(one) is signal.SIG_DFL]

        def handle(how: Any) -> None:
            for number in numbers:
                signal.signal(number, how)

        handle(signal.default_int_handler)
        config.add_cleanup(partial(handle, signal.SIG_DFL))

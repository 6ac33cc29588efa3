"""The hooks that pytest calls at every start: they decide, and import the rest when asked.

Without one of our mode options the plugin only declares its options and marker. The command line
tool reads the options' table from here: nothing is imported that imports pytest, for the project
may be pytest.
"""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS
from collections.abc import Generator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from pluggy import HookimplMarker

if TYPE_CHECKING:
    import pytest

hookimpl = HookimplMarker("pytest")

#: Set in the test runs that we start ourselves: the plugin stays inert there.
INNER = "PYTEST_BRT_INNER"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare every option, and the settings that a project may say."""
    from pytest_brt.plugin.option_list import (
        MORE_OPTIONS,
        OPTIONS,
        REPEATED,
        SETTINGS,
        destination,
    )

    about = "-q shows the answer alone, -v everything; all options: 'pytest-brt issue --help'"
    group = parser.getgroup("brt", f"pytest-brt ({about})")
    shown = {flag for flag, *_ in OPTIONS}
    for flag, _, metavar, text in (*OPTIONS, *MORE_OPTIONS):
        how: dict[str, Any] = {"action": "store_const", "const": "yes"}
        if metavar:
            how = {"action": "append" if flag in REPEATED else "store", "metavar": metavar}
        how["help"] = text if flag in shown else SUPPRESS
        group.addoption(flag, dest=destination(flag), default=None, **how)
    for flag in SETTINGS:
        kind: Literal["linelist", "string"] = "linelist" if flag in REPEATED else "string"
        parser.addini(destination(flag), f"{flag} of each run", type=kind, default=None)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that other plugins may implement."""
    from pytest_brt import hookspec

    pluginmanager.add_hookspecs(hookspec)


class _AsInstalled:
    """Finds our modules before pytest, which rewrites the asserts of plugins, would.

    What it makes of them it can only keep where it may write: in an image, or in an environment
    of somebody else, each run would compile all of them again.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path, target) if name.startswith("pytest_brt.") else None


def _is_ours(namespace: object) -> bool:
    from pytest_brt.plugin.option_list import MODES, destination

    given = [flag for flag in MODES if getattr(namespace, destination(flag), None)]
    return bool(given) and INNER not in os.environ


@hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, object, object]:
    """Keep the project's conftests, addopts and ini away from our own session.

    They may need packages that only the project's interpreter has, or be the very bug. The
    tests that we start load them as usual. A wrapper runs before every plugin that acts on its
    options here already, as pytest-cov does.
    """
    if _is_ours(early_config.known_args_namespace):
        if "-" in (early_config.known_args_namespace.brt_report or ()):
            from pytest_brt.plugin.stdout import keep_stdout

            keep_stdout(early_config)  # before pytest begins to capture
        # From here on nothing is imported from the project, whatever its modules are called.
        theirs = {"", os.getcwd(), *map(str, early_config.getini("pythonpath"))}  # noqa: PTH109
        sys.path[:] = [path for path in sys.path if path not in theirs]
        sys.meta_path.insert(0, _AsInstalled())
        from pytest_brt.plugin.mode_items import shed_project_settings

        shed_project_settings(early_config, args)
    return (yield)


@hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Take xdist's ``-n K`` as a number of jobs, before xdist sees it."""
    if _is_ours(config.option) and getattr(config.option, "numprocesses", None):
        asked = config.option.numprocesses
        config.option.brt_numprocesses = asked if isinstance(asked, int) else os.cpu_count()
        config.option.numprocesses = None
        config.option.dist = "no"
        config.option.tx = []
    return (yield)


@hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the session when one of our modes is on."""
    config.addinivalue_line(
        "markers", "brt(issue): a bug reproduction test, with the report it was made from"
    )
    if not _is_ours(config.option):
        return
    from pytest_brt.plugin.mode_items import opened
    from pytest_brt.plugin.options import Mode, mode_of

    mode = mode_of(config.option)
    if mode is Mode.GATE:
        from pytest_brt.plugin.gate_mode import GateSession

        config.pluginmanager.register(opened(config, GateSession), "brt-gate")
    elif mode is Mode.STUDY:
        from pytest_brt.plugin.study_mode import StudySession

        config.pluginmanager.register(opened(config, StudySession), "brt-study")
    else:
        from pytest_brt.plugin.session import Session

        config.pluginmanager.register(opened(config, Session), "brt-session")

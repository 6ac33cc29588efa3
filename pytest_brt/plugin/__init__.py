"""The hooks that pytest calls at every start: they decide, and import the rest when asked.

Without one of our mode options the plugin only declares its options and marker. With one, it has
pytest start once more, apart from the project's settings and code (`session`): that run is ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

from pluggy import HookimplMarker

from pytest_brt.plugin.option_list import (
    OPTIONS,
    SESSION,
    SETTINGS,
    declaration,
    destination,
    is_ours,
)

if TYPE_CHECKING:
    import pytest

hookimpl = HookimplMarker("pytest")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare every option, and the settings that a project may say."""
    group = parser.getgroup("brt", "pytest-brt (-q shows the answer alone, -v everything)")
    for row in OPTIONS:
        group.addoption(row[0], **declaration(row))
    for flag in SETTINGS:
        parser.addini(destination(flag), f"{flag} of each run")


@hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, object, object]:
    """Carry out a run of ours, before anything of the project's is loaded."""
    namespace = early_config.known_args_namespace
    if is_ours(namespace) and not early_config.pluginmanager.hasplugin(SESSION):
        early_config.option.brt_exit_code = _run_apart(early_config)
        # Nothing is left to do: conftests are not loaded, nor does another plugin prepare a run.
        namespace.noconftest = True
        args[:] = ["--help"]
    return (yield)


def _run_apart(config: pytest.Config) -> int:
    """Run pytest once more in this process, with what the user typed; it is what this one does.

    Nothing is imported from the project meanwhile, whatever its modules are called.
    """
    path = sys.path
    theirs = {"", os.getcwd(), *map(str, config.getini("pythonpath"))}  # noqa: PTH109
    sys.path = [entry for entry in path if entry not in theirs]
    try:
        from pytest_brt.plugin.session import run_apart

        typed = config.invocation_params
        return run_apart(
            typed.args, config.known_args_namespace.rootdir, typed.plugins or ()
        )
    finally:
        sys.path = path


@hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Return how the run of ours ended, None where there was none."""
    code: int | None = getattr(config.option, "brt_exit_code", None)
    return code


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    marker = "brt(issue): a bug reproduction test, with the report it was made from"
    config.addinivalue_line("markers", marker)

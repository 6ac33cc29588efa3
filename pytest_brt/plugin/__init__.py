"""The hooks that pytest calls at every start: they decide, and import the rest when asked.

Without one of our mode options the plugin only declares its options and marker.
"""

from __future__ import annotations

import os
from argparse import SUPPRESS
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from pluggy import HookimplMarker

if TYPE_CHECKING:
    import pytest

hookimpl = HookimplMarker("pytest")

#: Set in the test runs that we start ourselves: the plugin stays inert there.
INNER = "PYTEST_BRT_INNER"
#: What our hooks are called, after "pytest_brt_".
HOOKS = ("strategies", "finished")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare every option, and the settings that a project may say."""
    from pytest_brt.plugin import option_list

    about = "-q shows the answer alone, -v everything; all options: 'pytest-brt issue --help'"
    group = parser.getgroup("brt", f"pytest-brt ({about})")
    for row in (*option_list.OPTIONS, *option_list.MORE_OPTIONS):
        flag, _, metavar, text = row
        group.addoption(
            flag,
            dest=option_list.destination(flag),
            action="append" if flag in option_list.REPEATED else "store",
            metavar=metavar,
            default=None,
            help=text if row in option_list.OPTIONS else SUPPRESS,
        )
    for flag in option_list.SETTINGS:
        kind: Any = "linelist" if flag in option_list.REPEATED else "string"
        name = option_list.destination(flag)
        parser.addini(name, f"{flag} of each run", type=kind, default=None)


def pytest_plugin_registered(manager: pytest.PytestPluginManager) -> None:
    """Declare our hooks once another plugin implements one: pytest refuses unknown ones."""
    for name in HOOKS:
        if hasattr(manager.hook, f"pytest_brt_{name}"):
            from pytest_brt.plugin.start import declare_hooks

            declare_hooks(manager)


def _is_ours(namespace: object) -> bool:
    """Say whether a run is in one of our modes."""
    from pytest_brt.plugin.option_list import mode_of

    return INNER not in os.environ and bool(mode_of(namespace))


@hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, object, object]:
    """Keep the project's conftests, addopts and ini away from our own session."""
    # A wrapper runs before every plugin that acts on its options here already, as pytest-cov does.
    if _is_ours(early_config.known_args_namespace):
        from pytest_brt.plugin.start import set_apart

        set_apart(early_config, args)
    return (yield)


@hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Take xdist's ``-n K`` as a number of jobs, before xdist sees it."""
    if _is_ours(config.option):
        from pytest_brt.plugin.start import take_jobs

        take_jobs(config.option)
    return (yield)


@hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the session when one of our modes is on."""
    marker = "brt(issue): a bug reproduction test, with the report it was made from"
    config.addinivalue_line("markers", marker)
    if _is_ours(config.option):
        from pytest_brt.plugin.start import register_mode

        register_mode(config)

"""The hooks that pytest calls at every start: they decide, and import the rest when asked.

Without one of our mode options the plugin only declares its options and marker. With one, it has
pytest start once more, apart from the project's settings (`start`), and that run is ours.
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
#: The plugin of a run of ours.
START = "pytest_brt.plugin.start"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare every option, and the settings that a project may say."""
    from pytest_brt.plugin import option_list

    about = "-q shows the answer alone, -v everything; all options: 'pytest-brt issue --help'"
    group = parser.getgroup("brt", f"pytest-brt ({about})")
    for row in (*option_list.OPTIONS, *option_list.MORE_OPTIONS):
        flag, _, metavar, kind, _, text = row
        group.addoption(
            flag,
            dest=option_list.destination(flag),
            action="extend" if kind in option_list.REPEATED else "store",
            # A shell makes several words of ``--rank-fixes patches/*.diff``.
            nargs="+" if flag == "--rank-fixes" else 1 if kind in option_list.REPEATED else None,
            metavar=metavar,
            default=None,
            help=text if row in option_list.OPTIONS else SUPPRESS,
        )
    for flag in option_list.SETTINGS:
        of: Any = "linelist" if flag == "--brt-env" else "string"
        parser.addini(option_list.destination(flag), f"{flag} of each run", type=of, default=None)


@hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, object, object]:
    """Carry out a run of ours, before anything of the project's is loaded."""
    from pytest_brt.plugin.option_list import mode_of

    is_ours = INNER not in os.environ and mode_of(early_config.known_args_namespace)
    if is_ours and not early_config.pluginmanager.hasplugin(START):
        from pytest_brt.plugin.start import run_apart

        run_apart(early_config)
        # Nothing is left to do: conftests are not loaded, nor does another plugin prepare a run.
        early_config.known_args_namespace.noconftest = True
        args[:] = ["--help"]
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    marker = "brt(issue): a bug reproduction test, with the report it was made from"
    config.addinivalue_line("markers", marker)

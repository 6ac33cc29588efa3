"""The hooks that pytest calls at every start: they decide, and import the rest when asked.

Without one of our mode options the plugin only declares its options and marker.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from pytest_brt.options import Mode, add_options, mode_of

#: Set in the test runs that we start ourselves: the plugin stays inert there.
INNER = "PYTEST_BRT_INNER"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that other plugins may implement."""
    from pytest_brt import hookspec

    pluginmanager.add_hookspecs(hookspec)


def _mode(namespace: object) -> Mode:
    return Mode.NONE if INNER in os.environ else mode_of(namespace)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, args: list[str]
) -> Generator[None, object, object]:
    """Keep the project's conftests, addopts and ini away from our own session.

    They may need packages that only the project's interpreter has, or be the very bug. The
    tests that we start load them as usual. A wrapper runs before every plugin that acts on its
    options here already, as pytest-cov does.
    """
    if _mode(early_config.known_args_namespace) is not Mode.NONE:
        from pytest_brt.settings import shed_project_settings

        shed_project_settings(early_config, args)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Take xdist's ``-n K`` as a number of jobs, before xdist sees it."""
    if _mode(config.option) is not Mode.NONE and getattr(config.option, "numprocesses", None):
        asked = config.option.numprocesses
        config.option.brt_numprocesses = asked if isinstance(asked, int) else os.cpu_count()
        config.option.numprocesses = None
        config.option.dist = "no"
        config.option.tx = []
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the session when one of our modes is on."""
    config.addinivalue_line(
        "markers", "brt(issue): a bug reproduction test, with the report it was made from"
    )
    mode = _mode(config.option)
    if mode is Mode.NONE:
        return
    if mode is Mode.GATE:
        from pytest_brt.gating import open_gate

        config.pluginmanager.register(open_gate(config), "brt-gate")
        return
    if mode is Mode.EVALUATE:
        from pytest_brt.evaluating import open_study

        config.pluginmanager.register(open_study(config), "brt-study")
        return
    from pytest_brt.session import open_session

    config.pluginmanager.register(open_session(config, mode), "brt-session")

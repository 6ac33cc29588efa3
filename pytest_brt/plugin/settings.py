"""Keeps the project's own pytest settings away from our session.

They may need packages that only the project's interpreter has, or be the very bug; the tests
that we start load them as usual. What is done here must be done while pytest starts, before it
parses its arguments for good, and pytest offers no public way: where an attribute of its
configuration is missing, its settings stay and the front-end ``pytest-brt`` still works.
"""

from __future__ import annotations

import inspect
from copy import copy
from typing import Any

import pytest
from _pytest.config.findpaths import determine_setup

#: Ini keys of the project that may reach our session; all others are about its tests.
KEPT = ("brt_", "cache_dir", "console_output_style", "junit_", "log_", "tmp_path_")


def shed_project_settings(config: pytest.Config, args: list[str]) -> None:
    """Take the project's conftests, addopts and test settings out of `config` and `args`."""
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

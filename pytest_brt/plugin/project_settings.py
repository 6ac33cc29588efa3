"""The project's pytest settings: which of them reach our session, and how they are read.

An ini file, and ``[tool.pytest.ini_options]``, have texts and lists of texts. ``[tool.pytest]`` and
``pytest.toml`` of pytest 9 have numbers, booleans and tables too, of which pytest's own ``getini``
takes only the kind that was declared.
https://docs.pytest.org/en/stable/reference/customize.html
"""

from __future__ import annotations

import inspect
from copy import copy
from typing import TYPE_CHECKING, Any

from pytest_brt.project.pytest_config import project_cache_dir

if TYPE_CHECKING:
    import pytest

#: Ini keys of the project that may reach our session; all others are about its tests.
KEPT = ("brt_", "cache_dir", "console_output_style", "junit_", "log_", "tmp_path_")
#: But for these: with them a stranger's checkout would choose a file that pytest writes.
_NOT_KEPT = frozenset({"log_file", "log_file_mode"})


def pytest_settings(config: pytest.Config) -> Any:
    """Return pytest's own mapping of settings; it was public until 9.0, and its values bare."""
    return config._inicfg if hasattr(config, "_inicfg") else config.inicfg


def raw_settings(config: pytest.Config) -> dict[str, object]:
    """Return the values of the project's settings by their names, as they were written."""
    found = pytest_settings(config)
    return {name: getattr(entry, "value", entry) for name, entry in found.items()}


def setting_texts(value: object, *, several: bool) -> list[str]:
    """Return the texts that a setting gives to its option, one or `several`.

    Raises:
        ValueError: it is of another kind; the message says what is expected.
    """
    if isinstance(value, dict) and several:
        return [f"{name}={_text(one)}" for name, one in value.items()]
    if isinstance(value, list | tuple):
        texts = [_text(one) for one in value]
        return texts if several else [",".join(texts)]
    text = _text(value)
    if several:
        return [line.strip() for line in text.split("\n") if line.strip()]
    return [text] if text else []


def _text(value: object) -> str:
    """Return a value as it would be typed."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError("expected a text, a number or a list of these")


def drop_project_settings(config: pytest.Config, args: list[str]) -> None:
    """Take the project's conftests, addopts and test settings out of `config` and `args`.

    They may need packages that only the project's interpreter has, or be the very bug; the tests
    that we start load them as usual. What is done here must be done while pytest starts, before it
    parses its arguments for good, and pytest offers no public way: where an attribute of its
    configuration is missing, its settings stay and the front-end ``pytest-brt`` still works.
    """
    added = list(config.getini("addopts"))
    known_file = config.known_args_namespace.inifilename
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
    settings = pytest_settings(config)
    for key in [key for key in settings if not key.startswith(KEPT) or key in _NOT_KEPT]:
        del settings[key]
    said = config.known_args_namespace.override_ini or ()
    by_user = known_file or any(word.startswith("cache_dir=") for word in said)
    if not by_user and not project_cache_dir(config.rootpath):
        settings.pop("cache_dir", None)
    getattr(config, "_inicache", {}).clear()


def _find_root_again(config: pytest.Config) -> None:
    """Determine rootdir and ini file from the folder pytest was started in.

    When pytest first looks for them it does not know our options yet and takes their values,
    as in ``--brt-issue /elsewhere/issue.md``, for paths of tests.
    """
    known = config.known_args_namespace
    if known.rootdir or known.inifilename:
        return
    from _pytest.config.findpaths import determine_setup  # pytest runs when this is called

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
    settings = pytest_settings(config)
    settings.clear()
    settings.update(found[2])

"""What the user can ask for: the options' table, read into one frozen value.

Most have an ini twin of the same name with underscores (``--brt-timeout`` and ``brt_timeout``).
The command line beats it, and the environment; what the user alone may say has none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.plugin.option_table import SPECS, Options
from pytest_brt.plugin.option_values import Spec
from pytest_brt.plugin.settings import raw_settings, setting

#: Variables that name folders which tests may read, wherever these are.
_FOLDERS_TO_READ = ("PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH")


class Mode(StrEnum):
    """What this pytest run is for: the option that says so."""

    REPAIR = "--brt-repair"
    LOCALISE = "--brt-localise"
    REPRODUCE = "--brt-issue"
    RANK = "--rank-fixes"
    GATE = "--brt-gate"
    EVALUATE = "--brt-evaluate"
    NONE = ""


def mode_of(namespace: object) -> Mode:
    """Say what a run with these parsed options is for."""
    given = {spec.flag for spec in SPECS if getattr(namespace, spec.dest, None)}
    return next((mode for mode in Mode if mode in given), Mode.NONE)


def _check_settings(config: pytest.Config) -> None:
    settings = raw_settings(config)
    for spec in SPECS:
        if not spec.ini and spec.dest in settings:
            raise pytest.UsageError(
                f"{config.inipath}: {spec.dest} is not taken from a project's settings "
                f"(remove it, and give {spec.flag} on the command line)"
            )


def _check_variables(config: pytest.Config) -> None:
    """Refuse settings by which a project would show its tests more than itself."""
    root = config.rootpath.resolve()
    (env,) = (spec for spec in SPECS if spec.name == "env")
    for line in _of_project(env, config):
        name, _, value = line.partition("=")
        if name not in _FOLDERS_TO_READ:
            continue
        for entry in value.split(os.pathsep):
            if not Path(os.path.realpath(root / entry)).is_relative_to(root):
                raise pytest.UsageError(
                    f"{config.inipath}: brt_env: {name} names a folder outside of the project: "
                    f"{entry!r} (give --brt-env {name}=FOLDERS on the command line)"
                )


def _check_together(config: pytest.Config) -> None:
    given = [spec for spec in SPECS if config.getoption(spec.dest) is not None]
    flags = {spec.flag for spec in given}
    for alone in (Mode.EVALUATE, Mode.GATE):
        others = [mode for mode in Mode if mode in flags and mode is not alone]
        if alone in flags and others:
            raise pytest.UsageError(
                f"{alone} and {others[0]} exclude each other (run pytest twice)"
            )
    for spec in given:
        if Mode.EVALUATE in flags and spec.outside_studies:
            raise pytest.UsageError(f"{spec.flag}: a study does not use it: {spec.outside_studies}")
        if spec.only_in_studies and Mode.EVALUATE not in flags:
            raise pytest.UsageError(f"{spec.flag}: only a study uses it (pytest-brt study DATASET)")


def read_options(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> Options:
    """Return the options of this run.

    Raises:
        pytest.UsageError: a value is not what its option takes, or nothing would look at it.
    """
    _check_settings(config)
    if config.getoption("brt_env") is None:
        _check_variables(config)
    _check_together(config)
    said: dict[str, Any] = {spec.name: _value(spec, config, environ) for spec in SPECS}
    branches = [text for text in said["rank_fixes"] if text.startswith("git:")]
    if branches and len(said["rank_fixes"]) > 1:
        raise pytest.UsageError("--rank-fixes: give either one git:NAME, or files and folders")
    passed_over = ""
    if said["model"] == "auto":
        from pytest_brt.model.opening import default_model  # only runs of ours come here

        said["model"], passed_over = default_model()
    said["python"] = said["python"] or None
    # One process drives our work, so xdist's ``-n`` means jobs.
    of_xdist = getattr(config.option, "brt_numprocesses", None)
    said["jobs"] = said["jobs"] or of_xdist or os.cpu_count() or 1
    return Options(**said, notes=(passed_over,) if passed_over else ())


def _value(spec: Spec, config: pytest.Config, environ: Mapping[str, str]) -> object:
    given = config.getoption(spec.dest)
    source = spec.flag
    if given is None and spec.variable and environ.get(spec.variable):
        given, source = environ[spec.variable], spec.variable
    if given is None and spec.ini:
        found = _of_project(spec, config)
        given = (found if spec.repeat else found[0]) if found else None
        source = f"{config.inipath}: {spec.dest}"
    if given is None:
        return () if spec.repeat else spec.default
    values = []
    for text in given if spec.repeat else (str(given),):
        try:
            values.append(spec.read(text))
        except ValueError as error:
            raise pytest.UsageError(f"{source}: {error}, got {text!r}") from None
    return tuple(values) if spec.repeat else values[0]


def _of_project(spec: Spec, config: pytest.Config) -> list[str]:
    settings = raw_settings(config)
    try:
        return setting(spec, settings)
    except ValueError as error:
        place = f"{config.inipath}: {spec.dest}"
        raise pytest.UsageError(f"{place}: {error}, got {settings[spec.dest]!r}") from None

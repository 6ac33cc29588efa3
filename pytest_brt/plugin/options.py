"""What the user can ask for: each option's value, checked and typed.

The command line comes first, then the environment, then the project's own settings, of which only
a few are taken (`SETTINGS`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pytest_brt.errors import UsageProblem
from pytest_brt.plugin.option_list import (
    MORE_OPTIONS,
    OPTIONS,
    REPEATED,
    SETTINGS,
    VARIABLES,
    destination,
)
from pytest_brt.project.pytest_config import read_config
from pytest_brt.sandbox.limits import memory_for
from pytest_brt.sandbox.shown import find_outside

if TYPE_CHECKING:
    import pytest

#: How the names of reports end.
_ENDINGS = (".html", ".md", ".json")


class Options(SimpleNamespace):
    """The options of one run, as `option_list` has them: `--brt-test-file` is `test_file`."""

    @property
    def issues(self) -> tuple[str, ...]:
        """The reports, one that is to be repaired too."""
        return tuple(dict.fromkeys(filter(None, (*self.issue, self.repair))))


def read_options(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> Options:
    """Return the options of this run.

    Raises:
        UsageProblem: a value is not what its option takes, or nothing would look at it.
    """
    ini = read_config(config.rootpath)
    file, settings = ini.file, ini.section
    for key in settings:
        if key.startswith("brt_") and key not in map(destination, SETTINGS):
            raise UsageProblem(
                f"{config.rootpath / file}: {key} is not taken from a project's settings (remove "
                f"it, and give --{key.replace('_', '-')} on the command line)"
            )
    values: dict[str, Any] = {}
    for flag, _, metavar, kind, default, _ in (*OPTIONS, *MORE_OPTIONS):
        key, source = destination(flag), flag
        given = config.getoption(key)
        if given is None and flag in VARIABLES and environ.get(VARIABLES[flag]):
            source = VARIABLES[flag]
            given = environ[source]
        if given is None and key in settings:
            source = f"{config.rootpath / file}: {key}"
            given = _setting(config.rootpath, flag, settings[key], source)
        given = default if given is None else given
        texts = [given] if isinstance(given, str) else given or []
        read = [_read(kind, metavar, text, source) for text in texts]
        values[key.removeprefix("brt_")] = tuple(read) if kind in REPEATED else [None, *read][-1]
    if values["model"] == "auto":
        from pytest_brt.model.spec import default_spec  # only runs of ours come here

        values["model"] = default_spec(environ)
    # One process drives our work, so xdist's ``-n`` means jobs.
    of_xdist = getattr(config.option, "brt_numprocesses", None)
    values["jobs"] = values["jobs"] or of_xdist or os.cpu_count() or 1
    values["memory"] = values["memory"] or memory_for(values["jobs"])
    return Options(**values)


def _setting(root: Path, flag: str, value: object, source: str) -> list[str]:
    """Return the texts that a project's setting gives to an option.

    Raises:
        UsageProblem: by it, the project would show its tests more than itself.
    """
    lines = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
    texts = [line.strip() for line in lines.split("\n") if line.strip()]
    for text in texts:
        name, _, folder = text.partition("=")
        if flag == "--brt-python":
            outside = find_outside("PYTHONPATH", str(Path(text).expanduser().parent), root)
        else:
            outside = find_outside(name, folder, root)
        if outside:
            raise UsageProblem(
                f"{source}: {name} names a folder outside of the project: {outside!r} "
                "(give it on the command line)"
            )
    return texts


def _read(kind: str, metavar: str, text: str, source: str) -> object:
    """Return the value of an option, or one of its values where it has several."""
    known = metavar.strip("{}").split(",")
    try:
        if metavar.startswith("{") and text not in known:
            raise ValueError(f"expected one of {', '.join(known)}")
        return _READERS.get(kind, str)(text)
    except ValueError as error:
        raise UsageProblem(f"{source}: {error}, got {text!r}") from None


def _whole(least: int, text: str) -> int:
    number = int(text) if text.isdecimal() else least - 1
    if number < least:
        raise ValueError(f"expected a number of at least {least}")
    return number


def _guard(text: str) -> float | None:
    """Read for how many seconds existing tests are run; None for "auto"."""
    if text in ("auto", "no"):
        return None if text == "auto" else 0.0
    try:
        return read_seconds(text)
    except ValueError:
        raise ValueError("expected auto, no or a number of seconds") from None


def read_seconds(text: str) -> float:
    """Read a time, as in "90", "90s", "15m" or "1.5h".

    >>> read_seconds("15m")
    900.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.lower())
    seconds = float(match[1]) * {"m": 60, "h": 3600}.get(match[2], 1) if match else 0.0
    if not seconds:
        raise ValueError("expected a time, as in 90s, 15m or 1h")
    return seconds


def _report(text: str) -> Path:
    if not text.endswith(_ENDINGS):
        raise ValueError(f"expected a file called *{', *'.join(_ENDINGS)}")
    return Path(text)


def read_pair(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError("expected NAME=VALUE")
    return name, value


def _names(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, map(str.strip, text.split(","))))
    if not names:
        raise ValueError("expected one or more names, separated by commas")
    return names


#: How the values are read that are not a text.
_READERS: dict[str, Callable[[str], object]] = {
    "names": _names,
    "pairs": read_pair,
    "time": read_seconds,
    "guard": _guard,
    "reports": _report,
    "path": Path,
    "count": partial(_whole, 1),
    "megabytes": partial(_whole, 64),
}

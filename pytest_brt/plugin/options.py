"""What the user can ask for: each option's value, checked and typed.

The command line comes first, then the environment, then the project's own settings, of which only
a few are taken (`SETTINGS`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_brt.errors import UsageProblem
from pytest_brt.plugin.option_list import (
    MORE_OPTIONS,
    OPTIONS,
    REPEATED,
    SETTINGS,
    destination,
)
from pytest_brt.plugin.project_settings import raw_settings, setting_texts
from pytest_brt.sandbox.limits import memory_for
from pytest_brt.sandbox.shown import find_outside

if TYPE_CHECKING:
    import pytest

#: The groups that `pytest-brt COMMAND --help` and the reference page show, with their titles.
GROUPS = {
    "issue": "tests from bug reports",
    "rank": "ranking patches",
    "model": "models (optional)",
    "sandbox": "isolation and limits",
    "report": "what a run leaves",
    "repair": "writing patches with a model",
}
#: Set by the front end, which starts pytest with arguments that nobody typed.
TYPED = "PYTEST_BRT_TYPED"

#: How the names of reports end.
_ENDINGS = (".html", ".md", ".json")
#: Environment variables that set an option.
VARIABLES = {"--brt-model": "PYTEST_BRT_MODEL"}


#: The texts that an option is given, and who gives them.
_Said = tuple[Sequence[str], str]
_NOTHING: _Said = ((), "")


class Write(StrEnum):
    """What becomes of the tests that were found."""

    NO = "no"
    #: Shown as a diff, nothing written.
    DIFF = "diff"
    #: Written as a new test file.
    NEW = "new"
    #: The best one added to the test file where it belongs.
    INTO = "into"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one run; what each means is said in `option_list`."""

    issue: tuple[str, ...] = ()
    rank_fixes: tuple[str, ...] = ()
    repair: str = ""
    tests: tuple[str, ...] = ()
    strategy: tuple[str, ...] = ("auto",)
    model: str = "auto"
    #: Seconds.
    budget: float = 900.0
    write: Write = Write.DIFF
    python: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    #: Seconds.
    timeout: float = 60.0
    sandbox: str = "auto"
    net: str = "none"
    jobs: int = 1
    #: Seconds in which existing tests are run; None for as many as the number of patches asks for.
    guard: float | None = None
    #: Files for what was found, "-" for standard output.
    report: tuple[str, ...] = ()
    edit_model: str = ""
    replies: Path | None = None
    samples: int | None = None
    steps: int | None = None
    buggy_file: tuple[str, ...] = ()
    test_file: str = ""
    mark: str = ""
    #: Megabytes.
    memory: int = 2048
    executor: str = ""
    show: tuple[str, ...] = ()

    #: What is to be said before anything runs, as in why none of the models was taken.
    notes: tuple[str, ...] = ()

    @property
    def issues(self) -> tuple[str, ...]:
        """The reports, one that is to be repaired too."""
        return tuple(dict.fromkeys(filter(None, (*self.issue, self.repair))))

    @property
    def reports(self) -> tuple[tuple[str, Path], ...]:
        """Files for what was found, each with its kind: html, md or json."""
        return tuple((Path(text).suffix[1:], Path(text)) for text in self.report if text != "-")


def read_options(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> Options:
    """Return the options of this run.

    Raises:
        UsageProblem: a value is not what its option takes, or nothing would look at it.
    """
    settings = _project_settings(config)
    values: dict[str, Any] = {}
    for flag, _, metavar, _ in (*OPTIONS, *MORE_OPTIONS):
        texts, source = _given_texts(flag, config, environ, settings)
        if source.startswith(f"{config.inipath}: "):
            _check_folders(config.rootpath, texts, source)
        if texts:
            read = [_read(flag, metavar, text, source) for text in texts]
            values[_name(flag)] = tuple(read) if flag in REPEATED else read[-1]
    if values.setdefault("model", "auto") == "auto":
        from pytest_brt.model.spec import default_spec  # only runs of ours come here

        values["model"] = default_spec(environ)
    # One process drives our work, so xdist's ``-n`` means jobs.
    of_xdist = getattr(config.option, "brt_numprocesses", None)
    values.setdefault("jobs", of_xdist or os.cpu_count() or 1)
    values.setdefault("memory", memory_for(values["jobs"]))
    return Options(**values)


def _name(flag: str) -> str:
    """Return the name of an option's value in `Options`."""
    return destination(flag).removeprefix("brt_")


def _project_settings(config: pytest.Config) -> dict[str, _Said]:
    """Return what the project's settings give to options.

    Raises:
        UsageProblem: a setting is not for a project to say, or of another kind.
    """
    found: dict[str, _Said] = {}
    known = {destination(flag): flag for flag in SETTINGS}
    for key, value in raw_settings(config).items():
        if not key.startswith("brt_"):
            continue
        if key not in known:
            raise UsageProblem(
                f"{config.inipath}: {key} is not taken from a project's settings (remove it, and "
                f"give --{key.replace('_', '-')} on the command line)"
            )
        try:
            texts = setting_texts(value, several=known[key] in REPEATED)
        except ValueError as error:
            raise UsageProblem(f"{config.inipath}: {key}: {error}, got {value!r}") from None
        found[known[key]] = texts, f"{config.inipath}: {key}"
    return found


def _check_folders(root: Path, texts: Sequence[str], source: str) -> None:
    """Refuse settings by which a project would show its tests more than itself."""
    for text in texts:
        name, _, value = text.partition("=")
        if source.endswith("brt_python"):
            outside = find_outside("PYTHONPATH", str(Path(text).expanduser().parent), root)
        else:
            outside = find_outside(name, value, root)
        if outside:
            raise UsageProblem(
                f"{source}: {name} names a folder outside of the project: {outside!r} "
                "(give it on the command line)"
            )


def _given_texts(
    flag: str,
    config: pytest.Config,
    environ: Mapping[str, str],
    settings: Mapping[str, _Said],
) -> _Said:
    """Return what an option is given."""
    given = config.getoption(destination(flag))
    if given is not None:
        return (given if flag in REPEATED else [given]), flag
    variable = VARIABLES.get(flag, "")
    if environ.get(variable):
        return [environ[variable]], variable
    return settings.get(flag, _NOTHING)


def _read(flag: str, metavar: str, text: str, source: str) -> object:
    try:
        return read_value(_name(flag), metavar, text)
    except ValueError as error:
        raise UsageProblem(f"{source}: {error}, got {text!r}") from None


def read_value(name: str, metavar: str, text: str) -> object:
    """Return the value of an option, or one of its values where it has several.

    Raises:
        ValueError: it says what was expected.
    """
    known = metavar.strip("{}").split(",")
    if metavar.startswith("{") and text not in known:
        raise ValueError(f"expected one of {', '.join(known)}")
    return _READERS.get(name, str)(text)


def _at_least(least: int) -> Callable[[str], int]:
    """Return what reads a number that must not be smaller."""

    def read(text: str) -> int:
        number = int(text) if text.isdecimal() else least - 1
        if number < least:
            raise ValueError(f"expected a number of at least {least}")
        return number

    return read


def guard_seconds(text: str) -> float | None:
    """Read for how many seconds regressions are looked for; None for "auto"."""
    if text == "auto":
        return None
    try:
        seconds = 0.0 if text == "no" else float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ValueError("expected auto, no or a number of seconds")
    return seconds


def read_seconds(text: str) -> float:
    """Read a time, as in "90", "90s", "15m" or "1.5h".

    >>> read_seconds("15m")
    900.0
    """
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:].lower())
    try:
        seconds = float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise ValueError("expected a time, as in 90s, 15m or 1h")
    return seconds


def _report(text: str) -> str:
    if text != "-" and not text.endswith(_ENDINGS):
        raise ValueError(f"expected a file called *{', *'.join(_ENDINGS)}, or '-'")
    return text


def read_pair(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError("expected NAME=VALUE")
    return name, value


def _names(text: str) -> tuple[str, ...]:
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise ValueError("expected one or more names, separated by commas")
    return found


#: How the values are read that are not a text.
_READERS: dict[str, Callable[[str], object]] = {
    "strategy": _names,
    "env": read_pair,
    "budget": read_seconds,
    "timeout": read_seconds,
    "guard": guard_seconds,
    "report": _report,
    "write": Write,
    "replies": Path,
    "jobs": _at_least(1),
    "samples": _at_least(1),
    "steps": _at_least(1),
    "memory": _at_least(64),
}

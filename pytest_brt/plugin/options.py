"""What the user can ask for: each option's value, read and checked.

An option is taken from the command line, else from the project's own settings, of which only a few
are taken (`SETTINGS`): how its tests are run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pytest_brt.errors import UsageProblem
from pytest_brt.model.spec import default_spec
from pytest_brt.plugin.option_list import OPTIONS, SETTINGS, destination
from pytest_brt.project.pytest_config import read_config
from pytest_brt.sandbox.process import memory_for
from pytest_brt.sandbox.shown import find_outside

#: What the kinds of reports are called, by the endings of their names.
FORMS = {".html": "HTML", ".md": "Markdown", ".json": "JSON"}
#: How the values are read of options that may be given more than once.
_REPEATED = ("texts", "pairs", "reports")


class Options(SimpleNamespace):
    """The options of one run, as `option_list` has them: `--brt-test-file` is `test_file`."""


def read_options(given: object, root: Path) -> Options:
    """Return the options of a run in the project at `root`.

    `given` is the namespace of the command line: its texts by destination.

    Raises:
        UsageProblem: a value is not what its option takes, or nothing would look at it.
    """
    ini = read_config(root)
    values: dict[str, Any] = {}
    for flag, metavar, kind, default, _ in OPTIONS:
        key = destination(flag)
        source, texts = flag, getattr(given, key, None)
        if not texts and flag in SETTINGS and key in ini.section:
            source = f"{root / ini.file}: {key}"
            texts = _texts(key, ini.section[key], root, source)
        texts = texts or filter(None, [default])
        read = [_read(kind, metavar, text, source) for text in texts]
        values[key.removeprefix("brt_")] = (
            tuple(read) if kind in _REPEATED else [None, *read][-1]
        )
    if values["model"] == "auto":
        values["model"] = os.environ.get("PYTEST_BRT_MODEL") or default_spec()
    if values["repair"]:  # what is repaired is reproduced first
        values["issue"] = tuple(dict.fromkeys((*values["issue"], values["repair"])))
    values["jobs"] = values["jobs"] or os.cpu_count() or 1
    values["memory"] = values["memory"] or memory_for(values["jobs"])
    return Options(**values)


def _texts(key: str, value: object, root: Path, source: str) -> list[str]:
    """Return the texts that a project's setting gives to an option.

    Raises:
        UsageProblem: by it, the project would show its tests more than itself.
    """
    lines = value if isinstance(value, list) else str(value).split("\n")
    texts = list(filter(None, (str(line).strip() for line in lines)))
    for text in texts:
        name, _, folder = text.partition("=")
        if key == "brt_python":
            name, folder = "PYTHONPATH", str(Path(text).expanduser().parent)
        if find_outside(name, folder, root):
            raise UsageProblem(
                f"{source} names a folder outside of the project: {text!r} (give it on the command "
                "line)"
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


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not number:
        raise ValueError("expected a number of at least 1")
    return number


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


def _guard(text: str) -> float | None:
    """Read for how many seconds existing tests are run; None for "auto"."""
    if text == "auto":
        return None
    return 0.0 if text == "no" else read_seconds(text)


def _report(text: str) -> Path:
    if not text.endswith(tuple(FORMS)):
        raise ValueError(f"expected a file called *{', *'.join(FORMS)}")
    return Path(text)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError("expected NAME=VALUE")
    return name, value


#: How the values are read that are not a text.
_READERS: dict[str, Callable[[str], object]] = {
    "names": lambda text: tuple(map(str.strip, text.split(","))),
    "pairs": _pair,
    "time": read_seconds,
    "guard": _guard,
    "reports": _report,
    "path": Path,
    "count": _count,
}

"""A command line of a report: what is run, and what it is fed with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pytest_brt.reading.steps import Role

#: The name of a file that a report may show.
NAME = r"(?:[\w.-]+/)*(?:[\w-]+\.(?:py|pyi|ini|cfg|toml|rst|txt|md|ya?ml|json|html|conf)|\.\w+rc)"
_PYTHON = re.compile(r"^(?:python[\d.]*|py)\s+-m\s+(?P<rest>.*)$")
_STRING = r"'[^']*'|\"[^\"]*\""
#: Commands that are given their standard input on the same line.
_PIPED = re.compile(
    rf"^(?P<by>echo|printf)(?P<flags>(?: -[ne]+)*) (?P<text>{_STRING}) *\| *(?P<rest>[^|]+)$"
)
_HERE = re.compile(rf"^(?P<rest>[^|<]+?) *<<< *(?P<text>{_STRING})$")
_FROM_FILE = re.compile(
    rf"^(?:cat (?P<cat>{NAME}) *\| *(?P<rest>[^|]+)|(?P<before>[^|<]+?) *< *(?P<name>{NAME}))$"
)
_ENDS_COMMAND = re.compile(r"\s*(?:\||&&|;|>|2>|<)\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line of the project that the report shows."""

    name: str
    arguments: tuple[str, ...]
    role: Role
    #: What it is given on its standard input.
    stdin: str = ""


def read_command(
    text: str, role: Role, names: Collection[str], files: Mapping[str, str]
) -> tuple[bool, Command | None]:
    """Return whether `text` is a command of the project, and the command if it is to be run.

    Args:
        text: what somebody typed.
        role: what the report holds of it.
        names: the project's commands.
        files: what the report has shown until then; a command may read one of them.
    """
    text, stdin = _fed(text.strip(), files)
    module = _PYTHON.match(text)
    text = _ENDS_COMMAND.split(module["rest"] if module else text)[0]
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return False, None
    if not words or words[0] not in names or len(text) > 400:
        return False, None
    if "--version" in words or "--help" in words or "\n" in text:
        return True, None
    if len(words) == 2 and re.fullmatch(r"v?\d+(?:\.\w+)+,?", words[1]):
        return True, None  # what `--version` printed
    return True, Command(name=words[0], arguments=tuple(words[1:]), role=role, stdin=stdin)


def _fed(text: str, files: Mapping[str, str]) -> tuple[str, str]:
    """Return a command line without what feeds it, and that as its standard input."""
    said = _PIPED.match(text) or _HERE.match(text)
    if said:
        parts = said.groupdict()
        return parts["rest"], _said(parts["text"][1:-1], parts.get("by"), parts.get("flags"))
    file = _FROM_FILE.match(text)
    if file and (file["cat"] or file["name"]) in files:
        return file["rest"] or file["before"], files[file["cat"] or file["name"]]
    return text, ""


def _said(text: str, by: str | None, flags: str | None) -> str:
    """Return what a shell's ``echo``, ``printf`` or ``<<<`` makes of a text."""
    if by == "printf" or "e" in (flags or ""):
        text = text.replace("\\n", "\n").replace("\\t", "\t")
    return text if by == "printf" or "n" in (flags or "") else text + "\n"

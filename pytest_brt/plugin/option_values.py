"""How one option is spelt, explained and read from text.

Imported by every pytest start, so it imports nothing heavy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

#: Set by the front end, which starts pytest with arguments that nobody typed.
TYPED = "PYTEST_BRT_TYPED"

#: How the names of reports end.
ENDINGS = (".html", ".md", ".json")


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
class Engine:
    """What runs a model."""

    #: What runs a GGUF file.
    name: str = "auto"
    #: Seconds for which a server that does not answer yet is waited for.
    patience: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """How an option is spelt, explained and read."""

    #: Under which heading the help shows it: a key of `GROUPS`.
    group: str
    metavar: str
    help: str
    #: Text → value; raises ValueError saying what was expected.
    read: Callable[[str], object] = str
    default: object = None
    repeat: bool = False
    #: Given without a value it is "yes".
    switch: bool = False
    #: Environment variable that sets it, or "".
    variable: str = ""
    #: Of the value in `Options`.
    name: str = ""
    #: The first one is shown.
    flags: tuple[str, ...] = ()
    #: Whether there is an ini twin.
    ini: bool = True
    #: Why a study does not use it, as in "each bug has its own"; "" when it does.
    outside_studies: str = ""

    @property
    def flag(self) -> str:
        """How it is spelt on the command line."""
        return self.flags[0]

    @property
    def dest(self) -> str:
        """The attribute on pytest's namespace, and the ini key."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def only_in_studies(self) -> bool:
        """Whether nothing but a study uses it."""
        return self.group == "study" and self.name != "evaluate"


def option(
    group: str, metavar: str, text: str, read: Callable[[str], object] = str, **more: Any
) -> Any:
    """Return the field of `Options` for an option: its group, what the help says, its reader."""
    more.setdefault("default", "" if read is str else None)
    return field(
        metadata={"spec": Spec(group=group, metavar=metavar, help=text, read=read, **more)}
    )


def at_least(least: float, most: float = math.inf) -> Callable[[str], object]:
    """Return a reader of numbers from `least` to `most`; whole ones where `least` is one."""
    wanted = f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"

    def read(text: str) -> object:
        try:
            value = type(least)(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:  # so that nan is refused as well
            raise ValueError(f"expected a number {wanted}")
        return value

    return read


def one_of(*words: str) -> Callable[[str], object]:
    """Return a reader of one of `words`."""

    def read(text: str) -> object:
        if text not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return next(word for word in words if word == text)

    return read


def engine(text: str) -> object:
    """Read NAME[,patience=SECONDS].

    >>> engine("auto,patience=60")
    Engine(name='auto', patience=60.0)
    """
    name, comma, more = text.partition(",")
    one_of("auto", "inprocess", "llama-server")(name)
    if not comma:
        return Engine(name=name)
    key, _, value = more.partition("=")
    if key != "patience":
        raise ValueError("expected NAME,patience=SECONDS")
    try:
        patience = float(value)
    except ValueError:
        patience = math.nan
    if not 0 <= patience < math.inf:
        raise ValueError("expected a number of seconds after 'patience='")
    return Engine(name=name, patience=patience)


def is_yes(text: str) -> object:
    """Read "yes" or "no"."""
    return one_of("yes", "no")(text) == "yes"


def path(text: str) -> object:
    """Read the path of a file or folder; None where it is empty."""
    return Path(text) if text else None


def guard_seconds(text: str) -> object:
    """Read for how many seconds regressions are looked for; None for "auto"."""
    if text in ("auto", "no"):
        return None if text == "auto" else 0.0
    try:
        return at_least(0.0)(text)
    except ValueError:
        raise ValueError("expected auto, no or a number of seconds") from None


def seconds(text: str) -> object:
    """Read a time, as in "90", "90s", "15m" or "1.5h".

    >>> seconds("15m")
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


def report(text: str) -> object:
    """Read the name of a file for a report, "-" for standard output."""
    if text != "-" and not text.endswith(ENDINGS):
        raise ValueError(f"expected a file called *{', *'.join(ENDINGS)}, or '-'")
    return text


def pair(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError("expected NAME=VALUE")
    return (name, value)


def names(text: str) -> object:
    """Read words with commas between them."""
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise ValueError("expected one or more names, separated by commas")
    return found


def some_of(*known: str) -> Callable[[str], object]:
    """Return a reader of some of the words `known`, with commas between them."""

    def read(text: str) -> object:
        found = names(text)
        if not isinstance(found, tuple) or any(name not in known for name in found):
            raise ValueError(f"expected some of {', '.join(known)}")
        return found

    return read

"""Why a level of isolation cannot be had, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pytest_brt.types.trouble import (
    Leak,
    Leaked,
    LevelTrouble,
    NoTrial,
    NotThere,
    OthersFiles,
    OtherSystem,
)

_LEAKS = {
    Leak.FILES: "files outside can be written",
    Leak.COPY: "the project's copy cannot be written",
    Leak.PROCESSES: "processes outside can be signalled",
    Leak.TEMPORARY_FILES: "the folder for temporary files is not private",
    Leak.NETWORK: "the network can be seen",
}


#: What loaders say of a shared library that they do not find: that of glibc, and that of musl.
_NO_LIBRARY = ("cannot open shared object file", "Error loading shared library")


def trouble_words(troubles: Sequence[LevelTrouble]) -> str:
    """Return why levels cannot be had, with the likely cause where one is known."""
    return "; ".join(f"no {trouble.level}: {_words(trouble)}" for trouble in troubles)


def not_started_words(python: str, level: str, said: object) -> str:
    """Return that an interpreter does not start at a level, and what was heard of it."""
    advice = "choose another: --brt-python, or another level: --brt-sandbox"
    if any(words in str(said) for words in _NO_LIBRARY):
        advice = "if it lies in a folder that tests do not see, add --brt-show DIR"
    return f"{python!r} does not start at the level {level!r}: {said} ({advice})"


def _words(trouble: LevelTrouble) -> str:
    switch = trouble.switch
    reason = _reason_words(trouble.why)
    if switch is None:
        return reason
    return f"{reason} (user namespaces are off: {switch.path} is {switch.value})"


def _reason_words(why: OtherSystem | OthersFiles | NoTrial | Leaked | NotThere) -> str:
    match why:
        case OtherSystem(platform=platform):
            return f"needs Linux, and this is {platform}"
        case OthersFiles():
            return "the project's files are of another user or group than yours"
        case NoTrial(said=said):
            return said
        case Leaked(leak=leak):
            return _LEAKS[leak]
        case NotThere(reason=reason):
            return f"not where the project lies: {_reason_words(reason)}"
        case _:
            assert_never(why)

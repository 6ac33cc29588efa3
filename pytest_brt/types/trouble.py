"""Why a level of isolation cannot be had; `render` makes a sentence of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.fact import Fact


class Leak(StrEnum):
    """What code could do in a sandbox that is to forbid it, or could not do of what it may."""

    FILES = "files"
    #: The project's private copy cannot be written.
    COPY = "copy"
    PROCESSES = "processes"
    TEMPORARY_FILES = "temporary-files"
    NETWORK = "network"


class OtherSystem(Fact, frozen=True, kw_only=True):
    """The level needs Linux, and this is another platform."""

    platform: str


class OthersFiles(Fact, frozen=True, kw_only=True):
    """The project's files are of another user or group, and an overlay cannot change the owner."""


class NoTrial(Fact, frozen=True, kw_only=True):
    """Our own interpreter could not be started at that level; `said` is what was heard of it."""

    said: str


class Leaked(Fact, frozen=True, kw_only=True):
    """Our own interpreter was started, and the level did not do what it is for."""

    leak: Leak


class NotThere(Fact, frozen=True, kw_only=True):
    """The level works on this machine, but not where the project lies."""

    reason: NoTrial | Leaked


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A setting of the kernel by which namespaces are off."""

    path: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelTrouble:
    """A level, why it cannot be had, and the likely cause where one is known."""

    level: str
    why: OtherSystem | OthersFiles | NoTrial | Leaked | NotThere
    switch: Switch | None = None

"""What a process of the project sees and may write, besides the system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The folders and variables of one process; pairs are a folder's real path and its name."""

    #: The project's own path, and the private copy of it.
    root: str
    copy: str
    #: Where the process finds the project: at its own path, or where the copy lies.
    tree: str
    env: Mapping[str, str]
    shown: tuple[tuple[str, str], ...] = ()
    #: Virtual environments of the project, of which no copy is made.
    environments: tuple[tuple[str, str], ...] = ()
    #: Other folders that it may write.
    writable: tuple[tuple[str, str], ...] = ()
    #: The folder of our scripts, and where the process finds it.
    tools: str
    tools_inside: str

"""The process that shuts itself in and becomes the subject's interpreter; never imported by ours.

It is started by path, without environment and site packages: nothing in this folder needs more
than the standard library, landlockpy at the level `landlock` aside. It has one thread, as
leaving for another user namespace demands, and never runs code of the subject. What it starts has
no power over anything.
"""

from __future__ import annotations

from typing import TypedDict


class Specification(TypedDict):
    """What the tool asks for."""

    level: str
    python: str
    #: What begins the zygote.
    script: str
    env: dict[str, str]
    #: The project's folder.
    root: str
    #: The only paths that may be read, besides what the kernel makes: the system's folders,
    #: interpreter, libraries, our own scripts, the project.
    shown: list[str]
    #: Folders that the subject may write to (level landlock).
    writable: list[str]
    #: Where the level `ns` mounts its scratch file system.
    scratch: str
    #: The user to become, or None.
    uid: int | None
    #: Folders above what is shown that only their owner can look into, where rows become another.
    private: list[str]
    net: str
    #: The file by which to join a group whose memory is limited, or "".
    group: str
    #: Landlock can keep signals in.
    scope: bool
    #: Bytes of one private file system.
    size: int

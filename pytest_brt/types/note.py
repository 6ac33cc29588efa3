"""What is said of a thing: a code for programs, and a text for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that was found out, written where it is known."""

    #: For programs, as in `no-code`.
    code: str
    #: For people, on one line. It may change with any version.
    text: str
    #: What to do about it, or empty.
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """What made a bug go away, as far as the history tells."""

    #: Whether a commit did, or what is not committed.
    code: str
    #: For people, on one line.
    text: str
    #: The commit that fixed it, or empty.
    commit: str = ""

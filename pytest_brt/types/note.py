"""What is said of a thing: a code for programs, a text for people, and what it all comes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make a dataclass of `kind` that is frozen, has slots, and takes its fields by name."""
    return dataclass(frozen=True, slots=True, kw_only=True)(kind)


@value
class Note:
    """Something that was found out, written where it is known."""

    #: For programs, as in `no-code`.
    code: str
    #: For people, on one line. It may change with any version.
    text: str
    #: What to do about it, or empty.
    hint: str = ""


@value
class Fix:
    """What made a bug go away, as far as the history tells."""

    #: For people, on one line.
    text: str
    #: The commit that fixed it; empty where what is not committed did.
    commit: str = ""


class Status(StrEnum):
    """What a report, or a ranking, came to."""

    REPRODUCED = "reproduced"
    #: A test fails, perhaps for another reason.
    POSSIBLE = "possible"
    NOT_REPRODUCED = "not-reproduced"
    #: What the report complains about does not show on this tree.
    NOT_HERE = "not-here"
    BEST = "best"
    #: A patch is first, and that is not sure.
    UNSURE = "unsure"
    TIE = "tie"
    #: No other patch could be tried.
    ONLY = "only"
    #: No patch is known to fix the bug.
    NONE = "none"
    #: Patches were not run.
    UNFINISHED = "unfinished"


@value
class Answer:
    """What a report, or a ranking, came to."""

    status: Status
    #: One or two sentences.
    text: str
    #: The patches that are first.
    best: tuple[str, ...] = ()
    #: Why it is so; null where that is plain.
    reason: Note | None = None
    #: What made the bug go away; null where that is not known.
    fix: Fix | None = None

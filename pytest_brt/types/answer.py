"""What a report, or a ranking, came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.types.note import Fix, Note


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a report, or a ranking, came to."""

    status: Status
    #: One or two sentences, and how they begin, as in "Best: a.diff".
    text: str
    headline: str
    #: The best test, or the patches that are first.
    best: tuple[str, ...] = ()
    #: Why it is so; null where that is plain.
    reason: Note | None = None
    #: What made the bug go away; null where that is not known.
    fix: Fix | None = None

"""Existing tests that may be what is wrong, and not the patches that make them fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Sign(StrEnum):
    """What speaks against an existing test."""

    #: A bug test wants the opposite of the same calls.
    CONTRADICTED = "contradicted"
    #: A patch changes it, and patches of other sources that pass the believed bug tests break it.
    EDITED = "edited"
    #: All patches that pass the believed bug tests break it, those of at least two sources, and no
    #: other patch does.
    BROKEN_BY_ALL = "broken-by-all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """An existing test that passes without a patch, and what speaks against it."""

    #: Id of the issue whose patches break it; "" when only tests were given.
    issue: str
    #: As of `Regression`.
    existing: str
    #: The assertion that fails, on one line; "" where that is not known.
    asserts: str
    signs: tuple[Sign, ...]
    #: Ids of the bug tests that contradict it, and what the first of them asserts.
    bug_tests: tuple[str, ...] = ()
    demands: str = ""
    #: The patches that change it.
    edited_by: tuple[str, ...] = ()
    #: Whether that is enough: it weighs on no patch.
    is_disputed: bool
    #: Whether a person says that it is right; None where nobody was asked.
    is_right: bool | None = None
    #: The reporter states what the bug tests demand; else they are at most possibly right.
    is_settled: bool = False

    @property
    def is_told(self) -> bool:
        """Whether enough speaks against it, or a person was asked."""
        return self.is_disputed or self.is_right is not None

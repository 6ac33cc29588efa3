"""Where a bug that does not show any more was fixed, as far as the history tells."""

from __future__ import annotations

from pytest_brt.types.fact import Fact


class FixedBy(Fact, frozen=True, kw_only=True):
    """A commit fixed it."""

    commit: str
    #: Date, author and first line of the message.
    about: str
    #: What it changes in the project, at most a few.
    files: tuple[str, ...]


class FixedAmong(Fact, frozen=True, kw_only=True):
    """One of several commits did; the ones between could not be tried."""

    first: str
    last: str
    commits: int


class FixedHere(Fact, frozen=True, kw_only=True):
    """What is not committed did."""


class NeverSeen(Fact, frozen=True, kw_only=True):
    """No older revision that was tried has the bug."""

    revisions: int
    #: Name, date, author and first line of the oldest of them.
    oldest: str


Fix = FixedBy | FixedAmong | FixedHere | NeverSeen

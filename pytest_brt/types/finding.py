"""What is asked of a test that is to be a bug test, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Check(StrEnum):
    """What makes a test a bug test of a report."""

    #: Does it fail on the unpatched tree?
    FAILS = "fails"
    #: Does it do so every time?
    STEADY = "steady"
    #: Does it lack nothing here: a package, a fixture, a network?
    EQUIPPED = "equipped"
    #: Does it fail for the reason that the report gives?
    AS_REPORTED = "as-reported"
    #: Does it demand nothing that the report complains about?
    HONEST = "honest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The answer to one of these questions."""

    question: Check
    #: None where it cannot be told.
    answer: bool | None
    #: Why, "" where there is nothing to say.
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A test, and what was found of it."""

    #: As pytest calls it.
    test: str
    findings: tuple[Finding, ...]
    #: Whether it is a bug test of the report: all answers are yes.
    is_bug_test: bool

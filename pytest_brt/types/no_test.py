"""Why a report gave no bug test, as far as its own code shows."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.fact import Fact


class NoTestCode(StrEnum):
    """A kind of reason."""

    #: The report has no Python code that can be read.
    NO_CODE = "no-code"
    #: Its code stands in a command of a shell, or is not Python 3.
    UNREADABLE_CODE = "unreadable-code"
    #: Its code uses names that neither it nor the project defines.
    UNDEFINED_NAMES = "undefined-names"
    #: A statement raises something that the report does not speak of.
    RAISES = "raises"
    #: A statement ended its process, or its time.
    ENDED = "ended"
    #: What is right or wrong is not said in a form that can be compared.
    NOT_STATED = "not-stated"
    #: What the report calls right is what comes out.
    PASSES = "passes"
    #: Tests were made, and fail for another reason.
    REFUSED = "refused"


class NoTestReason(Fact, frozen=True, kw_only=True):
    """A reason why a report gave no bug test."""

    code: NoTestCode
    #: One clause, and what to do about it, or "".
    text: str
    hint: str = ""

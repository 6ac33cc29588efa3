"""Whether what a command did is what the report is about: its crash, its output."""

from __future__ import annotations

import re
from enum import Enum

from pytest_brt.issue.tracebacks import final_exception
from pytest_brt.observe.run_commands import Played, Stage
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.view import messages_agree
from pytest_brt.reading.lexicon import plain
from pytest_brt.reading.script import named_exceptions
from pytest_brt.reading.steps import Role
from pytest_brt.types import Issue, Raised

CRASH = re.compile(r"^Traceback \(most recent call last\):|^INTERNAL ?ERROR", re.MULTILINE)
_SAYS = re.compile(
    r"(?<!no )(?<!without )\b(?:crash(?:es|ed|ing)?|traceback|stack ?trace|internal ?error"
    r"|(?:uncaught|unhandled) (?:error|exception)|blows? up|dies|rais(?:es|ed))\b",
    re.IGNORECASE,
)
#: Words that a crash is one way of, where the report does not show another.
_FAILS = re.compile(
    r"(?<!no )(?<!without )\b(?:fail(?:s|ed|ing|ure)?|errors?|breaks?|broken|does(?:n['’]t| not)"
    r" work)\b",
    re.IGNORECASE,
)


class Crash(Enum):
    """A crash of a command, beside what the report tells of one."""

    #: The command did not crash.
    NONE = "none"
    #: The report shows the output of this crash.
    SHOWN = "the report shows this exception"
    #: The report names the exception.
    NAMED = "the report names this exception"
    #: The report says that it crashes or fails, without naming how.
    SAID = "the report says that it fails, without naming how"
    #: Not what the report is about.
    OTHER = "another crash than the report shows"


def crash_of(issue: Issue, stage: Stage, played: Played) -> Crash:
    """Return whether a command crashed, and whether that is the crash of the report."""
    crash = CRASH.search(played.output)
    if crash is None:
        return Crash.NONE
    raised = raised_by(played)
    shown = [raised_in(quote.text) for quote in stage.reported.quotes if crash[0] in quote.text]
    if shown and (raised is None or any(_says_the_same(one, raised) for one in shown)):
        return Crash.SHOWN
    named = named_exceptions(issue)
    if any(_same(one, raised) for one in named):
        return Crash.NAMED
    if shown or named:
        return Crash.OTHER
    others = any(quote.role is not Role.EXPECTED for quote in stage.reported.quotes)
    text = plain(issue.text)
    said = _SAYS.search(text) or (not others and _FAILS.search(text))
    return Crash.SAID if said else Crash.OTHER


def raised_by(played: Played) -> Raised | None:
    """Return the exception that a command ended in, None when its output names none."""
    return raised_in(played.output)


def raised_in(output: str) -> Raised | None:
    """Return the last exception in an output, also where a tool marks each of its lines."""
    return final_exception(re.sub(r"^INTERNAL ?ERROR> ?", "", output, flags=re.MULTILINE))


def _says_the_same(one: Raised | None, other: Raised) -> bool:
    """Say whether two exceptions are of one type, with messages that do not differ."""
    if one is None or not _same(one, other):
        return False
    return not one.message or messages_agree(one.message, other.message)


def _same(one: Raised | None, other: Raised | None) -> bool:
    return bool(one and other and simple(one.type) == simple(other.type))

"""Why the report's own code gave no bug test, and what to add to the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from pytest_brt.observe.results import results_of
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.draft import shorten
from pytest_brt.render.words import count
from pytest_brt.types import JudgedTest, Note, Verdict
from pytest_brt.types.report import ClaimKind, ClaimRole, Reading

#: Code that a shell gives to Python, on the command line or below it.
_SHELL = re.compile(r"\bpython[\d.]*\s+-c\b|<<-?\s*['\"]?\w+")
#: Names that Python 3 does not define any more (What's New in Python 3.0).
_PYTHON_2 = frozenset((
    "apply", "basestring", "buffer", "cmp", "coerce", "execfile", "file", "intern", "long",
    "raw_input", "reduce", "reload", "unichr", "unicode", "xrange",
))  # fmt: skip
#: Statements, names and values that are listed.
_MOST = 3
#: What to do about exceptions that have to do with where the code runs, and about others.
_HINTS = {
    "ModuleNotFoundError": "install it for the Python that runs the project's tests, or choose "
    "another one: --brt-python",
    "ImportError": "check the name, and that this is the version the report is about",
    "NameError": "check the name, and that this is the version the report is about",
}
_WRONG = "add to the report that this is wrong, or what the statement needs to run"

#: A kind of reason, what there is to say, and what to do about it.
_Why = tuple[str, str, str]


def why_not(observed: ObservedReport, tests: Sequence[JudgedTest]) -> tuple[Note, ...]:
    """Return why no bug test was found, the weightiest first; () when one was."""
    if any(item.judgement.candidate for item in tests):
        return ()
    ran = [one for one in observed.observations if not (one.missing and one.statement.is_inline)]
    left_out = list(_left_out(observed.reading))
    reasons = [*left_out, _no_code(observed.reading)]
    if ran:
        reasons = [*islice(_of_code(ran), 2 * _MOST), *_of_tests(tests)]
        reasons = reasons or [_not_stated(observed, ran)]
        reasons += left_out
    return tuple(Note(code=code, text=text, hint=hint) for code, text, hint in reasons)


def _no_code(reading: Reading) -> _Why:
    for number, line in enumerate(reading.issue.text.split("\n"), 1):
        if _SHELL.search(line):
            text = f"the report's code is given to Python by a shell (line {number})"
            hint = "add the code to the report in a block of its own, without the command"
            return "unreadable-code", text, hint
    text, give = (
        "the report has no Python code that could be run",
        "what they give (or the traceback), ",
    )
    if any(raised.frames for raised in reading.exceptions):
        text, give = "the report has a traceback, but no Python code that leads to it", ""
    lines = "a few lines of Python that show the bug"
    return "no-code", text, f"add to the report {lines}, {give}and what they should give"


def _left_out(reading: Reading) -> Iterator[_Why]:
    for lines in reading.left_out:
        where = f"line {lines.line} of the report is not Python 3 and was"
        if lines.end_line > lines.line:
            where = (
                f"lines {lines.line} to {lines.end_line} of the report are not Python 3 and were"
            )
        hint = "add to the report what these lines are in Python 3"
        yield "unreadable-code", f"{where} left out: {lines.code!r}", hint


def _of_code(ran: Sequence[Observation]) -> Iterator[_Why]:
    """Yield what the report's code does that it does not speak of: names, ends, exceptions."""
    if names := sorted({name for one in ran for name in one.missing}):
        whose, hint = "neither it nor the project", "add to the report their imports or definitions"
        if _PYTHON_2.issuperset(names):
            whose, hint = "only Python 2", "write the report's code for Python 3"
        listed = ", ".join(names[: 2 * _MOST])
        text = f"the report's code uses names that {whose} defines: {listed}"
        yield "undefined-names", text, hint
    for one in (one for one in ran if one.ended):
        share = ", a third of --brt-timeout" if one.timed_out else ""
        text = f"line {one.statement.line}: {one.ended}{share}: {shorten(one.source)!r}"
        yield "ended", text, ""
    raising = [(one, one.raised) for one in ran if one.raised and not one.missing]
    for one, raised in raising:
        claims = one.statement.claims_of(ClaimKind.RAISES)
        if raised.name not in {claim.exception for claim in claims}:
            message = f"{raised.type}: {raised.message}".split("\n")[0][:160]
            text = f"line {one.statement.line}: {shorten(one.source)!r} raises {message}"
            yield "raises", text, _HINTS.get(raised.name, _WRONG)


def _of_tests(tests: Sequence[JudgedTest]) -> Iterator[_Why]:
    """Yield what the tests do that were made: they pass, or are refused."""
    passing = [item for item in tests if item.judgement.verdict is Verdict.PASS]
    if passing:
        text = f"passing on this tree: {count(len(passing), 'test')} of the report"
        yield "passes", text, "check that this is the version the report is about"
    for item in [item for item in tests if item not in passing][:_MOST]:
        text = f"{item.test.name} reproduces nothing: {item.judgement.reason}"
        yield "refused", text, ""


def _not_stated(observed: ObservedReport, ran: Sequence[Observation]) -> _Why:
    """Return why nothing could be compared: what the report says, or does not say, of results."""
    reading = observed.reading
    results = [result for one in ran for result in results_of(one)]
    stated = list(reading.claims_of(ClaimKind.VALUE, ClaimRole.EXPECTED))
    texts = ", ".join(dict.fromkeys(repr(claim.text.strip()[:60]) for claim in stated[:_MOST]))
    claims = [claim for claim in reading.claims_of(ClaimKind.VALUE) if claim.text]
    shown = [c for c in claims if any(result.quoted_by(c.text) for result in results)]
    code = "not-stated"
    if stated and all(claim in shown for claim in stated):
        code = "passes"
        text = f"the code already gives what the report expects: {texts}"
        hint = "add to the report what is wrong, or check that this is the version it is about"
    elif stated:
        text = f"could not compare what the code gives with what the report expects: {texts}"
        hint = (
            "add to the report a call and the value it should return, written as Python "
            "shows it: '`f(1)` should return `2`'"
        )
    elif shown:
        text = "the code does what the report shows, but the report does not say what is wrong"
        hint = "add to the report the right value, as in 'should return 3' or 'Expected: 3'"
    else:
        text = "it is unclear which result of the report's code is wrong, and what the right one is"
        hint = (
            "add to the report the exact wrong output or exception, below the code, or "
            "'Expected:' and the right value"
        )
    return code, text, hint

"""Why the report's own code gave no bug test, and what to add to the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.draft import shorten
from pytest_brt.oracle.judge import first_line
from pytest_brt.render.words import count
from pytest_brt.types import JudgedTest, Note, Verdict
from pytest_brt.types.report import ClaimKind

_UNCLEAR = "it is unclear which result of the report's code is wrong, and what is right"
_NOTHING_RAN = {
    "only-traceback": "the report has a traceback, but no Python code that leads to it",
    "no-code": "the report has no Python code that could be run",
}
#: Reasons, and names or values of one, that are listed; and results.
_MOST, _FEW = 6, 3
#: What to do about each kind of reason.
_HINTS = {
    "no-code": "add to the report a few lines of Python that show the bug, what they give (or the "
    "traceback), and what they should give",
    "only-traceback": "add to the report a few lines of Python that lead to it, and what they "
    "should give",
    "unreadable-code": "add to the report what these lines are in Python 3",
    "undefined-names": "add to the report their imports or definitions, in Python 3",
    "raises": "add to the report that this is wrong, or install what the statement needs, or "
    "choose another Python: --brt-python",
    "passes": "check that this is the version the report is about",
    "not-stated": "add to the report the exact wrong output or exception, below the code, or "
    "'Expected:' and the right value",
}


def why_not(observed: ObservedReport, tests: Sequence[JudgedTest]) -> tuple[Note, ...]:
    """Return why no bug test was found, the weightiest first; () when one was."""
    if any(item.judgement.candidate for item in tests):
        return ()
    ran = [
        one
        for one in observed.observations
        if not (one.missing and one.statement.is_inline)
    ]
    left_out = [
        _note(
            "unreadable-code", f"not Python 3 and left out: line {one.line}: {one.code!r}"
        )
        for one in observed.reading.left_out
    ]
    if not ran:
        has_traceback = any(raised.frames for raised in observed.reading.exceptions)
        code = "only-traceback" if has_traceback else "no-code"
        return (*left_out, _note(code, _NOTHING_RAN[code]))
    reasons = [*_of_code(ran), *_of_tests(tests)][:_MOST]
    return (*(reasons or [_note("not-stated", _UNCLEAR)]), *left_out)


def _note(code: str, text: str) -> Note:
    """Return a reason, with what to do about its kind."""
    return Note(code=code, text=text, hint=_HINTS.get(code, ""))


def _of_code(ran: Sequence[Observation]) -> Iterator[Note]:
    """Yield what the report's code does that it does not speak of: names, ends, exceptions."""
    if names := sorted({name for one in ran for name in one.missing}):
        text = "the report's code uses names that neither it nor the project defines: "
        yield _note("undefined-names", text + ", ".join(names[:_MOST]))
    for one in ran:
        where = f"line {one.statement.line}: "
        if one.ended:
            yield _note("ended", f"{where}{one.ended}: {shorten(one.source)!r}")
        raised, claims = one.raised, one.statement.claims_of(ClaimKind.RAISES)
        if (
            raised
            and not one.missing
            and raised.name not in [one.exception for one in claims]
        ):
            message = f"{raised.type}: {first_line(raised)}"
            yield _note("raises", f"{where}{shorten(one.source)!r} raises {message}")


def _of_tests(tests: Sequence[JudgedTest]) -> Iterator[Note]:
    """Yield what the tests do that were made: they pass, or are refused."""
    passing = [item for item in tests if item.judgement.verdict is Verdict.PASS]
    if passing:
        text = f"passing on this tree: {count(len(passing), 'test')} of the report"
        yield _note("passes", text)
    for item in [item for item in tests if item not in passing][:_FEW]:
        text = f"{item.test.name} reproduces nothing: {item.judgement.reason}"
        yield _note("refused", text)

"""Why the report's own code gave no bug test, and what to add to the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from pytest_brt.observe.results import results_of
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.draft import shorten
from pytest_brt.render.words import count
from pytest_brt.types import JudgedTest, Note, Verdict
from pytest_brt.types.report import ClaimKind, ClaimRole, Reading

#: Names that Python 3 does not define any more (What's New in Python 3.0).
_PYTHON_2 = frozenset((
    "apply", "basestring", "buffer", "cmp", "coerce", "execfile", "file", "intern", "long",
    "raw_input", "reduce", "reload", "unichr", "unicode", "xrange",
))  # fmt: skip
#: Reasons, names and values that are listed.
_MOST, _FEW = 6, 3
#: What to do about each kind of reason.
_HINTS = {
    "no-code": "add to the report a few lines of Python that show the bug, what they give (or the "
    "traceback), and what they should give",
    "only-traceback": "add to the report a few lines of Python that lead to it, and what they "
    "should give",
    "unreadable-code": "add to the report what these lines are in Python 3",
    "undefined-names": "add to the report their imports or definitions",
    "python-2": "write the report's code for Python 3",
    "raises": "add to the report that this is wrong, or what the statement needs to run",
    "ModuleNotFoundError": "install it for the Python that runs the project's tests, or choose "
    "another one: --brt-python",
    "ImportError": "check the name, and that this is the version the report is about",
    "NameError": "check the name, and that this is the version the report is about",
    "passes": "check that this is the version the report is about",
    "not-compared": "add to the report a call and the value it should return, written as Python "
    "shows it: '`f(1)` should return `2`'",
    "no-right-value": "add to the report the right value, as in 'should return 3' or 'Expected: 3'",
    "not-stated": "add to the report the exact wrong output or exception, below the code, or "
    "'Expected:' and the right value",
}


def why_not(observed: ObservedReport, tests: Sequence[JudgedTest]) -> tuple[Note, ...]:
    """Return why no bug test was found, the weightiest first; () when one was."""
    if any(item.judgement.candidate for item in tests):
        return ()
    ran = [one for one in observed.observations if not (one.missing and one.statement.is_inline)]
    left_out = [*_left_out(observed.reading)]
    if not ran:
        return (*left_out, _no_code(observed.reading))
    reasons = [*islice(_of_code(ran), _MOST), *_of_tests(tests)]
    return (*(reasons or [_not_stated(observed, ran)]), *left_out)


def _note(code: str, text: str, hint: str = "") -> Note:
    """Return a reason; what to do about it is that of `hint`, or of its own kind."""
    return Note(code=code, text=text, hint=_HINTS.get(hint) or _HINTS.get(code, ""))


def _no_code(reading: Reading) -> Note:
    if any(raised.frames for raised in reading.exceptions):
        text = "the report has a traceback, but no Python code that leads to it"
        return _note("no-code", text, "only-traceback")
    return _note("no-code", "the report has no Python code that could be run")


def _left_out(reading: Reading) -> Iterator[Note]:
    for lines in reading.left_out:
        end = f" to {lines.end_line}" if lines.end_line > lines.line else ""
        where = f"line {lines.line}{end} of the report"
        yield _note("unreadable-code", f"not Python 3 and left out: {where}: {lines.code!r}")


def _of_code(ran: Sequence[Observation]) -> Iterator[Note]:
    """Yield what the report's code does that it does not speak of: names, ends, exceptions."""
    if names := sorted({name for one in ran for name in one.missing}):
        is_old = _PYTHON_2.issuperset(names)
        whose = "only Python 2" if is_old else "neither it nor the project"
        text = f"the report's code uses names that {whose} defines: {', '.join(names[:_MOST])}"
        yield _note("undefined-names", text, "python-2" if is_old else "")
    for one in ran:
        where = f"line {one.statement.line}: "
        if one.ended:
            yield _note("ended", f"{where}{one.ended}: {shorten(one.source)!r}")
        claims = one.statement.claims_of(ClaimKind.RAISES)
        raised = None if one.missing else one.raised
        if raised and raised.name not in {claim.exception for claim in claims}:
            message = f"{raised.type}: {raised.message}".split("\n")[0][:160]
            yield _note("raises", f"{where}{shorten(one.source)!r} raises {message}", raised.name)


def _of_tests(tests: Sequence[JudgedTest]) -> Iterator[Note]:
    """Yield what the tests do that were made: they pass, or are refused."""
    passing = [item for item in tests if item.judgement.verdict is Verdict.PASS]
    if passing:
        text = f"passing on this tree: {count(len(passing), 'test')} of the report"
        yield _note("passes", text)
    for item in [item for item in tests if item not in passing][:_FEW]:
        text = f"{item.test.name} reproduces nothing: {item.judgement.reason}"
        yield _note("refused", text)


def _not_stated(observed: ObservedReport, ran: Sequence[Observation]) -> Note:
    """Return why nothing could be compared: what the report says, or does not say, of results."""
    results = [result for one in ran for result in results_of(one)]
    claims = [claim for claim in observed.reading.claims_of(ClaimKind.VALUE) if claim.text]
    shown = [c for c in claims if any(result.quoted_by(c.text) for result in results)]
    stated = [claim for claim in claims if claim.role is ClaimRole.EXPECTED]
    texts = ", ".join(dict.fromkeys(repr(claim.text.strip()[:60]) for claim in stated[:_FEW]))
    if stated and all(claim in shown for claim in stated):
        return _note("passes", f"the code already gives what the report expects: {texts}")
    hint, text = "", "it is unclear which result of the report's code is wrong, and what is right"
    if stated:
        hint = "not-compared"
        text = f"could not compare what the code gives with what the report expects: {texts}"
    elif shown:
        hint = "no-right-value"
        text = "the code does what the report shows, but the report does not say what is wrong"
    return _note("not-stated", text, hint)

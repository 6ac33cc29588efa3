"""Why the report's own code gave no bug test, and what to add to the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_brt.observe.results import results_of
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.draft import shorten, simple
from pytest_brt.render.words import count
from pytest_brt.report.statements import MOST_STATEMENTS
from pytest_brt.types import JudgedTest, Note, Verdict
from pytest_brt.types.report import ClaimKind, ClaimRole, LeftOut, Reading

#: Code that a shell gives to Python, on the command line or below it.
_SHELL = re.compile(r"\bpython[\d.]*\s+-c\b|<<-?\s*['\"]?\w+")
#: Names that Python 3 does not define any more (What's New in Python 3.0).
_PYTHON_2 = frozenset((
    "apply", "basestring", "buffer", "cmp", "coerce", "execfile", "file", "intern", "long",
    "raw_input", "reduce", "reload", "unichr", "unicode", "xrange",
))  # fmt: skip
#: Statements, names and values that are listed.
_MOST = 3


def why_not(observed: ObservedReport, tests: Sequence[JudgedTest]) -> tuple[Note, ...]:
    """Return why no bug test was found, the weightiest first; () when one was."""
    if any(item.judgement.candidate for item in tests):
        return ()
    ran = [one for one in observed.observations if not (one.missing and one.statement.is_inline)]
    if not ran:
        return (*map(_left_out, observed.reading.left_out), _no_code(observed.reading))
    reasons = [*_undefined(ran), *_ended(ran), *_raised(ran), *_of_tests(tests)]
    if not reasons:
        reasons.append(_not_stated(observed, ran))
    reasons += map(_left_out, observed.reading.left_out)
    if len(ran) >= MOST_STATEMENTS:
        text = f"only the first {MOST_STATEMENTS} statements of the report are run"
        reasons.append(Note(code="unreadable-code", text=text))
    return tuple(reasons)


def _no_code(reading: Reading) -> Note:
    for number, line in enumerate(reading.issue.text.split("\n"), 1):
        if _SHELL.search(line):
            return Note(
                code="unreadable-code",
                text=f"the report's code is given to Python by a shell (line {number})",
                hint="add the code to the report in a block of its own, without the command",
            )
    has_traceback = any(raised.frames for raised in reading.exceptions)
    text = "the report has no Python code that could be run"
    give = " what they give (or the traceback),"
    if has_traceback:
        text, give = "the report has a traceback, but no Python code that leads to it", ""
    return Note(
        code="no-code",
        text=text,
        hint="add to the report a few lines of Python that show the bug,"
        f"{give} and what they should give",
    )


def _left_out(lines: LeftOut) -> Note:
    where = f"line {lines.line} of the report is not Python 3 and was"
    if lines.end_line > lines.line:
        where = f"lines {lines.line} to {lines.end_line} of the report are not Python 3 and were"
    return Note(
        code="unreadable-code",
        text=f"{where} left out: {lines.code!r}",
        hint="add to the report what these lines are in Python 3",
    )


def _undefined(ran: Sequence[Observation]) -> Iterator[Note]:
    names = sorted({name for one in ran for name in one.missing})
    if not names:
        return
    is_old = _PYTHON_2.issuperset(names)
    whose = "only Python 2" if is_old else "neither it nor the project"
    listed = ", ".join(names[: 2 * _MOST])
    yield Note(
        code="undefined-names",
        text=f"the report's code uses names that {whose} defines: {listed}",
        hint="write the report's code for Python 3"
        if is_old
        else "add to the report their imports or definitions",
    )


def _ended(ran: Sequence[Observation]) -> list[Note]:
    reasons = []
    for one in ran:
        if one.ended:
            share = ", a third of --brt-timeout" if one.timed_out else ""
            where = f"line {one.statement.line}: {one.ended}{share}"
            text = f"{where}: {shorten(one.source)!r}"
            reasons.append(Note(code="ended", text=text))
    return reasons[:_MOST]


def _raised(ran: Sequence[Observation]) -> list[Note]:
    """Return the exceptions that the report does not speak of."""
    reasons = []
    for one in ran:
        raised = one.raised
        claims = one.statement.claims_of(ClaimKind.RAISES)
        if raised is None or one.missing or simple(raised.type) in {c.exception for c in claims}:
            continue
        message = f"{raised.type}: {raised.message}".split("\n")[0][:160]
        text = f"line {one.statement.line}: {shorten(one.source)!r} raises {message}"
        hint = "add to the report that this is wrong, or what the statement needs to run"
        if simple(raised.type) == "ModuleNotFoundError":
            hint = (
                "install it for the Python that runs the project's tests, or choose another "
                "one: --brt-python"
            )
        elif simple(raised.type) in ("ImportError", "NameError"):
            hint = "check the name, and that this is the version the report is about"
        reasons.append(Note(code="raises", text=text, hint=hint))
    return reasons[:_MOST]


def _of_tests(tests: Sequence[JudgedTest]) -> Iterator[Note]:
    """Yield what the tests do that were made: they pass, or are refused."""
    for item in tests:
        if item.test.is_reporters:
            passes = item.judgement.verdict is Verdict.PASS
            does = "passes on this tree" if passes else f"was of no use: {item.judgement.reason}"
            code = "passes" if passes else "refused"
            yield Note(code=code, text=f"the report's own test {item.test.name} {does}")
    made = [item for item in tests if not item.test.is_reporters]
    passing = [item for item in made if item.judgement.verdict is Verdict.PASS]
    if passing:
        text = f"passing on this tree: {count(len(passing), 'test')} made from the report"
        hint = "check that this is the version the report is about"
        yield Note(code="passes", text=text, hint=hint)
    for item in made[:_MOST]:
        if item not in passing:
            text = f"{item.test.name} reproduces nothing: {item.judgement.reason}"
            yield Note(code="refused", text=text)


def _not_stated(observed: ObservedReport, ran: Sequence[Observation]) -> Note:
    """Return why nothing could be compared: what the report says, or does not say, of results."""
    reading = observed.reading
    stated = [claim for claim in reading.claims_of(ClaimKind.VALUE, ClaimRole.EXPECTED)]
    texts = ", ".join(dict.fromkeys(repr(claim.text.strip()[:60]) for claim in stated[:_MOST]))
    results = [(one, result) for one in ran for result in results_of(one)]
    given = [c for c in stated if any(result.quoted_by(c.text) for _, result in results)]
    if stated and len(given) == len(stated):
        return Note(
            code="passes",
            text=f"the code already gives what the report expects: {texts}",
            hint="add to the report what is wrong, or check that this is the version it is about",
        )
    if stated:
        return Note(
            code="not-stated",
            text=f"could not compare what the code gives with what the report expects: {texts}",
            hint="add to the report a call and the value it should return, written as Python "
            "shows it: '`f(1)` should return `2`'",
        )
    claims = [claim for claim in reading.claims_of(ClaimKind.VALUE) if claim.text]
    if any(result.quoted_by(claim.text) for claim in claims for _, result in results):
        return Note(
            code="not-stated",
            text="the code does what the report shows, but the report does not say what is wrong",
            hint="add to the report the right value, as in 'should return 3' or 'Expected: 3'",
        )
    return Note(
        code="not-stated",
        text="it is unclear which result of the report's code is wrong, and what the right one is",
        hint="add to the report the exact wrong output or exception, below the code, or "
        "'Expected:' and the right value",
    )

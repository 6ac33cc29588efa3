"""Why the report's own code gave no bug test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_brt.issue.alike import Likeness
from pytest_brt.observe.forms import displays, quotes
from pytest_brt.observe.watch import Seen
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.oracle.write import is_import
from pytest_brt.types import BlockKind, JudgedTest, Miss, Verdict
from pytest_brt.types.miss import (
    AlreadyRight,
    CodeInShell,
    CodeRead,
    ComplaintUnclear,
    NoCode,
    NotComparable,
    NothingWrong,
    OwnTestPasses,
    OwnTestUnused,
    PassingTests,
    StatedValue,
    StatementEnded,
    StatementRaised,
    UndefinedNames,
)
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole, Reading

_CODE = (BlockKind.PYTHON, BlockKind.REPL)
#: Code that a shell gives to Python, on the command line or below it.
_SHELL = re.compile(r"\bpython[\d.]*\s+-c\b|<<-?\s*['\"]?\w+")
#: Names that Python 3 does not define any more (What's New in Python 3.0).
_PYTHON_2 = frozenset(
    {"apply", "basestring", "buffer", "cmp", "coerce", "execfile", "file", "intern", "long"}
    | {"raw_input", "reduce", "reload", "unichr", "unicode", "xrange"}
)
#: Statements that are told of.
_MOST = 3
#: Characters of a statement, a message and a value that are told.
_SOURCE, _MESSAGE, _VALUE = 80, 120, 60


def misses_of(view: ReportRun, tests: Sequence[JudgedTest]) -> tuple[Miss, ...]:
    """Return why no bug test was found, the weightiest first; () when one was."""
    if any(item.judgement.candidate for item in tests):
        return ()
    ran = [seen for seen in view.seen if not (seen.missing and seen.step.inline)]
    if not ran:
        return (*view.reading.misses, _no_code(view.reading))
    blocks = sum(block.kind in _CODE for block in view.issue.blocks)
    told, untold = _raised(ran)
    hindered = [*_undefined(ran), *_ended(ran), *untold, *_own_tests(tests)]
    made = [item for item in tests if not item.test.is_reporters]
    passing = sum(item.judgement.verdict is Verdict.PASS for item in made)
    if passing:
        hindered.append(PassingTests(tests=passing))
    read = CodeRead(statements=len(ran), blocks=blocks)
    if _only_imports(view):
        return (*view.reading.misses, read, *(hindered or [_unused(view)]), *told)
    if not tests and not hindered:
        hindered.append(_unused(view))
    return (read, *hindered, *told, *view.reading.misses)


def _no_code(reading: Reading) -> NoCode | CodeInShell:
    for number, line in enumerate(reading.issue.text.split("\n"), 1):
        if _SHELL.search(line):
            return CodeInShell(line=number)
    return NoCode(has_traceback=any(raised.frames for raised in reading.named))


def _only_imports(view: ReportRun) -> bool:
    return all(is_import(seen.step.source) for seen in view.seen if not seen.step.inline)


def _undefined(ran: Sequence[Seen]) -> Iterator[Miss]:
    missing = sorted({name for seen in ran for name in seen.missing})
    if missing:
        yield UndefinedNames(names=tuple(missing), of_python_2=_PYTHON_2.issuperset(missing))


def _own_tests(tests: Sequence[JudgedTest]) -> Iterator[Miss]:
    for item in tests:
        if item.test.is_reporters and item.judgement.verdict is Verdict.PASS:
            yield OwnTestPasses(name=item.test.name)
        elif item.test.is_reporters and item.judgement.runs:
            run = item.judgement.runs[0]
            yield OwnTestUnused(name=item.test.name, cause=run.cause, raised=run.raised_briefly)


def _ended(ran: Sequence[Seen]) -> list[Miss]:
    ended = [seen for seen in ran if seen.ended]
    return [
        StatementEnded(
            line=seen.step.line,
            source=seen.step.source[:_SOURCE],
            said=seen.ended,
            timed_out=seen.timed_out,
        )
        for seen in ended[:_MOST]
    ]


def _raised(ran: Sequence[Seen]) -> tuple[list[Miss], list[Miss]]:
    """Return the exceptions that the report speaks of, and those that it does not."""
    told: list[Miss] = []
    untold: list[Miss] = []
    for seen in ran:
        raised = seen.did.raised if seen.did else None
        if raised is None or seen.missing:
            continue
        spoken_of = {claim.exception for claim in seen.step.said(ClaimKind.RAISES)}
        (told if simple(raised.type) in spoken_of else untold).append(
            StatementRaised(
                line=seen.step.line,
                source=seen.step.source.splitlines()[0][:_SOURCE],
                exception=raised.type,
                message=raised.message.split("\n")[0][:_MESSAGE],
            )
        )
    return told[:_MOST], untold[:_MOST]


def _unused(view: ReportRun) -> Miss:
    """Return why no test could be made of what was read."""
    stated: dict[str, StatedValue] = {}
    given: dict[str, bool] = {}
    for seen, claim in _stated(view):
        text = claim.text.strip()[:_VALUE]
        stated[text] = StatedValue(text=text, line=seen.step.line)
        given[text] = _gives(seen, claim) is Likeness.EXACT
    if not stated:
        return NothingWrong() if _came_out(view) else ComplaintUnclear()
    values = tuple(stated.values())
    return AlreadyRight(values=values) if all(given.values()) else NotComparable(values=values)


def _stated(view: ReportRun) -> Iterator[tuple[Seen, Claim]]:
    """Yield each value that the report calls right, with the statement that is to give it."""
    for seen in view.seen:
        for claim in seen.step.said(ClaimKind.VALUE, ClaimRole.EXPECTED):
            if claim.text.strip():
                yield seen, claim


def _gives(seen: Seen, claim: Claim) -> Likeness:
    alike = (quotes(claim.text, display) for display in displays(seen))
    return max(alike, default=Likeness.NONE)


def _came_out(view: ReportRun) -> bool:
    return any(
        (seen.did and seen.did.raised and simple(seen.did.raised.type) == claim.exception)
        or (claim.kind is ClaimKind.VALUE and bool(_gives(seen, claim)))
        for seen in view.seen
        for claim in seen.step.claims
    )

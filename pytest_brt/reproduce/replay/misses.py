"""Why the report's own code gave no bug test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.issue.alike import quoted_in
from pytest_brt.observe.watch import Seen, displays
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.types import BlockKind, JudgedTest, Miss, Verdict
from pytest_brt.types.miss import (
    AlreadyRight,
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
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole

_CODE = (BlockKind.PYTHON, BlockKind.REPL)
#: Statements that are told of.
_MOST = 3
#: Characters of a statement, a message and a value that are told.
_SOURCE, _MESSAGE, _VALUE = 80, 120, 60


def misses_of(
    view: ReportRun, tests: Sequence[JudgedTest], commands: Sequence[Miss] = ()
) -> tuple[Miss, ...]:
    """Return why no bug test was found, the weightiest first; () when one was.

    `commands` is what the report's commands did.
    """
    if any(item.judgement.candidate for item in tests):
        return ()
    found = [*view.reading.misses, *commands]
    if not view.seen:
        return (*found, NoCode())
    blocks = sum(block.kind in _CODE for block in view.issue.blocks)
    found.append(CodeRead(statements=len(view.seen), blocks=blocks))
    missing = sorted({name for seen in view.seen for name in seen.missing})
    if missing:
        found.append(UndefinedNames(names=tuple(missing)))
    found += _ended(view)
    found += _raised(view)
    found += _own_tests(tests)
    made = [item for item in tests if not item.test.is_reporters]
    passing = sum(item.judgement.verdict is Verdict.PASS for item in made)
    if passing:
        found.append(PassingTests(tests=passing))
    if not tests:
        found.append(_unused(view))
    return tuple(found)


def _own_tests(tests: Sequence[JudgedTest]) -> Iterator[Miss]:
    for item in tests:
        if item.test.is_reporters and item.judgement.verdict is Verdict.PASS:
            yield OwnTestPasses(name=item.test.name)
        elif item.test.is_reporters and item.judgement.runs:
            yield OwnTestUnused(name=item.test.name, cause=item.judgement.runs[0].cause)


def _ended(view: ReportRun) -> list[Miss]:
    ended = [seen for seen in view.seen if seen.ended]
    return [
        StatementEnded(
            line=seen.step.line,
            source=seen.step.source[:_SOURCE],
            said=seen.ended,
            timed_out=seen.timed_out,
        )
        for seen in ended[:_MOST]
    ]


def _raised(view: ReportRun) -> list[Miss]:
    found: list[Miss] = []
    for seen in view.seen:
        raised = seen.did.raised if seen.did else None
        if raised is not None and not seen.missing:
            found.append(
                StatementRaised(
                    line=seen.step.line,
                    source=seen.step.source.splitlines()[0][:_SOURCE],
                    exception=raised.type,
                    message=raised.message.split("\n")[0][:_MESSAGE],
                )
            )
    return found[:_MOST]


def _unused(view: ReportRun) -> Miss:
    """Return why no test could be made of what was read."""
    stated: dict[str, StatedValue] = {}
    given: dict[str, bool] = {}
    for seen, claim in _stated(view):
        text = " ".join(claim.text.split())[:_VALUE]
        stated[text] = StatedValue(text=text, line=seen.step.line)
        given[text] = _gives(seen, claim)
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


def _gives(seen: Seen, claim: Claim) -> bool:
    return any(quoted_in(display.text, claim.text) for display in displays(seen))


def _came_out(view: ReportRun) -> bool:
    return any(
        (seen.did and seen.did.raised and simple(seen.did.raised.type) == claim.exception)
        or (claim.kind is ClaimKind.VALUE and _gives(seen, claim))
        for seen in view.seen
        for claim in seen.step.claims
    )

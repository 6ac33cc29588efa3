"""What to tell the reader when no bug test was found for a report."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.observe.watch import displays
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.reading.compare import quoted_in
from pytest_brt.reading.steps import ClaimKind, ClaimRole
from pytest_brt.types import BlockKind, JudgedTest, Verdict

#: What to do where a package is not there.
_ADVICE = " (install it where the project's tests run, or choose another: --brt-python)"
_CODE = (BlockKind.PYTHON, BlockKind.REPL)
_NO_CODE = (
    "it has no Python in code fences, indented blocks, '>>>' or 'In [1]:' sessions, or inline code",
    "add to the report a few lines of Python that show the bug, what they give (or the traceback),"
    " and what they should give",
)


def miss_notes(
    view: ReportRun, tests: Sequence[JudgedTest], commands: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return why no bug test was found and what to add to the report; () when one was."""
    if any(item.judgement.candidate for item in tests):
        return ()
    notes: list[str] = [*view.script.notes, *commands]
    steps = view.seen
    blocks = sum(block.kind in _CODE for block in view.issue.blocks)
    if not steps:
        return (*notes, *_NO_CODE[bool(view.script.notes) :])
    places = f"in {blocks} code block{'s' * (blocks != 1)} and inline" if blocks else "in the text"
    notes.append(f"found {len(steps)} statement{'s' * (len(steps) != 1)} {places}")
    missing = sorted({name for seen in steps for name in seen.missing})
    if missing:
        names = ", ".join(missing[:8])
        notes.append(
            f"names that neither the report nor the project defines: {names}"
            " (add their imports or definitions to the report)"
        )
    ended = [seen for seen in steps if seen.ended]
    notes += [
        f"line {seen.step.line}: {seen.ended}: {seen.step.source[:80]!r}" for seen in ended[:3]
    ]
    notes += _failed(view)
    passing = sum(item.judgement.verdict is Verdict.PASS for item in tests)
    if passing:
        notes.append(
            f"{passing} tests made from the report pass on this tree: another version, or fixed "
            "already?"
        )
    notes += _stuck(tests)
    if not tests:
        notes += _unused(view)
    return tuple(notes)


def _unused(view: ReportRun) -> list[str]:
    """Say what no test could be made of: the values that were read, or that there are none."""
    stated = {
        " ".join(one.text.split())[:60]: seen.step.line
        for seen in view.seen
        for one in seen.step.said(ClaimKind.VALUE, ClaimRole.EXPECTED)
        if one.text.strip()
    }
    if not stated and _came_out(view):
        return [
            "the code gives what the report shows, but the report does not say what is wrong",
            "add to the report the right value, as in 'should return 3' or 'Expected: 3'",
        ]
    if not stated:
        return [
            "its code gives nothing that it calls wrong, and it names no value to expect instead",
            "add to the report the exact wrong output or exception below the code, or "
            "'Expected:' with the right value",
        ]
    values = ", ".join(f"{text!r} (for line {line})" for text, line in [*stated.items()][:4])
    return [
        f"found an expected value but could not compare it: {values}: the code gives it "
        "already, or the report writes it in another way than Python shows it",
        "add to the report an expression and the value it should have, as in '`f(1)` should be "
        "`2`'",
    ]


def _came_out(view: ReportRun) -> bool:
    return any(
        (seen.did and seen.did.raised and simple(seen.did.raised.type) == claim.exception)
        or (
            claim.kind is ClaimKind.VALUE
            and any(quoted_in(display.text, claim.text) for display in displays(seen))
        )
        for seen in view.seen
        for claim in seen.step.claims
    )


def _failed(view: ReportRun) -> list[str]:
    found = []
    for seen in view.seen:
        raised = seen.did.raised if seen.did else None
        if raised is not None and not seen.missing:
            line = raised.message.split("\n")[0][:120]
            advice = _ADVICE if raised.type == "ModuleNotFoundError" else ""
            found.append(
                f"line {seen.step.line}: {seen.step.source.splitlines()[0][:80]!r} raises "
                f"{raised.type}: {line}{advice}"
            )
    return found[:3]


def _stuck(tests: Sequence[JudgedTest]) -> list[str]:
    """Say of tests that could not be run, and why: the project's own set-up, mostly."""
    reasons = [item.judgement.reason for item in tests if item.judgement.verdict is Verdict.BROKEN]
    if not reasons:
        return []
    said = reasons[0].removeprefix("cannot be run: ")
    number = "a test" if len(reasons) == 1 else f"{len(reasons)} tests"
    return [
        f"{number} made from the report could not be run: {said} "
        "(do the project's own tests run in this interpreter? choose another: --brt-python)"
    ]

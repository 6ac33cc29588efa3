"""What to tell the reader when no bug test was found for a report."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.observe.watch import Seen, displays
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.reading.compare import quoted_in
from pytest_brt.reading.steps import Claim, ClaimKind, ClaimRole
from pytest_brt.types import BlockKind, JudgedTest, Verdict

#: What to do where a package is not there.
_ADVICE = " (install it where the project's tests run, or choose another interpreter: --brt-python)"
_CODE = (BlockKind.PYTHON, BlockKind.REPL)
NO_CODE = (
    "the report has no Python code that could be read (in code fences, indented blocks, '>>>' and "
    "'In [1]:' sessions, and inline code)",
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
        return (*notes, *NO_CODE[bool(view.script.notes) :])
    places = f"in {blocks} code block{'s' * (blocks != 1)} and inline" if blocks else "in the text"
    notes.append(f"found {len(steps)} statement{'s' * (len(steps) != 1)} {places}")
    missing = sorted({name for seen in steps for name in seen.missing})
    if missing:
        names = ", ".join(missing[:8])
        notes.append(
            f"the report's code uses names that neither it nor the project defines: {names}"
            " (add their imports or definitions to the report)"
        )
    ended = [seen for seen in steps if seen.ended]
    notes += [
        f"line {seen.step.line}: {seen.ended}: {seen.step.source[:80]!r}" for seen in ended[:3]
    ]
    notes += _failed(view)
    passing = sum(item.judgement.verdict is Verdict.PASS for item in tests)
    if passing:
        made = "1 test" if passing == 1 else f"{passing} tests"
        notes.append(
            f"passing on this tree: {made} made from the report (is this the version that the "
            "report is about?)"
        )
    if not tests:
        notes += _unused(view)
    return tuple(notes)


def _unused(view: ReportRun) -> list[str]:
    """Say what no test could be made of: the values that were read, or that there are none."""
    stated = {
        " ".join(one.text.split())[:60]: (seen.step.line, _gives(seen, one))
        for seen in view.seen
        for one in seen.step.said(ClaimKind.VALUE, ClaimRole.EXPECTED)
        if one.text.strip()
    }
    if not stated and _came_out(view):
        return [
            "the code does what the report shows, but the report does not say what is wrong",
            "add to the report the right value, as in 'should return 3' or 'Expected: 3'",
        ]
    if not stated:
        return [
            "it is unclear which result of the report's code is wrong, and what the right one is",
            "add to the report the exact wrong output or exception, below the code, or "
            "'Expected:' and the right value",
        ]
    values = ", ".join(f"{text!r} (line {line})" for text, (line, _) in [*stated.items()][:4])
    if all(given for _, given in stated.values()):
        return [
            f"the code already gives what the report expects: {values}",
            "add to the report what is wrong, or check that this is the version it is about",
        ]
    return [
        f"could not compare what the code gives with what the report expects: {values}",
        "add to the report a call and the value it should return, written as Python shows it: "
        "'`f(1)` should return `2`'",
    ]


def _gives(seen: Seen, claim: Claim) -> bool:
    return any(quoted_in(display.text, claim.text) for display in displays(seen))


def _came_out(view: ReportRun) -> bool:
    return any(
        (seen.did and seen.did.raised and simple(seen.did.raised.type) == claim.exception)
        or (claim.kind is ClaimKind.VALUE and _gives(seen, claim))
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

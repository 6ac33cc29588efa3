"""What one item, or its collection, came to, and whether the sandbox is what it failed of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.execute.events import Event, Places, Told
from pytest_brt.execute.row import TestTarget
from pytest_brt.types import Raised, Verdict

#: How a reason begins when the sandbox, not the project, made the test fail. Such a
#: failure reproduces nothing.
SANDBOX = "sandbox"

#: Which denials each level can be the cause of; elsewhere they are the test's own affair.
_DENIALS = {
    "none": frozenset({"MemoryError", "EFBIG", "EMFILE"}),
    "process": frozenset({"MemoryError", "EFBIG", "EMFILE", "EAGAIN", "ENOMEM"}),
}
_ALL_DENIALS = _DENIALS["process"] | {
    "EROFS", "EACCES", "EPERM", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "ENOSPC",
    "EDQUOT", "gaierror",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What must be known besides the events."""

    target: TestTarget
    places: Places
    #: Isolation level, see `Engine.level`.
    level: str = "process"
    #: Seconds a test was given.
    seconds: float = 60.0
    #: Modules of the project were changed, and the process must have told what it loaded.
    touched: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict, and why."""

    verdict: Verdict
    reason: str
    raised: Raised | None = None


def broken(scene: Scene, event: Event, what: str) -> Outcome:
    """Return the outcome of a test that never got to its body: of `what`, and by which error."""
    if event.raised is None:
        return Outcome(Verdict.BROKEN, f"{what}: {event.text}")
    raised = scene.places.raised(event.raised)
    prefix = f"{SANDBOX}: {event.raised.denied}: " if is_denial(scene, event.raised) else ""
    return Outcome(Verdict.BROKEN, f"{prefix}{what}: {shortly(raised)}", raised)


def is_denial(scene: Scene, told: Told) -> bool:
    """Return whether the exception comes from what the sandbox does not allow."""
    return told.denied in _DENIALS.get(scene.level, _ALL_DENIALS)


def shortly(raised: Raised) -> str:
    """Return the exception on one line, without more than the first of its message."""
    first = raised.message.strip().splitlines()[:1]
    return f"{raised.type}: {first[0]}" if first else raised.type


#: How the reason of a FAIL begins when the test and the project disagree about a name.
API_MISMATCH = "api-mismatch"
#: Exceptions that, raised in the test's own frame, say that the test is wrong.
_OWN_FAULTS = frozenset(
    {"NameError", "ImportError", "SyntaxError", "SystemExit", "_pytest.fixtures.FixtureLookupError"}
)


def of_reports(scene: Scene, reports: Sequence[Event]) -> Outcome:
    """Return the verdict that the reports of one item's phases amount to."""
    phases = {
        when: [r for r in reports if r.when == when] for when in ("setup", "call", "teardown")
    }
    setup, calls, teardown = phases["setup"], phases["call"], phases["teardown"]
    for report in reports:
        odd = report.outcome == "passed" and report.raised is not None
        if odd or report.outcome not in ("passed", "failed", "skipped"):
            why = f"{report.when} reported as {report.outcome!r} though it raised"
            return Outcome(Verdict.TAMPERED, why)
    for report in (*setup, *calls):
        if report.outcome == "failed":
            if report.when == "call":
                return _failure(scene, report)
            return broken(scene, report, "setup failed")
    for report in (*setup, *calls):
        if report.outcome == "skipped":
            if report.xfail:
                return Outcome(Verdict.XFAIL, report.wasxfail or "expected to fail")
            return Outcome(Verdict.SKIP, report.skip or "skipped")
    for report in teardown:
        if report.outcome == "failed":
            return broken(scene, report, "teardown failed")
    if not calls or reports[0].when != "setup" or [reports[-1]] != teardown:
        return Outcome(Verdict.TAMPERED, "phases are missing or out of order")
    if calls[-1].xfail:
        return Outcome(Verdict.PASS, "passed, though marked as expected to fail")
    return Outcome(Verdict.PASS, "passed")


def _failure(scene: Scene, report: Event) -> Outcome:
    """Return the verdict of a test body that failed."""
    told = report.raised
    if told is None:
        return Outcome(Verdict.FAIL, _said(report.text) or "failed")
    raised = scene.places.raised(told)
    where = _deepest(scene.places, told)
    short = shortly(raised)
    if is_denial(scene, told):
        return Outcome(Verdict.FAIL, f"{SANDBOX}: {told.denied}: {short}", raised)
    own = where is None or where == scene.target.path or _own_code(raised, where)
    if own:
        if {told.type, *told.bases} & _OWN_FAULTS:
            return Outcome(Verdict.BROKEN, f"error in the test itself: {short}", raised)
        if told.about_project:
            return Outcome(Verdict.FAIL, f"{API_MISMATCH}: {short}", raised)
        return Outcome(Verdict.FAIL, short, raised)
    last = [frame for frame in raised.frames if frame.path == where][-1]
    return Outcome(Verdict.FAIL, f"{short} ({last.path}:{last.line})", raised)


def _said(text: str) -> str:
    r"""Return what a failure that is only known as text comes to, its exception first.

    >>> _said("    walk(3)\nE   ValueError: 3\nE     is odd\npkg/core.py:4: ValueError")
    'ValueError: 3 (pkg/core.py:4: ValueError)'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E  ")]
    return f"{marked[0]} ({lines[-1]})" if marked else text


def _own_code(raised: Raised, where: str) -> bool:
    return not any(frame.project for frame in raised.frames if frame.path == where)


def _deepest(places: Places, told: Told) -> str | None:
    """Return the file of the innermost frame that is not a library's, relative; None if none."""
    for path, _, _ in reversed(told.frames):
        name = places.relative(path)
        if name is not None:
            return name
    return None

"""What one item, or its collection, came to, and whether the sandbox is what it failed of."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.execute.events import Event, Told
from pytest_brt.execute.places import Places
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

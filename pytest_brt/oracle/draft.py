"""A test in the making: what is run first, what is claimed, and why."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.types import OracleKind, Raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a rule wants tested."""

    kind: OracleKind
    #: Index of the statement it is about; None when it is about a command.
    index: int | None
    #: Lines of the test after its set-up.
    body: tuple[str, ...]
    #: One sentence for the docstring.
    sentence: str
    #: Probability that it is F→P, by the rule and what the report says, in 0..1.
    score: float
    #: Few words each: why the score is what it is.
    reasons: tuple[str, ...] = ()
    #: What the failure must look like on the buggy tree; None for a failed assertion.
    expects: Raised | None = None
    #: Fixtures the test asks for.
    fixtures: tuple[str, ...] = ()
    #: Modules the body needs besides what its names resolve to.
    imports: tuple[str, ...] = ()
    #: Run every earlier statement first, not only those it depends on.
    whole: bool = False
    #: What the report says to the contrary; such a test is shown to nobody as a candidate.
    against: str = ""
    #: Has to do with the name of the test: the function at fault.
    about: str = ""

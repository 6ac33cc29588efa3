"""All rules on one report."""

from __future__ import annotations

from pytest_brt.oracle.measured import measured
from pytest_brt.oracle.rules.command_line import no_traceback
from pytest_brt.oracle.rules.equals import equals
from pytest_brt.oracle.rules.gone import gone
from pytest_brt.oracle.rules.raises import must_raise, no_raise
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.oracle.write import Draft
from pytest_brt.types import Evidence, OracleKind

#: The first of them come first where drafts are equally likely.
RULES = (
    no_raise,
    no_traceback,
    equals,
    must_raise,
    gone,
)
_OF_VALUES = (OracleKind.EQUALS, OracleKind.GONE)


def apply_rules(view: ReportRun) -> tuple[Draft, ...]:
    """Return the drafts of all rules, those first whose evidence was right most often."""
    every = [draft for rule in RULES for draft in rule(view)]
    is_crash = any(draft.evidence is Evidence.REPORTED_EXCEPTION for draft in every)
    # A right fix raises before there is a value.
    refuses = bool(view.reading.wanted) or any(
        draft.kind is OracleKind.MUST_RAISE for draft in every
    )
    kept = [
        draft
        for draft in every
        if not (is_crash and draft.in_passing)
        if not (refuses and draft.kind in _OF_VALUES)
    ]
    return tuple(sorted(kept, key=_worth))


def _worth(draft: Draft) -> tuple[float, int]:
    return -measured(draft.evidence).confidence, -draft.signs

"""The four oracles, and the one about command lines, asked about a report that was run."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.observe.results import evaluated_expression, results_of
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.command_line import no_traceback
from pytest_brt.oracle.comparison import comparison
from pytest_brt.oracle.draft import Draft, shorten
from pytest_brt.oracle.evidence import measured
from pytest_brt.oracle.exceptions import does_not_raise, must_raise
from pytest_brt.oracle.results import gives_stated_value, no_longer_gives
from pytest_brt.pysource.parse import is_literal
from pytest_brt.report.match import Match
from pytest_brt.types import Evidence, OracleKind
from pytest_brt.types.report import WRONG, ClaimKind, ClaimRole

#: The first of them come first where drafts are equally likely.
ORACLES = (does_not_raise, no_traceback, gives_stated_value, must_raise, no_longer_gives)
_OF_VALUES = (OracleKind.EQUALS, OracleKind.GONE)


def ask_oracles(observed: ObservedReport) -> tuple[Draft, ...]:
    """Return what all oracles want tested, those first whose evidence was right most often."""
    drafts = [draft for oracle in ORACLES for draft in oracle(observed)]
    # Where a crash is reported, a result that is only shown beside it is not what goes wrong; and
    # where an exception is wanted, a right fix raises before there is a result.
    is_crash = any(draft.evidence is Evidence.REPORTED_EXCEPTION for draft in drafts)
    refuses = any(draft.kind is OracleKind.MUST_RAISE for draft in drafts)
    kept = [
        draft
        for draft in drafts
        if not (refuses and draft.kind in _OF_VALUES)
        if not (is_crash and draft.kind is OracleKind.GONE and not draft.quote)
    ]
    return tuple(sorted(kept, key=lambda d: (-measured(d.evidence).confidence, -d.signs)))


def already_right(observed: ObservedReport) -> Iterator[Draft]:
    """Yield tests that pass here, and would fail where the report is right.

    An exception that it shows does not come, a value that it wants comes out, or one that it
    complains about does not.
    """
    for index, one in enumerate(observed.observations):
        if one.result is not None and one.raised is None and not one.missing:
            yield from _without_exception(index, one)
            yield from _with_value(index, one)


def _without_exception(index: int, one: Observation) -> Iterator[Draft]:
    expression = evaluated_expression(one.source)
    for claim in one.statement.claims_of(ClaimKind.RAISES, *WRONG):
        if claim.exception and "(" in expression:
            yield Draft(
                kind=OracleKind.NO_RAISE,
                index=index,
                body=(expression,),
                sentence=f"`{shorten(expression)}` does not raise {claim.exception}.",
                expects=claim.raised,
            )


def _with_value(index: int, one: Observation) -> Iterator[Draft]:
    shown = [result for result in results_of(one) if result.can_compare]
    complaints = one.statement.claims_of(ClaimKind.VALUE, *WRONG)
    comes = any(result.quoted_by(claim.text) for claim in complaints for result in shown)
    claims = one.statement.claims_of(ClaimKind.VALUE)
    # That what is wanted comes out says more than that what is reported does not.
    for claim in sorted(claims, key=lambda claim: claim.role is not ClaimRole.EXPECTED):
        text = claim.text.strip()
        wanted = claim.role is ClaimRole.EXPECTED
        least = Match.EXACT if wanted else Match.SQUEEZED
        same = [result for result in shown if result.quoted_by(text) >= least]
        if wanted and same:
            lines, capsys = comparison(same[0], same[0].text, differs=False)
        elif claim.role in WRONG and shown and not comes and is_literal(text):
            lines, capsys = comparison(shown[0], text, differs=True)
        else:
            continue
        gives = "gives" if wanted else "does not give"
        yield Draft(
            kind=OracleKind.EQUALS if wanted else OracleKind.GONE,
            index=index,
            body=lines,
            sentence=f"`{shorten(one.source)}` {gives} {shorten(text)}.",
            fixtures=("capsys",) if capsys else (),
        )

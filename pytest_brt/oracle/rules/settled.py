"""What a report complains about and this tree does not show: it may be fixed."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.issue.alike import Likeness
from pytest_brt.observe.forms import can_compare, displays, quotes, ran_expression
from pytest_brt.observe.watch import Seen
from pytest_brt.oracle.assertion import assertion
from pytest_brt.oracle.rules.report_run import ReportRun, short
from pytest_brt.oracle.write import Draft
from pytest_brt.pysource.parse import is_literal
from pytest_brt.types import OracleKind
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole

_COMPLAINT = (ClaimRole.SHOWN, ClaimRole.OBSERVED)


def settled(view: ReportRun) -> Iterator[Draft]:
    """Yield tests that pass here, and would fail where the report is right.

    An exception that it shows does not come, a value that it wants comes out, or one that it
    complains about does not.
    """
    for index, seen in enumerate(view.seen):
        if seen.did is None or seen.did.raised is not None or seen.missing:
            continue
        yield from _without_exception(index, seen)
        yield from _with_value(index, seen)


def _without_exception(index: int, seen: Seen) -> Iterator[Draft]:
    expression = ran_expression(seen.step.source)
    if "(" not in expression:
        return
    for said in seen.step.said(ClaimKind.RAISES, *_COMPLAINT):
        if said.raised is not None and said.exception:
            yield Draft(
                kind=OracleKind.NO_RAISE,
                index=index,
                body=(expression,),
                sentence=f"`{short(expression)}` does not raise {said.exception}.",
                signs=_signs(said),
                expects=said.raised,
            )


def _with_value(index: int, seen: Seen) -> Iterator[Draft]:
    shown = [display for display in displays(seen) if can_compare(display)]
    for said in seen.step.said(ClaimKind.VALUE):
        text = said.text.strip()
        wanted = said.role is ClaimRole.EXPECTED
        least = Likeness.EXACT if wanted else Likeness.SQUEEZED
        same = [display for display in shown if quotes(text, display) >= least]
        if wanted and same:
            lines, capsys = assertion(same[0], same[0].text, differs=False)
            gives = f"gives {short(text)}"
        elif not wanted and shown and not same and said.role in _COMPLAINT and is_literal(text):
            lines, capsys = assertion(shown[0], text, differs=True)
            gives = f"does not give {short(text)}"
        else:
            continue
        yield Draft(
            kind=OracleKind.EQUALS if wanted else OracleKind.GONE,
            index=index,
            body=lines,
            sentence=f"`{short(seen.step.source)}` {gives}.",
            signs=_signs(said),
            fixtures=("capsys",) if capsys else (),
        )


def _signs(said: Claim) -> int:
    """Return how telling a claim is: best what is shown right below the code."""
    return said.direct + (*_COMPLAINT, ClaimRole.EXPECTED).index(said.role)

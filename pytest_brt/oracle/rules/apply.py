"""All rules on one report, and what the report itself says against their drafts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_brt.issue.alike import is_steady, partly_in
from pytest_brt.observe.forms import Display, displays, quotes
from pytest_brt.observe.watch import Seen
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.measured import measured
from pytest_brt.oracle.rules.command_line import no_traceback
from pytest_brt.oracle.rules.equals import equals
from pytest_brt.oracle.rules.gone import MARKED, SPOKEN, gone
from pytest_brt.oracle.rules.raises import must_raise, no_raise
from pytest_brt.oracle.rules.report_run import ReportRun
from pytest_brt.oracle.write import Draft
from pytest_brt.types import Evidence, OracleKind
from pytest_brt.types.reading import ClaimKind, ClaimRole

#: Drafts less likely than this are no evidence.
_LEAST = 0.15
#: The most that is believed of a value where something else has another one than in the report.
_ANOTHER_STATE = 0.3
RULES = (
    no_raise,
    must_raise,
    equals,
    gone,
    no_traceback,
)


def apply_rules(view: ReportRun) -> tuple[Draft, ...]:
    """Return the drafts of all rules, best first, without doubles."""
    found: dict[tuple[object, ...], Draft] = {}
    for rule in RULES:
        for draft in rule(view):
            key = (draft.kind, draft.index, draft.body)
            if key not in found or found[key].score < draft.score:
                found[key] = draft
    every = tuple(found.values())
    wanted = view.reading.wanted
    placed = (_in_its_state(view, draft) for draft in every)
    drafts = (replace(draft, against=contradiction(view, draft, every, wanted)) for draft in placed)
    return tuple(sorted(_likely(drafts), key=worth))


def worth(draft: Draft) -> tuple[float, float]:
    """Return the key by which drafts of the kind that was right most often come first."""
    return -measured(draft.evidence).confidence, -draft.score


def _likely(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Drop what is not worth a test; results in passing do not count where it is a crash."""
    every = list(drafts)
    crash = any(
        draft.kind is OracleKind.NO_RAISE
        and draft.score >= OracleKind.NO_RAISE.prior
        and not draft.against
        for draft in every
    )
    for draft in every:
        in_passing = draft.kind is OracleKind.GONE and not {SPOKEN, MARKED} & set(draft.reasons)
        placed = draft
        if crash and in_passing:
            placed = replace(draft, score=draft.score - 0.35, evidence=Evidence.OTHER)
        if placed.score >= _LEAST:
            yield placed


def _in_its_state(view: ReportRun, draft: Draft) -> Draft:
    """Return a draft about a value, believed little where the report was in another state."""
    if draft.kind not in _OF_VALUES or draft.index is None:
        return draft
    place = view.seen[draft.index].step.block
    upto = view.seen[: draft.index + 1]
    before = (seen for seen in upto if seen.step.block == place)
    if not any(map(_gives_another, before)):
        return draft
    return replace(
        draft,
        score=min(draft.score, _ANOTHER_STATE),
        evidence=Evidence.OTHER,
        reasons=(*draft.reasons, "the code before it gives something else than the report shows"),
    )


def _gives_another(seen: Seen) -> bool:
    """Say whether a statement shows something, and nothing that the report shows of it."""
    told = seen.step.said(ClaimKind.VALUE)
    if all(claim.role is ClaimRole.EXPECTED for claim in told):
        return False
    shown = displays(seen, blank=True)
    texts = [*(one.text for one in shown), *(claim.text for claim in told)]
    comparable = all(map(is_steady, texts))
    return bool(shown) and comparable and not _agree(shown, [claim.text for claim in told])


def _agree(shown: Sequence[Display], told: Sequence[str]) -> bool:
    return any(quotes(claim, one) or partly_in(claim, one.text) for one in shown for claim in told)


_OF_VALUES = (OracleKind.EQUALS, OracleKind.GONE)


def contradiction(
    view: ReportRun, draft: Draft, every: Sequence[Draft], wanted: frozenset[str]
) -> str:
    """Say what of the report contradicts a draft, one of `every`, "" when nothing does."""
    if draft.index is None:
        return ""
    if draft.kind is OracleKind.NO_RAISE:
        return _wants_exception(view, draft, wanted)
    if draft.kind in _OF_VALUES:
        return _wants_instead(draft, every, wanted) or _rival(draft, every)
    return ""


def _wants_exception(view: ReportRun, draft: Draft, wanted: frozenset[str]) -> str:
    """Say that the exception that must not come is one that the report asks for."""
    name = simple(draft.expects.type) if draft.expects else ""
    observed = view.seen[draft.index or 0].step.said(ClaimKind.RAISES, ClaimRole.OBSERVED)
    if name in wanted and all(claim.exception != name for claim in observed):
        return f"the report wants {name} to be raised"
    return ""


def _wants_instead(draft: Draft, every: Sequence[Draft], wanted: frozenset[str]) -> str:
    """Say that no value is wanted at all: a right fix raises before there is one."""
    if any(one.kind is OracleKind.MUST_RAISE and one.index == draft.index for one in every):
        return "the report wants an exception to be raised instead"
    if not wanted:
        return ""
    return f"the report wants {' or '.join(sorted(wanted))} to be raised instead"


def _rival(draft: Draft, every: Sequence[Draft]) -> str:
    """Say that another value is wanted of the same expression: one of them is misread."""
    if draft.kind is not OracleKind.EQUALS:
        return ""
    same = (one for one in every if one.kind is draft.kind and one.index == draft.index)
    has_rival = any(other.body != draft.body for other in same)
    return "the report names two different right values" if has_rival else ""

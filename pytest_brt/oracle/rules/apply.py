"""All rules on one report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pytest_brt.oracle.draft import Draft
from pytest_brt.oracle.rules.against import contradiction
from pytest_brt.oracle.rules.endings import must_end
from pytest_brt.oracle.rules.equals import equals
from pytest_brt.oracle.rules.gone import MARKED, SPOKEN, gone
from pytest_brt.oracle.rules.raises import must_raise, no_raise
from pytest_brt.oracle.rules.relations import agree
from pytest_brt.oracle.rules.view import View
from pytest_brt.types import OracleKind

#: Drafts less likely than this are no evidence.
_LEAST = 0.15
RULES = (
    no_raise,
    must_raise,
    must_end,
    equals,
    gone,
    agree,
)


def apply_rules(view: View) -> tuple[Draft, ...]:
    """Return the drafts of all rules, best first, without doubles."""
    found: dict[tuple[object, ...], Draft] = {}
    for rule in RULES:
        for draft in rule(view):
            key = (draft.kind, draft.index, draft.body)
            if key not in found or found[key].score < draft.score:
                found[key] = draft
    every = tuple(found.values())
    wanted, blamed = view.wanted_exceptions, view.blamed_values
    drafts = (
        replace(draft, against=contradiction(view, draft, every, wanted, blamed)) for draft in every
    )
    return tuple(sorted(_likely(drafts), key=lambda draft: -draft.score))


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
        score = draft.score - (0.35 if crash and in_passing else 0.0)
        if score >= _LEAST:
            yield replace(draft, score=score)

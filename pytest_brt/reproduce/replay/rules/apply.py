"""All rules on one report."""

from __future__ import annotations

from pytest_brt.reproduce.replay.draft import Draft
from pytest_brt.reproduce.replay.rules.endings import must_end
from pytest_brt.reproduce.replay.rules.guards import guards
from pytest_brt.reproduce.replay.rules.inverse import idempotent, round_trip
from pytest_brt.reproduce.replay.rules.raises import must_raise, no_raise
from pytest_brt.reproduce.replay.rules.relations import agree
from pytest_brt.reproduce.replay.rules.values import equals, gone
from pytest_brt.reproduce.replay.rules.view import View
from pytest_brt.reproduce.replay.rules.warned import must_warn, no_warning

_RULES = (
    no_raise,
    must_raise,
    must_end,
    equals,
    gone,
    agree,
    no_warning,
    must_warn,
    round_trip,
    idempotent,
    guards,
)


def apply_rules(view: View) -> tuple[Draft, ...]:
    """Return the drafts of all rules, best first, without doubles."""
    found: dict[tuple[object, ...], Draft] = {}
    for rule in _RULES:
        for draft in rule(view):
            key = (draft.kind, draft.index, draft.body)
            if key not in found or found[key].score < draft.score:
                found[key] = draft
    return tuple(sorted(found.values(), key=lambda draft: -draft.score))

"""All rules on one report."""

from __future__ import annotations

from pytest_brt.reproduce.replay.draft import Draft
from pytest_brt.reproduce.replay.rules.raises import must_raise, no_raise
from pytest_brt.reproduce.replay.rules.relations import agree
from pytest_brt.reproduce.replay.rules.values import equals, gone
from pytest_brt.reproduce.replay.rules.view import View


def apply_rules(view: View) -> tuple[Draft, ...]:
    """Return the drafts of all rules, best first, without doubles."""
    found: dict[tuple[object, ...], Draft] = {}
    for rule in (no_raise, equals, gone, must_raise, agree):
        for draft in rule(view):
            key = (draft.kind, draft.index, draft.body)
            if key not in found or found[key].score < draft.score:
                found[key] = draft
    return tuple(sorted(found.values(), key=lambda draft: -draft.score))

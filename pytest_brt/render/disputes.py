"""Existing tests that are in dispute, in words."""

from __future__ import annotations

from typing import assert_never

from pytest_brt.render.words import listed
from pytest_brt.shown import on_a_line
from pytest_brt.types import Dispute, Sign


def dispute_sentence(dispute: Dispute) -> str:
    """Return what speaks against an existing test, and whether it counts."""
    if dispute.is_right is not None:
        says = "is right: it counts" if dispute.is_right else "is wrong: it counts against no patch"
        return f"{dispute.existing}: you said that it {says}"
    asserts = f" ({_quoted(dispute.asserts)})" if dispute.asserts else ""
    if dispute.is_settled:
        against = f" (bug test: {_quoted(dispute.demands)})" if dispute.demands else ""
        return (
            f"{dispute.existing} asserts what the report complains about{asserts}{against}: "
            "it counts against no patch; change it with the fix"
        )
    clauses = listed([_clause(sign, dispute) for sign in dispute.signs])
    if dispute.is_disputed:
        return f"{dispute.existing}{asserts} is in dispute and counts against no patch: {clauses}"
    return f"{dispute.existing}{asserts} counts, though {clauses}"


def _clause(sign: Sign, dispute: Dispute) -> str:
    match sign:
        case Sign.CONTRADICTED:
            return f"a bug test wants the opposite ({_quoted(dispute.demands)})"
        case Sign.EDITED:
            changes = "changes" if len(dispute.edited_by) == 1 else "change"
            return f"{listed(dispute.edited_by)} {changes} it"
        case Sign.BROKEN_BY_ALL:
            return "every patch that passes the bug tests breaks it, and no other does"
        case _:
            assert_never(sign)


def _quoted(text: str) -> str:
    return f"`{on_a_line(text[:120])}{'…' if len(text) > 120 else ''}`"

"""Results that are right already and must stay so: the neutral inputs of a report."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.oracle.compare import Likeness, quoted_in
from pytest_brt.reproduce.replay.display import assertion, can_compare, displays
from pytest_brt.reproduce.replay.draft import Draft
from pytest_brt.reproduce.replay.rules.view import View, called, quote
from pytest_brt.reproduce.replay.steps import ClaimKind, Role
from pytest_brt.types import OracleKind

_MOST = 2


def guards(view: View) -> Iterator[Draft]:
    """What the report calls right, and is, makes a test that must stay green."""
    number = 0
    for index, seen in enumerate(view.seen):
        for display in displays(seen)[:1]:
            good = [
                said
                for said in seen.step.claims
                if said.kind is ClaimKind.VALUE
                and said.role in (Role.EXPECTED, Role.CONTRAST)
                and quoted_in(display.text, said.text) >= Likeness.SQUEEZED
            ]
            if not good or seen.missing or not can_compare(display) or number >= _MOST:
                continue
            number += 1
            lines, capsys = assertion(display, display.text, differs=False)
            yield Draft(
                kind=OracleKind.EQUALS,
                index=index,
                body=lines,
                sentence=f"`{' '.join(seen.step.source.split())[:120]}` is right and must stay so."
                f"{quote(good[0])}",
                score=0.0,
                reasons=("a guard: right already, and must stay so",),
                fixtures=("capsys",) if capsys else (),
                about=called(seen.step.source),
                guard=True,
            )

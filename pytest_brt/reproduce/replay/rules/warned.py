"""Oracles about warnings: one that must not be given, one that must."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.oracle.priors import PRIORS
from pytest_brt.reproduce.replay.display import ran_expression
from pytest_brt.reproduce.replay.draft import Draft
from pytest_brt.reproduce.replay.rules.view import View, called, messages_agree, quote, simple
from pytest_brt.reproduce.replay.steps import Role, Said, SaidKind
from pytest_brt.reproduce.replay.watch import Seen
from pytest_brt.types import OracleKind, Raised


def no_warning(view: View) -> Iterator[Draft]:
    """A warning that the report complains about must not be given."""
    for index, seen in enumerate(view.seen):
        if seen.did is None or seen.did.raised is not None or seen.missing:
            continue
        for caught in seen.did.warnings:
            told = _told(view, seen, simple(caught.type), caught.message)
            if told is None:
                continue
            said, score, reason = told
            name = simple(caught.type)
            yield Draft(
                kind=OracleKind.NO_WARN,
                index=index,
                body=(
                    "with warnings.catch_warnings():",
                    f'    warnings.simplefilter("error", {name})',
                    f"    {ran_expression(seen.step.source) or seen.step.source}",
                ),
                sentence=f"`{' '.join(seen.step.source.split())[:120]}` must not give a {name}."
                f"{quote(said)}",
                score=score,
                reasons=(reason,),
                expects=Raised(type=caught.type, message=caught.message),
                imports=("import warnings",),
                about=called(seen.step.source),
            )
            break


def _told(view: View, seen: Seen, name: str, message: str) -> tuple[Said | None, float, str] | None:
    """Return the words of the report about a warning, a score and a reason."""
    base = PRIORS[OracleKind.NO_WARN]
    for said in seen.step.said:
        shown = said.raised if said.kind in (SaidKind.WARNS, SaidKind.RAISES) else None
        if shown and simple(shown.type) == name:
            if said.role in (Role.EXPECTED, Role.CONTRAST):
                return None
            return said, base + 0.05, "the report speaks of this warning here"
    if any(messages_agree(r.message, message) for r in view.script.named if r.message):
        return None, base, "the report shows this warning"
    if (
        name in view.issue.text
        and message
        and message.split("\n", maxsplit=1)[0][:60] in view.issue.text
    ):
        return None, base, "the report shows this warning"
    return None


def must_warn(view: View) -> Iterator[Draft]:
    """A warning that the report asks for must be given."""
    for index, seen in enumerate(view.seen):
        expression = ran_expression(seen.step.source)
        if seen.did is None or seen.did.raised is not None or seen.missing or not expression:
            continue
        given = {simple(caught.type) for caught in seen.did.warnings}
        for said in seen.step.said:
            if said.kind is not SaidKind.WARNS or said.role is not Role.EXPECTED or not said.raised:
                continue
            name = simple(said.raised.type)
            if name in given:
                continue
            yield Draft(
                kind=OracleKind.WARNS,
                index=index,
                body=(f"with pytest.warns({name}):", f"    {expression}"),
                sentence=f"`{' '.join(expression.split())[:120]}` should give a {name}."
                f"{quote(said)}",
                score=PRIORS[OracleKind.WARNS],
                reasons=("the report asks for this warning",),
                imports=("import pytest",),
                about=called(seen.step.source),
            )

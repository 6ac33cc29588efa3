"""Passing tests that need no model: what the report's own code does on the buggy tree, pinned."""

from __future__ import annotations

import builtins
import textwrap
from dataclasses import dataclass

from pytest_brt.observe.watch import Replayed, Seen
from pytest_brt.oracle.assertion import literal
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.judge import is_isolation
from pytest_brt.oracle.write import Draft, module
from pytest_brt.reading.steps import ClaimKind, ClaimRole
from pytest_brt.types import OracleKind

#: Longer values say nothing that one could put right by hand.
_LONGEST = 600
#: Types whose values can be compared with as they are shown.
_PLAIN = frozenset({"str", "int", "bool", "list", "tuple", "dict"})
#: Exceptions of a report's code that lacks something, and not of the project.
_OURS = frozenset({"NameError", "UnboundLocalError", "ModuleNotFoundError", "SyntaxError"})
#: Weight of a statement that is shown without a word.
_SHOWN = 2
#: Starts that are tried, best first.
MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedStart:
    """A test that pins what one statement of the report does."""

    source: str
    #: In a few words, as a plan.
    plan: str


def starts(replayed: Replayed, name: str) -> tuple[PinnedStart, ...]:
    """Return tests that pin what was seen, those that are about a complaint first.

    Not all of them must pass: what was seen may depend on the session it was seen in.
    """
    weights = [_weight(seen) for seen in replayed.seen]
    found: list[PinnedStart] = []
    for number in sorted(range(len(weights)), key=lambda n: (-weights[n], -n)):
        seen = replayed.seen[number]
        body = _body(seen)
        # Of what nobody complains about one is enough.
        most = MOST if weights[number] > _SHOWN else 1
        if len(found) >= most or not body or weights[number] <= 0:
            continue
        draft = Draft(
            kind=OracleKind.WRITTEN,
            index=number,
            body=body,
            sentence="Does what the report does.",
            score=0.0,
            fixtures=("capsys",) if "capsys" in body[-1] else (),
            imports=("import pytest",) if "pytest." in body[0] else (),
        )
        source = module(draft, replayed, name)
        if source and source not in [start.source for start in found]:
            shown = " ".join(seen.step.source.split())[:120]
            found.append(PinnedStart(source=source, plan=f"run {shown!r} as the report does"))
    return tuple(found)


def _weight(seen: Seen) -> int:
    """Say how likely the report complains about what a statement does."""
    roles = {said.role for said in seen.step.claims}
    kinds = {said.kind for said in seen.step.claims}
    if seen.did is None:
        return 0
    weight = 1
    weight += 4 * (ClaimRole.OBSERVED in roles or ClaimKind.WRONG in kinds)
    weight += 3 * (ClaimRole.EXPECTED in roles)
    weight += 2 * (seen.did.raised is not None)
    weight += ClaimRole.SHOWN in roles
    return 0 if roles == {ClaimRole.CONTRAST} else weight


def _body(seen: Seen) -> tuple[str, ...]:
    """Return lines that assert what the statement did, () when that cannot be written down."""
    did, source = seen.did, seen.step.source.strip()
    if did is None or seen.missing or "0x" in source or "version" in source:
        return ()
    if did.raised and (is_isolation(did.raised) or simple(did.raised.type) in _OURS):
        return ()
    if did.raised is not None:
        name = did.raised.type
        if "." not in name and isinstance(getattr(builtins, name, None), type):
            return (f"with pytest.raises({name}):\n{textwrap.indent(source, '    ')}",)
        return (
            f"with pytest.raises(Exception) as caught:\n{textwrap.indent(source, '    ')}",
            f'assert type(caught.value).__name__ == "{simple(name)}"',
        )
    if did.value is not None and not did.value.is_none and "\n" not in source:
        shown = did.value.repr
        if not shown or len(shown) > _LONGEST or "0x" in shown:
            return ()
        if did.value.evaluable and did.value.type in _PLAIN:
            return (f"assert {source} == {shown}",)
        return (f"assert repr({source}) == {literal(shown)}",)
    if did.stdout and len(did.stdout) <= _LONGEST and "0x" not in did.stdout:
        return (source, f"assert capsys.readouterr().out == {literal(did.stdout)}")
    return ()

"""What a report's code does now, written down as tests that pass: no model is asked."""

from __future__ import annotations

import builtins
import textwrap

from pytest_brt.observe.watch import Replayed, Seen
from pytest_brt.oracle.assertion import literal
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.judge import is_isolation
from pytest_brt.oracle.write import Draft, module
from pytest_brt.types import OracleKind, Raised
from pytest_brt.types.reading import ClaimKind, ClaimRole

#: Longer values say nothing that one could put right by hand.
_LONGEST = 600
#: Types whose values can be compared with as they are shown.
_PLAIN = frozenset({"str", "int", "bool", "list", "tuple", "dict"})
#: Exceptions of a report's code that lacks something, and not of the project.
_OURS = frozenset({"NameError", "UnboundLocalError", "ModuleNotFoundError", "SyntaxError"})
#: Weight of a statement that is shown without a word.
_SHOWN = 2
#: Pinned statements, those that are complained about first.
MOST = 3


def pinned_tests(replayed: Replayed, name: str) -> dict[str, str]:
    """Return tests called `name` that pin what one statement did, each with its plan in words.

    What is complained about comes first; of what nobody complains about one is enough. Not all
    must pass: what was seen may depend on the session it was seen in.
    """
    weights = [_weight(seen) for seen in replayed.seen]
    found: dict[str, str] = {}
    for number in sorted(range(len(weights)), key=lambda n: (-weights[n], -n)):
        most = MOST if weights[number] > _SHOWN else 1
        if weights[number] <= 0 or len(found) >= most:
            break
        seen = replayed.seen[number]
        source = _test(seen, replayed, name, number)
        if source:
            shown = " ".join(seen.step.source.split())[:120]
            found.setdefault(source, f"run {shown!r} as the report does")
    return found


def _weight(seen: Seen) -> int:
    """Say how likely the report complains about what a statement does."""
    roles = {said.role for said in seen.step.claims}
    kinds = {said.kind for said in seen.step.claims}
    if seen.did is None or roles == {ClaimRole.CONTRAST}:
        return 0
    weight = 1
    weight += 4 * (ClaimRole.OBSERVED in roles or ClaimKind.WRONG in kinds)
    weight += 3 * (ClaimRole.EXPECTED in roles)
    weight += 2 * (seen.did.raised is not None)
    return weight + (ClaimRole.SHOWN in roles)


def _test(seen: Seen, replayed: Replayed, name: str, number: int) -> str:
    body = _body(seen)
    if not body:
        return ""
    draft = Draft(
        kind=OracleKind.WRITTEN,
        index=number,
        body=body,
        sentence="Does what the report does.",
        fixtures=("capsys",) if "capsys" in body[-1] else (),
        imports=("import pytest",) if "pytest." in body[0] else (),
    )
    return module(draft, replayed, name) or ""


def _body(seen: Seen) -> tuple[str, ...]:
    """Return lines that assert what the statement did, () when that cannot be written down."""
    did, source = seen.did, seen.step.source.strip()
    if did is None or seen.missing or "version" in source or "0x" in source:
        return ()
    if did.raised is not None:
        return _raising(source, did.raised)
    if did.value is not None and not did.value.is_none and "\n" not in source:
        shown = did.value.repr
        if not shown or not _is_short(shown):
            return ()
        if did.value.evaluable and did.value.type in _PLAIN:
            return (f"assert {source} == {shown}",)
        return (f"assert repr({source}) == {literal(shown)}",)
    if did.stdout and _is_short(did.stdout):
        return (source, f"assert capsys.readouterr().out == {literal(did.stdout)}")
    return ()


def _raising(source: str, raised: Raised) -> tuple[str, ...]:
    if is_isolation(raised) or simple(raised.type) in _OURS:
        return ()
    inside = textwrap.indent(source, "    ")
    if isinstance(getattr(builtins, raised.type, None), type):
        return (f"with pytest.raises({raised.type}):\n{inside}",)
    return (
        f"with pytest.raises(Exception) as caught:\n{inside}",
        f'assert type(caught.value).__name__ == "{simple(raised.type)}"',
    )


def _is_short(text: str) -> bool:
    return len(text) <= _LONGEST and "0x" not in text

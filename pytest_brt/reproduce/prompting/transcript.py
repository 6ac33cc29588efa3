"""What the code of a report does on the buggy tree, and whether the report calls that right."""

from __future__ import annotations

import ast
import re
from enum import StrEnum

from pytest_brt.execute.engine import Observed
from pytest_brt.issue.alike import Likeness, quoted_in
from pytest_brt.observe.forms import shown_expression
from pytest_brt.observe.watch import Replayed, Seen
from pytest_brt.syntax.parse import IMPORTS
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole

#: Statements whose results are told, and characters of each result.
_MOST_SEEN, _MOST_RESULT = 12, 300
#: How import statements begin.
_DEFINITIONS = (*IMPORTS, "def ", "async def ", "class ")
#: What Python says of calls that do not fit the signature.
_CALL = re.compile(
    r"missing \d+ required|takes .* argument|unexpected keyword argument|not callable"
)


#: What it says of a module that is not there: the name of its top.
_MODULE = re.compile(r"No module named '(\w+)")


class Stance(StrEnum):
    """What the report holds of what its own code does on this tree."""

    #: It goes wrong as reported, or that cannot be told.
    WRONG = ""
    #: It does what the report calls right.
    RIGHT = "right"
    #: It does not do what the report complains about.
    OTHER = "other"


def session_of(replayed: Replayed) -> tuple[str, ...]:
    """Return statements with what they did, as an interactive session shows them.

    Imports that were added to run them come first, and say so.
    """
    shown = [
        item
        for item in replayed.seen
        if (item.did is not None or item.ended) and not _artefact(item, replayed)
    ]
    if all(item.step.source.startswith(_DEFINITIONS) and not _failed(item) for item in shown):
        return ()  # that something can be imported, or defined, is no news
    used = frozenset[str]().union(*(item.names.used for item in shown))
    needed = replayed.resolver.imports_for(used & replayed.resolver.known.keys())
    text = replayed.reading.issue.text
    added = (f">>> {way}  # added: not in the report" for way in needed if way not in text)
    return (*added, *(_told(item) for item in shown[:_MOST_SEEN]))


def _told(item: Seen) -> str:
    lines = item.step.source.split("\n")
    text = "\n".join(f"{'>>>' if n == 0 else '...'} {line}" for n, line in enumerate(lines))
    result = _result(item)
    return f"{text}\n{result}" if result else text


def _failed(item: Seen) -> bool:
    return bool(item.ended) or (item.did is not None and item.did.raised is not None)


def _artefact(item: Seen, replayed: Replayed) -> bool:
    """Return whether what a statement did says something of how it was run, and not of the bug.

    Such are names that the report gives no value, calls in sentences that name a function with
    some of its arguments, and modules that are neither installed nor the project's: those of text
    that is a tool's input, too.
    """
    raised = item.did.raised if item.did else None
    # What is raised below the statement is raised by the project.
    if raised is None or any(frame.project for frame in raised.frames):
        return False
    kind = raised.type.rpartition(".")[2]
    if kind in {said.raised.type.rpartition(".")[2] for said in item.step.claims if said.raised}:
        return False
    if kind == "ModuleNotFoundError":
        lacking = _MODULE.search(raised.message)
        return not lacking or lacking[1] not in replayed.resolver.engine.subject.packages
    misses = kind == "TypeError" and item.step.inline and _CALL.search(raised.message)
    return kind == "NameError" or bool(misses)


def _result(item: Seen) -> str:
    if item.did is None:
        return item.ended
    did = item.did
    parts = [did.stdout.rstrip("\n")]
    if did.raised is not None:
        message = did.raised.message.strip().split("\n")[0]
        parts.append(f"{did.raised.type}: {message}" if message else did.raised.type)
    elif did.value is not None and not did.value.is_none:
        parts.append(did.value.repr)
    if not item.step.source.startswith(IMPORTS):
        parts += [f"{warning.type}: {warning.message}" for warning in did.warnings]
    text = "\n".join(part for part in parts if part)
    if not text and shown_expression(item.step.source):
        return "# no output"
    return text if len(text) <= _MOST_RESULT else f"{text[:_MOST_RESULT]}…"


def stance_of(replayed: Replayed) -> Stance:
    """Say whether the code of a report still goes wrong on this tree, as far as can be told.

    What is tidy counts only: values that can be compared, exceptions that are not raised. While
    any statement fails, or does what is complained about, the report stands as it is.
    """
    shown = [item for item in replayed.seen if not _artefact(item, replayed)]
    if any(_failed(item) for item in shown):
        return Stance.WRONG
    found = Stance.WRONG
    for item in shown:
        complaints = [_holds(said, item.did) for said in _complaints(item)]
        if any(holds or holds is None for holds in complaints):
            return Stance.WRONG
        expected = [said for said in item.step.claims if said.role is ClaimRole.EXPECTED]
        if any(_holds(said, item.did) is False for said in expected):
            return Stance.WRONG
        if any(_holds(said, item.did) for said in expected):
            found = Stance.RIGHT
        elif complaints and found is Stance.WRONG:
            found = Stance.OTHER
    return found


def _complaints(item: Seen) -> list[Claim]:
    """Return what the report complains about; that something is wrong, where it says no more."""
    found = [said for said in item.step.claims if said.role is ClaimRole.OBSERVED]
    exact = any(said.kind in (ClaimKind.VALUE, ClaimKind.RAISES) for said in item.step.claims)
    return [said for said in found if said.kind is not ClaimKind.WRONG] if exact else found


def _holds(said: Claim, did: Observed | None) -> bool | None:
    """Say whether a statement did what is said of it; None where that cannot be told."""
    if did is None:
        return None
    if said.kind is ClaimKind.RAISES:
        named = bool(said.raised and said.raised.type)
        return False if named and did.raised is None else None
    if said.kind is not ClaimKind.VALUE or did.raised is not None:
        return None
    shown = did.stdout.strip("\n")
    if did.value is not None and not did.value.is_none:
        shown = did.value.repr
    if quoted_in(shown, said.text) is not Likeness.NONE:
        return True
    try:
        return bool(ast.literal_eval(said.text.strip()) == ast.literal_eval(shown.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None

"""Exceptions that say that something around a test is missing, and nothing of the project's code.

A test that fails so on a patch says nothing of the patch: it may have come further than without.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.types import Raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """A kind of such an exception."""

    #: Simple names of its type; empty for any.
    types: frozenset[str]
    #: What its message holds.
    text: str


#: Where each comes from: pytest-django (its database blocker), Django (``SimpleTestCase``), asyncio
#: (``loop.create_connection``), errno's ECONNREFUSED and ENETUNREACH, ``socket.getaddrinfo``.
KINDS = (
    Surroundings(types=frozenset({"RuntimeError"}), text="Database access not allowed"),
    Surroundings(
        types=frozenset({"DatabaseOperationForbidden", "AssertionError"}),
        text="are not allowed in SimpleTestCase subclasses",
    ),
    Surroundings(types=frozenset(), text="Connect call failed"),
    Surroundings(types=frozenset(), text="Connection refused"),
    Surroundings(types=frozenset(), text="Network is unreachable"),
    Surroundings(types=frozenset(), text="Name or service not known"),
    Surroundings(types=frozenset(), text="Temporary failure in name resolution"),
)


def missing_around(raised: Raised | None) -> str:
    """Return which words of an exception say that something around the test is missing, or ""."""
    if raised is None:
        return ""
    name = raised.type.rpartition(".")[2]
    for kind in KINDS:
        if kind.text in raised.message and (not kind.types or name in kind.types):
            return kind.text
    return ""

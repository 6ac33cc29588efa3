"""A call on which patches differ that nothing else tells apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the call gives on some patches."""

    #: Names of the patches.
    patches: tuple[str, ...]
    #: The value as Python shows it; "" where it raises.
    text: str = ""
    #: Type of the exception; "" for a value.
    raised: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """The smallest call found on which leading patches differ; none of them is right for that."""

    #: Id of the issue, "" when only tests were given, and of the bug test whose call was varied.
    issue: str
    test: str
    #: What is run first, imports among it, and the expression, or the statement that prints.
    setup: tuple[str, ...]
    expression: str
    #: What it prints is what it gives, and not its value.
    prints: bool = False
    #: What it gives, in the order of the patches.
    gives: tuple[Given, ...]

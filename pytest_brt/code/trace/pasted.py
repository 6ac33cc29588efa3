"""A traceback as it was found in a text."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.types import Raised


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedTrace:
    """One exception with its stack, as found in a text.

    A chain of exceptions is several of them, in the order of the text: the last one is what
    the program ended with.
    """

    raised: Raised
    #: 1-based first and last line in the text.
    line: int
    end_line: int

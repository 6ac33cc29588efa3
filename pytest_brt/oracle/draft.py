"""What an oracle wants tested, before a test is written of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_brt.types import Evidence, OracleKind, Raised
from pytest_brt.types.report import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A test that an oracle wants."""

    kind: OracleKind
    #: Lines of the test after its set-up.
    body: tuple[str, ...]
    #: One sentence, and the report's words that it rests on, or "".
    sentence: str
    #: Index of the statement it is about; None when it is about a command.
    index: int | None = None
    quote: str = ""
    #: What the failure must look like on the unpatched tree; None for a failed assertion.
    expects: Raised | None = None
    evidence: Evidence = Evidence.OTHER
    #: Of drafts with the same evidence, how much in the report leads to it.
    signs: int = 0
    #: Run every earlier statement first, not only those it depends on.
    whole: bool = False

    @property
    def docstring(self) -> str:
        """The sentence, with the words that it rests on."""
        return f'{self.sentence} Report: "{self.quote}"' if self.quote else self.sentence


def one_line(text: str) -> str:
    r"""Return `text` on one line, with the blanks inside its lines as they are.

    >>> one_line("f(\n    'a  b')\n")
    "f( 'a  b')"
    """
    return re.sub(r"\s*\n\s*", " ", text.strip())


def shorten(source: str) -> str:
    """Return a statement on one line, cut where it is long."""
    line = one_line(source)
    return line if len(line) <= 120 else line[:117] + "..."


def quote_of(claims: Iterable[Claim]) -> str:
    """Return the report's words for a claim, "" where they say no more than the claim itself."""
    said = (claim.sentence for claim in claims if len(claim.sentence) > len(claim.text) + 7)
    return one_line(next(said, ""))

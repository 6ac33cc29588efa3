"""What an oracle wants tested, before a test is written of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_brt.observe.run_snippets import ObservedReport
from pytest_brt.types import Evidence, OracleKind, Raised
from pytest_brt.types.report import Claim

_NAME = re.compile(r"[A-Za-z_]\w{2,}")
#: Words of a title that are no names of code.
_COMMON = frozenset((
    "the", "and", "for", "not", "with", "from", "import", "print", "return", "returns",
    "should", "does", "when", "wrong", "result", "value", "error", "bug", "fails", "fail",
    "using", "use", "issue", "problem", "incorrect", "class", "function", "method", "object",
))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A test that an oracle wants."""

    kind: OracleKind
    #: Index of the statement it is about; None when it is about a command.
    index: int | None
    #: Lines of the test after its set-up.
    body: tuple[str, ...]
    #: One sentence, and the report's words that it rests on, or "".
    sentence: str
    quote: str = ""
    #: What the failure must look like on the unpatched tree; None for a failed assertion.
    expects: Raised | None = None
    #: Fixtures the test asks for.
    fixtures: tuple[str, ...] = ()
    #: Modules the body needs besides what its names resolve to.
    imports: tuple[str, ...] = ()
    evidence: Evidence = Evidence.OTHER
    #: Of drafts with the same evidence, how much in the report leads to it.
    signs: int = 0
    #: Run every earlier statement first, not only those it depends on.
    whole: bool = False

    @property
    def docstring(self) -> str:
        """The sentence, with the words that it rests on."""
        return f'{self.sentence} Report: "{self.quote}"' if self.quote else self.sentence


def simple(name: str) -> str:
    """Return the last part of a dotted name."""
    return name.rsplit(".", 1)[-1]


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


def quote_of(claim: Claim | None) -> str:
    """Return the report's words, "" where they say no more than the claim itself."""
    if claim is None or len(claim.sentence) < len(claim.text) + 8:
        return ""
    return one_line(claim.sentence)


def title_names(observed: ObservedReport, source: str) -> int:
    """Return how many names in `source` the report's title speaks of."""
    words = {word.lower() for word in _NAME.findall(observed.reading.issue.title)} - _COMMON
    return len(words & {name.lower() for name in _NAME.findall(source)})

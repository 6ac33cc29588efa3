"""What the rules look at: the report, its statements, and what these did."""

from __future__ import annotations

import re
from dataclasses import dataclass
from keyword import iskeyword

from pytest_brt.issue.mentions import code_in, object_at
from pytest_brt.issue.words import is_called_fine
from pytest_brt.observe.watch import Replayed, Seen
from pytest_brt.oracle.assertion import one_line
from pytest_brt.oracle.facts import simple, without_values
from pytest_brt.types import BlockKind, Issue, Raised
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole, Reading

_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_RAISES = re.compile(r"\b(?:rais|throw|error|exception|fail|crash|got|get)", re.IGNORECASE)
_SAME_AS = re.compile(
    r"\b(?:the same|equal|equivalent|identical)\b[^.;\"'`]{0,30}\b(?:as|to) ", re.IGNORECASE
)
#: Blocks in which an exception is spoken of, or comes out.
_SHOWN = (BlockKind.PROSE, BlockKind.HEADING, BlockKind.OUTPUT, BlockKind.TRACEBACK)
_COMMON = frozenset(
    {
        "the", "and", "for", "not", "with", "from", "import", "print", "return", "returns",
        "should", "does", "when", "wrong", "result", "value", "error", "bug", "fails", "fail",
        "using", "use", "issue", "problem", "incorrect", "class", "function", "method", "object"
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRun:
    """A report that was run."""

    replayed: Replayed

    @property
    def issue(self) -> Issue:
        """Return the report as it was written."""
        return self.reading.issue

    @property
    def reading(self) -> Reading:
        """Return what the report says."""
        return self.replayed.reading

    @property
    def seen(self) -> tuple[Seen, ...]:
        """Return the statements with what they did."""
        return self.replayed.seen

    def in_title(self, source: str) -> set[str]:
        """Return the names in `source` of which the report's title speaks."""
        words = {word.lower() for word in _NAME.findall(self.issue.title)} - _COMMON
        return words & {name.lower() for name in _NAME.findall(source)}

    def held_for_right(self, seen: Seen) -> bool:
        """Say whether what a statement gives is called fine, or something else the same as it."""
        if any(is_called_fine(one.text, seen.step.source) for one in self.reading.sentences):
            return True
        return any(
            re.search(r"[(\"']", other) and other.strip("\"'") in seen.step.source
            for sentence in self.reading.sentences
            for same in _SAME_AS.finditer(sentence.text)
            for other, _ in [object_at(sentence.text, code_in(sentence), same.end())]
        )

    def is_named(self, raised: Raised) -> Raised | None:
        """Return the exception of the report that is this one, the best match first."""
        same = [r for r in self.reading.named if simple(r.type) == simple(raised.type)]
        for named in same:
            if messages_agree(named.message, raised.message):
                return named
        if same:
            return next((named for named in same if not named.message), same[0])
        return self._by_its_own_name(simple(raised.type))

    def _by_its_own_name(self, name: str) -> Raised | None:
        """Return the exception whose name alone does not say that it is one."""
        named = re.compile(rf"(?<!\w){re.escape(name)}\b(?::[ \t]+(?P<message>[^`\n]+))?")
        texts = [self.issue.title, *(b.text for b in self.issue.blocks if b.kind in _SHOWN)]
        for line in (line for text in texts for line in text.split("\n")):
            match = named.search(line)
            if match and (match["message"] or _RAISES.search(line)):
                return Raised(type=name, message=match["message"] or "")
        return None


def is_said_to_work(seen: Seen) -> bool:
    """Say whether the report calls a statement one that works."""
    return bool(seen.step.said(ClaimKind.WORKS, ClaimRole.CONTRAST))


def is_said_of_the_call(said: Claim, source: str) -> bool:
    """Say whether the report asks for it of `source` in the words that we advise.

    That is "`f(1)` should return `2`", with a call that it writes out and that was run.
    """
    wanted = said.raised.type if said.raised else said.text
    if "(" not in source or not wanted:
        return False
    asked = (
        rf"`{re.escape(source)}` should (?:return|give|be|print|equal|raise) "
        rf"(?:an? )?`{re.escape(wanted)}"
    )
    return bool(re.search(asked, said.sentence))


def messages_agree(reported: str, seen: str) -> bool:
    """Say whether two messages of an exception say the same, numbers and names aside."""
    one, other = without_values(reported), without_values(seen)
    if not one or not other:
        return False
    if one == other or (len(one) > 8 and one in other) or (len(other) > 8 and other in one):
        return True
    words, others = set(one.split()), set(other.split())
    return len(words & others) / len(words | others) >= 0.6


def quote(said: Claim | None) -> str:
    """Return the report's words, "" where they say no more than the claim itself."""
    if said is None or said.direct or len(said.sentence) < len(said.text) + 8:
        return ""
    return one_line(said.sentence)


def called(source: str) -> str:
    """Return the name of the function or attribute that a statement is about.

    >>> called("print(simplify(x))")
    'simplify'
    """
    found = re.findall(r"([A-Za-z_]\w*)\s*\(", source)
    names = [n for n in found if n not in ("print", "str") and not iskeyword(n)]
    if not names:
        return str((re.findall(r"\.([A-Za-z_]\w*)", source) or [""])[-1])
    chained = re.findall(r"\.([A-Za-z_]\w*)\s*\(", source)
    is_chain = source.rstrip().endswith(")") and not re.match(r"\s*[A-Za-z_]\w*\s*\(", source)
    return str(chained[-1] if chained and is_chain else names[0])


def short(source: str) -> str:
    """Return a statement on one line, cut where it is long."""
    line = one_line(source)
    return line if len(line) <= 120 else line[:117] + "..."

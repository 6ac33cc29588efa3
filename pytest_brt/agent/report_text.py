"""A report as whoever works on it needs it: what decides whole, the rest folded.

Prose, code, sessions, commands, settings and values stay as they are. Of long output, tables, lists
of installed packages and HTML comments a line says which lines of the report were left out. Lines
go, never parts of lines, so that no fence is cut open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby

from pytest_brt.agent.excerpt import cut, largest, short_line
from pytest_brt.issue.sessions import is_prompt
from pytest_brt.issue.words import role_of
from pytest_brt.types import BlockKind, Issue
from pytest_brt.types.reading import ClaimRole

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
#: As in "attrs    22.1.0   pypi_0" and "attrs==22.1.0".
_PACKAGE = re.compile(
    r"^\s*[A-Za-z][\w.\-]*(?:\s*==\s*|\s+)v?\d+(?:\.\w+)+(?:\s+[\w./:-]+){0,2}\s*$"
)
_COMMAND = re.compile(r"\s*[$%>] ?\S")
#: Lines of what is called shell and has no prompt, from which on it is output and no script.
_SCRIPT = 20
_OUTPUT = (BlockKind.OUTPUT, BlockKind.TRACEBACK)
_CODE = (BlockKind.PYTHON, BlockKind.SHELL, BlockKind.FILE, BlockKind.REPL)
#: Marks of code in a sentence: what it says of that may be what the report is about.
_MARKED = re.compile(r"`|\w\(|\w_\w|[\"'\u201c]\S|^\s*#")
#: Roles of sentences that are the symptom, the expectation, or what works beside it.
_TELLING = (ClaimRole.OBSERVED, ClaimRole.EXPECTED, ClaimRole.CONTRAST)


class _Kind(Enum):
    """What a line of a report is."""

    OUTPUT = auto()
    PACKAGE = auto()
    ROW = auto()
    COMMENT = auto()
    CODE = auto()
    #: Neither symptom nor expectation, and no code in it.
    ASIDE = auto()
    OTHER = auto()


#: What lines that are left out are of.
_OF = {
    _Kind.OUTPUT: " of output",
    _Kind.PACKAGE: " of installed packages",
    _Kind.ROW: " of a table",
    _Kind.COMMENT: " of a comment",
    _Kind.CODE: " of code",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    #: 1-based number in the report.
    number: int
    text: str
    kind: _Kind
    #: The fence that it stands in, or "".
    fence: str


#: Lines that are kept at either end of a long run of a kind.
_Kept = Mapping[_Kind, int]
_FOLDED: _Kept = {_Kind.OUTPUT: 7, _Kind.PACKAGE: 0, _Kind.ROW: 3, _Kind.COMMENT: 0}
#: For when there is less room, one after the other.
_TIGHTER: tuple[_Kept, ...] = (
    {**_FOLDED, _Kind.OUTPUT: 3},
    {**_FOLDED, _Kind.OUTPUT: 3, _Kind.ASIDE: 0},
    {**_FOLDED, _Kind.OUTPUT: 2, _Kind.ASIDE: 0, _Kind.CODE: 12},
    {**_FOLDED, _Kind.OUTPUT: 1, _Kind.ASIDE: 0, _Kind.CODE: 4},
)
#: Fewer lines about packages may be what is reported.
_PACKAGES = 6


def report_text(issue: Issue, *, whole: bool = False) -> str:
    """Return the report without its title, folded, or as it stands where it is wanted `whole`."""
    return _folded(_lines(issue), {} if whole else _FOLDED)


def fitting_report(issue: Issue, most: int, count: Callable[[str], int]) -> str:
    """Return the report with its title: as it stands where it has `most` tokens, else shortened.

    Where that is not enough, lines go from its middle.
    """
    if count(issue.text) <= most:
        return issue.text
    size = len(issue.text) * most // count(issue.text)
    return cut(f"# {issue.title}\n\n{shortened_report(issue, size)}", most, count)


def shortened_report(issue: Issue, most: int) -> str:
    """Return the report in at most about `most` characters.

    Output goes first, then sentences that tell neither symptom nor expectation, then code.
    """
    lines = _lines(issue)
    for kept in (_FOLDED, *_TIGHTER):
        text = _folded(lines, kept)
        if len(text) <= most:
            return text
    return _middle_out(lines, most)


def _lines(issue: Issue) -> list[_Line]:
    kinds = _kinds(issue)
    found: list[_Line] = []
    fence = ""
    in_comment = False
    for number, text in enumerate(issue.text.split("\n"), 1):
        in_comment = not fence and (in_comment or text.lstrip().startswith("<!--"))
        mark = _FENCE.match(text)
        is_end = bool(fence) and text.strip() == fence
        if in_comment:
            kind = _Kind.COMMENT
        elif is_end or (mark and not fence):
            kind = _Kind.OTHER
        else:
            kind = _kind(text, kinds.get(number))
        found.append(_Line(number=number, text=text, kind=kind, fence=fence))
        if is_end:
            fence = ""
        elif mark and not fence and not in_comment:
            fence = mark[1]
        in_comment = in_comment and "-->" not in text
    if fence:
        found.append(_Line(number=len(found) + 1, text=fence, kind=_Kind.OTHER, fence=fence))
    return _without_title(found, issue.title)


def _kinds(issue: Issue) -> dict[int, BlockKind]:
    """Return what the lines of code are, by their numbers."""
    found: dict[int, BlockKind] = {}
    for block in issue.blocks:
        if block.kind in (*_OUTPUT, *_CODE):
            lines = block.text.split("\n")
            for number, text in enumerate(lines, block.line):
                is_result = _is_result(block.kind, text, lines)
                found[number] = BlockKind.OUTPUT if is_result else block.kind
    return found


def _is_result(kind: BlockKind, text: str, lines: Sequence[str]) -> bool:
    """Return whether a line of a session is output; forms call all that a tool prints "shell"."""
    if kind is BlockKind.REPL:
        return not is_prompt(text)
    if kind is not BlockKind.SHELL:
        return False
    prompted = any(map(_COMMAND.match, lines))
    return not _COMMAND.match(text) if prompted else len(lines) > _SCRIPT


def _kind(text: str, block: BlockKind | None) -> _Kind:
    if block is not BlockKind.PYTHON and _PACKAGE.match(text):
        return _Kind.PACKAGE
    if block in _OUTPUT:
        return _Kind.OUTPUT
    if block is not None:
        return _Kind.CODE
    if _ROW.match(text):
        return _Kind.ROW
    if not text.strip() or role_of(text) in _TELLING or _MARKED.search(text):
        return _Kind.OTHER
    return _Kind.ASIDE


def _without_title(lines: list[_Line], title: str) -> list[_Line]:
    for at, line in enumerate(lines):
        if line.kind is not _Kind.COMMENT and line.text.strip():
            if line.text.lstrip("# ").strip() == title.strip():
                return [*lines[:at], *lines[at + 1 :]]
            break
    return lines


def _folded(lines: Sequence[_Line], kept: _Kept) -> str:
    shown: list[str] = []
    for kind, run in groupby(lines, key=lambda line: line.kind):
        shown += _fold(list(run), kept.get(kind))
    return re.sub(r"\n{4,}", "\n\n", "\n".join(shown).strip("\n"))


def _fold(run: Sequence[_Line], kept: int | None) -> Iterator[str]:
    """Yield the lines of a run, the middle of a long one as a line that says so."""
    gone = run[kept : len(run) - kept] if kept is not None else ()
    if run[0].kind is _Kind.PACKAGE and len(run) < _PACKAGES:
        gone = ()
    note = _note(gone) if gone else ""
    if sum(len(line.text) + 1 for line in gone) <= len(note):
        yield from (line.text for line in run)
        return
    yield from (line.text for line in run[:kept])
    yield note
    yield from (line.text for line in run[len(run) - (kept or 0) :])


def _note(gone: Sequence[_Line]) -> str:
    many = "1 line" if len(gone) == 1 else f"{len(gone)} lines"
    kinds = {line.kind for line in gone}
    of = _OF.get(gone[0].kind, "") if len(kinds) == 1 else ""
    return f"[… {many}{of} left out: from line {gone[0].number} of the report …]"


def _middle_out(lines: Sequence[_Line], most: int) -> str:
    """Return the beginning and the end of a report, each fence closed that is cut open."""
    texts = [short_line(line.text) for line in lines]
    kept = largest(0, len(lines), lambda n: sum(map(len, _ends(texts, n))) + n <= most)
    head, tail = kept * 2 // 3, len(lines) - (kept - kept * 2 // 3)
    if head >= tail:
        return "\n".join(texts)
    gone = lines[head:tail]
    before = [lines[head].fence] if lines[head].fence else []
    after = [lines[tail].fence] if tail < len(lines) and lines[tail].fence else []
    return "\n".join([*texts[:head], *before, _note(gone), *after, *texts[tail:]]).strip("\n")


def _ends(texts: Sequence[str], kept: int) -> Sequence[str]:
    head = kept * 2 // 3
    return [*texts[:head], *texts[len(texts) - (kept - head) :]]

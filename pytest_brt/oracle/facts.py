"""What a report says of its failure: a crash or a wrong value, and whether a test's matches it.

These are LIBRO's report features (paper 001, requirements 26 and 27 of its code), with Python's
words where LIBRO has Java's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_brt.issue.alike import Likeness, likeness
from pytest_brt.issue.read import complained, values_of
from pytest_brt.issue.words import wants_an_error
from pytest_brt.pysource.parse import called_name, parse
from pytest_brt.types import BlockKind, Issue, Raised
from pytest_brt.types.reading import ClaimRole, Reading

_SIDES = re.compile(r"^(?:AssertionError: )?(?:assert )?(.+?) (?:==|!=|is not|is|not in|in) (.+)$")
_NOT_RAISED = re.compile(r"DID NOT RAISE (?:any of )?\(?<class '([\w.]+)'>")
#: How the exceptions of a failed claim are called; anything else is a crash.
CLAIMS = frozenset({"AssertionError", "Failed"})
_CRASH = re.compile(
    r"exception|crash|throw|traceback|\brais(?:e|es|ed|ing)\b|[A-Z]\w*Error\b",
    re.IGNORECASE,
)
_PROSE = (BlockKind.PROSE, BlockKind.HEADING)
#: Blocks that show what happened.
_SHOWN = (BlockKind.TRACEBACK, BlockKind.REPL, BlockKind.OUTPUT, BlockKind.SHELL)
_ENDING = re.compile(r"\s*(?:[\w.]+\.)?\w*(?:Error|Exception)(?::|\s*$|\s+Traceback)")
_VALUES = frozenset({"None", "True", "False"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What judging needs of a report."""

    #: The whole text, for values that it quotes.
    text: str
    #: Whether the report is about an exception that should not be there.
    crash: bool
    #: The lines that say so, and what tracebacks end in.
    context: str
    #: Values, and simple names of exceptions, that the report complains about.
    wrong: tuple[str, ...] = ()
    #: Values that it shows, complained about or without a word, and those that it wants.
    shown: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    raised: tuple[str, ...] = ()


def read_facts(reading: Reading) -> Facts:
    """Return what a report says of its failure; nothing is run."""
    issue = reading.issue
    lines = [issue.title]
    for block in issue.blocks:
        if block.kind in _PROSE:
            lines += block.text.split("\n")
    if not issue.blocks:
        lines += issue.text.split("\n")
    crash = any(_CRASH.search(line) and not wants_an_error(line) for line in lines)
    ends = list(_endings(issue))
    missing = any(map(wants_an_error, lines)) and not ends
    wrong, raised = complained(reading.steps)
    return Facts(
        text=issue.text,
        crash=(crash or bool(ends)) and not missing,
        context="\n".join([*(line for line in lines if _CRASH.search(line)), *ends]),
        # A bare word of a sentence is no value that could be told from others.
        wrong=tuple(value for value in wrong if not value.isidentifier() or value in _VALUES),
        shown=values_of(reading.steps, (ClaimRole.OBSERVED, ClaimRole.SHOWN)),
        wanted=values_of(reading.steps, (ClaimRole.EXPECTED,)),
        raised=raised,
    )


def _endings(issue: Issue) -> Iterable[str]:
    """Yield the lines in which tracebacks end; many reporters leave out where they begin."""
    for block in issue.blocks:
        if block.kind in _SHOWN or "Traceback (most recent call last)" in block.text:
            yield from (line for line in block.text.split("\n") if _ENDING.match(line))


def matches(facts: Facts, source: str, raised: Raised | None) -> str:
    """Say in a few words how the failure of a test matches the report, "" when it does not."""
    if raised is None:
        return ""
    name = simple(raised.type)
    if name not in CLAIMS:
        # A name like `error` is a word as well: it counts with its module only.
        called = name if name[:1].isupper() else raised.type
        named = re.search(rf"\b{re.escape(called)}\b", facts.context)
        return f"the report names {name}" if facts.crash and named and name != "Exception" else ""
    first = raised.message.strip().split("\n")[0]
    missing = _NOT_RAISED.search(first)
    if missing:
        wanted = simple(missing[1])
        return f"the report asks for {wanted}" if wanted in facts.text and not facts.crash else ""
    if stated := states(facts, raised):
        return stated
    value = actual_value(first, source)
    # What the test passes in is in the report as an input: that it comes out says nothing.
    if value and is_quoted(value, facts.text) and not _is_written(value, source):
        return f"the report quotes the value {value[:60]}"
    return ""


def states(facts: Facts, raised: Raised | None) -> str:
    """Say that a failed comparison saw a value that the report shows, and asked for one it wants.

    "" where it did not.
    """
    sides = _SIDES.match(raised.message.strip().split("\n")[0]) if raised else None
    if sides is None or " == " not in sides[0]:
        return ""
    for seen, asked in ((sides[1], sides[2]), (sides[2], sides[1])):
        if _is_among(seen, facts.shown) and _is_among(asked, facts.wanted):
            return f"the report wants {asked.strip()[:60]} in place of {seen.strip()[:60]}"
    return ""


def _is_among(value: str, values: tuple[str, ...]) -> bool:
    return any(likeness(value, other) >= Likeness.SQUEEZED for other in values)


def catches_named(facts: Facts, source: str) -> bool:
    """Say whether the test catches, or waits for, an exception that the report names."""
    caught: list[ast.expr] = []
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.ExceptHandler) and node.type:
            caught.append(node.type)
        elif isinstance(node, ast.Call) and called_name(node) in ("raises", "assertRaises"):
            caught += node.args[:1]
    names = (n.id for one in caught for n in ast.walk(one) if isinstance(n, ast.Name))
    return any(re.search(rf"\b{name}\b", facts.text) for name in names)


def actual_value(message: str, source: str) -> str:
    """Return the value that a failed comparison saw, as its message shows it; or "".

    What the test itself has written down is the expected one.

    >>> actual_value("assert '8 hours' == '9 hours'", "assert f() == '9 hours'")
    "'8 hours'"
    """
    sides = _SIDES.match(message)
    if not sides:
        return ""
    left, right = sides[1].strip(), sides[2].strip()
    for value, other in ((left, right), (right, left)):
        if value not in source and "..." not in value and (other in source or value == left):
            return value
    return ""


def _is_written(value: str, source: str) -> bool:
    """Return whether a value stands in a test, however it is quoted there."""
    nodes = (node for node in ast.walk(parse(source)) if isinstance(node, ast.Constant))
    return value in {repr(node.value) for node in nodes}


def is_quoted(value: str, text: str) -> bool:
    """Say whether `text` has `value`: short and plain ones only where they stand alone."""
    bare = value.strip()
    if len(bare) >= 2 and bare[0] == bare[-1] and bare[0] in "\"'":
        bare = bare[1:-1]
    if not bare.strip() or bare in ("None", "True", "False"):
        return False
    if len(bare) > 4 and not bare.isalnum():
        squeezed = re.sub(r"\s+", "", bare.replace("\\n", "\n"))
        return bool(squeezed) and squeezed in re.sub(r"\s+", "", text)
    return bool(re.search(rf"(?<![\w.]){re.escape(bare)}(?![\w]|\.\d)", text))


def simple(name: str) -> str:
    """Return the last part of a dotted name."""
    return name.rsplit(".", 1)[-1]


def without_values(message: str) -> str:
    """Return the words of a message in lower case: numbers as 0, no quotes.

    >>> without_values("line 3: `Name` at 0x7F2")
    'line 0: name at 0'
    """
    message = re.sub(r"0x[0-9a-f]+|\d+", "0", message.lower())
    return " ".join(re.sub(r"[`'\"\u201c\u201d]+", " ", message).split())

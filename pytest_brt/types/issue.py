"""What a bug report is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BlockKind(StrEnum):
    """What a stretch of a bug report is."""

    PROSE = "prose"
    HEADING = "heading"
    PYTHON = "python"
    REPL = "repl"
    TRACEBACK = "traceback"
    SHELL = "shell"
    OUTPUT = "output"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of a bug report, in document order."""

    kind: BlockKind
    #: The text without fences, indentation or HTML around it.
    text: str
    #: 1-based line of its first line in the report.
    line: int
    #: The fence's language tag, lower case, or "".
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A bug report."""

    id: str
    title: str
    #: The whole report, newlines normalised.
    text: str
    #: Where it was read: a path as the user gave it, or "-".
    source: str
    blocks: tuple[Block, ...] = ()
    #: Characters, a log's mostly, that are in no block: there are too many.
    unread: int = 0

"""What a report says of its failure in general: a crash or a wrong value, and which.

These are LIBRO's report features (paper 001, requirements 26 and 27 of its code), with Python's
words where LIBRO has Java's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_brt.oracle.facts import Facts
from pytest_brt.reading.lexicon import misses_exception, must_fail
from pytest_brt.reading.script import complained, read_script, values_of
from pytest_brt.reading.steps import Role
from pytest_brt.types import BlockKind, Issue

_CRASH = re.compile(
    r"exception|crash|throw|outofmemory|overflow|traceback|\brais(?:e|es|ed|ing)\b|[A-Z]\w*Error\b",
    re.IGNORECASE,
)
_PROSE = (BlockKind.PROSE, BlockKind.HEADING)
#: Blocks that show what happened.
_SHOWN = (BlockKind.TRACEBACK, BlockKind.REPL, BlockKind.OUTPUT, BlockKind.SHELL)
_ENDING = re.compile(r"\s*(?:[\w.]+\.)?\w*(?:Error|Exception)(?::|\s*$|\s+Traceback)")
_VALUES = frozenset({"None", "True", "False"})


def read_facts(issue: Issue) -> Facts:
    """Return what `issue` says of its failure; nothing is run."""
    lines = [issue.title]
    for block in issue.blocks:
        if block.kind in _PROSE:
            lines += block.text.split("\n")
    if not issue.blocks:
        lines += issue.text.split("\n")
    crash = [line for line in lines if _speaks_of_crash(line)]
    ends = list(_endings(issue))
    missing = any(_wants_crash(line) for line in lines) and not ends
    script = read_script(issue)
    wrong, raised = complained(script.steps)
    return Facts(
        text=issue.text,
        crash=bool(crash or ends) and not missing,
        context="\n".join([*(line for line in lines if _CRASH.search(line)), *ends]),
        # A bare word of a sentence is no value that could be told from others.
        wrong=tuple(value for value in wrong if not value.isidentifier() or value in _VALUES),
        shown=values_of(script.steps, (Role.OBSERVED, Role.SHOWN)),
        wanted=values_of(script.steps, (Role.EXPECTED,)),
        raised=raised,
    )


def _speaks_of_crash(line: str) -> bool:
    return bool(_CRASH.search(line)) and not _wants_crash(line)


def _wants_crash(line: str) -> bool:
    """Say whether a line misses an exception: a crash that does not come is none."""
    return must_fail(line) or misses_exception(line)


def _endings(issue: Issue) -> Iterable[str]:
    """Yield the lines in which tracebacks end; many reporters leave out where they begin."""
    for block in issue.blocks:
        if block.kind in _SHOWN or "Traceback (most recent call last)" in block.text:
            yield from (line for line in block.text.split("\n") if _ENDING.match(line))

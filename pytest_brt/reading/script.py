"""An issue → its statements in document order, each with what is said about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from pytest_brt.issue.tracebacks import read_tracebacks
from pytest_brt.reading.listings import read_python, read_repl
from pytest_brt.reading.mentions import EXCEPTION
from pytest_brt.reading.outputs import read_output, read_traceback_block
from pytest_brt.reading.progress import (
    Reading,
    merged,
)
from pytest_brt.reading.prose import read_heading, read_prose
from pytest_brt.reading.steps import ClaimKind, Role, Script, Step
from pytest_brt.reading.walk import walk
from pytest_brt.types import Block, BlockKind, Issue, Raised

#: Statements of one report that are looked at; more is a program, not a report.
_MOST_STEPS = 150
#: Tags of fences in which people show what their code made.
_RESULTS = frozenset({"sql", "json", "html", "xml", "yaml", "yml", "toml", "csv", "markdown", "md"})


def read_script(issue: Issue) -> Script:
    """Read the statements of a report and what it says about each.

    Inline code comes last: it is run when all names are known.
    """
    reading = Reading()
    for reading.place in walk(issue.blocks):
        block = reading.place.block
        if block.kind is BlockKind.HEADING:
            read_heading(reading, block, title=reading.place.number == 0)
        elif block.kind is BlockKind.PROSE:
            read_prose(reading, block)
        elif block.kind is BlockKind.REPL:
            read_repl(reading, block)
        elif block.kind is BlockKind.PYTHON:
            read_python(reading, block)
        elif block.kind is BlockKind.TRACEBACK:
            read_traceback_block(reading, block)
        elif block.kind is BlockKind.OUTPUT or _is_result(reading, block):
            read_output(reading, block)
    steps = _unique([*reading.steps[:_MOST_STEPS], *reading.inline[:40]])
    return Script(steps=steps, named=named_exceptions(issue), notes=tuple(reading.notes))


def _is_result(reading: Reading, block: Block) -> bool:
    """Say whether a block in the language of a result, as SQL or JSON, stands below code."""
    return block.kind is BlockKind.FILE and bool(reading.latest) and block.language in _RESULTS


def named_exceptions(issue: Issue) -> tuple[Raised, ...]:
    """Return every exception that the report shows or names, the fullest account first."""
    found: dict[str, Raised] = {}
    shown = [raised for raised in read_tracebacks(issue.text) if raised.frames or raised.message]
    for block in issue.blocks:
        if block.kind is BlockKind.TRACEBACK:
            shown += read_tracebacks(block.text)
    for raised in shown:
        key = f"{raised.type}:{raised.message}"
        if key not in found or len(found[key].frames) < len(raised.frames):
            found[key] = raised
    for match in EXCEPTION.finditer(issue.text):
        message = (match["message"] or "").strip()
        known = any(match["type"].split(".")[-1] == r.type.split(".")[-1] for r in found.values())
        if not known or message:
            found.setdefault(
                f"{match['type']}:{message}", Raised(type=match["type"], message=message)
            )
    return tuple(found.values())


def _unique(steps: list[Step]) -> tuple[Step, ...]:
    """Drop inline code that a block has already, giving its claims to that statement."""
    kept: list[Step] = []
    places: dict[str, int] = {}
    for step in steps:
        key = re.sub(r"\s+", "", step.source)
        if step.inline and key in places:
            old = kept[places[key]]
            kept[places[key]] = replace(old, claims=merged(old.claims, step.claims))
            continue
        places[key] = len(kept)
        kept.append(step)
    return tuple(kept)


def complained(steps: Iterable[Step]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values and the exceptions that the report complains about in its `steps`."""
    values: dict[str, None] = {}
    raised: dict[str, None] = {}
    wanted: set[str] = set()
    for step in steps:
        for said in step.claims:
            if said.kind is ClaimKind.VALUE and said.role is Role.OBSERVED:
                values.setdefault(said.text)
            elif said.kind is ClaimKind.RAISES and said.raised and said.raised.type:
                name = said.raised.type.rsplit(".", 1)[-1]
                if said.role is Role.OBSERVED:
                    raised.setdefault(name)
                else:
                    wanted.add(name)
            if said.kind is ClaimKind.VALUE and said.role is Role.EXPECTED:
                wanted.add(said.text)
    return (
        tuple(text for text in values if text not in wanted),
        tuple(name for name in raised if name not in wanted),
    )


def values_of(steps: Iterable[Step], roles: Collection[Role]) -> tuple[str, ...]:
    """Return the values that the report says its statements have, in one of `roles`."""
    return tuple(
        dict.fromkeys(
            claim.text
            for step in steps
            for claim in step.claims
            if claim.kind is ClaimKind.VALUE and claim.role in roles
        )
    )

"""An issue → its statements in document order, each with what is said about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import islice

from pytest_brt.issue.claims import claims
from pytest_brt.issue.listings import read_output, read_python, read_repl, read_traceback_block
from pytest_brt.issue.mentions import EXCEPTION, code_in, is_runnable
from pytest_brt.issue.progress import Reading, add_inline, merged, say, walk
from pytest_brt.issue.prose import sentences
from pytest_brt.issue.tracebacks import read_tracebacks
from pytest_brt.types import Block, BlockKind, Issue, Raised
from pytest_brt.types.miss import TooManyStatements
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole, ReportStep, Script, Sentence

#: Statements of one report that are run, in blocks and in sentences; more is a program.
_MOST_STEPS, _MOST_INLINE = 150, 40
#: Exceptions of one report that are looked at; more are those of a log.
_MOST_NAMED = 100
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
    if len(reading.steps) > _MOST_STEPS or len(reading.inline) > _MOST_INLINE:
        many = TooManyStatements(most=_MOST_STEPS, most_inline=_MOST_INLINE)
        reading.misses.append(many)
    inline = islice(reading.inline.values(), _MOST_INLINE)
    steps = _unique([*reading.steps[:_MOST_STEPS], *inline])
    return Script(steps=steps, named=named_exceptions(issue), misses=tuple(reading.misses))


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
    for raised in shown[:_MOST_NAMED]:
        key = f"{raised.type}:{raised.message}"
        if key not in found or len(found[key].frames) < len(raised.frames):
            found[key] = raised
    for match in islice(EXCEPTION.finditer(issue.text), _MOST_NAMED):
        message = (match["message"] or "").strip()
        known = any(match["type"].split(".")[-1] == r.type.split(".")[-1] for r in found.values())
        if not known or message:
            found.setdefault(
                f"{match['type']}:{message}", Raised(type=match["type"], message=message)
            )
    return tuple(found.values())


def _unique(steps: list[ReportStep]) -> tuple[ReportStep, ...]:
    """Drop inline code that a block has already, giving its claims to that statement."""
    kept: list[ReportStep] = []
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


def complained(steps: Iterable[ReportStep]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values and the exceptions that the report complains about in its `steps`."""
    values: dict[str, None] = {}
    raised: dict[str, None] = {}
    wanted: set[str] = set()
    for step in steps:
        values |= dict.fromkeys(c.text for c in step.said(ClaimKind.VALUE, ClaimRole.OBSERVED))
        wanted |= {claim.text for claim in step.said(ClaimKind.VALUE, ClaimRole.EXPECTED)}
        for claim in step.said(ClaimKind.RAISES):
            if claim.role is ClaimRole.OBSERVED:
                raised.setdefault(claim.exception)
            else:
                wanted.add(claim.exception)
    return (
        tuple(text for text in values if text not in wanted),
        tuple(name for name in raised if name and name not in wanted),
    )


def values_of(steps: Iterable[ReportStep], roles: Collection[ClaimRole]) -> tuple[str, ...]:
    """Return the values that the report says its statements have, in one of `roles`."""
    every = (claim for step in steps for claim in step.said(ClaimKind.VALUE, *roles))
    return tuple(dict.fromkeys(claim.text for claim in every))


_AHEAD = re.compile(r"\b(?:following|below|next)\b|\bhere (?:is|are)\b|:\s*$", re.IGNORECASE)


def read_heading(reading: Reading, block: Block, *, title: bool) -> None:
    """Read a heading: it names a section, and may say something itself."""
    for sentence in sentences(block):
        for claim in claims(sentence, reading.bound):
            _give(reading, claim, sentence, ahead=title or bool(claim.subject))


def read_prose(reading: Reading, block: Block) -> None:
    """Read the sentences of a paragraph."""
    every = sentences(block)
    for position, sentence in enumerate(every):
        ahead = bool(_AHEAD.search(sentence.text)) or not reading.steps
        last = position == len(every) - 1
        for claim in claims(sentence, reading.bound, reading.place.section):
            _give(reading, claim, sentence, ahead=ahead and (last or not reading.steps))
        # Code in a sentence is worth running even when nothing clear is said about it.
        for code in code_in(sentence):
            if is_runnable(code.text) and not _is_form(code.text):
                add_inline(reading, code.text, sentence.line, ())


def _is_form(source: str) -> bool:
    """Say whether something is left out, as in ``f(..., key=1)``: a form, nothing to run."""
    return "..." in source


def _give(reading: Reading, claim: Claim, sentence: Sentence, *, ahead: bool) -> None:
    if _is_form(claim.subject):
        return
    if claim.subject:
        add_inline(reading, claim.subject, sentence.line, (replace(claim, subject=""),))
    elif ahead and (not reading.latest or claim.kind is not ClaimKind.VALUE):
        reading.ahead.append(claim)
    elif reading.latest:
        plain = claim.kind is ClaimKind.VALUE and claim.role is ClaimRole.OBSERVED
        if plain and reading.latest_role is ClaimRole.CONTRAST:
            claim = replace(claim, role=ClaimRole.CONTRAST)
        say(reading, _called(reading, claim, sentence) or reading.latest[-1], claim)


def _called(reading: Reading, claim: Claim, sentence: Sentence) -> int | None:
    """Return the last statement that calls the function of which an exception is wanted.

    As in "`parse()` should raise a `ValueError`": what is shown last may be something else.
    """
    if claim.kind is not ClaimKind.RAISES or claim.role is not ClaimRole.EXPECTED:
        return None
    names = [span.text.removesuffix("()").rpartition(".")[2] for span in sentence.spans]
    calling = [
        index
        for index in reading.latest
        for name in names
        if name.isidentifier() and f"{name}(" in reading.steps[index].source
    ]
    return max(calling, default=None)

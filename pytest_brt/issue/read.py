"""A report → all that is read of it: its statements, each with what is said about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from pytest_brt.issue.claims import claims
from pytest_brt.issue.listings import read_output, read_python, read_repl, read_traceback
from pytest_brt.issue.mentions import EXCEPTION, binds_call, code_in, is_runnable
from pytest_brt.issue.own_tests import own_tests
from pytest_brt.issue.progress import Progress, claimed
from pytest_brt.issue.prose import sentences
from pytest_brt.issue.tracebacks import read_tracebacks
from pytest_brt.issue.words import heading_role, role_of
from pytest_brt.types import Block, BlockKind, Issue, Raised
from pytest_brt.types.miss import TooManyStatements
from pytest_brt.types.reading import (
    BlockInContext,
    Claim,
    ClaimKind,
    ClaimRole,
    Reading,
    ReportStep,
    Sentence,
)

#: Statements of one report that are run, in blocks and in sentences; more is a program.
_MOST_STEPS, _MOST_INLINE = 150, 40
#: Exceptions of one report that are looked at; more are those of a log.
_MOST_NAMED = 100
#: Tags of fences in which people show what their code made.
_RESULTS = frozenset({"sql", "json", "html", "xml", "yaml", "yml", "toml", "csv", "markdown", "md"})
_AHEAD = re.compile(r"\b(?:following|below|next)\b|\bhere (?:is|are)\b|:\s*$", re.IGNORECASE)


def read_report(issue: Issue) -> Reading:
    """Return the statements of a report, what it says about each, and all else that is read."""
    progress = Progress()
    blocks = tuple(_in_context(issue.blocks))
    for place in blocks:
        _read(progress, place)
    misses = progress.misses
    if len(progress.steps) > _MOST_STEPS or len(progress.inline) > _MOST_INLINE:
        misses.append(TooManyStatements(most=_MOST_STEPS, most_inline=_MOST_INLINE))
    # Code in a sentence is run when all names are known.
    inline = islice(progress.inline.values(), _MOST_INLINE)
    return Reading(
        issue=issue,
        blocks=blocks,
        steps=_unique([*progress.steps[:_MOST_STEPS], *inline]),
        tests=own_tests(issue),
        named=_named_exceptions(issue),
        wanted=frozenset(progress.wanted),
        misses=tuple(misses),
    )


def _in_context(blocks: Iterable[Block]) -> Iterator[BlockInContext]:
    """Yield the blocks in order, each with what announces it."""
    section, heading, last = ClaimRole.SHOWN, "", ""
    for number, block in enumerate(blocks):
        if block.kind is BlockKind.HEADING:
            section = ClaimRole.SHOWN if number == 0 else heading_role(block.text)
            heading, last = block.text, ""
        role, words = role_of(last), last
        if role is ClaimRole.SHOWN:
            role = section
            words = heading if section is not ClaimRole.SHOWN else last or heading
        own = sentences(block)
        yield BlockInContext(
            block=block, number=number, section=section, role=role, words=words, sentences=own
        )
        if block.kind is BlockKind.PROSE:
            last = own[-1].text if own else last
        elif block.kind is not BlockKind.HEADING:
            last = ""


def _read(progress: Progress, place: BlockInContext) -> None:
    """Read one block, whatever it is."""
    kind = place.block.kind
    if kind in (BlockKind.HEADING, BlockKind.PROSE):
        _read_sentences(progress, place)
    elif kind is BlockKind.REPL:
        read_repl(progress, place)
    elif kind is BlockKind.PYTHON:
        read_python(progress, place)
    elif kind is BlockKind.TRACEBACK:
        read_traceback(progress, place)
    elif kind is BlockKind.OUTPUT or (
        # SQL or JSON, say, that stands below code
        kind is BlockKind.FILE and progress.latest and place.block.language in _RESULTS
    ):
        read_output(progress, place)


def _read_sentences(progress: Progress, place: BlockInContext) -> None:
    """Read a paragraph, or a heading: it names a section, and may say something itself."""
    heading = place.block.kind is BlockKind.HEADING
    section = ClaimRole.SHOWN if heading else place.section
    for sentence in place.sentences:
        first = not progress.steps
        last = sentence is place.sentences[-1]
        ahead = first or (last and bool(_AHEAD.search(sentence.text)))
        for claim in claims(sentence, progress.bound, section):
            if claim.role is ClaimRole.EXPECTED and claim.exception:
                progress.wanted.add(claim.exception)
            _give(progress, claim, sentence, ahead=place.number == 0 if heading else ahead)
        # Code in a sentence is worth running even when nothing clear is said about it.
        for code in code_in(sentence) if not heading else ():
            runs = is_runnable(code.text) or binds_call(code.text)
            if runs and not _is_form(code.text):
                progress.add_inline(code.text, sentence.line)


def _is_form(source: str) -> bool:
    """Say whether something is left out, as in ``f(..., key=1)``: a form, nothing to run."""
    return "..." in source


def _give(progress: Progress, claim: Claim, sentence: Sentence, *, ahead: bool) -> None:
    """Give a claim to the code that it is about: its own, the next, or the last."""
    if _is_form(claim.subject):
        return
    if claim.subject:
        progress.add_inline(claim.subject, sentence.line, replace(claim, subject=""))
    elif ahead and (not progress.latest or claim.kind is not ClaimKind.VALUE):
        progress.ahead.append(claim)
    elif progress.latest:
        plain = claim.kind is ClaimKind.VALUE and claim.role is ClaimRole.OBSERVED
        if plain and progress.latest_role is ClaimRole.CONTRAST:
            claim = replace(claim, role=ClaimRole.CONTRAST)
        progress.say(_place_of(progress, claim, sentence), claim)


def _place_of(progress: Progress, claim: Claim, sentence: Sentence) -> int:
    """Return which statement of the last block a claim is about: its last, as a rule.

    Where an exception is wanted of a function, it is the last that calls this, as in
    "`parse()` should raise a `ValueError`": what is shown last may be something else.
    """
    if claim.kind is not ClaimKind.RAISES or claim.role is not ClaimRole.EXPECTED:
        return progress.latest[-1]
    names = [span.text.removesuffix("()").rpartition(".")[2] for span in sentence.spans]
    calling = [
        index
        for index in progress.latest
        for name in names
        if name.isidentifier() and f"{name}(" in progress.steps[index].source
    ]
    return max(calling, default=progress.latest[-1])


def _unique(steps: list[ReportStep]) -> tuple[ReportStep, ...]:
    """Drop inline code that a block has already, giving its claims to that statement."""
    kept: list[ReportStep] = []
    places: dict[str, int] = {}
    for step in steps:
        key = re.sub(r"\s+", "", step.source)
        if step.inline and key in places:
            place = places[key]
            kept[place] = claimed(kept[place], *step.claims)
            continue
        places[key] = len(kept)
        kept.append(step)
    return tuple(kept)


def _named_exceptions(issue: Issue) -> tuple[Raised, ...]:
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
        named, message = match["type"], (match["message"] or "").strip()
        simple = {raised.type.rpartition(".")[2] for raised in found.values()}
        if message or named.rpartition(".")[2] not in simple:
            found.setdefault(f"{named}:{message}", Raised(type=named, message=message))
    return tuple(found.values())


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

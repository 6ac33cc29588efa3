"""Prose and headings of a report → what they say about its code."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from pytest_brt.issue.prose import Sentence, sentences
from pytest_brt.reading.claims import claims
from pytest_brt.reading.mentions import code_in, is_runnable
from pytest_brt.reading.progress import (
    Reading,
    add_inline,
    say,
)
from pytest_brt.reading.steps import Claim, ClaimKind, Role
from pytest_brt.syntax import parse
from pytest_brt.types import Block

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
        _mention(reading, sentence)


def _mention(reading: Reading, sentence: Sentence) -> None:
    """Code in a sentence is worth running even when nothing clear is said about it."""
    for code in code_in(sentence):
        if is_runnable(code.text) and not _is_sketch(code.text):
            add_inline(reading, code.text, sentence.line, ())


def _is_sketch(source: str) -> bool:
    """Say whether an argument is left out, as in ``f(..., key=1)``: a form, nothing to run."""
    try:
        tree = parse(source)
    except SyntaxError:
        return False
    return any(
        isinstance(argument, ast.Constant) and argument.value is ...
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def _give(reading: Reading, claim: Claim, sentence: Sentence, *, ahead: bool) -> None:
    if claim.subject and _is_sketch(claim.subject):
        return
    if claim.subject:
        add_inline(reading, claim.subject, sentence.line, (replace(claim, subject=""),))
    elif ahead and (not reading.latest or claim.kind is not ClaimKind.VALUE):
        reading.ahead.append(claim)
    elif reading.latest:
        plain = claim.kind is ClaimKind.VALUE and claim.role is Role.OBSERVED
        if plain and reading.latest_role is Role.CONTRAST:
            claim = replace(claim, role=Role.CONTRAST)
        say(reading, _called(reading, claim, sentence) or reading.latest[-1], claim)


def _called(reading: Reading, claim: Claim, sentence: Sentence) -> int | None:
    """Return the last statement that calls the function of which an exception is wanted.

    As in "`parse()` should raise a `ValueError`": what is shown last may be something else.
    """
    if claim.kind is not ClaimKind.RAISES or claim.role is not Role.EXPECTED:
        return None
    names = [span.text.removesuffix("()").rpartition(".")[2] for span in sentence.spans]
    calling = [
        index
        for index in reading.latest
        for name in names
        if name.isidentifier() and f"{name}(" in reading.steps[index].source
    ]
    return max(calling, default=None)

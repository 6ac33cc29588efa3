"""Oracles about results: the one that the report states must come, the one it shows must not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_brt.observe.results import (
    Form,
    Result,
    evaluated_expression,
    printed_argument,
    results_of,
)
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.comparison import comparison
from pytest_brt.oracle.draft import Draft, one_line, quote_of, shorten, title_names
from pytest_brt.pysource.parse import is_literal, parse, parses
from pytest_brt.report.claims import role_of, states_it
from pytest_brt.report.match import is_steady, squeezed
from pytest_brt.report.prose import is_runnable, sentences
from pytest_brt.types import BlockKind, Evidence, OracleKind
from pytest_brt.types.report import RIGHT, WRONG, Claim, ClaimKind, ClaimRole

#: Signs that make a complaint plain, and letters of a result that is no mere coincidence.
_PLAIN, _LETTERS = 2, 4


def gives_stated_value(observed: ObservedReport) -> Iterator[Draft]:
    """A result that the report calls right must come out; of two that differ, neither."""
    for index, one in enumerate(observed.observations):
        drafts = [*_stated(index, one)] if not one.missing else []
        if len({draft.body for draft in drafts}) == 1:
            yield replace(drafts[0], signs=title_names(observed, one.source))


def _stated(index: int, one: Observation) -> Iterator[Draft]:
    shown = results_of(one, blank=True) or _in_place_of_exception(one)
    for claim in one.statement.claims_of(ClaimKind.VALUE, ClaimRole.EXPECTED):
        compared = _compared(shown, claim.text.strip())
        if compared is None:
            continue
        result, text = compared
        lines, capsys = comparison(result, text, differs=False)
        is_plain = states_it(claim, one.source) or any(
            result.quoted_by(other.text)
            for other in one.statement.claims_of(ClaimKind.VALUE, *WRONG)
            for result in shown
        )
        yield Draft(
            kind=OracleKind.EQUALS,
            index=index,
            body=lines,
            sentence=f"`{shorten(one.source)}` should give {' '.join(text.split())[:100]}.",
            quote=quote_of(claim),
            fixtures=("capsys",) if capsys else (),
            expects=one.raised,
            evidence=Evidence.STATED_VALUE if is_plain else Evidence.OTHER,
        )


def _in_place_of_exception(one: Observation) -> tuple[Result, ...]:
    """Return the result that a statement has where it no longer raises."""
    if one.raised is None:
        return ()
    expression = printed_argument(one.source) or evaluated_expression(one.source)
    return (Result(form=Form.VALUE, expression=expression, text=""),) if expression else ()


def _compared(shown: Sequence[Result], text: str) -> tuple[Result, str] | None:
    """Return which form of a result to compare, and with what; None where that is unsure."""
    if not shown or not text or any(result.quoted_by(text) for result in shown):
        return None
    first = shown[0]
    if first.form is Form.VALUE:
        if is_literal(text) or (_is_expression(text) and "(" in text):
            return replace(first, evaluable=True), text
        texts = [result for result in shown if result.form is Form.STR]
        return (texts[0], text) if texts and " " in text else None
    if is_literal(text):
        text = str(ast.literal_eval(text))
    # A report cannot show the newlines at the end of what is printed.
    end = first.text[len(first.text.rstrip("\n")) :] if first.form is Form.STDOUT else ""
    return first, text + end


def _is_expression(text: str) -> bool:
    return parses(text) and [type(node) for node in parse(text).body] == [ast.Expr]


def no_longer_gives(observed: ObservedReport) -> Iterator[Draft]:
    """A result that the report shows, and that still comes out, must be gone."""
    right = observed.reading.claims_of(ClaimKind.VALUE, *RIGHT)
    for index, one in enumerate(observed.observations):
        if one.missing or any(not claim.text for claim in right if claim in one.statement.claims):
            continue
        for result in results_of(one):
            claim = _quotation(one, result)
            if not result.can_compare or not (claim or _is_elsewhere(observed, one, result)):
                continue
            if any(result.quoted_by(other.text) for other in right):
                break
            yield _gone(observed, index, result, claim)
            break


def _quotation(one: Observation, result: Result) -> Claim | None:
    """Return the claim that quotes a result, or marks it as wrong; the best quotation first."""
    claims = one.statement.claims_of(ClaimKind.VALUE, *WRONG)
    quoting = [claim for claim in claims if not claim.text or result.quoted_by(claim.text)]
    return max(quoting, key=lambda claim: result.quoted_by(claim.text), default=None)


def _is_elsewhere(observed: ObservedReport, one: Observation, result: Result) -> bool:
    """Say whether the report has the result in its prose or output, and not as what is wanted."""
    key = squeezed(result.text)
    if len(key) < _LETTERS or key in squeezed(one.source):
        return False
    blocks = [
        block
        for block in observed.reading.issue.blocks
        if block.kind in (BlockKind.PROSE, BlockKind.OUTPUT) and key in squeezed(block.text)
    ]
    spoken = (sentence for block in blocks for sentence in sentences(block))
    wanted = any(
        role_of(sentence.text) in RIGHT for sentence in spoken if key in squeezed(sentence.text)
    )
    return bool(blocks) and not wanted


def _gone(observed: ObservedReport, index: int, result: Result, claim: Claim | None) -> Draft:
    one = observed.observations[index]
    is_marked = claim is not None and not claim.text
    is_complaint = claim is not None and claim.role is ClaimRole.ACTUAL
    names = title_names(observed, one.source)
    signs = is_complaint + bool(names) + _is_last_shown(observed, index)
    signs += (_PLAIN if is_marked else 0) - (
        not (is_runnable(one.source) or one.statement.is_inline)
    )
    lines, capsys = comparison(result, result.text, differs=True)
    verb = "print" if capsys or printed_argument(one.source) else "return"
    return Draft(
        kind=OracleKind.GONE,
        index=index,
        body=lines,
        sentence=f"`{shorten(one.source)}` must no longer {verb} {one_line(result.text)[:100]}.",
        quote=quote_of(claim),
        fixtures=("capsys",) if capsys else (),
        imports=() if is_steady(result.text) else ("import re",),
        evidence=Evidence.REPORTED_VALUE if claim and signs >= _PLAIN else Evidence.OTHER,
        signs=signs + names,
    )


def _is_last_shown(observed: ObservedReport, index: int) -> bool:
    """Say whether no later statement of the same block has its result quoted."""
    block = observed.observations[index].statement.block
    return not any(
        one.statement.block == block
        and one.statement.claims_of(ClaimKind.VALUE, *WRONG)
        and results_of(one)
        for one in observed.observations[index + 1 :]
    )

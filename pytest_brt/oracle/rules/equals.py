"""Oracle about values: the one that the report calls right must come out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.issue.alike import Likeness
from pytest_brt.issue.words import wants_an_error
from pytest_brt.observe.forms import Display, Form, displays, printed_argument, quotes
from pytest_brt.observe.watch import Seen
from pytest_brt.oracle.assertion import assertion
from pytest_brt.oracle.rules.report_run import ReportRun, is_said_of_the_call, quote, short
from pytest_brt.oracle.write import Draft
from pytest_brt.pysource.parse import is_literal, parse, parses
from pytest_brt.types import Evidence, OracleKind
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole


def equals(view: ReportRun) -> Iterator[Draft]:
    """A result that the report calls right must come out; of two that differ, neither."""
    for index, seen in enumerate(view.seen):
        drafts = list(_wanted(view, index, seen))
        if len({draft.body for draft in drafts}) == 1:
            yield drafts[0]


def _wanted(view: ReportRun, index: int, seen: Seen) -> Iterator[Draft]:
    """Yield what a statement should give, as the report says it."""
    crash = seen.did.raised if seen.did else None
    shown = displays(seen, blank=not _shows_more(view, index))
    if crash is not None and crash.in_project is not None:
        shown = _in_place_of_a_crash(seen)
    if not shown or seen.missing or _is_right(seen, shown):
        return
    for said in seen.step.said(ClaimKind.VALUE, ClaimRole.EXPECTED):
        compared = _compared(shown, said)
        if compared is None or (crash and wants_an_error(said.sentence)):
            continue
        display, text = compared
        lines, capsys = assertion(display, text + _ending(display), differs=False)
        of_the_call = (
            crash is not None
            or _is_confirmed(seen, shown)
            or is_said_of_the_call(said, seen.step.source)
        )
        yield Draft(
            kind=OracleKind.EQUALS,
            index=index,
            body=lines,
            sentence=f"`{short(seen.step.source)}` should give {' '.join(text.split())[:100]}.",
            quote=quote(said),
            expects=crash,
            fixtures=("capsys",) if capsys else (),
            evidence=Evidence.STATED_VALUE if of_the_call else Evidence.OTHER,
        )


def _in_place_of_a_crash(seen: Seen) -> tuple[Display, ...]:
    """Return in which form a call that raises would show its result."""
    source = seen.step.source.strip()
    if not _is_expression(source):
        return ()
    if printed := printed_argument(source):
        return (Display(form=Form.STR, expression=printed, text=""),)
    return (Display(form=Form.VALUE, expression=source, text="", evaluable=True),)


def _is_expression(source: str) -> bool:
    return parses(source) and [type(node) for node in parse(source).body] == [ast.Expr]


def _is_right(seen: Seen, shown: tuple[Display, ...]) -> bool:
    """Say whether the report calls fine what comes out."""
    fine = seen.step.said(ClaimKind.VALUE, ClaimRole.CONTRAST)
    return any(quotes(said.text, display) for said in fine for display in shown)


def _is_confirmed(seen: Seen, shown: tuple[Display, ...]) -> bool:
    """Say whether the value that comes out is one that the report says comes out here."""
    return any(
        said.role is not ClaimRole.EXPECTED and quotes(said.text, display) >= Likeness.SQUEEZED
        for said in seen.step.said(ClaimKind.VALUE)
        for display in shown
    )


def _shows_more(view: ReportRun, index: int) -> bool:
    """Say whether a later statement of the same block shows something: that is then meant."""
    block = view.seen[index].step.block
    return any(other.step.block == block and displays(other) for other in view.seen[index + 1 :])


def _compared(shown: tuple[Display, ...], said: Claim) -> tuple[Display, str] | None:
    """Return which form of a result to compare, and with what; None where that is unsure."""
    display, text = shown[0], said.text.strip()
    if not text or any(quotes(text, other) for other in shown):
        return None
    # An object that looks like a literal is none, and compared by its looks.
    is_value = display.form is Form.VALUE and (display.evaluable or not is_literal(display.text))
    if is_value and _is_expression(text):
        return replace(display, evaluable=True), text
    if is_literal(text):
        prints_more = display.form is Form.STDOUT and not is_literal(display.text.strip())
        return None if prints_more else (display, str(ast.literal_eval(text)))
    if " " not in text and text in said.sentence:
        return None  # a word of a sentence
    if display.evaluable:
        texts = [other for other in shown if other.form is Form.STR]
        return (texts[0], text) if texts else None
    return display, text


def _ending(display: Display) -> str:
    """Return the newlines at the end of a printed text, which a report cannot show."""
    if display.form is Form.VALUE or display.type:
        return ""
    return display.text[len(display.text.rstrip("\n")) :]

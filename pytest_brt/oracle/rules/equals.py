"""Oracles about values: the one that the report calls right, or that another call gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.issue.alike import Likeness, squeezed, trimmed
from pytest_brt.observe.forms import Display, Form, displays, printed_argument, quotes
from pytest_brt.observe.watch import Seen
from pytest_brt.oracle.assertion import assertion, loose_assertion
from pytest_brt.oracle.rules.report_run import (
    PLAIN,
    ReportRun,
    is_said_of_the_call,
    quote,
    short,
)
from pytest_brt.oracle.write import Draft
from pytest_brt.syntax.parse import is_literal, parse, parses
from pytest_brt.types import Evidence, OracleKind, Raised
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole

#: For a wanted value where the wrong one is known to come out.
_CONFIRMED = 0.12
#: What a text of several lines is believed less.
_OF_LINES = 0.2
#: The most that is believed of a text in place of an object.
_ANOTHER_KIND = 0.5
_ROUGHLY = re.compile(
    r"\b(?:similar to|something (?:like|similar)|along the lines|roughly|more or less|for example"
    r"|for instance|such as|e\.g)\b",
    re.IGNORECASE,
)


def equals(view: ReportRun) -> Iterator[Draft]:
    """A result that the report calls right must come out."""
    for index, seen in enumerate(view.seen):
        if seen.did is not None and seen.did.raised is not None and not seen.missing:
            yield from _in_place_of(index, seen, seen.did.raised)
        shown = displays(seen, blank=not _shows_more(view, index))
        if not shown or seen.missing:
            continue
        right = seen.step.said(ClaimKind.VALUE, ClaimRole.CONTRAST)
        if any(quotes(said.text, display) for said in right for display in shown):
            continue
        is_confirmed, is_text = _is_confirmed(seen, shown), shown[0].type == "str"
        for said in seen.step.said(ClaimKind.VALUE, ClaimRole.EXPECTED):
            score, reason = _wanted_score(said)
            plainly = is_said_of_the_call(said, seen.step.source)
            if is_confirmed:
                score, reason = _confirmed(said, score, reason, is_text)
            elif plainly:
                score, reason = PLAIN, "the report says what this very call should give"
            if _is_text_for_an_object(said, shown):
                score = min(score, _ANOTHER_KIND)
                reason = f"{reason}; it is a text, and an object comes out"
            draft = _equals(index, seen, _compared(seen, shown, said), said, score, reason)
            if draft is None:
                continue
            of_the_call = is_confirmed or plainly
            yield replace(draft, evidence=Evidence.STATED_VALUE) if of_the_call else draft


def _in_place_of(index: int, seen: Seen, raised: Raised) -> Iterator[Draft]:
    """Yield what should come out of a call that raises: ending without a value would not do."""
    source = seen.step.source.strip()
    if raised.in_project is None or not _is_expression(source):
        return
    printed = printed_argument(source)
    for said in seen.step.said(ClaimKind.VALUE, ClaimRole.EXPECTED):
        text = said.text.strip()
        score, reason = _wanted_score(said)
        if _is_value(text) and not printed:
            display = Display(form=Form.VALUE, expression=source, text="", evaluable=True)
        elif printed and text not in said.sentence:
            display = Display(form=Form.STR, expression=printed, text="")
            score -= _OF_LINES if "\n" in text else 0.0
        else:
            continue
        if is_said_of_the_call(said, seen.step.source):
            score, reason = PLAIN, "the report says what this very call should give"
        lines, _ = assertion(display, text, differs=False)
        yield Draft(
            kind=OracleKind.EQUALS,
            index=index,
            body=lines,
            sentence=f"`{short(source)}` should give {' '.join(text.split())[:100]}.",
            quote=quote(said),
            score=score,
            reasons=(reason,),
            expects=raised,
            evidence=Evidence.OTHER if printed else Evidence.STATED_VALUE,
        )


def _is_value(text: str) -> bool:
    """Say whether a text is a value written out: a literal, or an object's maker called."""
    if is_literal(text):
        return True
    node = parse(text).body[0] if _is_expression(text) else None
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _is_expression(source: str) -> bool:
    return parses(source) and [type(node) for node in parse(source).body] == [ast.Expr]


def _is_confirmed(seen: Seen, shown: tuple[Display, ...]) -> bool:
    """Say whether the value that comes out is one that the report says comes out here."""
    return any(
        said.role is not ClaimRole.EXPECTED and quotes(said.text, display) >= Likeness.SQUEEZED
        for said in seen.step.said(ClaimKind.VALUE)
        for display in shown
    )


def _confirmed(said: Claim, score: float, reason: str, is_text: bool) -> tuple[float, str]:
    """Return more for a value that is wanted in place of the very one that comes out.

    What is no literal, and no text in place of a text, may be written in another way than it
    comes out.
    """
    more = _CONFIRMED if is_text or is_literal(said.text.strip()) else _CONFIRMED / 3
    return score + more, f"{reason}, and shows the current result"


def _is_text_for_an_object(said: Claim, shown: tuple[Display, ...]) -> bool:
    """Say whether a text is wanted of what gives an object: few of those are equal to a text.

    What the object looks like may be meant, or that its maker should have refused.
    """
    text = said.text.strip()
    return (
        is_literal(text)
        and isinstance(ast.literal_eval(text), str)
        and "." in shown[0].type
        and not any(is_literal(form.text) for form in shown)
    )


def _shows_more(view: ReportRun, index: int) -> bool:
    """Say whether a later statement of the same block shows something: that is then meant."""
    block = view.seen[index].step.block
    return any(other.step.block == block and displays(other) for other in view.seen[index + 1 :])


def _wanted_score(said: Claim) -> tuple[float, str]:
    base = OracleKind.EQUALS.prior
    if said.direct:
        return base, "the report shows this as the expected result"
    after = said.sentence.partition(said.text)[2].strip("`\"' ")
    if re.match(r",? ?or\b", after):
        return base - 0.2, "the report names this as one of several right values"
    if _ROUGHLY.search(said.sentence):
        return base - 0.2, "the report says only roughly what the result should be"
    if any(word in said.sentence.lower() for word in ("could", "ideal", "would be nice")):
        return base - 0.15, "the report suggests this value"
    return base + 0.05, "the report says what the result should be"


def _equals(
    index: int,
    seen: Seen,
    found: tuple[Display, str] | None,
    said: Claim,
    score: float,
    reason: str,
) -> Draft | None:
    if found is None:
        return None
    display, text = found
    verb = "be" if seen.step.source.isidentifier() else "give"
    if _is_part(said, display):
        lines, capsys = loose_assertion(display, text, part=True)
        verb = "have in it"
    elif _is_spaced(seen, display, text):
        lines, capsys = loose_assertion(display, text, part=False)
    else:
        lines, capsys = assertion(display, text + _ending(seen, display), differs=False)
    return Draft(
        kind=OracleKind.EQUALS,
        index=index,
        body=lines,
        sentence=f"`{short(seen.step.source)}` should {verb} {' '.join(text.split())[:100]}.",
        quote=quote(said),
        score=score if "\n" not in text else score - _OF_LINES,
        reasons=(reason,),
        fixtures=("capsys",) if capsys else (),
    )


def _is_part(said: Claim, display: Display) -> bool:
    """Say whether a sentence calls right what can only be a part of a text, as in "`AS X`"."""
    text = said.text.strip()
    is_text = display.form is not Form.VALUE
    alone = not said.direct and text in said.sentence and not is_literal(text)
    return is_text and alone and "\n" not in text and 3 * len(text) < len(display.text)


def _is_spaced(seen: Seen, display: Display, text: str) -> bool:
    """Say whether the report lays a text out in its own way: what comes out, it shows so too."""
    if display.form is Form.VALUE or text == "".join(text.split()):
        return False
    shown = "".join(display.text.split())
    told = (c for c in seen.step.said(ClaimKind.VALUE) if c.role is not ClaimRole.EXPECTED)
    same = [claim.text for claim in told if "".join(claim.text.split()) == shown]
    return bool(same) and all(trimmed(text) != trimmed(display.text) for text in same)


def _compared(seen: Seen, shown: tuple[Display, ...], said: Claim) -> tuple[Display, str] | None:
    """Return which view of a result to compare, and with what text; None where neither is sure."""
    text = said.text.strip()
    if not text or any(quotes(text, display) for display in shown):
        return None
    display = shown[0]
    as_value = display.form is Form.VALUE and parses(text) and "\n" not in text
    if as_value and [type(node) for node in parse(text).body] != [ast.Expr]:
        return None
    looks = _looks_like_one(shown) if as_value and is_literal(text) else None
    if looks is not None:
        display, text = looks, repr(ast.literal_eval(text))
    elif as_value:
        display = Display(
            form=Form.VALUE, expression=display.expression, text=display.text, evaluable=True
        )
    elif display.form is not Form.VALUE and is_literal(text):
        if display.form is Form.STDOUT and not is_literal(display.text.strip()):
            return None  # it prints more than a value
        text = _as_printed(text, display.text)
        if not text or any(quotes(text, other) for other in shown):
            return None
    elif text in said.sentence and " " not in text and not _is_in_place(seen, shown, said):
        return None
    elif display.form is Form.VALUE and display.evaluable:
        # No Python, so not how the value is written; at most what it looks like printed.
        texts = [other for other in shown if other.form is Form.STR]
        if not texts:
            return None
        display = texts[0]
    return display, text


def _is_in_place(seen: Seen, shown: tuple[Display, ...], said: Claim) -> bool:
    """Say whether a sentence names all that comes out, too: "prints `<1>`, should print `(1)`"."""
    wrong = seen.step.said(ClaimKind.VALUE, ClaimRole.OBSERVED)
    texts = {trimmed(claim.text) for claim in wrong if claim.sentence == said.sentence}
    return any(trimmed(display.text) in texts for display in shown)


def _looks_like_one(shown: tuple[Display, ...]) -> Display | None:
    """Return the form in which a result looks like a literal that it is not equal to.

    It is an object of a type of its own, as of what a parser returns, and compared by its looks.
    """
    if shown[0].evaluable or shown[0].form is not Form.VALUE:
        return None
    return next((form for form in shown if is_literal(form.text)), None)


def _ending(seen: Seen, display: Display) -> str:
    """Return the newlines at the end of a printed text, which a report cannot show."""
    if display.form is Form.STDOUT:
        return display.text[len(display.text.rstrip("\n")) :]
    if display.form is not Form.STR or display.type or seen.did is None:
        return ""
    printed = seen.did.stdout
    return printed[len(printed.rstrip("\n")) : -1]


def _as_printed(text: str, printed: str) -> str:
    """Return what the value `text`, in Python, looks like printed; "" when that is unsure.

    Collections are sure only where what is printed now is one, too, or nothing: others, such as
    arrays, have a look of their own.
    """
    value = ast.literal_eval(text)
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | dict | set) and not is_literal(printed.strip()):
        return ""
    return str(value) if squeezed(str(value)) == squeezed(text) else text

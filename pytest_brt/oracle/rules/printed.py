"""Which part of an output that the report wants is for one statement of several that print."""

from __future__ import annotations

import re

from pytest_brt.observe.display import Display, Form
from pytest_brt.oracle.rules.view import View
from pytest_brt.reading.compare import is_steady
from pytest_brt.reading.compound import part_of
from pytest_brt.reading.steps import Claim

#: A line that stands for others.
_LEFT_OUT = re.compile(r"^[ \t]*(?:\.{2,}|…|\[(?:\.{3}|…)\])[ \t]*$", re.MULTILINE)


def wanted_text(view: View, index: int, display: Display, said: Claim) -> str:
    """Return what statement number `index` should show by `said`, "" when that is unsure.

    Below a block of code stands what all of its statements print.
    """
    text = said.text
    if "\n" in text.strip() and not said.direct and _prints(display):
        printed, place = _printed(view, index)
        if sum(map(bool, printed)) > 1:
            text = part_of(text, printed, place)
    return text if not display.compound or _is_like(text, display, said) else ""


def _prints(display: Display) -> bool:
    """Say whether a result was printed, and not only shown."""
    return display.form is Form.STDOUT or (display.form is Form.STR and not display.type)


def _printed(view: View, index: int) -> tuple[list[str], int]:
    """Return what each statement of the same block printed, and which of them it is."""
    block = view.seen[index].step.block
    same = [number for number, seen in enumerate(view.seen) if seen.step.block == block]
    every = [view.seen[number].did for number in same]
    return [did.stdout if did else "" for did in every], same.index(index)


def _is_like(text: str, display: Display, said: Claim) -> bool:
    """Say whether a text may be what a loop prints: as many lines, or one of them, unchanged.

    Values in sentences, words in place of an output, and what is cut short are not.
    """
    wanted, seen = _lines(text), _lines(display.text)
    if not wanted or _LEFT_OUT.search(text) or not is_steady(text):
        return False
    if len(wanted) == 1 and len(seen) > 1 and (text.strip() in said.sentence or said.direct):
        return False
    if any(line[0].isspace() for line in seen) != any(line[0].isspace() for line in wanted):
        return False  # a comment has lost its indentation
    return len(wanted) == len(seen) or bool(set(wanted) & set(seen))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]

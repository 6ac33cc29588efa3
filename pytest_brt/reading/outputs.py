"""Output, tracebacks and shell sessions → what the code above them did."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from pytest_brt.issue.tracebacks import final_exception
from pytest_brt.reading.progress import (
    Reading,
    displayed,
    displays_value,
    say,
)
from pytest_brt.reading.steps import Claim, ClaimKind, Role
from pytest_brt.syntax import called_name, parse
from pytest_brt.types import Block

_PRINTERS = frozenset({"print", "pprint"})


def read_output(reading: Reading, block: Block) -> None:
    """Text below code is what it displayed, or should display."""
    role, sentence = reading.place.announced
    reading.place = reading.place.without_words()
    if not reading.latest:
        return
    lines = [line for line in block.text.split("\n") if line.strip()]
    shown = _line_by_line(reading, len(lines))
    if shown:
        for index, line in zip(shown, lines, strict=True):
            say(reading, index, replace(displayed(line, role, sentence), direct=False))
        return
    sources = [reading.steps[index].source for index in reading.latest]
    several = sum(map(_is_print, map(_last, sources))) > 1 or any(map(_prints_inside, sources))
    if role is Role.EXPECTED and len(lines) > 1 and several:
        return  # which of its lines are whose, nobody can say
    for index, source in zip(reading.latest, sources, strict=True):
        if index == reading.latest[-1] or (role is not Role.EXPECTED and displays_value(source)):
            say(reading, index, replace(displayed(block.text, role, sentence), direct=False))


def _line_by_line(reading: Reading, lines: int) -> list[int]:
    """Return the statements of the last block that show one line each, [] when unsure."""
    sources = {index: reading.steps[index].source for index in reading.latest}
    shown = [index for index, source in sources.items() if displays_value(source)]
    if any(said.direct for index in shown for said in reading.steps[index].claims):
        return []  # a session: what each of its inputs gave stands there already
    if lines < 2 or any(map(_prints_inside, sources.values())):
        return []
    prints = [index for index in shown if _is_print(_last(sources[index]))]
    return next((found for found in (shown, prints) if len(found) == lines), [])


def _prints_inside(source: str) -> bool:
    """Say whether a statement is a block with a `print` in it."""
    node = _last(source)
    return not isinstance(node, ast.Expr) and any(map(_is_print, ast.walk(node)))


def _last(source: str) -> ast.stmt:
    return parse(source).body[-1]


def _is_print(node: ast.AST) -> bool:
    """Say whether a statement is a call of `print` and nothing else."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and called_name(node.value) in _PRINTERS
    )


def read_traceback_block(reading: Reading, block: Block) -> None:
    """Give a traceback to the statement that it shows, else to the last one."""
    role, sentence = reading.place.announced
    raised = final_exception(block.text)
    if raised is None or not reading.latest:
        reading.place = reading.place.without_words()
        return
    said = Claim(
        kind=ClaimKind.RAISES,
        role=role,
        raised=raised,
        text=block.text,
        sentence=sentence,
        direct=True,
    )
    squeezed = re.sub(r"\s+", "", block.text)
    shown = [
        index
        for index in reading.latest
        if re.sub(r"\s+", "", reading.steps[index].source.split("\n")[0]) in squeezed
    ]
    place = shown[-1] if shown else reading.latest[-1]
    say(reading, place, said)
    _give_wishes(reading, place)
    reading.place = reading.place.without_words()


def _give_wishes(reading: Reading, place: int) -> None:
    """What was announced with a traceback, not with code: another exception, to be raised there."""
    wishes = [
        claim
        for claim in reading.ahead
        if claim.kind is ClaimKind.RAISES and claim.role is Role.EXPECTED
    ]
    for claim in wishes:
        say(reading, place, claim)
    reading.ahead = [claim for claim in reading.ahead if claim not in wishes]

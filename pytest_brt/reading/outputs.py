"""Output, tracebacks and shell sessions → what the code above them did."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_brt.issue.tracebacks import final_exception
from pytest_brt.reading.compound import is_print, may_print, prints_inside
from pytest_brt.reading.entry import entry_lines
from pytest_brt.reading.expectations import announces_result, states_value
from pytest_brt.reading.mend import Statement
from pytest_brt.reading.progress import (
    Reading,
    add_step,
    announced,
    announced_output,
    displayed,
    displays_value,
    say,
)
from pytest_brt.reading.steps import Claim, ClaimKind, Role
from pytest_brt.types import Block


def read_output(reading: Reading, block: Block) -> None:
    """Text below code is what it displayed, or should display."""
    role, sentence = announced_output(reading)
    reading.place = reading.place.without_words()
    if not reading.latest:
        return
    lines = [line for line in block.text.split("\n") if line.strip()]
    shown = _line_by_line(reading, len(lines))
    if shown:
        for index, line in zip(shown, lines, strict=True):
            say(reading, index, replace(displayed(line, role, sentence), direct=False))
        return
    for index in reading.latest:
        if index == reading.latest[-1] or _is_for(reading, index, role, len(lines)):
            wished = not announces_result(sentence) and states_value(
                sentence, _claims(reading, index)
            )
            said = replace(displayed(block.text, role, sentence), direct=False, wished=wished)
            say(reading, index, said)


def _line_by_line(reading: Reading, lines: int) -> list[int]:
    """Return the statements of the last block that show one line each, [] when unsure."""
    sources = {index: reading.steps[index].source for index in reading.latest}
    shown = [index for index, source in sources.items() if displays_value(source)]
    if any(said.direct for index in shown for said in reading.steps[index].claims):
        return []  # a session: what each of its inputs gave stands there already
    if lines < 2 or any(map(prints_inside, sources.values())):
        return []
    prints = [index for index in shown if is_print(sources[index])]
    return next((found for found in (shown, prints) if len(found) == lines), [])


def _is_for(reading: Reading, index: int, role: Role, lines: int) -> bool:
    """Say whether an output below a block of code may hold what one of its statements shows."""
    source = reading.steps[index].source
    if role is not Role.EXPECTED:
        return displays_value(source) or may_print(source)
    return may_print(source) or (is_print(source) and lines > 1)


def _claims(reading: Reading, index: int) -> tuple[Claim, ...]:
    """Return what has been said of a statement, there or in prose."""
    step = reading.steps[index]
    beside = (other.claims for other in reading.inline if other.source == step.source)
    return (*step.claims, *(said for group in beside for said in group))


def _add_lines_of(reading: Reading, block: Block) -> list[int]:
    """Take the lines that a traceback starts from, where the report has no such code."""
    lines = entry_lines(block.text, reading.is_project, alone=not reading.steps)
    before = [re.sub(r"\s+", "", step.source) for step in reading.steps]
    added = []
    for line in lines:
        forms = [re.sub(r"\s+", "", form) for form in (line.text, line.source)]
        if not any(form in source for form in forms for source in before):
            statement = Statement(source=line.source, line=0, mended=line.text != line.source)
            added.append(add_step(reading, statement, block.line, (), session=False))
    reading.latest = added or reading.latest
    return added


def read_traceback_block(reading: Reading, block: Block) -> None:
    """Give a traceback to the statement that it shows, else to the last one."""
    role, sentence = announced(reading)
    raised = final_exception(block.text)
    added = _add_lines_of(reading, block)
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
    for index in added[:-1]:
        say(reading, index, said)  # one of them is what the project was asked, maybe not the last
    squeezed = re.sub(r"\s+", "", block.text)
    shown = [
        index
        for index in added[-1:] or reading.latest
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
        if claim.kind is ClaimKind.RAISES and claim.role is Role.EXPECTED and not claim.ordinal
    ]
    for claim in wishes:
        say(reading, place, claim)
    reading.ahead = [claim for claim in reading.ahead if claim not in wishes]

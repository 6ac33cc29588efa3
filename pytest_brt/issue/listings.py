"""Code, sessions and output of a report → statements, with what is shown right there."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from pytest_brt.issue.alike import is_same
from pytest_brt.issue.claims import claims, comment_said, shown_below
from pytest_brt.issue.progress import (
    Reading,
    add_step,
    close_block,
    displayed,
    displays_value,
    say,
)
from pytest_brt.issue.prose import sentence
from pytest_brt.issue.sessions import read_session
from pytest_brt.issue.snippets import Statement, left_out, statements
from pytest_brt.issue.words import must_work
from pytest_brt.syntax.parse import called_name, is_literal, parse, parses
from pytest_brt.types import Block
from pytest_brt.types.miss import CodeLeftOut
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole

#: So many places that were left out are noted, of one piece of code.
_MOST_NOTES = 3
#: What a comment below a statement may say of it.
_RESULTS = (ClaimKind.VALUE, ClaimKind.RAISES)


def read_repl(reading: Reading, block: Block) -> None:
    """Read a session: each input, and what came back."""
    role, wish = reading.place.announced
    added: list[int] = []
    for exchange in read_session(block.text):
        parts = statements(exchange.source)
        for number, statement in enumerate(parts):
            last = number == len(parts) - 1
            said = list(_comments(statement))
            if last and exchange.output.strip():
                said.append(_below(exchange.output, role, wish))
            added.append(add_step(reading, statement, block.line + exchange.line, tuple(said)))
        _note_left_out(reading, exchange.source, parts, block.line + exchange.line)
    close_block(reading, added)


def _below(output: str, role: ClaimRole, wish: str) -> Claim:
    """Return what a result says that stands with its code below the sentence `wish`.

    "This should print:" says that it is right. Below "This should work:" it is only shown, and
    so it is below "`f(0)` should be `0`:", unless it is the value named there.
    """
    stated = [
        claim.text
        for claim in claims(sentence(wish, 0))
        if claim.kind is ClaimKind.VALUE
        and claim.role is ClaimRole.EXPECTED
        and is_literal(claim.text)
    ]
    shown = not any(is_same(value, output) for value in stated) if stated else must_work(wish)
    return displayed(
        output, ClaimRole.SHOWN if shown and role is ClaimRole.EXPECTED else role, wish
    )


def _note_left_out(reading: Reading, text: str, parts: tuple[Statement, ...], first: int) -> bool:
    """Note what was left out of code whose first line has that number; say whether its end was."""
    lines = text.split("\n")
    runs = left_out(text, parts)
    for start, end in runs[:_MOST_NOTES]:
        reading.misses.append(
            CodeLeftOut(
                line=first + start,
                end_line=first + end - 1,
                code=lines[start].strip(),
                orphaned=parses("\n".join(lines[start:end])),
            )
        )
    return bool(runs) and runs[-1][0] >= max((part.end for part in parts), default=0)


def read_python(reading: Reading, block: Block) -> None:
    """Read a block of code."""
    role, wish = reading.place.announced
    if reading.latest and _is_bare_value(block.text):
        literal = all(is_literal(part.source) for part in statements(block.text))
        if role is ClaimRole.EXPECTED or (literal and _shows(reading)):
            read_output(reading, block)
            return
    parts = statements(block.text)
    cut = _note_left_out(reading, block.text, parts, block.line)
    if parts and "__doc__" in block.text and _is_docstring(parts[0]):
        parts = (replace(parts[0], source=f"__doc__ = {parts[0].source}"), *parts[1:])
    added: list[int] = []
    for above, statement in zip((None, *parts), parts, strict=False):
        if added and above and _is_echo(statement, above):
            say(reading, added[-1], _below(statement.source, role, wish))
            continue
        line = block.line + statement.line
        added.append(add_step(reading, statement, line, _comments(statement)))
    if role is ClaimRole.CONTRAST and added:
        say(reading, added[-1], Claim(kind=ClaimKind.WORKS, role=role, sentence=wish))
    reading.ahead = [] if cut else reading.ahead
    close_block(reading, added)
    reading.latest = [] if cut else reading.latest  # what follows is about the line left out


def _is_docstring(statement: Statement) -> bool:
    value = getattr(parse(statement.source).body[0], "value", None)
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_echo(statement: Statement, above: Statement) -> bool:
    """Say whether a statement is the value of the expression above it, pasted without prompts."""
    if statement.above or statement.line != above.line + above.source.count("\n") + 1:
        return False
    return displays_value(above.source) and is_literal(statement.source)


def _shows(reading: Reading) -> bool:
    """Say whether the code above ends in something that shows a value, not shown so far."""
    last = reading.steps[reading.latest[-1]]
    return displays_value(last.source) and not any(said.direct for said in last.claims)


def _is_bare_value(text: str) -> bool:
    parts = statements(text)
    if len(parts) > 1:
        return all(is_literal(part.source) for part in parts)
    return len(parts) == 1 and displays_value(parts[0].source) and "print(" not in text


def _comments(statement: Statement) -> tuple[Claim, ...]:
    node = parse(statement.source).body[-1]
    said = list(comment_said(statement.beside))
    if isinstance(node, ast.Expr | ast.Assign | ast.Assert):
        said += comment_said(statement.above) if not said else ()
        first = statement.below.split("\n")[0]
        if first and not said:
            said += [s for s in comment_said(first) if s.kind in _RESULTS]
        shown = shown_below(first)
        if shown and not said and isinstance(node, ast.Expr):
            said.append(shown)
    return tuple(said)


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
    for index in reading.latest:
        source = reading.steps[index].source
        if index == reading.latest[-1] or (
            role is not ClaimRole.EXPECTED and displays_value(source)
        ):
            say(reading, index, replace(displayed(block.text, role, sentence), direct=False))


def _line_by_line(reading: Reading, lines: int) -> list[int]:
    """Return the statements of the last block that show one line each, [] when unsure."""
    sources = {index: reading.steps[index].source for index in reading.latest}
    shown = [index for index, source in sources.items() if displays_value(source)]
    if any(said.direct for index in shown for said in reading.steps[index].claims):
        return []  # a session: what each of its inputs gave stands there already
    if lines < 2 or any(map(_prints_inside, sources.values())):
        return []
    prints = [index for index in shown if _is_print(parse(sources[index]).body[-1])]
    return next((found for found in (shown, prints) if len(found) == lines), [])


def _prints_inside(source: str) -> bool:
    node = parse(source).body[-1]
    return not isinstance(node, ast.Expr) and any(map(_is_print, ast.walk(node)))


def _is_print(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and called_name(node.value) in _PRINTERS
    )


def read_traceback_block(reading: Reading, block: Block) -> None:
    """Give a traceback to the statement that it shows, else to the last one."""
    role, sentence = reading.place.announced
    reading.place = reading.place.without_words()
    said = displayed(block.text, role, sentence)
    if said.raised is None or not reading.latest:
        return
    squeezed = re.sub(r"\s+", "", block.text)
    shown = [
        index
        for index in reading.latest
        if re.sub(r"\s+", "", reading.steps[index].source.split("\n")[0]) in squeezed
    ]
    place = shown[-1] if shown else reading.latest[-1]
    say(reading, place, said)
    _give_wishes(reading, place)


def _give_wishes(reading: Reading, place: int) -> None:
    """What was announced with a traceback, not with code: another exception, to be raised there."""
    wishes = [
        claim
        for claim in reading.ahead
        if claim.kind is ClaimKind.RAISES and claim.role is ClaimRole.EXPECTED
    ]
    for claim in wishes:
        say(reading, place, claim)
    reading.ahead = [claim for claim in reading.ahead if claim not in wishes]

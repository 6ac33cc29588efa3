"""Code, sessions and output of a report → statements, with what is shown right there."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from pytest_brt.issue.alike import is_same
from pytest_brt.issue.claims import claims, comment_said, shown_below
from pytest_brt.issue.progress import Progress
from pytest_brt.issue.prose import sentence
from pytest_brt.issue.sessions import read_session
from pytest_brt.issue.snippets import Statement, left_out, statements
from pytest_brt.issue.tracebacks import final_exception
from pytest_brt.issue.words import must_work
from pytest_brt.pysource.parse import called_name, is_literal, parse
from pytest_brt.types.miss import CodeLeftOut
from pytest_brt.types.reading import BlockInContext, Claim, ClaimKind, ClaimRole

#: So many places that were left out are noted, of one piece of code.
_MOST_NOTES = 3
#: What a comment below a statement may say of it.
_RESULTS = (ClaimKind.VALUE, ClaimKind.RAISES)


def read_repl(progress: Progress, place: BlockInContext) -> None:
    """Read a session: each input, and what came back."""
    block, role, wish = place.block, place.role, place.words
    added: list[int] = []
    for exchange in read_session(block.text):
        parts = statements(exchange.source)
        for number, statement in enumerate(parts):
            last = number == len(parts) - 1
            said = list(_comments(statement))
            if last and exchange.output.strip():
                said.append(_below(exchange.output, role, wish))
            line = block.line + exchange.line
            added.append(progress.add_steps(statement, line, place.number, *said))
        _note_left_out(progress, exchange.source, parts, block.line + exchange.line)
    progress.close_block(place, added)


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
    role = ClaimRole.SHOWN if shown and role is ClaimRole.EXPECTED else role
    return replace(_displayed(output, role, wish), direct=True)


def _note_left_out(progress: Progress, text: str, parts: tuple[Statement, ...], first: int) -> bool:
    """Note what was left out of code whose first line has that number; say whether its end was."""
    lines = text.split("\n")
    runs = left_out(text, parts)
    for start, end in runs[:_MOST_NOTES]:
        progress.misses.append(
            CodeLeftOut(
                line=first + start,
                end_line=first + end - 1,
                code=lines[start].strip(),
            )
        )
    return bool(runs) and runs[-1][0] >= max((part.end for part in parts), default=0)


def read_python(progress: Progress, place: BlockInContext) -> None:
    """Read a block of code."""
    block, role, wish = place.block, place.role, place.words
    if progress.latest and _is_bare_value(block.text):
        literal = all(is_literal(part.source) for part in statements(block.text))
        if role is ClaimRole.EXPECTED or (literal and _shows(progress)):
            read_output(progress, place)
            return
    parts = statements(block.text)
    cut = _note_left_out(progress, block.text, parts, block.line)
    if parts and "__doc__" in block.text and _is_docstring(parts[0]):
        parts = (replace(parts[0], source=f"__doc__ = {parts[0].source}"), *parts[1:])
    added: list[int] = []
    for above, statement in zip((None, *parts), parts, strict=False):
        if added and above and _is_echo(statement, above):
            progress.say(added[-1], _below(statement.source, role, wish))
            continue
        line = block.line + statement.line
        added.append(progress.add_steps(statement, line, place.number, *_comments(statement)))
    if role is ClaimRole.CONTRAST and added:
        progress.say(added[-1], Claim(kind=ClaimKind.WORKS, role=role, sentence=wish))
    progress.ahead = [] if cut else progress.ahead
    progress.close_block(place, added)
    progress.latest = [] if cut else progress.latest  # what follows is about the line left out


def _is_docstring(statement: Statement) -> bool:
    value = getattr(parse(statement.source).body[0], "value", None)
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_echo(statement: Statement, above: Statement) -> bool:
    """Say whether a statement is the value of the expression above it, pasted without prompts."""
    if statement.above or statement.line != above.line + above.source.count("\n") + 1:
        return False
    return _displays_value(above.source) and is_literal(statement.source)


def _shows(progress: Progress) -> bool:
    """Say whether the code above ends in something that shows a value, not shown so far."""
    last = progress.steps[progress.latest[-1]]
    return _displays_value(last.source) and not any(said.direct for said in last.claims)


def _is_bare_value(text: str) -> bool:
    parts = statements(text)
    if len(parts) > 1:
        return all(is_literal(part.source) for part in parts)
    return len(parts) == 1 and _displays_value(parts[0].source) and "print(" not in text


def _comments(statement: Statement) -> tuple[Claim, ...]:
    node = parse(statement.source).body[-1]
    said = list(comment_said(statement.beside))
    if isinstance(node, ast.Expr | ast.Assign | ast.Assert):
        said += comment_said(statement.above) if not said else ()
        first, *others = statement.below.split("\n")
        if first and not said:
            said += [s for s in comment_said(first) if s.kind in _RESULTS]
        else:
            others = [first, *others]
        said += [s for line in others for s in comment_said(line) if s.role is ClaimRole.EXPECTED]
        shown = shown_below(first)
        if shown and not said and isinstance(node, ast.Expr):
            said.append(shown)
    return tuple(said)


_PRINTERS = frozenset({"print", "pprint"})


def read_output(progress: Progress, place: BlockInContext) -> None:
    """Text below code is what it displayed, or should display."""
    lines = [line for line in place.block.text.split("\n") if line.strip()]
    shown = _line_by_line(progress, len(lines))
    if shown:
        for index, line in zip(shown, lines, strict=True):
            progress.say(index, _displayed(line, place.role, place.words))
        return
    said = _displayed(place.block.text, place.role, place.words)
    for index in progress.latest:
        wanted = place.role is ClaimRole.EXPECTED
        shows = _displays_value(progress.steps[index].source) and not wanted
        if shows or index == progress.latest[-1]:
            progress.say(index, said)


def _line_by_line(progress: Progress, lines: int) -> list[int]:
    """Return the statements of the last block that show one line each, [] when unsure."""
    sources = {index: progress.steps[index].source for index in progress.latest}
    shown = [index for index, source in sources.items() if _displays_value(source)]
    if any(said.direct for index in shown for said in progress.steps[index].claims):
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


def read_traceback(progress: Progress, place: BlockInContext) -> None:
    """Give a traceback to the statement that it shows, else to the last one."""
    text = place.block.text
    said = replace(_displayed(text, place.role, place.words), direct=True)
    if said.raised is None or not progress.latest:
        return
    squeezed = re.sub(r"\s+", "", text)
    shown = [
        index
        for index in progress.latest
        if re.sub(r"\s+", "", progress.steps[index].source.split("\n")[0]) in squeezed
    ]
    index = shown[-1] if shown else progress.latest[-1]
    progress.say(index, said)
    # What was announced with it, and not with code: another exception, to be raised there.
    for claim in tuple(progress.ahead):
        if claim.kind is ClaimKind.RAISES and claim.role is ClaimRole.EXPECTED:
            progress.say(index, claim)
            progress.ahead.remove(claim)


def _displayed(output: str, role: ClaimRole, words: str) -> Claim:
    """Return what the output below a statement says of it."""
    raised = final_exception(output)
    kind = ClaimKind.VALUE if raised is None else ClaimKind.RAISES
    return Claim(kind=kind, role=role, raised=raised, text=output, sentence=words)


def _displays_value(source: str) -> bool:
    """Say whether a statement shows the value of an expression."""
    return isinstance(parse(source).body[-1], ast.Expr)

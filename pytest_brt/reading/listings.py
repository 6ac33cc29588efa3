"""Blocks of code and interactive sessions → statements, with what is shown right there."""

from __future__ import annotations

import ast
from dataclasses import replace

from pytest_brt.issue.prose import sentence
from pytest_brt.issue.sessions import read_session
from pytest_brt.reading.claims import claims
from pytest_brt.reading.comments import comment_said, shown_below
from pytest_brt.reading.compare import is_same
from pytest_brt.reading.lexicon import must_work
from pytest_brt.reading.mend import Statement, statements
from pytest_brt.reading.mentions import is_literal
from pytest_brt.reading.names import names_of
from pytest_brt.reading.outputs import read_output
from pytest_brt.reading.progress import (
    Reading,
    add_step,
    close_block,
    displayed,
    displays_value,
    say,
)
from pytest_brt.reading.steps import Claim, ClaimKind, Role
from pytest_brt.syntax import parse
from pytest_brt.types import Block

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
        if not parts and not _is_remark(exchange.source):
            reading.notes.append(
                f"line {block.line + exchange.line}: not Python: "
                f"{exchange.source.splitlines()[0]!r}"
            )
    close_block(reading, added)


def _below(output: str, role: Role, wish: str) -> Claim:
    """Return what a result says that stands with its code below the sentence `wish`.

    "This should print:" says that it is right. Below "This should work:" it is only shown, and
    so it is below "`f(0)` should be `0`:", unless it is the value named there.
    """
    stated = [
        claim.text
        for claim in claims(sentence(wish, 0))
        if claim.kind is ClaimKind.VALUE and claim.role is Role.EXPECTED and is_literal(claim.text)
    ]
    shown = not any(is_same(value, output) for value in stated) if stated else must_work(wish)
    return displayed(output, Role.SHOWN if shown and role is Role.EXPECTED else role, wish)


def _is_remark(source: str) -> bool:
    """Say whether nothing was typed but comments."""
    lines = (line.strip() for line in source.split("\n"))
    return all(not line or line.startswith("#") for line in lines)


def read_python(reading: Reading, block: Block) -> None:
    """Read a block of code."""
    role, wish = reading.place.announced
    if reading.latest and _is_bare_value(block.text):
        literal = all(is_literal(part.source) for part in statements(block.text))
        if role is Role.EXPECTED or (literal and _shows(reading)):
            read_output(reading, block)
            return
    parts = statements(block.text)
    if not parts:
        reading.notes.append(f"line {block.line}: code that does not parse")
    parts = _with_calls(parts)
    added: list[int] = []
    for number, statement in enumerate(parts):
        before = parts[number - 1] if number else None
        if added and before and _is_echo(statement, before, parts[: number - 1]):
            say(reading, added[-1], _below(statement.source, role, wish))
            continue
        line = block.line + statement.line
        added.append(add_step(reading, statement, line, _comments(statement)))
    if role is Role.CONTRAST and added:
        say(reading, added[-1], Claim(kind=ClaimKind.WORKS, role=role, sentence=wish))
    close_block(reading, added)


def _with_calls(parts: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Call the tests that a snippet defines, right after their definition."""
    found: list[Statement] = []
    for statement in parts:
        found.append(statement)
        node = parse(statement.source).body[-1]
        if (
            isinstance(node, ast.FunctionDef)
            and node.name.startswith("test_")
            and not ast.unparse(node.args)
            and not node.decorator_list
        ):
            call = replace(statement, source=f"{node.name}()", above="", beside="", below="")
            found.append(call)
    return tuple(found)


def _is_echo(statement: Statement, before: Statement, earlier: tuple[Statement, ...]) -> bool:
    """Say whether a statement is the output of the one above it, pasted without prompts."""
    node, above = parse(statement.source).body[-1], parse(before.source).body[-1]
    if not isinstance(node, ast.Expr) or not isinstance(above, ast.Expr):
        return False
    if statement.above or statement.line != before.line + before.source.count("\n") + 1:
        return False
    if isinstance(node.value, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set):
        return True
    if isinstance(node.value, ast.Attribute):
        root = statement.source.split(".")[0].strip()
        bound = {name for other in (*earlier, before) for name in names_of(other.source).bound}
        return root not in bound and root.isidentifier()
    return False


def _shows(reading: Reading) -> bool:
    """Say whether the code above ends in something that shows a value, not shown so far."""
    last = reading.steps[reading.latest[-1]]
    return displays_value(last.source) and not any(said.direct for said in last.claims)


def _is_bare_value(text: str) -> bool:
    """Say whether a block is a value, or a list of values."""
    parts = statements(text)
    if len(parts) > 1:
        return all(is_literal(part.source) for part in parts)
    return (
        len(parts) == 1
        and isinstance(parse(parts[0].source).body[0], ast.Expr)
        and ("print(" not in text)
    )


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

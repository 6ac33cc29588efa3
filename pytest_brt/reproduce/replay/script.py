"""An issue → its statements in document order, each with what is said about it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace

from pytest_brt.issue.prose import Sentence, sentences
from pytest_brt.issue.sessions import read_session
from pytest_brt.issue.shells import read_shell
from pytest_brt.issue.tracebacks import final_exception, read_tracebacks
from pytest_brt.reproduce.replay.claims import (
    EXCEPTION,
    Claim,
    claims,
    code_in,
    is_runnable,
)
from pytest_brt.reproduce.replay.comments import comment_said
from pytest_brt.reproduce.replay.mend import Statement, statements
from pytest_brt.reproduce.replay.names import names_of
from pytest_brt.reproduce.replay.roles import heading_role, role_of
from pytest_brt.reproduce.replay.steps import Role, Said, SaidKind, Script, Step
from pytest_brt.syntax import parse
from pytest_brt.types import Block, BlockKind, Issue, Raised

_AHEAD = re.compile(r"\b(?:following|below|next)\b|\bhere (?:is|are)\b|:\s*$", re.IGNORECASE)
_PYTHON_CODE = re.compile(r"^(?:python[\d.]*|py) -c (?P<quote>[\"'])(?P<code>.*)(?P=quote)$")
_MODULE_LINE = re.compile(
    r'^\s*File "[^"\n]+", line \d+, in <module>\n\s+(?P<code>\S[^\n]*)$|'
    r"^-+> ?\d+ (?P<jupyter>\S[^\n]*)$",
    re.MULTILINE,
)
_SHOWS_FILE = re.compile(r"^(?:cat|type|more) \S+\.py$")
#: Statements of one report that are looked at; more is a program, not a report.
_MOST_STEPS = 150


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    steps: list[Step] = field(default_factory=list)
    inline: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Role that the section's heading gives.
    section: Role = Role.SHOWN
    heading: str = ""
    #: Sentences since the last block of code.
    recent: list[Sentence] = field(default_factory=list)
    #: Claims about the code that comes next, and which of its results each means.
    ahead: list[tuple[Said, int]] = field(default_factory=list)
    #: Variables of the report so far.
    bound: set[str] = field(default_factory=set)
    #: Indices of the steps of the last code block.
    latest: list[int] = field(default_factory=list)
    #: What was announced of that block.
    latest_role: Role = Role.SHOWN
    block: int = 0


def read_script(issue: Issue) -> Script:
    """Read the statements of a report and what it says about each.

    Inline code comes last: it is run when all names are known.
    """
    reading = _Reading()
    for number, block in enumerate(issue.blocks):
        reading.block = number
        if block.kind is BlockKind.HEADING:
            _heading(reading, block, title=number == 0)
        elif block.kind is BlockKind.PROSE:
            _prose(reading, block)
        elif block.kind is BlockKind.REPL:
            _session(reading, block)
        elif block.kind is BlockKind.PYTHON:
            _python(reading, block)
        elif block.kind is BlockKind.TRACEBACK:
            _traceback(reading, block)
        elif block.kind is BlockKind.OUTPUT:
            _output(reading, block)
        elif block.kind is BlockKind.SHELL:
            _shell(reading, block)
    steps = _unique([*reading.steps[:_MOST_STEPS], *reading.inline[:40]])
    return Script(steps=steps, named=named_exceptions(issue), notes=tuple(reading.notes))


def named_exceptions(issue: Issue) -> tuple[Raised, ...]:
    """Return every exception that the report shows or names, the fullest account first."""
    found: dict[str, Raised] = {}
    shown = [raised for raised in read_tracebacks(issue.text) if raised.frames or raised.message]
    for block in issue.blocks:
        if block.kind is BlockKind.TRACEBACK:
            shown += read_tracebacks(block.text)
    for raised in shown:
        key = f"{raised.type}:{raised.message}"
        if key not in found or len(found[key].frames) < len(raised.frames):
            found[key] = raised
    for match in EXCEPTION.finditer(issue.text):
        message = (match["message"] or "").strip()
        known = any(match["type"].split(".")[-1] == r.type.split(".")[-1] for r in found.values())
        if not known or message:
            found.setdefault(
                f"{match['type']}:{message}", Raised(type=match["type"], message=message)
            )
    return tuple(found.values())


def _unique(steps: list[Step]) -> tuple[Step, ...]:
    """Drop inline code that a block has already, giving its claims to that statement."""
    kept: list[Step] = []
    places: dict[str, int] = {}
    for step in steps:
        key = re.sub(r"\s+", "", step.source)
        if step.inline and key in places:
            old = kept[places[key]]
            kept[places[key]] = replace(old, said=_merged(old.said, step.said))
            continue
        places[key] = len(kept)
        kept.append(step)
    return tuple(kept)


def _merged(old: tuple[Said, ...], new: tuple[Said, ...]) -> tuple[Said, ...]:
    return tuple(dict.fromkeys([*old, *new]))


def _heading(reading: _Reading, block: Block, *, title: bool) -> None:
    role = Role.SHOWN if title else heading_role(block.text)
    reading.section, reading.heading = role, block.text
    reading.recent = []
    for sentence in sentences(block):
        for claim in claims(sentence, reading.bound):
            _give(reading, claim, sentence, ahead=title or bool(claim.subject))


def _prose(reading: _Reading, block: Block) -> None:
    every = sentences(block)
    for position, sentence in enumerate(every):
        ahead = bool(_AHEAD.search(sentence.text)) or not reading.steps
        last = position == len(every) - 1
        for claim in claims(sentence, reading.bound, reading.section):
            claim = _in_section(reading, claim)  # noqa: PLW2901
            _give(reading, claim, sentence, ahead=ahead and (last or not reading.steps))
        _mention(reading, sentence)
    reading.recent.extend(every)


def _in_section(reading: _Reading, claim: Claim) -> Claim:
    """A section named "Expected" turns what is plainly stated in it into what should be."""
    said = claim.said
    if (
        reading.section is Role.EXPECTED
        and said.role is Role.OBSERVED
        and said.kind
        in (
            SaidKind.VALUE,
            SaidKind.RAISES,
        )
        and said.raised is None
    ):
        return replace(claim, said=replace(said, role=Role.EXPECTED))
    return claim


def _mention(reading: _Reading, sentence: Sentence) -> None:
    """Code in a sentence is worth running even when nothing clear is said about it."""
    for code in code_in(sentence):
        if is_runnable(code.text):
            _inline(reading, code.text, sentence.line, ())


def _give(reading: _Reading, claim: Claim, sentence: Sentence, *, ahead: bool) -> None:
    if claim.subject:
        _inline(reading, claim.subject, sentence.line, (claim.said,))
    elif ahead and (claim.ordinal or not reading.latest or claim.said.kind is not SaidKind.VALUE):
        reading.ahead.append((claim.said, claim.ordinal))
    elif reading.latest:
        said = claim.said
        plain = said.kind is SaidKind.VALUE and said.role is Role.OBSERVED
        if plain and reading.latest_role is Role.CONTRAST:
            said = replace(said, role=Role.CONTRAST)
        _say(reading, _meant(reading, claim.ordinal), said)


def _meant(reading: _Reading, ordinal: int) -> int:
    """Return the statement of the last block that "the first", "the second" … means."""
    shown = [index for index in reading.latest if _displays(reading.steps[index].source)]
    place = ordinal - 1 if ordinal > 0 else ordinal
    if ordinal and -len(shown) <= place < len(shown):
        return shown[place]
    return reading.latest[-1]


def _inline(reading: _Reading, source: str, line: int, said: tuple[Said, ...]) -> None:
    for number, step in enumerate(reading.inline):
        if step.source == source:
            reading.inline[number] = replace(step, said=_merged(step.said, said))
            return
    reading.inline.append(
        Step(source=source, line=line, block=-1 - len(reading.inline), said=said, inline=True)
    )


def _say(reading: _Reading, index: int, said: Said) -> None:
    step = reading.steps[index]
    reading.steps[index] = replace(step, said=_merged(step.said, (said,)))


def _announced(reading: _Reading) -> tuple[Role, str]:
    """Return the role of the block that comes now, and the sentence that gives it."""
    if any(ordinal for _, ordinal in reading.ahead):
        return Role.SHOWN, reading.recent[-1].text if reading.recent else reading.heading
    if reading.recent:
        last = reading.recent[-1]
        role = role_of(last.text)
        if role is not Role.SHOWN:
            return role, last.text
    if reading.section is not Role.SHOWN:
        return reading.section, reading.heading
    return Role.SHOWN, reading.recent[-1].text if reading.recent else reading.heading


def _session(reading: _Reading, block: Block) -> None:
    role, sentence = _announced(reading)
    added: list[int] = []
    for exchange in read_session(block.text):
        parts = statements(exchange.source)
        for number, statement in enumerate(parts):
            last = number == len(parts) - 1
            said = list(_comments(statement))
            if last and exchange.output.strip():
                output, remark = _split_remark(exchange.output)
                said.append(_displayed(output, role, sentence))
                said += comment_said(remark)
            added.append(
                _add(reading, statement, block.line + exchange.line, tuple(said), session=True)
            )
        if not parts and exchange.source.strip():
            reading.notes.append(
                f"line {block.line + exchange.line}: not Python: "
                f"{exchange.source.splitlines()[0]!r}"
            )
    _close(reading, added)


def _split_remark(output: str) -> tuple[str, str]:
    """Split a comment or an arrow with a remark from a line of output."""
    match = re.search(r"[ \t]+(?:#+|<[-=]+|←)[ \t]*(?P<remark>[^#\n]*)$", output)
    if match is None or "\n" in output or output.lstrip().startswith(("'", '"')):
        return output, ""
    return output[: match.start()], match["remark"].strip()


def _displayed(output: str, role: Role, sentence: str) -> Said:
    raised = final_exception(output)
    if raised is not None:
        return Said(
            kind=SaidKind.RAISES,
            role=role,
            raised=raised,
            text=output,
            sentence=sentence,
            direct=True,
        )
    return Said(kind=SaidKind.VALUE, role=role, text=output, sentence=sentence, direct=True)


def _python(reading: _Reading, block: Block) -> None:
    role, sentence = _announced(reading)
    if role is Role.EXPECTED and reading.latest and _is_bare_value(block.text):
        _output(reading, block)
        return
    parts = statements(block.text)
    if not parts:
        reading.notes.append(f"line {block.line}: code that does not parse")
    parts = _with_calls(parts)
    added: list[int] = []
    for number, statement in enumerate(parts):
        before = parts[number - 1] if number else None
        if added and before and _is_echo(statement, before, parts[: number - 1]):
            _say(reading, added[-1], _displayed(statement.source, role, sentence))
            continue
        line = block.line + statement.line
        added.append(_add(reading, statement, line, _comments(statement), session=False))
    if role is Role.CONTRAST and added:
        _say(reading, added[-1], Said(kind=SaidKind.WORKS, role=role, sentence=sentence))
    _close(reading, added)


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


def _is_bare_value(text: str) -> bool:
    parts = statements(text)
    return (
        len(parts) == 1
        and isinstance(parse(parts[0].source).body[0], ast.Expr)
        and ("print(" not in text)
    )


def _comments(statement: Statement) -> tuple[Said, ...]:
    node = parse(statement.source).body[-1]
    said = list(comment_said(statement.beside))
    if isinstance(node, ast.Expr | ast.Assign | ast.Assert):
        said += comment_said(statement.above) if not said else ()
        first = statement.below.split("\n")[0]
        if first and not said:
            said += [s for s in comment_said(first) if s.kind in (SaidKind.VALUE, SaidKind.RAISES)]
    return tuple(said)


def _add(
    reading: _Reading, statement: Statement, line: int, said: tuple[Said, ...], *, session: bool
) -> int:
    nodes = parse(statement.source).body
    sources = [ast.unparse(node) for node in nodes] if len(nodes) > 1 else [statement.source]
    for number, source in enumerate(sources):
        reading.steps.append(
            Step(
                source=source,
                line=line,
                block=reading.block,
                said=said if number == len(sources) - 1 else (),
                session=session,
                mended=statement.mended,
            )
        )
    return len(reading.steps) - 1


def _close(reading: _Reading, added: list[int]) -> None:
    """End a block of code: what was announced belongs to its statements."""
    if not added:
        return
    reading.steps[added[-1]] = replace(reading.steps[added[-1]], last=True)
    ahead, reading.ahead = reading.ahead, []
    reading.latest_role = _announced(reading)[0]
    reading.recent, reading.latest = [], added
    for said, ordinal in ahead:
        several = said.kind in (SaidKind.RAISES, SaidKind.WORKS) and not ordinal
        for index in added if several else [_meant(reading, ordinal)]:
            _say(reading, index, said)
    for index in added:
        reading.bound |= names_of(reading.steps[index].source).bound


def _output(reading: _Reading, block: Block) -> None:
    """Text below code is what it displayed, or should display."""
    role, sentence = _announced(reading)
    reading.recent = []
    if not reading.latest:
        return
    shown = [index for index in reading.latest if _displays(reading.steps[index].source)]
    lines = [line for line in block.text.split("\n") if line.strip()]
    if len(shown) == len(lines) > 1:
        for index, line in zip(shown, lines, strict=True):
            _say(reading, index, replace(_displayed(line, role, sentence), direct=False))
        return
    for index in reading.latest:
        several = role is not Role.EXPECTED and _displays(reading.steps[index].source)
        if several or index == reading.latest[-1]:
            _say(reading, index, replace(_displayed(block.text, role, sentence), direct=False))


def _displays(source: str) -> bool:
    return isinstance(parse(source).body[-1], ast.Expr)


def _shell(reading: _Reading, block: Block) -> None:
    """Python that a shell session shows (`cat a.py`, `python -c`), and what running it printed."""
    for exchange in read_shell(block.text):
        line = block.line + exchange.line
        code = _PYTHON_CODE.match(exchange.source)
        if code:
            text = code["code"].replace('\\"', '"')
            _python(reading, Block(kind=BlockKind.PYTHON, text=text, line=line))
        elif _SHOWS_FILE.match(exchange.source) and exchange.output:
            _python(reading, Block(kind=BlockKind.PYTHON, text=exchange.output, line=line + 1))
            continue
        elif not re.match(r"(?:python[\d.]*|py) [\w./-]+\.py\b", exchange.source):
            continue
        if exchange.output and final_exception(exchange.output):
            _traceback(reading, replace(block, text=exchange.output))
        elif exchange.output:
            _output(reading, replace(block, text=exchange.output))


def _add_line_of(reading: _Reading, block: Block) -> None:
    """Take the line that a traceback starts from, where the report has no such code."""
    match = _MODULE_LINE.search(block.text)
    source = (match["code"] or match["jupyter"]).strip() if match else ""
    if not is_runnable(source):
        return
    squeezed = re.sub(r"\s+", "", source)
    if any(squeezed in re.sub(r"\s+", "", step.source) for step in reading.steps):
        return
    statement = Statement(source=source, line=0)
    reading.latest = [_add(reading, statement, block.line, (), session=False)]


def _traceback(reading: _Reading, block: Block) -> None:
    role, sentence = _announced(reading)
    raised = final_exception(block.text)
    _add_line_of(reading, block)
    if raised is None or not reading.latest:
        reading.recent = []
        return
    said = Said(
        kind=SaidKind.RAISES,
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
    _say(reading, shown[-1] if shown else reading.latest[-1], said)
    reading.recent = []

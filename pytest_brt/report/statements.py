"""A report → its statements, each with what the report claims of it: one walk over the blocks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.pysource.names import names_of
from pytest_brt.pysource.parse import is_literal, parse
from pytest_brt.report.claims import (
    EXCEPTION,
    claims_in,
    comment_claims,
    held_for_right,
    may_want_exception,
    role_of,
    section_role,
)
from pytest_brt.report.inline_code import binds_call, is_runnable
from pytest_brt.report.prose import Sentence, sentences
from pytest_brt.report.reporters_tests import reporters_tests
from pytest_brt.report.sessions import read_session
from pytest_brt.report.snippets import Snippet, lines_left_out, read_snippets
from pytest_brt.report.tracebacks import final_exception, read_tracebacks
from pytest_brt.types import Block, BlockKind, Issue, Raised
from pytest_brt.types.report import Claim, ClaimKind, ClaimRole, LeftOut, Reading, Statement

#: Statements of one report that are run, in blocks and in sentences; more is a program.
MOST_STATEMENTS, MOST_INLINE = 150, 40
#: Blocks of code that are read, and exceptions that are looked at; more are those of a log.
_BLOCKS, _EXCEPTIONS = 300, 100
#: Tags of fences in which people show what their code made.
_RESULTS = frozenset({"sql", "json", "html", "xml", "yaml", "yml", "toml", "csv", "markdown", "md"})
_TEXT = (BlockKind.HEADING, BlockKind.PROSE)


def read_report(issue: Issue) -> Reading:
    """Return the statements of a report, what it claims of each, and all else that is read."""
    walk = _Walk()
    for number, block in enumerate(issue.blocks[: 2 * _BLOCKS]):
        walk.read(number, block)
    inline = walk.finish()
    return Reading(
        issue=issue,
        statements=tuple(_defined([*walk.statements[:MOST_STATEMENTS], *inline])),
        tests=reporters_tests(issue),
        exceptions=_exceptions(issue),
        wants_exception=any(
            may_want_exception(sentence) for block in issue.blocks for sentence in sentences(block)
        ),
        left_out=tuple(walk.left_out),
    )


#: A piece of code: its source, its line in the report, and what comments claim of it.
_Piece = tuple[str, int, list[Claim]]


@dataclass(slots=True)
class _Walk:
    """What was read so far."""

    statements: list[Statement] = field(default_factory=list)
    #: Code of sentences, by its source.
    inline: dict[str, Statement] = field(default_factory=dict)
    #: The statements of the last block of code.
    last: list[int] = field(default_factory=list)
    #: Claims that stand before any code.
    pending: list[Claim] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    #: Code that is called fine, and code and values that something else is said to be equal to.
    right: list[str] = field(default_factory=list)
    #: What the section speaks of, and the sentence right above.
    section: ClaimRole = ClaimRole.SHOWN
    above: str = ""

    def read(self, number: int, block: Block) -> None:
        """Read one block."""
        if block.kind in _TEXT:
            if block.kind is BlockKind.HEADING:
                self.section = section_role(block.text) if number else ClaimRole.SHOWN
            for sentence in sentences(block):
                states_value = self._read_sentence(sentence, is_title=not number)
                # What is right stands in it already: what comes below it is what happens.
                introduces = block.kind is BlockKind.PROSE and not states_value
                self.above = sentence.text if introduces else ""
            return
        role = role_of(self.above) if self.above else ClaimRole.SHOWN
        role = self.section if role is ClaimRole.SHOWN else role
        is_result = block.kind is BlockKind.FILE and block.language in _RESULTS
        if block.kind is BlockKind.REPL:
            self._read_session(number, block, role)
        elif block.kind is BlockKind.PYTHON:
            self._read_code(number, block, role)
        elif (block.kind in (BlockKind.OUTPUT, BlockKind.TRACEBACK) or is_result) and self.last:
            self._add_output(block.text, role)
        self.above = ""

    # -- code --

    def _read_session(self, number: int, block: Block, role: ClaimRole) -> None:
        pieces: list[_Piece] = []
        for exchange in read_session(block.text):
            snippets = read_snippets(exchange.source)
            for snippet in snippets:
                claims = _comments(snippet)
                if snippet is snippets[-1] and exchange.output.strip():
                    claims.append(_shown(exchange.output, role))
                pieces.append((snippet.source, block.line + exchange.line, claims))
        self._add_code(number, pieces)

    def _read_code(self, number: int, block: Block, role: ClaimRole) -> None:
        snippets = read_snippets(block.text)
        if snippets and self.last and all(is_literal(one.source) for one in snippets):
            self._add_output(block.text, role)
            return
        lines = block.text.split("\n")
        self.left_out += [
            LeftOut(
                line=block.line + start, end_line=block.line + end - 1, code=lines[start].strip()
            )
            for start, end in lines_left_out(block.text, snippets)
        ]
        pieces: list[_Piece] = []
        for one in snippets:
            if pieces and is_literal(one.source) and _shows_call(pieces[-1][0]):
                pieces[-1][2].append(_shown(one.source, role))  # typed in without a prompt
            else:
                pieces.append((one.source, block.line + one.line, _comments(one)))
        self._add_code(number, pieces)

    def _add_code(self, block: int, pieces: Sequence[_Piece]) -> None:
        self.last = self.last if not pieces else []
        for source, line, claims in pieces:
            self.last.append(len(self.statements))
            self.statements.append(
                Statement(source=source, line=line, block=block, claims=tuple(claims))
            )
        if pieces:
            for claim in self.pending:
                self._claim(self._about(claim, ""), claim)
            self.pending = []

    def _add_output(self, text: str, role: ClaimRole) -> None:
        """Give output to the statements that show something: a line to each, or all to the last."""
        lines = [line for line in text.split("\n") if line.strip()]
        showing = [at for at in self.last if _shows(self.statements[at].source)]
        if len(lines) > 1 and len(showing) == len(lines):
            for at, line in zip(showing, lines, strict=True):
                self._claim(at, _shown(line, role))
        else:
            self._claim(self.last[-1], _shown(text, role))

    def _claim(self, at: int, claim: Claim) -> None:
        statement = self.statements[at]
        self.statements[at] = replace(statement, claims=(*statement.claims, claim))

    # -- sentences --

    def _read_sentence(self, sentence: Sentence, *, is_title: bool) -> bool:
        """Take in what a sentence claims; say whether it states a right value."""
        for code in sentence.code if not is_title else ():
            if is_runnable(code) or binds_call(code):
                self._add_inline(code, sentence.line)
        self.right += held_for_right(sentence)
        is_first = not self.statements
        claims = claims_in(sentence, self.section)
        for code, claim in claims:
            subject = code or self._assigned_name(sentence)
            if subject:
                self._add_inline(subject, sentence.line, claim)
            elif self.last:
                at = self._about(claim, sentence.text)
                if claim.kind is ClaimKind.RAISES or _shows(self.statements[at].source):
                    self._claim(at, claim)
            elif is_first:
                self.pending.append(claim)
        return any(
            claim.role is ClaimRole.EXPECTED and claim.kind is ClaimKind.VALUE
            for _, claim in claims
        )

    def _assigned_name(self, sentence: Sentence) -> str:
        """Return the name in a sentence that the last block assigns something to, "" for none."""
        assignments = [parse(self.statements[at].source).body[-1] for at in self.last]
        targets = [node.targets[0] for node in assignments if isinstance(node, ast.Assign)]
        names = {node.id for node in targets if isinstance(node, ast.Name)}
        return next((code for code in sentence.code if code in names), "")

    def _about(self, claim: Claim, text: str) -> int:
        """Return which statement of the last block a claim is about: its last, as a rule.

        Where an exception is wanted of a function that is named, it is the last that calls this.
        """
        if claim.kind is ClaimKind.RAISES and claim.role is ClaimRole.EXPECTED:
            names = re.findall(r"`(?:\w+\.)*(\w+)(?:\(\))?`", text)
            for at in reversed(self.last):
                if any(f"{name}(" in self.statements[at].source for name in names):
                    return at
        return self.last[-1]

    def _add_inline(self, code: str, line: int, *claims: Claim) -> None:
        known = self.inline.setdefault(
            code, Statement(source=code, line=line, block=-1 - len(self.inline))
        )
        self.inline[code] = replace(known, claims=(*known.claims, *claims))

    def finish(self) -> list[Statement]:
        """Return the code of sentences that no block has; what is claimed of others goes there."""
        fine = Claim(kind=ClaimKind.VALUE, role=ClaimRole.FINE)
        for at, statement in enumerate(self.statements):
            if any(text in statement.source for text in self.right):
                self._claim(at, fine)
        places = {_key(statement.source): at for at, statement in enumerate(self.statements)}
        rest: list[Statement] = []
        for inline in self.inline.values():
            key = _key(inline.source)
            if key not in places:
                more = (fine,) if inline.source in self.right else ()
                rest.append(replace(inline, claims=(*inline.claims, *more)))
                continue
            for claim in inline.claims:
                self._claim(places[key], claim)
        return rest[:MOST_INLINE]


def _key(source: str) -> str:
    return "".join(source.split())


def _shows(source: str) -> bool:
    """Say whether a statement shows the value of an expression."""
    return isinstance(parse(source).body[-1], ast.Expr)


def _shows_call(source: str) -> bool:
    """Say whether a statement shows what a call returns."""
    return _shows(source) and "(" in source


def _shown(output: str, role: ClaimRole) -> Claim:
    """Return what output below a statement claims of it."""
    raised = final_exception(output)
    kind = ClaimKind.RAISES if raised else ClaimKind.VALUE
    return Claim(kind=kind, role=role, raised=raised, text=output)


def _comments(snippet: Snippet) -> list[Claim]:
    """Return what the comments around a statement claim; those below may be its traceback."""
    if final_exception(snippet.below):
        return [_shown(snippet.below, ClaimRole.SHOWN)]
    claims = comment_claims(snippet.beside, is_support_code=True)
    above = snippet.above.split("\n")[-1]
    for comment in (snippet.below.split("\n")[0], above):
        claims = claims or comment_claims(comment)
    if role_of(above) is ClaimRole.FINE:  # "below 0 it is correct": so is what it gives
        claims = [
            replace(claim, role=ClaimRole.FINE) if claim.role is ClaimRole.SHOWN else claim
            for claim in claims
        ]
    return claims


def _defined(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements; a name that is shown and never bound is bound to what is shown."""
    bound: set[str] = set()
    for statement in statements:
        name = statement.source.strip()
        values = [claim.text for claim in statement.claims_of(ClaimKind.VALUE)]
        if name.isidentifier() and name not in bound and values and is_literal(values[0]):
            yield replace(statement, source=f"{name} = {values[0].strip()}", claims=())
            bound.add(name)
        else:
            bound |= names_of(statement.source).bound
            yield statement


def _exceptions(issue: Issue) -> tuple[Raised, ...]:
    """Return every exception that the report shows or names, the fullest account first."""
    shown = [raised for raised in read_tracebacks(issue.text) if raised.frames or raised.message]
    for block in issue.blocks:
        if block.kind is BlockKind.TRACEBACK:
            shown += read_tracebacks(re.sub(r"(?m)^#+ ?", "", block.text))
    shown.sort(key=lambda raised: -len(raised.frames))
    exceptions = {f"{one.type}:{one.message}": one for one in reversed(shown[:_EXCEPTIONS])}
    for match in re.finditer(rf"\b({EXCEPTION})(?:: +([^`\n]+))?", issue.text[:50_000]):
        raised = Raised(type=match[1], message=(match[2] or "").strip())
        exceptions.setdefault(f"{raised.type}:{raised.message}", raised)
    return tuple(exceptions.values())[:_EXCEPTIONS]

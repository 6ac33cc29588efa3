"""A report → its statements, each with what the report claims of it: one walk over the blocks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_brt.pysource.names import names_of
from pytest_brt.pysource.parse import is_literal, parse
from pytest_brt.report.claims import (
    EXCEPTION,
    approved,
    claims_in,
    comment_claims,
    may_want_exception,
    role_of,
    section_role,
)
from pytest_brt.report.prose import Sentence, binds_call, is_runnable, sentences
from pytest_brt.report.reporters_tests import reporters_tests
from pytest_brt.report.sessions import read_session
from pytest_brt.report.snippets import Snippet, lines_left_out, read_snippets
from pytest_brt.report.tracebacks import final_exception, read_tracebacks
from pytest_brt.types import Block, BlockKind, Issue, Raised
from pytest_brt.types.report import Claim, ClaimKind, ClaimRole, LeftOut, Reading, Statement

#: Statements of one report that are run, in blocks and in sentences; more is a program.
MOST_STATEMENTS, MOST_INLINE = 150, 40
#: Blocks that are read, and exceptions that are looked at; more are those of a log.
_BLOCKS, _EXCEPTIONS = 600, 100
#: Tags of fences in which people show what their code made.
_RESULTS = frozenset({"sql", "json", "html", "xml", "yaml", "yml", "toml", "csv", "markdown", "md"})
_TEXT = (BlockKind.HEADING, BlockKind.PROSE)
_OUTPUT = (BlockKind.OUTPUT, BlockKind.TRACEBACK)
_FINE = Claim(kind=ClaimKind.VALUE, role=ClaimRole.FINE)


def read_report(issue: Issue) -> Reading:
    """Return the statements of a report, what it claims of each, and all else that is read."""
    walk = _Walk()
    for number, block in enumerate(issue.blocks[:_BLOCKS]):
        walk.read(number, block)
    every = (sentence for block in issue.blocks for sentence in sentences(block))
    return Reading(
        issue=issue,
        statements=tuple(walk.finish()),
        tests=reporters_tests(issue),
        exceptions=_exceptions(issue),
        wants_exception=any(map(may_want_exception, every)),
        left_out=tuple(walk.left_out),
    )


@dataclass(slots=True)
class _Code:
    """A statement to which claims are added."""

    source: str
    line: int
    block: int
    claims: list[Claim] = field(default_factory=list)

    @property
    def key(self) -> str:
        """What is the same for code that is written alike."""
        return "".join(self.source.split())

    @property
    def shows(self) -> bool:
        """Whether it shows the value of an expression."""
        return isinstance(parse(self.source).body[-1], ast.Expr)


@dataclass(slots=True)
class _Walk:
    """What was read so far."""

    code: list[_Code] = field(default_factory=list)
    #: Code of sentences, by its source.
    inline: dict[str, _Code] = field(default_factory=dict)
    #: The statements of the last block of code.
    last: list[_Code] = field(default_factory=list)
    #: Claims that stand before any code.
    pending: list[Claim] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    #: Code and values that are called right.
    approved: list[str] = field(default_factory=list)
    #: What the section speaks of, and the sentence right above.
    section: ClaimRole = ClaimRole.SHOWN
    above: ClaimRole = ClaimRole.SHOWN

    def read(self, number: int, block: Block) -> None:
        """Read one block."""
        if block.kind in _TEXT:
            if block.kind is BlockKind.HEADING:
                self.section = section_role(block.text) if number else ClaimRole.SHOWN
            self.above = ClaimRole.SHOWN
            for sentence in sentences(block):
                self._read_sentence(sentence, is_title=not number)
            return
        role = self.section if self.above is ClaimRole.SHOWN else self.above
        self.above = ClaimRole.SHOWN
        if block.kind is BlockKind.REPL:
            self._add_code(_session(number, block, role))
        elif block.kind is BlockKind.PYTHON:
            self._read_python(number, block, role)
        elif self.last and (block.kind in _OUTPUT or block.language in _RESULTS):
            self._add_output(block.text, role)

    def _read_python(self, number: int, block: Block, role: ClaimRole) -> None:
        snippets = read_snippets(block.text)
        if snippets and self.last and all(is_literal(one.source) for one in snippets):
            self._add_output(block.text, role)
            return
        if snippets or block.language:  # else it may be something else, as a grammar
            self.left_out += lines_left_out(block)
        code: list[_Code] = []
        for one in snippets:
            if code and is_literal(one.source) and "(" in code[-1].source and code[-1].shows:
                code[-1].claims.append(_shown(one.source, role))  # typed in without a prompt
            else:
                code.append(_Code(one.source, block.line + one.line, number, _comments(one)))
        self._add_code(code)

    def _add_code(self, code: list[_Code]) -> None:
        if code:
            self.code += code
            self.last = code
            self.last[-1].claims += self.pending
            self.pending = []

    def _add_output(self, text: str, role: ClaimRole) -> None:
        """Give output to the statements that show something: a line to each, or all to the last."""
        lines = [line for line in text.split("\n") if line.strip()]
        showing = [one for one in self.last if one.shows]
        if len(showing) != len(lines):
            showing, lines = self.last[-1:], [text]
        for one, line in zip(showing, lines, strict=True):
            one.claims.append(_shown(line, role))

    def _read_sentence(self, sentence: Sentence, *, is_title: bool) -> None:
        """Take in what a sentence claims."""
        for code in sentence.code.values() if not is_title else ():
            if is_runnable(code) or binds_call(code):
                self._add_inline(code, sentence)
        self.approved += approved(sentence)
        claims = claims_in(sentence, self.section)
        for subject, claim in claims:
            if subject:
                self._add_inline(subject, sentence).append(claim)
            elif not self.last:
                self.pending.append(claim)
            elif claim.kind is ClaimKind.RAISES or self.last[-1].shows:
                self.last[-1].claims.append(claim)
        # Where it states a right value, what comes below it is what happens.
        stated = {claim.role for _, claim in claims if claim.kind is ClaimKind.VALUE}
        is_stated = is_title or ClaimRole.EXPECTED in stated
        self.above = ClaimRole.SHOWN if is_stated else role_of(sentence.text)

    def _add_inline(self, code: str, sentence: Sentence) -> list[Claim]:
        """Return the claims of code in a sentence."""
        new = _Code(code, sentence.line, -1 - len(self.inline))
        return self.inline.setdefault(code, new).claims

    def finish(self) -> Iterator[Statement]:
        """Yield the statements, with code of sentences last; a block that has it has its claims.

        A name that is shown and never bound is bound to what is shown.
        """
        places = {one.key: one for one in self.code}
        for one in self.inline.values():
            if one.key in places:
                places[one.key].claims += one.claims
        inline = [one for one in self.inline.values() if one.key not in places]
        bound: set[str] = set()
        for one in (*self.code[:MOST_STATEMENTS], *inline[:MOST_INLINE]):
            if any(text in one.source for text in self.approved):
                one.claims.append(_FINE)
            name = one.source
            values = [claim.text for claim in one.claims if claim.kind is ClaimKind.VALUE]
            if name.isidentifier() and name not in bound and values and is_literal(values[0]):
                one.source, one.claims = f"{name} = {values[0].strip()}", []
            bound |= names_of(one.source).bound
            yield Statement(
                source=one.source, line=one.line, block=one.block, claims=tuple(one.claims)
            )


def _session(number: int, block: Block, role: ClaimRole) -> list[_Code]:
    """Return the statements of a session, with what they gave."""
    code: list[_Code] = []
    for exchange in read_session(block.text):
        snippets = read_snippets(exchange.source)
        line = block.line + exchange.line
        code += [_Code(one.source, line, number, _comments(one)) for one in snippets]
        if snippets and exchange.output:
            code[-1].claims.append(_shown(exchange.output, role))
    return code


def _shown(output: str, role: ClaimRole) -> Claim:
    """Return what output below a statement claims of it."""
    raised = final_exception(output)
    kind = ClaimKind.RAISES if raised else ClaimKind.VALUE
    return Claim(kind=kind, role=role, raised=raised, text=output)


def _comments(snippet: Snippet) -> list[Claim]:
    """Return what the comments around a statement claim; those below may be its traceback."""
    if final_exception(snippet.below):
        return [_shown(snippet.below, ClaimRole.SHOWN)]
    above, below = snippet.above.split("\n")[-1], snippet.below.split("\n")[0]
    # "below 0 it is correct": so is what it gives.
    shown = ClaimRole.FINE if role_of(above) is ClaimRole.FINE else ClaimRole.SHOWN
    beside = comment_claims(snippet.beside, shown, is_beside=True)
    return beside or comment_claims(below, shown) or comment_claims(above, shown)


def _exceptions(issue: Issue) -> tuple[Raised, ...]:
    """Return every exception that the report shows or names, the fullest account first."""
    shown = read_tracebacks(re.sub(r"(?m)^#+ ?", "", issue.text))
    named = (
        Raised(type=match[1], message=(match[2] or "").strip())
        for match in re.finditer(rf"\b({EXCEPTION})(?:: +([^`\n]+))?", issue.text[:50_000])
    )
    exceptions: dict[tuple[str, str], Raised] = {}
    for one in (*sorted(shown, key=lambda raised: -len(raised.frames)), *named):
        exceptions.setdefault((one.type, one.message), one)
    return tuple(exceptions.values())[:_EXCEPTIONS]

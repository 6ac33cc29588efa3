"""A report → its statements, each with what the report claims of it: one walk over the blocks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from pytest_brt.pysource.names import names_of, needed
from pytest_brt.pysource.parse import find_tests, is_literal, parse
from pytest_brt.report.claims import (
    EXCEPTION,
    FINE,
    Sentence,
    approved,
    claims_in,
    comment_claims,
    is_runnable,
    may_want_exception,
    role_of,
    sentences,
)
from pytest_brt.report.snippets import (
    MOST_STATEMENTS,
    Snippet,
    read_session,
    read_snippets,
)
from pytest_brt.report.tracebacks import final_exception, read_tracebacks
from pytest_brt.types import Block, BlockKind, Issue, Raised
from pytest_brt.types.report import (
    Claim,
    ClaimKind,
    ClaimRole,
    LeftOut,
    Reading,
    ReportersTest,
    Statement,
)

_NAMED = re.compile(rf"\b({EXCEPTION})(?:: +([^`\n]+))?")
#: Tags of fences in which people show what their code made.
_RESULTS = frozenset(
    {"sql", "json", "html", "xml", "yaml", "yml", "toml", "csv", "markdown", "md"}
)
#: What a reporter adds to output: a remark behind an arrow, stars around a word.
_REMARK = re.compile(
    r"[ \t]+<-{2,}>?[ \t].*|(?<!\S)\*\*(?=\w+\*\*(?!\S))|(?<=\w)\*\*(?!\S)"
)
_TEXT = (BlockKind.HEADING, BlockKind.PROSE)
_OUTPUT = (BlockKind.OUTPUT, BlockKind.TRACEBACK)
#: Tests of one report; more is somebody's suite.
_MOST_TESTS = 10


def read_report(issue: Issue) -> Reading:
    """Return the statements of a report, what it claims of each, and all else that is read."""
    walk = _Walk()
    for number, block in enumerate(issue.blocks):
        walk.read(number, block)
    return Reading(
        issue=issue,
        statements=walk.statements(approved(issue.text)),
        tests=(*islice(_reporters_tests(walk.code), _MOST_TESTS),),
        exceptions=_exceptions(issue.text),
        wants_exception=walk.wants_exception,
        left_out=tuple(walk.left_out),
    )


@dataclass(slots=True)
class _Code:
    """A statement to which claims are added."""

    source: str
    line: int
    #: Number of its block, below zero for code of a sentence.
    block: int
    claims: list[Claim] = field(default_factory=list)


@dataclass(slots=True)
class _Walk:
    """What was read so far."""

    code: list[_Code] = field(default_factory=list)
    #: The same by its source, the first of each.
    known: dict[str, _Code] = field(default_factory=dict)
    #: The statements of the last block of code.
    last: list[_Code] = field(default_factory=list)
    #: That of the paragraph's sentences of which something was claimed last.
    subject: _Code | None = None
    #: Claims that stand before any code.
    pending: list[Claim] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    wants_exception: bool = False
    #: What the section speaks of, and what the sentence right above does.
    section: ClaimRole = ClaimRole.SHOWN
    above: ClaimRole = ClaimRole.SHOWN

    def read(self, number: int, block: Block) -> None:
        """Read one block; the first is the title."""
        role, self.above = self.above, self.section
        if block.kind in _TEXT:
            if block.kind is BlockKind.HEADING and number:
                self.section = role_of(block.text)
            self.subject = None
            for sentence in sentences(block):
                stated = self._read_sentence(sentence, block)
                # Where it states what is right, what comes below it is what happens.
                is_told = bool(number) and ClaimRole.EXPECTED not in stated
                self.above = (
                    role_of(sentence.masked, self.section) if is_told else self.section
                )
        elif block.kind is BlockKind.REPL:
            self._add_code(number, block, read_session(block.text), role)
        elif block.kind is BlockKind.PYTHON:
            snippets, left_out = read_snippets(block.text)
            if snippets or block.language:  # else it may be something else, as a grammar
                self.left_out += [
                    replace(one, line=block.line + one.line) for one in left_out
                ]
            self._add_code(number, block, snippets, role)
        elif self.last and (block.kind in _OUTPUT or block.language in _RESULTS):
            self._add_output(block.text, role)

    def _add_code(
        self, number: int, block: Block, snippets: list[Snippet], role: ClaimRole
    ) -> None:
        """Take in a block's statements; a value below an expression is what that gave."""
        code: list[_Code] = []
        for one in snippets:
            before = (code or self.last)[-1:]
            if is_literal(one.source) and not one.output and any(map(_shows, before)):
                before[0].claims.append(_shown(one.source, role))
                continue
            new = _Code(one.source, block.line + one.line, number, _comments(one))
            if is_literal(one.output) and _is_unbound(one.source, [*self.code, *code]):
                new.source = f"{one.source} = {one.output}"
            elif one.output:
                new.claims.append(_shown(one.output, role))
            code.append(new)
            self.known.setdefault(new.source, new)
        if code:
            self.code += code
            self.last = code
            code[-1].claims += self.pending
            self.pending = []

    def _add_output(self, text: str, role: ClaimRole) -> None:
        """Give output to the statements that show something: a line to each, or all to the last."""
        lines = [line for line in text.split("\n") if line.strip()]
        showing = [*filter(_shows, self.last)]
        if len(showing) != len(lines):
            showing, lines = self.last[-1:], [text]
        for one, line in zip(showing, lines, strict=True):
            one.claims.append(_shown(line, role))

    def _read_sentence(self, sentence: Sentence, block: Block) -> set[ClaimRole]:
        """Take in the code of a sentence and what it claims; return the roles of values in it."""
        self.wants_exception |= may_want_exception(sentence)
        claims = [*claims_in(sentence, self.section)]
        subjects = [subject for subject, _ in claims if subject]
        for source in (*filter(is_runnable, sentence.code.values()), *subjects):
            if source not in self.known:
                self.known[source] = _Code(source, block.line, -1 - len(self.known))
                self.code.append(self.known[source])
        for subject, claim in claims:
            if subject:
                self.subject = self.known[subject]
            # "`f(1)` gives 3. It should be 2."
            about = [self.subject] if self.subject else self.last[-1:]
            for code in about:
                code.claims.append(claim)
            if not about:
                self.pending.append(claim)
        return {claim.role for _, claim in claims if claim.kind is ClaimKind.VALUE}

    def statements(self, fine: list[str]) -> tuple[Statement, ...]:
        """Return the statements, those of sentences last; what has code that is fine is fine."""
        ordered = sorted(self.code, key=lambda one: one.block < 0)
        return tuple(
            Statement(
                source=one.source,
                line=one.line,
                block=one.block,
                claims=(*one.claims, *(FINE for code in fine if code in one.source)),
            )
            for one in ordered[:MOST_STATEMENTS]
        )


def _shows(code: _Code) -> bool:
    """Say whether a statement shows the value of an expression."""
    return isinstance(parse(code.source).body[-1], ast.Expr)


def _is_unbound(source: str, code: list[_Code]) -> bool:
    """Say whether a source is a name that neither the code before it nor Python binds."""
    if not source.isidentifier() or names_of(source).used != {source}:
        return False
    return not any(source in names_of(one.source).bound for one in code)


def _shown(output: str, role: ClaimRole) -> Claim:
    """Return what output below a statement claims of it."""
    raised = final_exception(output)
    kind = ClaimKind.RAISES if raised else ClaimKind.VALUE
    return Claim(kind=kind, role=role, raised=raised, text=_REMARK.sub("", output))


def _comments(snippet: Snippet) -> list[Claim]:
    """Return what the comments at a statement claim; those below may be its traceback."""
    if final_exception(snippet.below):
        return [_shown(snippet.below, ClaimRole.SHOWN)]
    below = snippet.below.partition("\n")[0]
    return comment_claims(snippet.beside, is_beside=True) or comment_claims(below)


def _exceptions(text: str) -> tuple[Raised, ...]:
    """Return every exception that a report names or shows, once, with the frames it shows."""
    named = [
        Raised(type=match[1], message=(match[2] or "").strip())
        for match in _NAMED.finditer(text)
    ]
    shown = read_tracebacks(re.sub(r"(?m)^#+ ?", "", text))
    return tuple({(one.type, one.message): one for one in (*named, *shown)}.values())


# -- the tests that stand in a report --


def _reporters_tests(code: list[_Code]) -> Iterator[ReportersTest]:
    """Yield the test functions, and the methods of test classes, each with what it needs."""
    shared: list[str] = []
    tests: list[tuple[str, str]] = []
    for source in (one.source for one in code if one.block >= 0):
        node = parse(source).body[-1]
        names = [name for name, _ in find_tests([node])]
        tests += [(name, source) for name in names]
        if not names and not isinstance(node, ast.Expr):
            shared.append(source)  # it binds what others may need
    for name, source in tests:
        nodes = ast.walk(parse(source))
        fixtures = frozenset(node.arg for node in nodes if isinstance(node, ast.arg))
        setup = needed([*shared, source], len(shared), fixtures)
        yield ReportersTest(
            name=name, setup=tuple(shared[at] for at in setup), source=source
        )

"""The four oracles, and the one about command lines, asked about a report that was run."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pytest_brt.edit.source_text import indented
from pytest_brt.observe.results import (
    Form,
    Result,
    evaluated_expression,
    printed_argument,
    results_of,
)
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.command_line import no_traceback
from pytest_brt.oracle.comparison import comparison
from pytest_brt.oracle.draft import Draft, quote_of, shorten
from pytest_brt.oracle.environment_errors import missing_here
from pytest_brt.oracle.evidence import measured
from pytest_brt.pysource.parse import Function, covers, is_literal, parse_or_empty
from pytest_brt.report.match import Match, messages_agree
from pytest_brt.types import Evidence, OracleKind, Raised
from pytest_brt.types.report import RIGHT, WRONG, Claim, ClaimKind, ClaimRole, Reading

_OF_VALUES = (OracleKind.EQUALS, OracleKind.GONE)
#: Raised by the snippet's own mistakes, or by what lacks here, unless the report shows it.
_MISTAKES = frozenset(
    {"NameError", "ModuleNotFoundError", "ImportError", "SyntaxError", "FileNotFoundError"}
)
#: How code and docstrings say what a function raises.
_RAISES = re.compile(r"(?i:\braises?\b)[\s:`~]*(?:\w+\.)*([A-Z]\w+)")
_TEXT_METHODS = frozenset({"__str__", "__repr__", "__format__"})
#: Signs that make a complaint plain.
_PLAIN = 2
_EXPECTED = ClaimRole.EXPECTED
#: What a test is, and says, that passes: by what is claimed, and whether it is wanted.
_HOLDS = {
    (ClaimKind.RAISES, False): (OracleKind.NO_RAISE, "does not raise"),
    (ClaimKind.VALUE, False): (OracleKind.GONE, "does not give"),
    (ClaimKind.VALUE, True): (OracleKind.EQUALS, "gives"),
}
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
#: Words of a title that are no names of code.
_COMMON = frozenset((
    "the", "and", "for", "not", "with", "from", "import", "print", "return", "returns",
    "should", "does", "when", "wrong", "result", "value", "error", "bug", "fails", "fail",
    "using", "use", "issue", "problem", "incorrect", "class", "function", "method", "object",
))  # fmt: skip


# -- an exception --


def does_not_raise(observed: ObservedReport, one: Observation) -> Iterator[Draft]:
    """An exception that the report complains about must not be raised."""
    raised, claims = one.raised, one.statement.claims_of(ClaimKind.RAISES)
    if raised is None or any(claim.role in RIGHT for claim in claims):
        return
    evidence = _evidence_of(observed.reading, raised)
    if evidence is None:
        return
    shown = f"{raised.name}: {raised.message}".split("\n")[0].rstrip(".: ")[:160]
    body = run = _statement(one, raised)
    sentence = f"`{shorten(run)}` must not raise {shown}."
    if allowed := _allowed(observed, raised):
        handlers = "".join(f"\nexcept {error}:\n    pass" for error in allowed)
        body = f"try:\n{indented(run)}{handlers}"
        sentence = f"`{shorten(run)}` may raise {' or '.join(allowed)}, but not {shown}."
    yield Draft(
        kind=OracleKind.NO_RAISE,
        body=(body,),
        sentence=sentence,
        quote=quote_of(claim for claim in claims if claim.exception == raised.name),
        expects=raised,
        evidence=evidence,
    )


def _evidence_of(reading: Reading, raised: Raised) -> Evidence | None:
    """Return how plainly the report shows an exception; None where it is no bug."""
    name, in_project = raised.name, raised.in_project is not None
    words = rf"(?<!\w){re.escape(name)}\b(?::[ \t]+([^`\n]+))?"
    messages = re.findall(words, reading.issue.text)
    is_exact = any(messages_agree(message, raised.message) for message in messages)
    is_assertion = name == "AssertionError" and not in_project
    if is_exact and (in_project or is_assertion):
        return Evidence.EXCEPTION if reading.wants_exception else Evidence.REPORTED_EXCEPTION
    if is_assertion:
        return Evidence.OWN_TEST
    is_mistake = name in _MISTAKES and not (is_exact and messages)
    if messages and (in_project or not is_mistake):
        return Evidence.EXCEPTION
    lacks = is_mistake or missing_here(raised) or reading.exceptions
    return Evidence.OTHER if in_project and not lacks else None


def _statement(one: Observation, raised: Raised) -> str:
    """Return what to run: the expression alone where the exception is not in showing it."""
    functions = {frame.function for frame in raised.frames}
    in_text = functions & _TEXT_METHODS or "__str__" in raised.message
    inner = "" if in_text else printed_argument(one.source)
    return inner or evaluated_expression(one.source) or one.source


def _allowed(observed: ObservedReport, raised: Raised) -> list[str]:
    """Return exceptions of the project that the functions which an exception came through raise.

    So say their code and docstrings; the exception itself and its bases are not among them.
    """
    imports = observed.imports
    subject = imports.engine.subject
    names: set[str] = set()
    for frame in raised.frames:
        path = Path(subject.root, frame.path)
        tree = parse_or_empty(path.read_bytes() if frame.project and path.is_file() else "")
        for node in ast.walk(tree):
            if isinstance(node, Function) and covers(node, frame.line):
                names.update(_RAISES.findall(ast.unparse(node)))
    bases = {base.rpartition(".")[2] for base in raised.bases}
    names -= {*dir(builtins), raised.name, *bases}
    imports.resolve(names)
    found = {name: imports.known[name].split() for name in sorted(names)}
    return [n for n in found if found[n] and found[n][1].partition(".")[0] in subject.packages]


def must_raise(_: ObservedReport, one: Observation) -> Iterator[Draft]:
    """What the report calls an error must raise one."""
    expression, raised = evaluated_expression(one.source), one.raised
    known = (raised.type, *raised.bases) if raised else ()
    kinds = {name.rpartition(".")[2] for name in known}
    for claim in one.statement.claims_of(ClaimKind.RAISES, *RIGHT):
        if expression and claim.raised and not {claim.exception, *_MISTAKES} & kinds:
            yield Draft(
                kind=OracleKind.MUST_RAISE,
                body=(f"with pytest.raises({claim.raised.type}):\n{indented(expression)}",),
                sentence=f"`{shorten(expression)}` must raise {claim.exception}.",
                quote=quote_of([claim]),
                expects=raised,
            )


# -- a result --


def gives_stated_value(_: ObservedReport, one: Observation) -> Iterator[Draft]:
    """A result that the report calls right must come out; of two that differ, neither."""
    shown = results_of(one, blank=True)
    if one.raised:  # what it gives where it no longer raises
        expression = printed_argument(one.source) or evaluated_expression(one.source)
        shown = (Result(Form.VALUE, expression, ""),) if expression else ()
    claims = one.statement.claims_of(ClaimKind.VALUE, _EXPECTED)
    bodies = {
        comparison(*compared, differs=False): claim
        for claim in claims
        if (compared := _compared(shown, claim.text.strip()))
    }
    for body, claim in bodies.items() if len(bodies) == 1 else ():
        yield Draft(
            kind=OracleKind.EQUALS,
            body=body,
            sentence=f"`{shorten(one.source)}` should give {shorten(claim.text)}.",
            quote=quote_of([claim]),
            expects=one.raised,
            evidence=Evidence.STATED_VALUE,
        )


def _compared(shown: tuple[Result, ...], text: str) -> tuple[Result, str] | None:
    """Return which form of a result to compare, and with what; None where that is unsure."""
    if not shown or not text or any(result.quoted_by(text) for result in shown):
        return None
    first, last = shown[0], shown[-1]
    if first.form is Form.VALUE:
        parts = [type(node) for node in parse_or_empty(text).body]
        if is_literal(text) or (parts == [ast.Expr] and "(" in text):
            return replace(first, evaluable=True), text
        return (last, text) if last.form is Form.STR and " " in text else None
    if is_literal(text):
        text = str(ast.literal_eval(text))
    # A report cannot show the newlines at the end of what is printed.
    end = first.text[len(first.text.rstrip("\n")) :] if first.form is Form.STDOUT else ""
    return first, text + end


def no_longer_gives(observed: ObservedReport, one: Observation) -> Iterator[Draft]:
    """A result that the report shows, and that still comes out, must be gone."""
    right = observed.reading.claims_of(ClaimKind.VALUE, *RIGHT)
    if any(not claim.text for claim in one.statement.claims_of(ClaimKind.VALUE, *RIGHT)):
        return  # whatever comes out is called fine
    complaints = one.statement.claims_of(ClaimKind.VALUE, *WRONG)
    for result in results_of(one) if complaints else ():
        quoting = [c for c in complaints if not c.text or result.quoted_by(c.text)]
        if not quoting or not result.can_compare:
            continue
        if any(result.quoted_by(claim.text) for claim in right):
            return
        later = observed.observations[observed.observations.index(one) + 1 :]
        same = [other for other in later if other.statement.block == one.statement.block]
        shown = (o.statement.claims_of(ClaimKind.VALUE, *WRONG) for o in same if not o.raised)
        is_last = not any(shown)
        signs = is_last + (quoting[0].role is ClaimRole.ACTUAL) + bool(_title_names(observed, one))
        signs += 0 if quoting[0].text else _PLAIN
        yield Draft(
            kind=OracleKind.GONE,
            body=comparison(result, result.text, differs=True),
            sentence=f"`{shorten(one.source)}` must no longer give {shorten(result.text)}.",
            quote=quote_of(quoting),
            evidence=Evidence.REPORTED_VALUE if signs >= _PLAIN else Evidence.OTHER,
            signs=signs,
        )
        return


# -- all of them --

#: The first of them come first where drafts are equally likely.
ORACLES = (does_not_raise, gives_stated_value, must_raise, no_longer_gives)


def ask_oracles(observed: ObservedReport) -> tuple[Draft, ...]:
    """Return what all oracles want tested, those first whose evidence was right most often."""
    drafts = [
        replace(draft, index=index, signs=draft.signs + _title_names(observed, one))
        for oracle in ORACLES
        for index, one in enumerate(observed.observations)
        if one.result is not None and not one.missing
        for draft in oracle(observed, one)
    ]
    # Where a crash is reported, a result that is only shown beside it is not what goes wrong; and
    # where an exception is wanted, a right fix raises before there is a result.
    is_crash = any(draft.evidence is Evidence.REPORTED_EXCEPTION for draft in drafts)
    refuses = any(draft.kind is OracleKind.MUST_RAISE for draft in drafts)
    kept = [
        draft
        for draft in (*drafts, *no_traceback(observed))
        if not (refuses and draft.kind in _OF_VALUES)
        if not (is_crash and draft.kind is OracleKind.GONE and not draft.quote)
    ]
    return tuple(sorted(kept, key=lambda d: (-measured(d.evidence).confidence, -d.signs)))


def _title_names(observed: ObservedReport, one: Observation) -> int:
    """Return how many names of a statement the report's title speaks of."""
    words = {word.lower() for word in _NAME.findall(observed.reading.issue.title)} - _COMMON
    return len(words & {name.lower() for name in _NAME.findall(one.source)})


# -- what is right already --


def already_right(observed: ObservedReport) -> Iterator[Draft]:
    """Yield tests that pass here, and would fail where the report is right.

    An exception that it shows does not come, a value that it wants comes out, or one that it
    complains about does not.
    """
    for index, one in enumerate(observed.observations):
        if one.result is not None and one.raised is None and not one.missing:
            # That what is wanted comes out says more than that what is reported does not.
            for claim in sorted(
                one.statement.claims, key=lambda claim: claim.role is not _EXPECTED
            ):
                if body := _right(one, claim):
                    kind, does = _HOLDS[claim.kind, claim.role is _EXPECTED]
                    said = claim.exception or shorten(claim.text)
                    sentence = f"`{shorten(one.source)}` {does} {said}."
                    yield Draft(
                        kind=kind, index=index, body=body, sentence=sentence, expects=claim.raised
                    )


def _right(one: Observation, claim: Claim) -> tuple[str, ...]:
    """Return what holds for a statement where the report is right, () for nothing."""
    expression, text = evaluated_expression(one.source), claim.text.strip()
    if claim.kind is ClaimKind.RAISES:
        is_told = claim.role in WRONG and claim.exception and "(" in expression
        return (expression,) if is_told else ()
    shown = [result for result in results_of(one) if result.can_compare]
    best = max(shown, key=lambda result: result.quoted_by(text), default=None)
    match = best.quoted_by(text) if best else None
    if best and claim.role is _EXPECTED and match is Match.EXACT:
        return comparison(best, best.text, differs=False)
    if best and claim.role in WRONG and match is Match.NONE and is_literal(text):
        return comparison(shown[0], text, differs=True)
    return ()

"""The oracles: what a report that was run says is wrong, as drafts of tests."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_brt.edit.source_text import indented
from pytest_brt.observe.run_snippets import (
    Observation,
    ObservedReport,
    Result,
    evaluated_expression,
    result_of,
)
from pytest_brt.oracle.draft import Draft, comparison, literal, shorten
from pytest_brt.oracle.judge import first_line, measured, missing_here
from pytest_brt.project.pytest_config import scripts_of
from pytest_brt.pysource.parse import is_literal, parse_or_empty
from pytest_brt.report.match import messages_agree, quoted_in
from pytest_brt.report.snippets import shell_commands
from pytest_brt.types import BlockKind, Evidence, OracleKind, Raised
from pytest_brt.types.report import RIGHT, WRONG, Claim, ClaimKind, ClaimRole, Reading

#: Raised by the snippet's own mistakes, or by what lacks here, unless the report shows it.
_MISTAKES = frozenset(
    {
        "NameError", "ModuleNotFoundError", "ImportError", "SyntaxError",
        "FileNotFoundError", "SystemExit",
    }
)  # fmt: skip
#: How code and docstrings say what a function raises.
_RAISES = re.compile(r"(?i:\braises?\b)[\s:`~]*(?:\w+\.)*([A-Z]\w+)")
_TEXT_METHODS = frozenset({"__str__", "__repr__", "__format__"})
#: Signs that make a complaint plain.
_SIGNS_NEEDED = 2
_EXPECTED = ClaimRole.EXPECTED
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
#: How a test runs a command line.
_RUN = """\
done = subprocess.run(
    command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
)"""


# -- an exception --


def does_not_raise(observed: ObservedReport, one: Observation) -> Iterator[Draft]:
    """An exception that the report complains about must not be raised."""
    raised = one.raised
    if raised is None or one.statement.claims_of(ClaimKind.RAISES, *RIGHT):
        return
    is_told = bool(one.statement.claims_of(ClaimKind.RAISES, *WRONG))
    evidence = _evidence_of(observed.reading, raised, is_told)
    if evidence is None:
        return
    shown = f"{raised.name}: {first_line(raised)}".rstrip(".: ")
    # In the test the expression stands alone, unless showing it is what raises.
    in_text = any(frame.function in _TEXT_METHODS for frame in raised.frames)
    expression = "" if in_text else evaluated_expression(one.source)
    body = run = expression or one.source
    demand = "hold" if run.startswith("assert ") else f"not raise {shown}"
    sentence = f"`{shorten(run)}` must {demand}."
    if allowed := _allowed(observed, raised):
        handlers = "".join(f"\nexcept {error}:\n    pass" for error in allowed)
        body = f"try:\n{indented(run)}{handlers}"
        sentence = f"`{shorten(run)}` may raise {' or '.join(allowed)}, but not {shown}."
    yield Draft(
        kind=OracleKind.NO_RAISE,
        body=(body,),
        sentence=sentence,
        expects=raised,
        evidence=evidence,
    )


def _evidence_of(reading: Reading, raised: Raised, is_told: bool) -> Evidence | None:
    """Return how plainly the report shows an exception; None where it is no bug.

    `is_told` says that its statement raises one in the report, if under another name.
    """
    name, in_project = raised.name, raised.in_project is not None
    words = rf"(?<!\w){re.escape(name)}\b(?::[ \t]+([^`\n]+))?"
    messages = re.findall(words, reading.issue.text)
    is_exact = any(messages_agree(message, raised.message) for message in messages)
    is_exact |= bool(messages) and quoted_in(raised.message, reading.issue.text)
    is_assertion = name == "AssertionError" and not in_project
    if is_exact and (in_project or is_assertion):
        return (
            Evidence.EXCEPTION if reading.wants_exception else Evidence.REPORTED_EXCEPTION
        )
    if is_assertion:
        return Evidence.OWN_TEST
    if messages and (in_project or is_exact or name not in _MISTAKES):
        return Evidence.EXCEPTION
    lacks = name in _MISTAKES or missing_here(raised)
    is_other = in_project and not lacks and (is_told or not reading.exceptions)
    return Evidence.OTHER if is_other else None


def _allowed(observed: ObservedReport, raised: Raised) -> list[str]:
    """Return exceptions of the project that the functions which an exception came through raise.

    So say their code and docstrings; the exception itself and its bases are not among them.
    """
    imports, index = observed.imports, observed.imports.index
    names: set[str] = set()
    for frame in raised.frames:
        if place := index.definition_at(frame.path, frame.line):
            code = index.lines(place)
            names.update(_RAISES.findall(code))
    names -= {*dir(builtins), *_kinds(raised)}
    imports.resolve(names)
    own = tuple(f"from {package}" for package in index.packages)
    return [name for name in sorted(names) if imports.known[name].startswith(own)]


def _kinds(raised: Raised | None) -> set[str]:
    """Return the simple names of an exception and its bases."""
    types = (raised.type, *raised.bases) if raised else ()
    return {type_.rpartition(".")[2] for type_ in types}


def must_raise(_: ObservedReport, one: Observation) -> Iterator[Draft]:
    """What the report calls an error must raise one."""
    for claim, body, is_raised in _wanted_exceptions(one):
        if not (is_raised or _MISTAKES & _kinds(one.raised)):
            yield Draft(
                kind=OracleKind.MUST_RAISE,
                body=(body,),
                sentence=f"`{shorten(one.source)}` must raise {claim.exception}.",
                expects=one.raised,
            )


def _wanted_exceptions(one: Observation) -> Iterator[tuple[Claim, str, bool]]:
    """Yield what is claimed that a statement should raise, the check of it, and if it does."""
    run = (
        one.source if one.source.startswith("assert ") else evaluated_expression(one.source)
    )
    for claim in one.statement.claims_of(ClaimKind.RAISES, *RIGHT):
        if run and claim.raised:
            body = f"with pytest.raises({claim.raised.type}):\n{indented(run)}"
            yield claim, body, claim.exception in _kinds(one.raised)


# -- a result --


def gives_stated_value(_: ObservedReport, one: Observation) -> Iterator[Draft]:
    """A result that the report calls right must come out."""
    result = result_of(one)
    if one.raised:  # what it gives where it no longer raises
        expression = evaluated_expression(one.source)
        result = Result(expression=expression, text="") if expression else None
    claims = one.statement.claims_of(ClaimKind.VALUE, _EXPECTED)
    if result is None or not claims:
        return
    text = claims[0].text
    if other := _as_source(text, result):
        yield Draft(
            kind=OracleKind.EQUALS,
            body=comparison(result, other, differs=False),
            sentence=f"`{shorten(one.source)}` should give {shorten(text)}.",
            expects=one.raised,
            evidence=Evidence.STATED_VALUE,
        )


def _as_source(text: str, result: Result) -> str:
    """Return what a result is to be compared with, "" if it is that already, or is unclear."""
    text = text.strip()
    if not text or result.quoted_by(text):
        return ""
    if result.is_printed:
        # A report cannot show the newlines at the end of what is printed.
        end = result.text[len(result.text.rstrip("\n")) :]
        return repr(f"{ast.literal_eval(text) if is_literal(text) else text}{end}")
    if is_literal(text) or ("(" in text and parse_or_empty(f"({text})").body):
        return text
    return repr(text) if result.type == "str" and " " in text else ""


def no_longer_gives(observed: ObservedReport, one: Observation) -> Iterator[Draft]:
    """A result that the report shows, and that still comes out, must be gone."""
    result, claims = result_of(one), one.statement.claims_of
    if result is None or not result.can_compare:
        return
    complaints = claims(ClaimKind.VALUE, *WRONG)
    quoting = [
        claim for claim in complaints if not claim.text or result.quoted_by(claim.text)
    ]
    is_fine = any(not claim.text for claim in claims(ClaimKind.VALUE, *RIGHT))
    right = observed.reading.claims_of(ClaimKind.VALUE, *RIGHT)
    if not quoting or is_fine or any(result.quoted_by(claim.text) for claim in right):
        return
    is_told = quoting[0].role is ClaimRole.ACTUAL
    signs = _is_last(observed, one) + is_told + bool(_in_title(observed, one))
    if not quoting[0].text:
        signs += _SIGNS_NEEDED
    yield Draft(
        kind=OracleKind.GONE,
        body=comparison(result, "", differs=True),
        sentence=f"`{shorten(one.source)}` must no longer give {shorten(result.text)}.",
        evidence=Evidence.REPORTED_VALUE if signs >= _SIGNS_NEEDED else Evidence.OTHER,
        signs=signs,
    )


def _is_last(observed: ObservedReport, one: Observation) -> bool:
    """Say whether it is the last statement of its block whose result the report shows.

    Those that the title speaks of come before others.
    """
    shown = [
        other
        for other in observed.observations
        if other.statement.block == one.statement.block
        if other.statement.claims_of(ClaimKind.VALUE, *WRONG)
    ]
    return max(reversed(shown), key=partial(_in_title, observed), default=None) is one


# -- a command line --


def no_traceback(observed: ObservedReport) -> Iterator[Draft]:
    """A command line of the project must not end in the exception that the report shows."""
    shown = dict.fromkeys(raised.name for raised in observed.reading.exceptions)
    for line, command in _command_lines(observed):
        for name in shown:
            yield Draft(
                kind=OracleKind.NO_TRACEBACK,
                body=(f"command = {command}", _RUN, f'assert "{name}" not in done.stderr'),
                sentence=f"`{line[:100]}` must not end in {name}.",
            )


def _command_lines(observed: ObservedReport) -> Iterator[tuple[str, str]]:
    """Yield the command lines of the project, each as the list that a test runs."""
    subject = observed.imports.engine.subject
    scripts = scripts_of(Path(subject.root))
    shells = [
        block for block in observed.reading.issue.blocks if block.kind is BlockKind.SHELL
    ]
    for line in (command for block in shells for command in shell_commands(block.text)):
        try:
            program, *arguments = shlex.split(line)
        except ValueError:
            continue  # it is no whole command
        if program in scripts:
            module, _, function = scripts[program].partition(":")
            arguments = [
                "-c",
                f"import sys, {module}; sys.exit({module}.{function}())",
                *arguments,
            ]
        elif arguments[:1] != ["-m"] or not {*arguments[1:2]} & {*subject.packages}:
            continue
        yield line, f"[sys.executable, {', '.join(map(literal, arguments))}]"


# -- all of them --

#: The first of them come first where drafts are equally likely.
ORACLES = (does_not_raise, gives_stated_value, must_raise, no_longer_gives)


def ask_oracles(observed: ObservedReport) -> tuple[Draft, ...]:
    """Return what all oracles want tested, those first whose evidence was right most often."""
    drafts = [
        replace(draft, index=index, signs=draft.signs + _in_title(observed, one))
        for oracle in ORACLES
        for index, one in enumerate(observed.observations)
        if one.result is not None and not one.missing
        for draft in oracle(observed, one)
    ]
    # Where a crash is reported, no result that is shown beside it is what goes wrong; and where an
    # exception is wanted, a right fix raises before there is a result.
    if any(draft.evidence is Evidence.REPORTED_EXCEPTION for draft in drafts):
        drafts = [d for d in drafts if d.kind is not OracleKind.GONE]
    if any(draft.kind is OracleKind.MUST_RAISE for draft in drafts):
        drafts = [d for d in drafts if d.kind not in (OracleKind.EQUALS, OracleKind.GONE)]
    drafts += no_traceback(observed)
    return tuple(sorted(drafts, key=lambda d: (-measured(d.evidence).confidence, -d.signs)))


def _in_title(observed: ObservedReport, one: Observation) -> int:
    """Return how many names and words of a statement the report's title has."""
    title = _NAME.findall(observed.reading.issue.title.lower())
    standard = one.names.reads - one.names.used
    names = {*_NAME.findall(one.source)} - standard - {*keyword.kwlist}
    return len({name.lower() for name in names}.intersection(title))


# -- what is right already --

_HOLDS = {
    OracleKind.EQUALS: "gives",
    OracleKind.GONE: "does not give",
    OracleKind.NO_RAISE: "does not raise",
    OracleKind.MUST_RAISE: "raises",
}


def already_right(observed: ObservedReport) -> Iterator[Draft]:
    """Yield tests that pass here, and would fail where the report is right."""
    for index, one in enumerate(observed.observations):
        if one.result is not None and not one.missing:
            for kind, claim, body in _holding(one):
                said = claim.exception or shorten(claim.text)
                yield Draft(
                    kind=kind,
                    index=index,
                    body=body,
                    sentence=f"`{shorten(one.source)}` {_HOLDS[kind]} {said}.",
                    expects=claim.raised,
                )


def _holding(one: Observation) -> Iterator[tuple[OracleKind, Claim, tuple[str, ...]]]:
    """Yield what holds of a statement, the claim that is about it, and the lines that check it.

    An exception that is wanted is raised, one that is shown is not, a value that is wanted comes
    out, or one that is complained about does not.
    """
    claims, result = one.statement.claims_of, result_of(one)
    for claim, body, is_raised in _wanted_exceptions(one):
        if is_raised:
            yield OracleKind.MUST_RAISE, claim, (body,)
    for claim in claims(ClaimKind.RAISES, *WRONG):
        if not one.raised and "(" in one.source:
            body = evaluated_expression(one.source) or one.source
            yield OracleKind.NO_RAISE, claim, (body,)
    if result is None or not result.can_compare:
        return
    for claim in claims(ClaimKind.VALUE, _EXPECTED):
        if result.quoted_by(claim.text):
            yield OracleKind.EQUALS, claim, comparison(result, "", differs=False)
    for claim in claims(ClaimKind.VALUE, *WRONG):
        other = _as_source(claim.text, result)
        if other and is_literal(claim.text):
            yield OracleKind.GONE, claim, comparison(result, other, differs=True)

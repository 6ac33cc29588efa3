"""Oracles about exceptions: one must not come, or must."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_brt.edit.source_text import indented
from pytest_brt.observe.results import evaluated_expression, printed_argument
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.oracle.draft import Draft, quote_of, shorten, simple, title_names
from pytest_brt.oracle.environment_errors import missing_here
from pytest_brt.pysource.parse import Function, covers, parse_or_empty
from pytest_brt.report.match import messages_agree
from pytest_brt.types import Evidence, OracleKind, Raised
from pytest_brt.types.report import RIGHT, ClaimKind

#: Raised by the snippet's own mistakes, or by what lacks here, unless the report shows it.
_MISTAKES = frozenset(
    {"NameError", "ModuleNotFoundError", "ImportError", "SyntaxError", "FileNotFoundError"}
)
#: What an older or newer Python's library has.
_STANDARD = re.compile(
    r"^module '(?P<name>[\w.]+)' has no attribute|^cannot import name '\w+' from '(?P<home>[\w.]+)'"
)
#: The package that something is imported from.
_HOME = re.compile(r"from (\w+)")
#: How code and docstrings say what a function raises.
_RAISES = re.compile(r"(?i:\braises?\b)[\s:`~]*(?:\w+\.)*([A-Z]\w+)")
_TEXT_METHODS = frozenset({"__str__", "__repr__", "__format__"})


def does_not_raise(observed: ObservedReport) -> Iterator[Draft]:
    """An exception that the report complains about must not be raised."""
    for index, one in enumerate(observed.observations):
        raised = one.raised
        if raised is None or one.missing or _is_right(one):
            continue
        evidence = _evidence_of(observed, one, raised)
        if evidence is None:
            continue
        name = simple(raised.type)
        shown = f"{name}: {raised.message}".split("\n")[0].rstrip(".: ")[:160]
        body = _statement(one, raised)
        lines, sentence = (body,), f"`{shorten(body)}` must not raise {shown}."
        allowed = _allowed(observed, raised) if evidence is not Evidence.OWN_TEST else []
        if allowed:
            handlers = "".join(f"\nexcept {error}:\n    pass" for error in allowed)
            lines = (f"try:\n{indented(body)}{handlers}",)
            sentence = f"`{shorten(body)}` may raise {' or '.join(allowed)}, but not {shown}."
        claims = one.statement.claims_of(ClaimKind.RAISES)
        yield Draft(
            kind=OracleKind.NO_RAISE,
            index=index,
            body=lines,
            sentence=sentence,
            quote=quote_of(next((claim for claim in claims if claim.exception == name), None)),
            expects=raised,
            evidence=evidence,
            signs=title_names(observed, one.source),
        )


def _is_right(one: Observation) -> bool:
    """Say whether the report wants an exception here, or calls it fine."""
    claims = one.statement.claims_of(ClaimKind.RAISES)
    return any(claim.role in RIGHT for claim in claims)


def _evidence_of(observed: ObservedReport, one: Observation, raised: Raised) -> Evidence | None:
    """Return how plainly the report shows an exception; None where it is no bug."""
    name, reading = simple(raised.type), observed.reading
    in_project = raised.in_project is not None
    claims = [claim.raised for claim in one.statement.claims_of(ClaimKind.RAISES) if claim.raised]
    shown = [known for known in (*claims, *reading.exceptions) if simple(known.type) == name]
    shown += _by_its_own_name(reading.issue.text, name)
    is_exact = any(messages_agree(known.message, raised.message) for known in shown)
    is_assertion = name == "AssertionError" and not in_project
    if is_exact and (in_project or is_assertion):
        return Evidence.EXCEPTION if reading.wants_exception else Evidence.REPORTED_EXCEPTION
    if is_assertion:
        return Evidence.OWN_TEST
    if shown and (is_exact or in_project or name not in _MISTAKES):
        return Evidence.EXCEPTION
    lacks = name in _MISTAKES or missing_here(raised) or _is_of_this_python(raised)
    return None if lacks or not in_project or reading.exceptions else Evidence.OTHER


def _by_its_own_name(text: str, name: str) -> list[Raised]:
    """Return the exception of that name, where a report has it as a word."""
    match = re.search(rf"(?<!\w){re.escape(name)}\b(?::[ \t]+(?P<message>[^`\n]+))?", text)
    return [Raised(type=name, message=match["message"] or "")] if match else []


def _is_of_this_python(raised: Raised) -> bool:
    """Say whether the standard library lacks something that another version of it has."""
    module = _STANDARD.search(raised.message)
    name = (module["name"] or module["home"]) if module else ""
    return name.partition(".")[0] in sys.stdlib_module_names


def _statement(one: Observation, raised: Raised) -> str:
    """Return what to run: the expression alone where the exception is not in showing it."""
    inner = printed_argument(one.source)
    project = [frame for frame in raised.frames if frame.project]
    # Outside of the project it is one that is said of a `__str__` which gives no text.
    in_text = project[0].function in _TEXT_METHODS if project else "__str__" in raised.message
    if inner and not in_text:
        return inner
    return evaluated_expression(one.source) or one.source


def _allowed(observed: ObservedReport, raised: Raised) -> list[str]:
    """Return exceptions of the project that the functions which an exception came through raise.

    So say their code and docstrings; the exception itself and its bases are not among them.
    """
    imports = observed.imports
    subject = imports.engine.subject
    names = {
        name
        for frame in raised.frames
        if frame.project and Path(subject.root, frame.path).is_file()
        for node in ast.walk(parse_or_empty(Path(subject.root, frame.path).read_bytes()))
        if isinstance(node, Function) and covers(node, frame.line)
        for name in _RAISES.findall(ast.unparse(node))
    }
    names -= {*dir(builtins), *map(simple, (raised.type, *raised.bases))}
    imports.resolve(names)
    homes = {name: _HOME.match(imports.known[name]) for name in sorted(names)}
    return [name for name, home in homes.items() if home and home[1] in subject.packages]


def must_raise(observed: ObservedReport) -> Iterator[Draft]:
    """What the report calls an error must raise one."""
    for index, one in enumerate(observed.observations):
        expression = evaluated_expression(one.source)
        if one.result is None or not expression or one.missing:
            continue
        raised = one.raised
        kinds = {simple(name) for name in (raised.type, *raised.bases)} if raised else set[str]()
        for claim in one.statement.claims_of(ClaimKind.RAISES, *RIGHT):
            if claim.raised is None or claim.exception in kinds or kinds & _MISTAKES:
                continue
            yield Draft(
                kind=OracleKind.MUST_RAISE,
                index=index,
                body=(f"with pytest.raises({claim.raised.type}):", f"    {expression}"),
                sentence=f"`{shorten(expression)}` must raise {claim.exception}.",
                quote=quote_of(claim),
                expects=raised,
                imports=("import pytest",),
            )

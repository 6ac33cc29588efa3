"""Oracles about exceptions: one must not come, or must."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_brt.edit.source_text import indented
from pytest_brt.issue.mentions import EXCEPTION
from pytest_brt.issue.words import wants_an_error
from pytest_brt.observe.forms import printed_argument, ran_expression
from pytest_brt.observe.watch import Seen
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.judge import is_isolation, is_unset_variable
from pytest_brt.oracle.rules.report_run import (
    ReportRun,
    is_said_to_work,
    messages_agree,
    quote,
    short,
)
from pytest_brt.oracle.write import Draft
from pytest_brt.pysource.parse import Function, covers, parse_or_empty
from pytest_brt.types import Evidence, OracleKind, Raised
from pytest_brt.types.reading import ClaimKind, ClaimRole

#: Raised by the snippet's own mistakes, not by the project, unless the report says so.
_OWN_MISTAKES = frozenset({"NameError", "ModuleNotFoundError", "ImportError", "SyntaxError"})
#: Says that the project's interpreter lacks a package, unless the report names it.
_LACKING = "ModuleNotFoundError"
#: What an older or newer Python's library has.
_STANDARD = re.compile(
    r"^module '(?P<name>[\w.]+)' has no attribute|^cannot import name '\w+' from '(?P<from>[\w.]+)'"
)
#: The package that something is imported from.
_HOME = re.compile(r"from (\w+)")
#: How code and docstrings say what a function raises.
_RAISES = re.compile(r"(?i:\braises?\b)[\s:`~]*(?:\w+\.)*([A-Z]\w+)")
#: Of values that are shown.
_TEXT_METHODS = frozenset({"__str__", "__repr__", "__format__"})


def no_raise(view: ReportRun) -> Iterator[Draft]:
    """An exception that the report complains about must not be raised."""
    for index, seen in enumerate(view.seen):
        raised = seen.did.raised if seen.did else None
        if raised is None or seen.missing or is_isolation(raised) or is_unset_variable(raised):
            continue
        own = _is_own_assertion(raised)
        evidence = Evidence.EXCEPTION if own else _evidence_of(view, seen, raised)
        if evidence is None or _is_wanted(view, seen, raised):
            continue
        # A fix may raise something else, and outside the project the call may be the mistake.
        unsure = raised.in_project is None or _may_want_another(view, raised)
        name = simple(raised.type)
        message = f": {raised.message}" if raised.message else ""
        shown = f"{name}{message}".split("\n")[0].rstrip(".")
        body = _statement(seen, raised)
        lines: tuple[str, ...] = (body,)
        wanted = f"`{short(body)}` must not raise {shown[:160]}."
        if not own and (allowed := _own_errors(view, raised)):
            handlers = (f"\nexcept {name}:\n    pass" for name in allowed)
            lines = (f"try:\n{indented(body)}{''.join(handlers)}",)
            wanted = f"`{short(body)}` may raise {' or '.join(allowed)}, but not {shown[:160]}."
        about = seen.step.said(ClaimKind.RAISES)
        yield Draft(
            kind=OracleKind.NO_RAISE,
            index=index,
            body=lines,
            sentence=wanted,
            quote=quote(next((said for said in about if said.exception == name), None)),
            expects=raised,
            signs=len(view.in_title(seen.step.source)),
            evidence=Evidence.EXCEPTION if unsure else evidence,
        )


def _statement(seen: Seen, raised: Raised) -> str:
    """Return what to run: the expression alone where the exception is not in showing it."""
    source = seen.step.source
    inner = printed_argument(source)
    project = [frame for frame in raised.frames if frame.project]
    # Outside of the project it is one that is said of a `__str__` which gives no text.
    in_text = project[0].function in _TEXT_METHODS if project else "__str__" in raised.message
    if inner and not in_text:
        return inner
    return ran_expression(source) or source


def _evidence_of(view: ReportRun, seen: Seen, raised: Raised) -> Evidence | None:
    """Return how plainly the report speaks of an exception; None where it is no bug."""
    name = simple(raised.type)
    about = seen.step.said(ClaimKind.RAISES)
    same = [said.raised for said in about if said.raised and said.exception == name]
    if not same and is_said_to_work(seen):
        return None
    named = view.is_named(raised)
    shown = [*same, *([named] if named else [])]
    exact = any(messages_agree(one.message, raised.message) for one in shown)
    in_report = not any(frame.project for frame in raised.frames)
    if in_report and name in _OWN_MISTAKES and not exact:
        return None
    if exact or any(not one.message for one in same):
        return Evidence.REPORTED_EXCEPTION
    if shown:
        return Evidence.EXCEPTION
    if in_report or _is_of_the_place(raised):
        return None
    works = seen.step.said(ClaimKind.WORKS, ClaimRole.EXPECTED)
    values = [one for one in seen.step.said(ClaimKind.VALUE) if one.role is not ClaimRole.EXPECTED]
    if not (about or works or view.reading.named) and any(one.direct for one in values):
        # A tree that fails where it gave a value fails of something else, as of other versions.
        return None
    return Evidence.EXCEPTION


def _is_wanted(view: ReportRun, seen: Seen, raised: Raised) -> bool:
    """Say whether the report wants the exception, or has it beside what goes wrong."""
    about = seen.step.said(ClaimKind.RAISES)
    observed = {said.exception for said in about if said.role is ClaimRole.OBSERVED}
    if any(said.exception for said in about if said.role is ClaimRole.EXPECTED):
        return True
    if not observed and any(said.role is not ClaimRole.SHOWN for said in about):
        return True
    name = simple(raised.type)
    return name in view.reading.wanted and name not in observed


def _may_want_another(view: ReportRun, raised: Raised) -> bool:
    """Say whether the report may ask for another exception, or other words: a fix raises too.

    So it may where its sentences name an exception that comes out nowhere.
    """
    sentences = [sentence.text for sentence in view.reading.sentences]
    if any(map(wants_an_error, sentences)):
        return True
    shown = {simple(one.type) for one in (raised, *view.reading.named) if one.frames or one.message}
    shown |= {simple(seen.did.raised.type) for seen in view.seen if seen.did and seen.did.raised}
    shown |= set(map(simple, raised.bases))
    named = (match for text in sentences for match in EXCEPTION.finditer(text))
    return any(simple(match["type"]) not in shown for match in named)


def _own_errors(view: ReportRun, raised: Raised) -> list[str]:
    """Return exceptions of the project that the functions which an exception came through raise.

    So say their code and docstrings; the exception itself and its bases are not among them.
    """
    resolver = view.replayed.resolver
    subject = resolver.engine.subject
    names = {
        name
        for frame in raised.frames
        if frame.project and Path(subject.root, frame.path).is_file()
        for node in ast.walk(parse_or_empty(Path(subject.root, frame.path).read_bytes()))
        if isinstance(node, Function) and covers(node, frame.line)
        for name in _RAISES.findall(ast.unparse(node))
    }
    names -= {*dir(builtins), *map(simple, (raised.type, *raised.bases))}
    resolver.resolve(names)
    homes = {name: _HOME.match(resolver.known[name]) for name in sorted(names)}
    return [name for name, home in homes.items() if home and home[1] in subject.packages]


def _is_own_assertion(raised: Raised) -> bool:
    """Say whether it is an assertion of the report's code that fails."""
    is_assertion = simple(raised.type) == "AssertionError"
    return is_assertion and not any(frame.project for frame in raised.frames)


def _is_of_the_place(raised: Raised) -> bool:
    """Say whether an exception is about what this interpreter or this folder lacks."""
    if simple(raised.type) in (_LACKING, "FileNotFoundError"):
        return True
    module = _STANDARD.search(raised.message)
    if module is None:
        return False
    return (module["name"] or module["from"]).partition(".")[0] in sys.stdlib_module_names


def must_raise(view: ReportRun) -> Iterator[Draft]:
    """What the report calls an error must raise one."""
    for index, seen in enumerate(view.seen):
        expression = ran_expression(seen.step.source)
        if seen.did is None or not expression or seen.missing:
            continue
        raised = seen.did.raised
        kinds = {simple(name) for name in (raised.type, *raised.bases)} if raised else set[str]()
        if _LACKING in kinds:
            continue
        for said in seen.step.said(ClaimKind.RAISES, ClaimRole.EXPECTED):
            if said.raised is None or not said.exception or said.exception in kinds:
                continue
            yield Draft(
                kind=OracleKind.MUST_RAISE,
                index=index,
                body=(f"with pytest.raises({said.raised.type}):", f"    {expression}"),
                sentence=f"`{short(expression)}` must raise {simple(said.raised.type)}.",
                quote=quote(said),
                expects=raised,
                imports=("import pytest",),
            )

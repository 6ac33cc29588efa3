"""Oracles about exceptions: one must not come, or must."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pytest_brt.code.fitting import indented
from pytest_brt.issue.mentions import EXCEPTION
from pytest_brt.issue.words import wants_an_error
from pytest_brt.observe.forms import printed_argument, ran_expression
from pytest_brt.observe.watch import Seen
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.judge import is_isolation, is_unset_variable
from pytest_brt.oracle.rules.report_run import (
    PLAIN,
    ReportRun,
    is_said_of_the_call,
    is_said_to_work,
    messages_agree,
    quote,
    short,
)
from pytest_brt.oracle.write import Draft
from pytest_brt.syntax.parse import Function, covers, parse_or_empty
from pytest_brt.types import Evidence, OracleKind, Raised
from pytest_brt.types.reading import Claim, ClaimKind, ClaimRole

#: Raised by the snippet's own mistakes, not by the project, unless the report says so.
_OWN_MISTAKES = frozenset({"NameError", "ModuleNotFoundError", "ImportError", "SyntaxError"})
#: Says that the project's interpreter lacks a package, unless the report names it.
_LACKING = "ModuleNotFoundError"
#: What an older or newer Python's library has.
_STANDARD = re.compile(
    r"^module '(?P<name>[\w.]+)' has no attribute|^cannot import name '\w+' from '(?P<from>[\w.]+)'"
)
#: What is believed, at least, where the report shows the very exception of the project.
_REPORTED = OracleKind.NO_RAISE.prior + 0.05
#: The most that is believed where no line of the project raises: the call may be the mistake.
_OUTSIDE = 0.5
#: The most that is believed then: that the exception goes says little of what should come.
_INSTEAD = 0.55
#: The package that something is imported from.
_HOME = re.compile(r"from (\w+)")
#: How code and docstrings say what a function raises.
_RAISES = re.compile(r"(?i:\braises?\b)[\s:`~]*(?:\w+\.)*([A-Z]\w+)")
#: The reason of a test whose assertion the report wrote itself.
_TEXT_METHODS = frozenset({"__str__", "__repr__", "__format__"})


def no_raise(view: ReportRun) -> Iterator[Draft]:
    """An exception that the report complains about must not be raised."""
    for index, seen in enumerate(view.seen):
        raised = seen.did.raised if seen.did else None
        if raised is None or seen.missing or is_isolation(raised) or is_unset_variable(raised):
            continue
        score, reasons, said = no_raise_score(view, seen, raised)
        if score <= 0:
            continue
        own = _is_own_assertion(raised)
        if raised.in_project is None and not own:
            score = min(score, _OUTSIDE)
            reasons = (*reasons, "the exception is not raised inside the project")
        name = simple(raised.type)
        message = f": {raised.message}" if raised.message else ""
        shown = f"{name}{message}".split("\n")[0].rstrip(".")
        body = _statement(seen, raised)
        lines: tuple[str, ...] = (body,)
        wanted = f"`{short(body)}` must not raise {shown[:160]}."
        if not own and _may_want_another(view, raised):
            score = min(score, _INSTEAD)
            reasons = (*reasons, "the report may want a different exception instead")
        if not own and (allowed := _own_errors(view, raised)):
            handlers = (f"\nexcept {name}:\n    pass" for name in allowed)
            lines = (f"try:\n{indented(body)}{''.join(handlers)}",)
            wanted = f"`{short(body)}` may raise {' or '.join(allowed)}, but not {shown[:160]}."
        yield Draft(
            kind=OracleKind.NO_RAISE,
            index=index,
            body=lines,
            sentence=wanted,
            quote=quote(said),
            score=score,
            reasons=reasons,
            expects=raised,
            evidence=(Evidence.REPORTED_EXCEPTION if score >= _REPORTED else Evidence.EXCEPTION),
        )


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


def no_raise_score(
    view: ReportRun, seen: Seen, raised: Raised
) -> tuple[float, tuple[str, ...], Claim | None]:
    """Return score, reasons and the words it rests on; 0 when the report wants the exception."""
    about = seen.step.said(ClaimKind.RAISES)
    wanted = any(s.exception for s in about if s.role is ClaimRole.EXPECTED)
    praised = any(s.direct for s in about if s.role is ClaimRole.CONTRAST)
    if _is_sound(view, seen, about) or wanted or praised:
        return 0.0, (), None
    own = not any(frame.project for frame in raised.frames)
    if _is_own_assertion(raised):
        return 0.6, ("the report's own assertion fails",), None
    base = OracleKind.NO_RAISE.prior
    same = [s for s in about if s.exception == simple(raised.type)]
    if not same and is_said_to_work(seen):
        return 0.0, (), None
    exact = [s for s in same if s.raised and messages_agree(s.raised.message, raised.message)]
    named = view.is_named(raised)
    told = bool(named and messages_agree(named.message, raised.message))
    if own and simple(raised.type) in _OWN_MISTAKES and not (exact or told):
        return 0.0, (), None
    if exact:
        return base + 0.15, ("the report shows this exception here, with this message",), exact[0]
    if same and all(s.raised and s.raised.message for s in same):
        return base - 0.2, ("the report shows this exception with another message",), same[0]
    if same:
        return base + 0.05, ("the report shows this type of exception here",), same[0]
    if told:
        return base + 0.05, ("the report shows this exception and message",), None
    if named:
        return base - 0.1, ("the report names this type of exception",), None
    if own or _is_of_the_place(raised):
        return 0.0, (), None
    works = seen.step.said(ClaimKind.WORKS, ClaimRole.EXPECTED)
    failing = (*works, *(s for s in about if not s.exception))
    if failing:
        return 0.45, ("the report says that this fails, but not how",), failing[0]
    return _unspoken_score(view, seen, about)


def _unspoken_score(
    view: ReportRun, seen: Seen, about: tuple[Claim, ...]
) -> tuple[float, tuple[str, ...], Claim | None]:
    """Return score and reasons for an exception of which the report does not speak."""
    if view.reading.named:
        return 0.15, ("the report names a different exception",), None
    given = [one for one in seen.step.said(ClaimKind.VALUE) if one.role is not ClaimRole.EXPECTED]
    if not about and any(one.direct for one in given):
        # A tree that fails where it gave a value fails of something else, as of other versions.
        return 0.0, (), None
    return 0.25, ("the report mentions no exception",), None


def _is_of_the_place(raised: Raised) -> bool:
    """Say whether an exception is about what this interpreter or this folder lacks."""
    if simple(raised.type) in (_LACKING, "FileNotFoundError"):
        return True
    module = _STANDARD.search(raised.message)
    if module is None:
        return False
    return (module["name"] or module["from"]).partition(".")[0] in sys.stdlib_module_names


def _is_sound(view: ReportRun, seen: Seen, about: tuple[Claim, ...]) -> bool:
    """Say whether the report wants what is raised, or marks another one of the session as wrong."""
    if any(said.role is ClaimRole.OBSERVED for said in about) or not about:
        return False
    wanted = any(said.role is not ClaimRole.SHOWN for said in about)
    beside = (one for one in view.seen if one.step.block == seen.step.block and one is not seen)
    return wanted or any(other.step.is_marked for other in beside)


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


def must_raise(view: ReportRun) -> Iterator[Draft]:
    """What the report calls an error must raise one."""
    for index, seen in enumerate(view.seen):
        did = seen.did
        expression = ran_expression(seen.step.source)
        if did is None or not expression or seen.missing:
            continue
        if did.raised is not None:
            yield from _another(index, seen, expression, did.raised)
            continue
        prior = OracleKind.MUST_RAISE.prior
        for said in seen.step.said(ClaimKind.RAISES, ClaimRole.EXPECTED):
            named = said.raised.type if said.raised else ""
            score = prior + (0.05 if named else -0.15)
            if is_said_of_the_call(said, seen.step.source):
                score = PLAIN
            yield _must_raise(index, seen, expression, named or "Exception", score, said)


def _another(index: int, seen: Seen, expression: str, raised: Raised) -> Iterator[Draft]:
    kinds = {simple(raised.type), *map(simple, raised.bases)}
    blamed = {said.exception for said in seen.step.said(ClaimKind.RAISES, ClaimRole.OBSERVED)}
    score = OracleKind.MUST_RAISE.prior + (0.25 if simple(raised.type) in blamed else 0.05)
    for said in seen.step.said(ClaimKind.RAISES, ClaimRole.EXPECTED):
        if said.raised and said.exception and not {said.exception, _LACKING} & kinds:
            draft = _must_raise(index, seen, expression, said.raised.type, score, said)
            yield replace(draft, expects=raised)


def _must_raise(
    index: int, seen: Seen, expression: str, kind: str, score: float, said: Claim | None
) -> Draft:
    return Draft(
        kind=OracleKind.MUST_RAISE,
        index=index,
        body=(f"with pytest.raises({kind}):", f"    {expression}"),
        sentence=f"`{short(expression)}` must raise {simple(kind)}.",
        quote=quote(said),
        score=score,
        reasons=("the report says that this should be an error",),
        imports=("import pytest",),
    )

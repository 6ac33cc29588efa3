"""Runs the statements of a report on the buggy tree and keeps what each did and showed."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate

from pytest_brt.execute.engine import Engine, Observation, Observed, Program
from pytest_brt.issue.alike import is_steady
from pytest_brt.observe.names import Resolver
from pytest_brt.syntax.names import Names, names_of, uses_in
from pytest_brt.syntax.parse import bodies, parse
from pytest_brt.types.reading import Reading, ReportStep

_LACKS_MODULE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
#: A statement that ends the process is left out and the rest run again, this often.
_MOST_RESTARTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A statement of the report and what it did on the buggy tree."""

    step: ReportStep
    names: Names
    #: None when it was not run, or ended the process.
    did: Observed | None
    #: "", or how it ended the process: "timed out after 20 s".
    ended: str = ""
    #: Whether it ended because its time was over.
    timed_out: bool = False
    #: Names it needs that nothing binds.
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A whole report, run."""

    reading: Reading
    seen: tuple[Seen, ...]
    resolver: Resolver


def watch(reading: Reading, engine: Engine) -> Replayed:
    """Run the statements of a report in one namespace, in order.

    Names that nothing in the report binds are resolved against the project first.
    """
    steps = reading.steps
    every = [names_of(step.source) for step in steps]
    stars = tuple(dict.fromkeys(star for names in every for star in names.stars))
    uses = uses_in(*(step.source for step in steps))
    resolver = Resolver(engine=engine, stars=stars, own=_own_imports(steps), uses=uses)
    bound = accumulate((names.bound for names in every), frozenset.union, initial=frozenset[str]())
    unbound = [names.used - before for names, before in zip(every, bound, strict=False)]
    loose = frozenset[str]().union(*unbound)
    resolver.resolve(loose)
    prelude = resolver.imports_for(loose)
    skip = {i for i, step in enumerate(steps) if every[i].stars or _is_alone(step.source)}
    done: dict[int, Observed] = {}
    ended: dict[int, Observation] = {}
    for _ in range(_MOST_RESTARTS):
        order = [i for i in range(len(steps)) if i not in skip]
        statements = (*prelude, *(steps[i].source for i in order))
        seen = engine.observe(Program(statements=tuple(statements)))
        for observed in seen.observed:
            place = observed.index - len(prelude)
            if place >= 0:
                done.setdefault(order[place], observed)
        stopped = len(seen.observed) - len(prelude)
        if not seen.ended or stopped < 0 or stopped >= len(order):
            break
        ended[order[stopped]] = seen
        skip.add(order[stopped])
    replayed = Replayed(
        reading=reading,
        resolver=resolver,
        seen=tuple(
            Seen(
                step=step,
                names=every[i],
                did=done.get(i),
                ended=ended[i].ended if i in ended else "",
                timed_out=i in ended and ended[i].timed_out,
                missing=resolver.missing(unbound[i]),
            )
            for i, step in enumerate(steps)
        ),
    )
    full = _with_submodules(replayed)
    return watch(full, engine) if full != reading else replayed


def _with_submodules(replayed: Replayed) -> Reading:
    """Return the reading with an import of each module that its code takes for imported.

    A report that names an AttributeError may be about just that, and stays as it is.
    """
    reading = replayed.reading
    if any(raised.type.endswith("AttributeError") for raised in reading.named):
        return reading
    steps: list[ReportStep] = []
    for seen in replayed.seen:
        raised = seen.did.raised if seen.did else None
        lacks = _LACKS_MODULE.fullmatch(raised.message) if raised else None
        module = ".".join(lacks.groups()) if lacks else ""
        way = f"import {module}"
        new = module.partition(".")[0] in seen.names.used and all(s.source != way for s in steps)
        if new and replayed.resolver.works(way):
            steps.append(ReportStep(source=way, line=seen.step.line, block=seen.step.block))
        steps.append(seen.step)
    return replace(reading, steps=tuple(steps))


def _own_imports(steps: tuple[ReportStep, ...]) -> dict[str, str]:
    """Imports anywhere in the report serve statements that stand above them, too."""
    found: dict[str, str] = {}
    for step in steps:
        if step.source.startswith(("import ", "from ")) and "*" not in step.source:
            for name in names_of(step.source).bound:
                found.setdefault(name, step.source)
    return found


def _is_alone(source: str) -> bool:
    """A `return` or `yield` torn from a function, which no module can hold."""
    return any(
        isinstance(node, ast.Return)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom))
        for node in parse(source).body
    )


_ENVIRONMENT = re.compile(
    r"__version__|show_versions|\bplatform\.|sys\.version|\.version\b|print_versions|__file__"
)


class Form(StrEnum):
    """How a result is got hold of in a test."""

    VALUE = "value"
    STR = "str"
    STDOUT = "stdout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Display:
    """One form of the result of one statement."""

    form: Form
    #: The expression whose value it is; for STDOUT the statement that prints it.
    expression: str
    #: What it looked like on the buggy tree.
    text: str
    #: The value survives eval(repr(value)) == value.
    evaluable: bool = False
    type: str = ""


def displays(seen: Seen, *, blank: bool = False) -> tuple[Display, ...]:
    """Return what the statement showed on the buggy tree, most natural form first.

    With `blank` also what nobody sees: None, and blank lines.
    """
    did = seen.did
    if did is None or did.raised is not None or _ENVIRONMENT.search(seen.step.source):
        return ()
    expression = shown_expression(seen.step.source)
    if not expression:
        return _printed_inside(seen.step.source, did.stdout)
    found: list[Display] = []
    printed = printed_argument(seen.step.source)
    stdout = did.stdout.rstrip("\n")
    if did.value is not None and not did.value.is_none:
        value = did.value
        found.append(
            Display(
                form=Form.VALUE,
                expression=expression,
                text=value.repr,
                evaluable=value.evaluable,
                type=value.type,
            )
        )
        if value.text != value.repr:
            found.append(
                Display(form=Form.STR, expression=expression, text=value.text, type=value.type)
            )
    elif did.value is not None and not did.stdout and (seen.step.inline or blank):
        found.append(Display(form=Form.VALUE, expression=expression, text="None", evaluable=True))
    if stdout or (blank and did.stdout):
        if printed:
            found.append(Display(form=Form.STR, expression=printed, text=stdout))
        else:
            found.append(Display(form=Form.STDOUT, expression=expression, text=did.stdout))
    return tuple(display for display in found if blank or display.text.strip())


def _printed_inside(source: str, stdout: str) -> tuple[Display, ...]:
    """Return what a loop, or another statement around others, printed; () where it did not."""
    is_compound = any(bodies(parse(source).body[-1]))
    if not is_compound or not stdout.strip():
        return ()
    return (Display(form=Form.STDOUT, expression=source, text=stdout),)


def shown_expression(source: str) -> str:
    """Return the expression that a statement shows or binds, "" when there is none."""
    node = parse(source).body[-1]
    if isinstance(node, ast.Expr):
        return ast.get_source_segment(source, node.value) or ast.unparse(node.value)
    return ""


def ran_expression(source: str) -> str:
    """Return the expression that a statement evaluates: shown, or bound to a name."""
    node = parse(source).body[-1]
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    plain = all(isinstance(target, ast.Name | ast.Tuple | ast.List) for target in targets)
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and plain:
        return ast.get_source_segment(source, node.value) or ast.unparse(node.value)
    return shown_expression(source)


def printed_argument(source: str) -> str:
    """Return X for `print(X)`, "" for anything else."""
    match parse(source).body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[argument], keywords=[])):
            if not isinstance(argument, ast.Starred):
                return ast.get_source_segment(source, argument) or ast.unparse(argument)
    return ""


def can_compare(display: Display) -> bool:
    """Say whether the result looks the same in every run and is not too long to read."""
    return is_steady(display.text) and len(display.text) <= 4000

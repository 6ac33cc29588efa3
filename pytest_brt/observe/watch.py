"""Runs the statements of a report on the buggy tree and keeps what each did and showed."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from itertools import accumulate

from pytest_brt.execute.engine import Engine, Observation, Observed, Program
from pytest_brt.observe.names import Resolver
from pytest_brt.pysource.names import Names, names_of, uses_in
from pytest_brt.pysource.parse import IMPORTS, parse
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
        if step.source.startswith(IMPORTS) and "*" not in step.source:
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

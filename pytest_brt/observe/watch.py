"""Runs the statements of a report on the buggy tree and keeps what each did."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pytest_brt.code.scope import Names, names_of
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.observation import Observed, Program
from pytest_brt.observe.resolve import Resolver
from pytest_brt.reading.steps import Script, Step
from pytest_brt.syntax import parse

#: A statement that ends the process is left out and the rest run again, this often.
_MOST_RESTARTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A statement of the report and what it did on the buggy tree."""

    step: Step
    names: Names
    #: None when it was not run, or ended the process.
    did: Observed | None
    #: "", or how it ended the process: "timed out after 20 s".
    ended: str = ""
    #: Names it needs that nothing binds.
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A whole report, run."""

    seen: tuple[Seen, ...]
    resolver: Resolver


def watch(script: Script, engine: Engine) -> Replayed:
    """Run the statements of `script` in one namespace, in order.

    Names that nothing in the report binds are resolved against the project first.
    """
    steps = script.steps
    every = [names_of(step.source) for step in steps]
    resolver = _resolver(steps, every, engine)
    unbound = [_unbound(every, index) for index in range(len(steps))]
    resolver.resolve(frozenset().union(*unbound) if unbound else frozenset())
    prelude = resolver.imports_for(frozenset().union(*unbound) if unbound else ())
    skip = {i for i, step in enumerate(steps) if _is_star(every[i]) or _is_alone(step.source)}
    done: dict[int, Observed] = {}
    ended: dict[int, str] = {}
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
        ended[order[stopped]] = seen.ended
        skip.add(order[stopped])
    return Replayed(
        resolver=resolver,
        seen=tuple(
            Seen(
                step=step,
                names=every[i],
                did=done.get(i),
                ended=ended.get(i, ""),
                missing=resolver.missing(unbound[i]),
            )
            for i, step in enumerate(steps)
        ),
    )


def _resolver(steps: tuple[Step, ...], every: list[Names], engine: Engine) -> Resolver:
    """Return a resolver that knows what the report imports."""
    stars = tuple(dict.fromkeys(star for names in every for star in names.stars))
    return Resolver(engine=engine, stars=stars, own=_own_imports(steps))


def _unbound(every: list[Names], index: int) -> frozenset[str]:
    bound: set[str] = set()
    for names in every[:index]:
        bound |= names.bound
    return frozenset(every[index].used - bound)


def _own_imports(steps: tuple[Step, ...]) -> dict[str, str]:
    """Imports anywhere in the report serve statements that stand above them, too."""
    found: dict[str, str] = {}
    for step in steps:
        if step.source.startswith(("import ", "from ")) and "*" not in step.source:
            for name in names_of(step.source).bound:
                found.setdefault(name, step.source)
    return found


def _is_star(names: Names) -> bool:
    return bool(names.stars)


def _is_alone(source: str) -> bool:
    """A `return` or `yield` torn from a function, which no module can hold."""
    return any(isinstance(node, ast.Return) or _is_yield(node) for node in parse(source).body)


def _is_yield(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom)

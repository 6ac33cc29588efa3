"""`Class.method(1)` in a sentence → `Class().method(1)`, where that is what is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.execute.observation import Program
from pytest_brt.observe.resolve import Resolver
from pytest_brt.reading.mentions import is_literal
from pytest_brt.reading.steps import Step
from pytest_brt.syntax import parse


def through_instances(steps: tuple[Step, ...], resolver: Resolver) -> tuple[Step, ...]:
    """Call methods that sentences name by their class on an object of it, made without arguments.

    People write so of a method without meaning that it is called so. Code in blocks stays as it
    is. A call whose first argument is no literal may hand over the object itself.
    """
    named = {pair for step in steps if step.inline for pair in _pairs(step.source, resolver)}
    if not named:
        return steps
    asked = sorted(named)
    observed = resolver.engine.observe(
        Program(statements=tuple(_question(*pair, resolver) for pair in asked))
    ).observed
    meant = {asked[seen.index] for seen in observed if seen.raised is None}
    return tuple(
        replace(step, source=_rewritten(step.source, meant, resolver), mended=True)
        if step.inline and meant & set(_pairs(step.source, resolver))
        else step
        for step in steps
    )


def _question(owner: str, method: str, resolver: Resolver) -> str:
    """Return what runs without an exception when a method needs an object, and one can be made."""
    return "\n".join(
        [
            *resolver.known[owner],
            "import inspect",
            f"assert inspect.isclass({owner})",
            f"assert inspect.isfunction(inspect.getattr_static({owner}, {method!r}))",
            f"{owner}()",
        ]
    )


def _calls(tree: ast.AST, resolver: Resolver) -> Iterator[tuple[str, ast.Attribute]]:
    """Yield the calls in question: the class, and the attribute of it that is called."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and resolver.known.get(node.func.value.id)
            and (not node.args or is_literal(ast.unparse(node.args[0])))
        ):
            yield node.func.value.id, node.func


def _pairs(source: str, resolver: Resolver) -> list[tuple[str, str]]:
    return [(owner, node.attr) for owner, node in _calls(parse(source), resolver)]


def _rewritten(source: str, meant: set[tuple[str, str]], resolver: Resolver) -> str:
    """Return `source` with those calls on a new object."""
    tree = parse(source)
    for owner, node in list(_calls(tree, resolver)):
        if (owner, node.attr) in meant:
            node.value = ast.Call(func=node.value, args=[], keywords=[])
    return ast.unparse(tree)

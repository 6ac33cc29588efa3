"""Which names a piece of Python reads, binds and changes, and which it takes for known."""

from __future__ import annotations

import ast
import builtins
import dis
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from inspect import CO_OPTIMIZED
from types import CodeType

from pytest_brt.pysource.parse import IMPORTS, code_of, compiled, parse
from pytest_brt.types.note import value

#: Names that Python binds in a module, or has its code read, by itself.
_OWN = {"__file__", "__name__", "__doc__", "__annotations__", "__conditional_annotations__"}
_BUILTINS = frozenset(dir(builtins)) | _OWN
#: Names that the prompt of Python gives to the last result.
_RESULTS = frozenset({"_", "__"})
#: What code asks of a name that it takes for known: attributes, "__call__" where it is called.
Use = frozenset[str]
_READS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_NAME"})


def _flow(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a module reads without having bound them, and those that it binds."""
    read, later, bound = set[str](), set[str](), set[str]()

    def follow(code: CodeType, local: set[str], reads: set[str]) -> None:
        """Take in the names of some code in the order in which it runs."""
        for step in dis.get_instructions(code):
            inner = step.argval
            if isinstance(inner, CodeType):
                follow(inner, set(), later if inner.co_flags & CO_OPTIMIZED else reads)
            elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
                (local if step.opname == "STORE_NAME" else bound).add(inner)
            elif step.opname in _READS and inner not in local | bound:
                reads.add(inner)

    follow(compiled(source), bound, read)
    return frozenset(read | (later - bound)), frozenset(bound - _OWN)


def undefined_names(source: str) -> tuple[str, ...]:
    """Return the names that `source` reads without having bound them, sorted.

    With a star import in it, some of them may come from there.

    Raises:
        SyntaxError: `source` is not a module.
    """
    return tuple(sorted(_flow(source)[0] - _BUILTINS))


def bound_names(source: str) -> frozenset[str]:
    """Return the names that the module `source` binds at its top level, star imports left out.

    Raises:
        SyntaxError: `source` is not a module.
    """
    return _flow(source)[1]


@value
class Names:
    """The names of one statement at module level."""

    #: Read before being bound in the statement itself.
    reads: frozenset[str]
    bound: frozenset[str]
    #: Names whose object may be changed: `x.append(1)`, `y = x.pop()`, `x.a = 1`, `f(x)` alone.
    changed: frozenset[str]
    #: Modules imported with a star.
    stars: tuple[str, ...]

    @property
    def used(self) -> frozenset[str]:
        """The names that it reads, built-ins left out."""
        return self.reads - _BUILTINS - _RESULTS


def names_of(source: str) -> Names:
    """Return the names of a statement.

    Raises:
        SyntaxError: `source` is not a module.
    """
    tree = parse(source)
    reads, bound = _flow(source)
    stars = (
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and n.names[0].name == "*"
    )
    return Names(
        reads=reads - _OWN,
        bound=bound,
        changed=frozenset(_changed(tree)) - {""},
        stars=tuple("." * node.level + (node.module or "") for node in stars),
    )


def _changed(tree: ast.Module) -> Iterator[str]:
    """Yield the names whose objects may be changed: parts set, methods called, given away."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(
            part.ctx, ast.Load
        ):
            yield _root(part)
        elif isinstance(part, ast.Expr | ast.Assign | ast.AnnAssign):
            for call in ast.walk(part):
                if isinstance(call, ast.Call):
                    if isinstance(call.func, ast.Attribute):
                        yield _root(call.func)
                    if isinstance(part, ast.Expr):
                        yield from (
                            one.id for one in call.args if isinstance(one, ast.Name)
                        )


def _root(node: ast.AST) -> str:
    """Return the name that an attribute, subscript or call chain starts from, or ""."""
    begin = re.match(r"[^\W\d]\w*\b(?![\"'])", code_of(node))
    return begin[0] if begin else ""


def uses_in(source: str) -> Mapping[str, Use]:
    """Return what some code does with each name that it calls or asks something of.

    >>> uses_in("f(x.y)") == {"f": {"__call__"}, "x": {"y"}}
    True

    Raises:
        SyntaxError: `source` is not Python.
    """
    uses: defaultdict[str, set[str]] = defaultdict(set)
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses[node.value.id].add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            uses[node.func.id].add("__call__")
    return {name: frozenset(asked) for name, asked in uses.items()}


def needed(
    sources: Sequence[str], last: int, wanted: frozenset[str] = frozenset()
) -> list[int]:
    """Return the indices of the statements before `last` that its names depend on, in order.

    `wanted` are further names the result must provide. An assignment is followed only
    backwards; a call on an object, or an assignment to a part of it, belongs to the object.
    """
    *every, asked = [names_of(source) for source in sources[: last + 1]]
    imports = [
        n.bound for n, s in zip(every, sources, strict=False) if s.startswith(IMPORTS)
    ]
    imported = frozenset[str]().union(*imports)
    need = asked.reads | wanted
    chosen: list[int] = []
    for index, names in reversed([*enumerate(every)]):
        # What an imported name stands for is not made by what is done with it.
        if need & names.bound or need & names.changed - imported:
            chosen.insert(0, index)
            need = (need - names.bound) | names.reads
    return chosen

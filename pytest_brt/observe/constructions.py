"""What the project's own files say about objects: how they are made, whose a method is."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeGuard

from pytest_brt.execute.subject import Subject
from pytest_brt.observe.project import is_test_path, module_name, project_files
from pytest_brt.reading.mend import parses
from pytest_brt.reading.mentions import is_literal
from pytest_brt.reading.names import names_of
from pytest_brt.syntax import parse

#: Most usual ways that are kept of each name.
_MOST = 3
#: What a method is called on, at the end of what stands before it.
_RECEIVER = re.compile(rb"(?<![\w.)\]])(?:self\.)?(?P<on>[A-Za-z_][\w.]*(?:\([^()\n]{0,80}\))?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """A way to make the object that a name of a report is, or is a method of."""

    name: str
    #: Makes the object, of nothing but literals.
    value: str
    #: For a method, its class and the module of that.
    module: str = ""
    owner: str = ""

    @property
    def line(self) -> str:
        """Return the statement that binds the name."""
        return f"{self.name} = {self.value}" + (f".{self.name}" if self.owner else "")

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the names that the statement uses."""
        return tuple(sorted(names_of(self.value).used))

    @property
    def own_import(self) -> tuple[str, ...]:
        """Return the import of the class, where the statement needs nothing else."""
        return (f"from {self.module} import {self.owner}",) if self.needs == (self.owner,) else ()

    @property
    def check(self) -> str:
        """Return what must hold, "" for nothing: the object is of the class of the method."""
        if not self.owner:
            return ""
        return f"import {self.module}\nassert isinstance({self.value}, {self.module}.{self.owner})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """What is known of some names; expressions make a value of nothing but literals."""

    #: variable → what tests and documentation make it with, most usual first.
    made: dict[str, tuple[str, ...]]
    #: Variables that are made in the first of these ways at least every other time.
    settled: frozenset[str]
    #: method → module and class, where it is of one class only and no function has its name.
    methods: dict[str, tuple[str, str]]
    #: method → what tests and documentation call it on, most usual first.
    receivers: dict[str, tuple[str, ...]]


@dataclass(slots=True)
class _Found:
    made: Counter[str] = field(default_factory=Counter)
    assigned: int = 0
    receivers: Counter[str] = field(default_factory=Counter)
    #: Module and class of each definition; class "" for what is no method of a class.
    owners: set[tuple[str, str]] = field(default_factory=set)


def find_makings(
    subject: Subject, names: Iterable[str], called: Collection[str]
) -> tuple[Making, ...]:
    """Return ways to make objects for `names`, the likely ones of each first.

    Args:
        subject: the project.
        names: what a report uses without telling what it is.
        called: those of them that it only calls: they may be methods. The object is then what
            the project's tests call the method on, else the class made without arguments.
    """
    objects = find_objects(subject, names, called)
    methods = {name: at for name, at in objects.methods.items() if name in called}
    found = [
        Making(name=name, value=values[0])
        for name, values in objects.made.items()
        if name in objects.settled and name not in methods
    ]
    variables = {on for name in methods for on in objects.receivers[name] if on.isidentifier()}
    bound = find_objects(subject, variables).made
    for name, (module, owner) in methods.items():
        values = [
            value
            for on in objects.receivers[name]
            for value in ((on,) if is_construction(on) else bound.get(on, ()))
        ]
        for value in dict.fromkeys([*values, f"{owner}()"]):
            found.append(Making(name=name, value=value, module=module, owner=owner))
    return tuple(found)


def find_objects(subject: Subject, names: Iterable[str], called: Collection[str] = ()) -> Objects:
    """Look for `names` as variables, and for those `called` as methods, in the project's files."""
    found = {name: _Found() for name in sorted(set(names)) if name.isidentifier()}
    methods = _choice(set(found) & set(called))
    definition = re.compile(rb"^[ \t]*(?:async )?def (" + methods + rb")\(", re.MULTILINE)
    use = re.compile(rb"\.(" + methods + rb")\(")
    assignment = re.compile(
        rb"^[ \t]*(?P<prompt>>>> )?(?:self\.)?(?P<name>" + _choice(found) + rb") = "
        rb"(?P<value>[^\n]{1,120})$",
        re.MULTILINE,
    )
    for path, data in project_files(subject) if found else ():
        source = path.endswith(".py") and not is_test_path(path)
        if source and methods:
            defined = {match[1].decode() for match in definition.finditer(data)}
            module = module_name(path, subject)
            if module and any(len(found[name].owners) < 2 for name in defined):
                _note_owners(found, module, data.decode("utf-8", "replace"))
        for match in assignment.finditer(data):
            if not source or match["prompt"]:
                _note_assignment(found[match["name"].decode()], match["value"])
        for match in use.finditer(data) if methods and not source else ():
            before = _RECEIVER.search(data[max(match.start() - 100, 0) : match.start()])
            if before:
                found[match[1].decode()].receivers[before["on"].decode("utf-8", "replace")] += 1
    return Objects(
        made={name: _most(one.made) for name, one in found.items() if one.made},
        settled=frozenset(name for name, one in found.items() if _is_settled(one)),
        methods={
            name: next(iter(one.owners))
            for name, one in found.items()
            if len(one.owners) == 1 and all(owner for _, owner in one.owners)
        },
        receivers={name: _most(one.receivers) for name, one in found.items()},
    )


def _most(counted: Counter[str]) -> tuple[str, ...]:
    return tuple(text for text, _ in counted.most_common(_MOST))


def _is_settled(one: _Found) -> bool:
    return any(count * 2 >= one.assigned for _, count in one.made.most_common(1))


def _choice(names: Iterable[str]) -> bytes:
    return "|".join(map(re.escape, sorted(names))).encode()


def _note_assignment(one: _Found, value: bytes) -> None:
    """Note what is assigned to a variable, if it is made of literals."""
    one.assigned += 1
    text = value.decode("utf-8", "replace").split("  #")[0].strip()
    if is_construction(text):
        one.made[text] += 1


def _note_owners(found: dict[str, _Found], module: str, text: str) -> None:
    """Note which classes of a module have a method with one of the names."""
    if not parses(text):
        return
    tree = parse(text)
    methods: set[int] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for child in node.body:
                if _is_definition(child) and not _is_property(child):
                    methods.add(id(child))
                    if child.name in found:
                        found[child.name].owners.add((module, node.name))
    for other in ast.walk(tree):
        if _is_definition(other) and other.name in found and id(other) not in methods:
            found[other.name].owners.add((module, ""))


def _is_definition(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether it is read and written, not called: `@property`, `@size.setter`."""
    names = [ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list]
    return any(name.endswith(("property", ".setter", ".getter", ".deleter")) for name in names)


def is_construction(text: str) -> bool:
    """Say whether `text` makes a value from literals alone: `pkg.open()`, `Name(3, big=True)`."""
    body = parse(text).body if parses(text) else []
    node = body[0] if len(body) == 1 else None
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    maker: ast.expr = node.value.func
    while isinstance(maker, ast.Attribute):
        maker = maker.value
    given = [*node.value.args, *(keyword.value for keyword in node.value.keywords)]
    named = isinstance(maker, ast.Name) and all(word.arg for word in node.value.keywords)
    return named and all(is_literal(ast.unparse(value)) for value in given)

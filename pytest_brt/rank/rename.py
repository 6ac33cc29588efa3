"""Other names for what a test defines itself: what the project does must not depend on them."""

from __future__ import annotations

import ast
import builtins
import copy
import keyword
import re
import string
from collections.abc import Iterator

#: New names of one name.
NEW_NAMES = 2
#: Bases that bring no names which a class is likely to override.
_PLAIN_BASES = frozenset(
    ("object", "ABC", "Enum", "IntEnum", "StrEnum", "Flag", "NamedTuple", "TypedDict")
)
#: How names begin that pytest looks for.
_FOUND = ("test", "Test", "pytest_", "setup", "teardown", "__")
_WORD = re.compile(r"[^\W\d]\w*")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def own_names(tree: ast.Module, test: ast.FunctionDef) -> tuple[str, ...]:
    """Return the names that the code of a test gives itself: definitions, fields, parameters.

    Left out is what may mean something to others: imported names, built-ins, fixtures, what pytest
    looks for, and what a class defines whose base comes from elsewhere, for that may be meant to
    override something; the annotated fields of such a class are data. So may a method be that
    nothing in the test calls.
    """
    seen = _Definitions(tree, test)
    seen.visit(tree)
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    members = [name for name in seen.members if name in used]
    given = {*_parameters(test), *_imported(tree), *dir(builtins), "self", "cls", test.name}
    return tuple(
        name
        for name in dict.fromkeys([*seen.definitions, *members, *seen.parameters])
        if name not in given and not name.startswith(_FOUND) and name.strip("_")
    )


class _Definitions(ast.NodeVisitor):
    """Gathers what a module defines, apart from its test."""

    def __init__(self, tree: ast.Module, test: ast.FunctionDef) -> None:
        self.definitions: list[str] = []
        #: Of classes without a foreign base.
        self.members: list[str] = []
        self.parameters: list[str] = []
        self._test = test
        self._own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        #: The classes around the place, and whether they have a foreign base; None in a function.
        self._within: list[bool | None] = [None]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Take its name and its fields."""
        self.definitions.append(node.name)
        names = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        is_foreign = bool(node.keywords) or not names <= (self._own | _PLAIN_BASES)
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self.definitions.append(statement.target.id)
            elif isinstance(statement, ast.Assign) and not is_foreign:
                self.members += [t.id for t in statement.targets if isinstance(t, ast.Name)]
        self._enter(node, within=is_foreign)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Take its name and its parameters."""
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Take its name and its parameters."""
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Take its parameters."""
        self.parameters += _parameters(node)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Take what a method of a plain class sets on `self`."""
        of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        if of_self and isinstance(node.ctx, ast.Store) and True not in self._within:
            self.members.append(node.attr)
        self.generic_visit(node)

    def _function(self, node: _Function) -> None:
        within = self._within[-1]
        if node is not self._test and within is not True and not _is_fixture(node):
            (self.definitions if within is None else self.members).append(node.name)
            self.parameters += _parameters(node)
        self._enter(node, within=None)

    def _enter(self, node: ast.AST, *, within: bool | None) -> None:
        self._within.append(within)
        self.generic_visit(node)
        self._within.pop()


def renamed(tree: ast.Module, old: str, new: str) -> ast.Module:
    """Return the module with a name replaced wherever it stands, in texts as a word too.

    Attributes of imported modules and keyword arguments of built-ins are not the test's.
    """
    tree = copy.deepcopy(tree)
    kept = set(_of_others(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = words_with(node.value, old, new)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [new if name == old else name for name in node.names]
        elif node not in kept:
            for field in ("id", "attr", "arg", "name"):
                if getattr(node, field, None) == old:
                    setattr(node, field, new)
    return tree


def _of_others(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the attributes of imported modules and the keyword arguments of built-ins."""
    imported, known = set(_imported(tree)), set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _root(node) in imported:
            yield node
        elif isinstance(node, ast.Call) and _root(node.func) in known:
            yield from node.keywords


def new_names(name: str, source: str) -> tuple[str, ...]:
    """Return names for what `name` names in `source`: like it, and sorted like it among others.

    >>> new_names("load", "class A: load: int"), new_names("a", "def f(a, b): a + b")
    (('loae', 'loaf'), ('aa', 'ab'))
    """
    words = sorted({*_WORD.findall(source), name})
    at = words.index(name)
    before, after = words[at - 1 : at], words[at + 1 : at + 2]
    taken = {*words, *keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
    found = (
        other
        for other in _like(name)
        if other not in taken and sorted((*before, other, *after)) == [*before, other, *after]
    )
    return tuple(other for other, _ in zip(found, range(NEW_NAMES), strict=False))


def words_with(text: str, old: str, new: str) -> str:
    """Return `text` with the word `old` replaced by `new`."""
    return re.sub(rf"\b{re.escape(old)}\b", new, text)


def _like(name: str) -> Iterator[str]:
    """Yield names of the same length, then longer ones."""
    last = name[-1]
    for letters in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        if last in letters:
            following = letters.index(last) + 1
            yield from (name[:-1] + letter for letter in letters[following:])
    yield from (name + letter for letter in string.ascii_lowercase)


def _is_fixture(node: _Function) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)


def _parameters(node: _Function | ast.Lambda) -> list[str]:
    given = node.args
    extra = [argument for argument in (given.vararg, given.kwarg) if argument]
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *extra)]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield from (*alias.name.split("."), alias.asname or alias.name)
            if isinstance(node, ast.ImportFrom) and node.module:
                yield from node.module.split(".")


def _root(node: ast.expr) -> str:
    """Return the name that a chain of attributes starts with; or ""."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""

"""What an index has of a tree, as values: definitions, imports, passages, names of modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Where a name is defined."""

    path: str
    #: Dotted name under which `path` is imported.
    module: str
    name: str
    #: Within the module, as in "Thing.walk".
    qualname: str
    kind: DefinitionKind
    #: 1-based, from the first decorator to the last line.
    line: int
    end_line: int
    #: As written: "(self, x=1) -> int", "(Base)" or "".
    signature: str

    @property
    def top(self) -> bool:
        """Whether the module itself has the name."""
        return "." not in self.qualname


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A name that a file imports."""

    path: str
    #: Absolute name of the module.
    module: str
    #: What is taken from it: "" for the module itself, "*" for all.
    name: str
    #: The name it has in the file.
    bound: str
    line: int
    #: Whether it stands outside of functions and classes.
    top: bool

    @property
    def statement(self) -> str:
        """The import as a statement of its own."""
        return import_statement(self.module, self.name, self.bound)


def import_statement(module: str, name: str, bound: str) -> str:
    """Return the statement that binds `bound`.

    >>> import_statement("a.b", "", "a"), import_statement("a", "b", "c")
    ('import a.b', 'from a import b as c')
    """
    if not name:
        plain = bound == module.partition(".")[0]
        return f"import {module}" if plain else f"import {module} as {bound}"
    return f"from {module} import {name}" + ("" if bound == name else f" as {bound}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of code that is found by its terms: a function, or what is outside of them."""

    path: str
    #: Qualified name of the function, or of the class that it is the rest of; "" for what is
    #: left of the module.
    function: str
    #: 1-based, inclusive; (1, 0) for what is left of the module.
    line: int
    end_line: int
    is_class: bool
    #: How many terms it has.
    size: int

    def holds(self, line: int) -> bool:
        """Return whether `line` is one of its span."""
        return self.line <= line <= self.end_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """The names that a module of the project has."""

    names: frozenset[str]
    #: Those that ``from module import *`` takes.
    public: frozenset[str]
    #: False when it may have more: a star import from elsewhere, or names made at run time.
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """What one file binds outside of functions and classes."""

    #: The names it defines.
    defined: frozenset[str]
    imports: tuple[Import, ...]
    #: The names in ``__all__``; None when there is none, or it is not written out.
    listed: frozenset[str] | None
    #: Names may appear in it that are written nowhere.
    dynamic: bool


class ExportTable:
    """Finds the names of modules, and remembers them."""

    def __init__(self, layout: Layout, read: Callable[[str], Bindings]) -> None:
        """Take what a file of the project binds from `read`."""
        self._layout = layout
        self._read = read
        self._known: dict[str, Exports] = {}

    def of(self, module: str) -> Exports:
        """Return the names that ``from module import name`` finds, submodules included.

        An unknown module has none, and is not complete.
        """
        if module not in self._known:
            self._known[module] = self._find(module, frozenset())
        return self._known[module]

    def _find(self, module: str, seen: frozenset[str]) -> Exports:
        path = self._layout.path_of(module)
        inner = submodules(module, self._layout)
        if path is None:
            return Exports(names=inner, public=frozenset(), complete=bool(inner))
        bindings = self._read(path)
        names = set(bindings.defined)
        complete = not bindings.dynamic
        for item in bindings.imports:
            if item.bound != "*":
                names.add(item.bound)
            elif item.module in seen or item.module == module:
                continue
            elif self._layout.path_of(item.module):
                starred = self._find(item.module, seen | {module})
                names.update(starred.public)
                complete = complete and starred.complete
            else:
                complete = False
        public = bindings.listed
        if public is None:
            public = frozenset(name for name in names if name[:1] != "_")
        below = inner if path.endswith("__init__.py") else frozenset()
        return Exports(names=frozenset(names) | below | _GIVEN, public=public, complete=complete)


def submodules(module: str, layout: Layout) -> frozenset[str]:
    """Return the simple names of the modules and packages right below `module`."""
    inner = module.replace(".", "/") + "/"
    found = set()
    for root in layout.roots:
        prefix = f"{root}/{inner}" if root else inner
        for file in layout.files:
            if file.startswith(prefix):
                found.add(file[len(prefix) :].partition("/")[0].removesuffix(".py"))
    return frozenset(found - {"__init__"})


#: What every module has.
_GIVEN = frozenset(
    {"__name__", "__file__", "__doc__", "__path__", "__all__", "__dict__", "__package__"}
)

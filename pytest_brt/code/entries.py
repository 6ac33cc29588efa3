"""What an index has of a tree, as values: definitions, imports, passages."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.code.facts import DefinitionKind


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

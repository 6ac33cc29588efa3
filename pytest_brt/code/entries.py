"""What an index has of a tree, as values: definitions, imports, files found by words."""

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
class FoundFile:
    """A file found by words."""

    path: str
    #: BM25, larger is better; comparable within one answer.
    score: float

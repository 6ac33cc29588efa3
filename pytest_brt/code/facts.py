"""What is known of one Python file from its text, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DefinitionKind(StrEnum):
    """What a name is bound to by its definition."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDefinition:
    """A definition as its own file tells it."""

    name: str
    #: With the names around it, as in "Thing.walk" or "outer.inner".
    qualname: str
    kind: DefinitionKind
    #: 1-based, from the first decorator to the last line.
    line: int
    end_line: int
    #: As written, on one line: "(self, x=1) -> int", "(Base)" or "".
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalImport:
    """One name bound by an import statement."""

    #: As written; relative ones start with dots.
    module: str
    #: What is taken from the module: "" for ``import module``, "*" for all.
    name: str
    #: The name it gets in the file; "*" for all.
    bound: str
    line: int
    #: Whether it stands outside of functions and classes.
    top: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is known about one file."""

    definitions: tuple[LocalDefinition, ...]
    imports: tuple[LocalImport, ...]
    #: The names in ``__all__``; None when there is none, or it is not written out.
    public: tuple[str, ...] | None
    #: Names may appear in the module that are written nowhere in it.
    dynamic: bool
    #: False when the file is not Python for us and patterns were used instead.
    parsed: bool

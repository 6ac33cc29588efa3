"""The names that the modules of a project have, for ``from module import name``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_brt.code.facts import Facts
from pytest_brt.code.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """The names that a module of the project has."""

    names: frozenset[str]
    #: Those that ``from module import *`` takes.
    public: frozenset[str]
    #: False when it may have more: a star import from elsewhere, or names made at run time.
    complete: bool


class ExportTable:
    """Finds the names of modules, and remembers them."""

    def __init__(self, layout: Layout, read: Callable[[str], Facts]) -> None:
        """Take the facts of a file of the project, by its path, from `read`."""
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
        facts = self._read(path)
        names = {one.name for one in facts.definitions if one.top}
        complete = not facts.dynamic
        for item in facts.imports:
            if not item.top:
                continue
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
        public = facts.public
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

"""The names that a module of a project offers to those that import it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_brt.code.file_facts import FileFacts
from pytest_brt.code.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """The names that a module of the project has."""

    names: frozenset[str]
    #: Those that ``from module import *`` takes.
    public: frozenset[str]
    #: False when it may have more: a star import from elsewhere, or names made at run time.
    complete: bool


def find_exports(
    module: str,
    layout: Layout,
    read: Callable[[str], FileFacts],
    seen: frozenset[str] = frozenset(),
) -> Exports:
    """Return the names that ``from module import name`` finds, submodules included.

    `read` gives the facts of a file by its path. An unknown module has no names, and is not
    complete. Star imports of the modules `seen` are not followed again.
    """
    path = layout.path_of(module)
    inner = submodules(module, layout)
    if path is None:
        return Exports(names=inner, public=frozenset(), complete=bool(inner))
    facts = read(path)
    names = {one.name for one in facts.definitions if one.top}
    complete = not facts.dynamic
    for item in (item for item in facts.imports if item.top):
        if item.bound != "*":
            names.add(item.bound)
        elif item.module in seen or item.module == module:
            continue
        elif layout.path_of(item.module):
            starred = find_exports(item.module, layout, read, seen | {module})
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

"""Names that a report does not define → the statements that bind them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_brt.code.scope import names_of
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.observation import Program
from pytest_brt.observe.project import Bindings, find_bindings, main_packages

#: Modules whose names people use without saying where they are from.
_COMMON = (
    "math", "os", "re", "io", "sys", "json", "collections", "datetime", "decimal", "fractions",
    "functools", "itertools", "pathlib", "textwrap", "typing", "dataclasses", "enum", "string",
    "tempfile", "subprocess", "operator", "copy", "time", "random", "contextlib", "uuid",
)  # fmt: skip


@dataclass(slots=True)
class Resolver:
    """Finds out, by trying it in the subject, how each unknown name is to be imported."""

    engine: Engine
    #: Modules that the report imports with a star; they come first.
    stars: tuple[str, ...] = ()
    #: Import statements that the report itself contains, by the name they bind.
    own: dict[str, str] = field(default_factory=dict)
    #: name → statements that bind it, () when nothing does.
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def resolve(self, names: Iterable[str]) -> None:
        """Fill `known` for `names`, cheap ways first; those asked before are not tried again."""
        unknown = sorted(set(names) - set(self.known))
        self._try({name: self._near(name) for name in unknown})
        rest = [name for name in unknown if name not in self.known]
        if rest:
            bindings = find_bindings(self.engine.subject, rest)
            self._try({name: self._far(name, bindings) for name in rest})
        for name in unknown:
            self.known.setdefault(name, ())

    def imports_for(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the statements that bind `names`, as far as they are known, without doubles."""
        found: dict[str, None] = {}
        for name in sorted(names):
            for statement in self.known.get(name, ()):
                found.setdefault(statement)
        return tuple(found)

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of `names` that nothing binds."""
        return tuple(sorted(name for name in names if not self.known.get(name)))

    def _near(self, name: str) -> list[tuple[str, ...]]:
        """Ways that cost nothing to think of: the report's own, the package, its exports."""
        packages = main_packages(self.engine.subject)
        ways: list[tuple[str, ...]] = []
        if name in self.own:
            ways.append((self.own[name],))
        if name in packages:
            ways.append((f"import {name}",))
        ways += [(f"from {module} import {name}",) for module in self.stars if module]
        ways += [(f"from {package} import {name}",) for package in packages]
        return ways

    def _far(self, name: str, bindings: Bindings) -> list[tuple[str, ...]]:
        """Ways found in the project's files, then those of the standard library."""
        usual = bindings.usual.get(name, ())
        imports = [way for way in usual if way.startswith(("from ", "import "))]
        ways: list[tuple[str, ...]] = [(way,) for way in imports[:3]]
        modules = bindings.defined.get(name, ())
        if len(modules) == 1 or (modules and len(name) > 2):
            ways += [(f"from {module} import {name}",) for module in modules[:2]]
        for way in usual[:3]:
            if way not in imports:
                ways += self._assignments(way)
        if name in sys.stdlib_module_names:
            ways.append((f"import {name}",))
        ways += [(f"from {m} import {name}",) for m in _COMMON if len(name) > 1 and _has(m, name)]
        return ways

    def _assignments(self, way: str) -> list[tuple[str, ...]]:
        """An assignment from the project's docs, with the import that it needs itself."""
        used = sorted(names_of(way).used)
        if len(used) != 1:
            return []
        packages = main_packages(self.engine.subject)
        return [(f"from {package} import {used[0]}", way) for package in packages]

    def _try(self, ways: Mapping[str, list[tuple[str, ...]]]) -> None:
        """Run every way of binding and keep the first that works."""
        flat = [(name, way) for name, choices in ways.items() for way in choices]
        if not flat:
            return
        statements = tuple("\n".join(way) for _, way in flat)
        seen = self.engine.observe(Program(statements=statements)).observed
        for observed in seen:
            name, way = flat[observed.index]
            if observed.raised is None and name not in self.known:
                self.known[name] = way


def _has(module: str, name: str) -> bool:
    """Say whether a module of the standard library has `name` among its public names."""
    from importlib import import_module

    return name in getattr(import_module(module), "__all__", ()) or (
        module in ("datetime", "math") and hasattr(import_module(module), name)
    )

"""Finds out how the names that a report takes for known are to be imported: by trying it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pytest_brt.execute.engine import Engine, Program
from pytest_brt.observe.project import Mentions, find_mentions, main_packages
from pytest_brt.project.imports import import_candidates, project_candidates, standard_candidates
from pytest_brt.pysource.names import Use

#: Modules that define a name and are tried, and letters that a name has to have for that.
_MOST_MODULES, _TELLING = 2, 3


@dataclass(slots=True)
class Resolver:
    """Finds out, by trying it in the subject, how each unknown name is to be imported."""

    engine: Engine
    #: Modules that the report imports with a star; they come first.
    stars: tuple[str, ...] = ()
    #: Import statements that the report itself contains, by the name they bind.
    own: dict[str, str] = field(default_factory=dict)
    #: What the report does with names.
    uses: Mapping[str, Use] = field(default_factory=dict)
    #: name → statement that imports it, "" when nothing has it.
    known: dict[str, str] = field(default_factory=dict)

    def resolve(self, names: Iterable[str]) -> None:
        """Fill `known` for `names`, cheap ways first; those asked before are not tried again."""
        unknown = sorted(set(names) - set(self.known))
        self._try({name: self._near(name) for name in unknown})
        rest = [name for name in unknown if name not in self.known]
        if rest:
            parts = {part for name in rest for part in self._use(name).attributes}
            found = find_mentions(self.engine.subject, {*rest, *parts})
            self._try({name: self._far(name, found) for name in rest})
        for name in unknown:
            self.known.setdefault(name, "")

    def works(self, way: str) -> bool:
        """Say whether an import statement can be run."""
        observed = self.engine.observe(Program(statements=(way,))).observed
        return bool(observed) and observed[0].raised is None

    def imports_for(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the statements that import `names`, as far as they are known, without doubles."""
        found = dict.fromkeys(self.known.get(name, "") for name in sorted(names))
        return tuple(filter(None, found))

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of `names` that nothing has."""
        return tuple(sorted(name for name in names if not self.known.get(name)))

    def _near(self, name: str) -> Iterator[str]:
        """Yield the report's own import of a name, and what its packages may have."""
        if name in self.own:
            yield self.own[name]
        packages = main_packages(self.engine.subject)
        offering = [*filter(None, self.stars), *packages]
        yield from import_candidates(name, packages, offering, self._use(name))

    def _use(self, name: str) -> Use:
        return self.uses.get(name, Use())

    def _far(self, name: str, found: Mapping[str, Mentions]) -> Iterator[str]:
        """Yield how the project's files import a name, and the standard library.

        What a class is asked of may be the one module that has it, under another name.
        """
        if mentions := found.get(name):
            yield from project_candidates(name, mentions.defining, mentions.imports)
            # A short name that several define says nothing.
            several = mentions.defining[:_MOST_MODULES] if len(name) >= _TELLING else ()
            yield from (f"from {module} import {name}" for module in several)
        use = self._use(name)
        yield from standard_candidates(name, use)
        homes = (found[part].defining for part in use.attributes if part[0].isupper())
        yield from (f"import {home[0]} as {name}" for home in homes if len(home) == 1)

    def _try(self, ways: Mapping[str, Iterable[str]]) -> None:
        """Run every way of importing and keep the first that works."""
        flat = [(name, way) for name, choices in ways.items() for way in choices]
        if not flat:
            return
        program = Program(statements=tuple(way for _, way in flat))
        for observed in self.engine.observe(program).observed:
            name, way = flat[observed.index]
            if observed.raised is None and name not in self.known:
                self.known[name] = way

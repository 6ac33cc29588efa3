"""How the names are imported that a report takes for known: proposed, and tried in the project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from pytest_brt.project.imports import project_imports, standard_imports
from pytest_brt.project.index import Index, open_index
from pytest_brt.pysource.names import Use
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements


class ImportResolver:
    """Knows how names are imported: those that were asked for, by trying it in the project."""

    def __init__(
        self,
        engine: Runner,
        cache: Path | None,
        own: Mapping[str, str],
        stars: Iterable[str],
        uses: Mapping[str, Use],
    ) -> None:
        self.engine, self._cache = engine, cache
        #: The report's imports by the name they bind, the modules that it imports with a star, and
        #: what it does with names.
        self._own, self._stars, self._uses = own, tuple(stars), uses
        #: The statement that imports a name, "" where none does.
        self.known: dict[str, str] = {}

    @cached_property
    def index(self) -> Index:
        """The project's index, closed: nothing is searched in it."""
        with open_index(Path(self.engine.subject.root), self._cache) as index:
            return index

    def resolve(self, names: Iterable[str]) -> None:
        """Find out how `names` are imported, without those that were asked for before."""
        unknown = sorted(set(names) - set(self.known))
        if not unknown:
            return
        # All are tried in one program; of each name the first that works is kept.
        ways = [(name, way) for name in unknown for way in self._ways(name)]
        program = Script(statements=tuple(way for _, way in ways))
        for observed in run_statements(self.engine, program).observed:
            if observed.raised is None:
                self.known.setdefault(*ways[observed.index])
        self.known = {**dict.fromkeys(unknown, ""), **self.known}

    def imports_for(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the statements that import `names`, as far as they are known, each once."""
        statements = (self.known.get(name, "") for name in sorted(names))
        return tuple(dict.fromkeys(filter(None, statements)))

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of `names` that nothing has."""
        return tuple(sorted(name for name in names if not self.known.get(name)))

    def _ways(self, name: str) -> Iterator[str]:
        """Yield the report's own import of a name, what the project has, and other packages.

        What a class is asked of may be the one module that has it, under another name.
        """
        if name in self._own:
            yield self._own[name]
        use, index, layout = self._uses.get(name, Use()), self.index, self.index.layout
        offering = [*self._stars, *index.packages]
        yield from project_imports(name, index, offering=offering, use=use)
        yield from standard_imports(name, use)
        for part in sorted(use):
            home = index.unique_definition(part) if part[0].isupper() else None
            if home:
                yield f"import {layout.module_of(home.path)} as {name}"

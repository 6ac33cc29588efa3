"""How the names are imported that a report takes for known: proposed, and tried in the project."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.project.definitions import read_facts
from pytest_brt.project.imports import import_candidates, project_candidates, standard_candidates
from pytest_brt.project.layout import is_test_path, is_vendored, module_names, scan_tree
from pytest_brt.pysource.names import Use
from pytest_brt.pysource.parse import parses
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.types import Subject

#: Files that are searched, nearest to the root first, and bytes of one: larger ones are data.
_FILES, _BYTES = 4000, 600_000
#: Modules that define a name, and ways in which tests import it, that are tried; and letters that a
#: name has where more modules than one define it.
_MODULES, _USUAL, _LETTERS = 2, 3, 3


@dataclass(slots=True)
class ImportResolver:
    """Knows how names are imported: those that were asked for, by trying it in the project."""

    engine: Runner
    #: Modules that the report imports with a star; they come first.
    stars: tuple[str, ...] = ()
    #: The report's own imports, by the name they bind.
    own: Mapping[str, str] = field(default_factory=dict)
    #: What the report does with names.
    uses: Mapping[str, Use] = field(default_factory=dict)
    #: The statement that imports a name, "" where none does.
    known: dict[str, str] = field(default_factory=dict)

    def resolve(self, names: Iterable[str]) -> None:
        """Find out how `names` are imported, without those that were asked for before."""
        unknown = sorted(set(names) - set(self.known))
        self._try({name: self._cheap(name) for name in unknown})
        rest = [name for name in unknown if name not in self.known]
        if rest:
            parts = {part for name in rest for part in self._use(name).attributes}
            search = search_project(self.engine.subject, {*rest, *parts})
            self._try({name: self._searched(name, search) for name in rest})
        for name in unknown:
            self.known.setdefault(name, "")

    def works(self, statement: str) -> bool:
        """Say whether an import statement can be run."""
        observed = run_statements(self.engine, Script(statements=(statement,))).observed
        return bool(observed) and observed[0].raised is None

    def imports_for(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the statements that import `names`, as far as they are known, each once."""
        statements = (self.known.get(name, "") for name in sorted(names))
        return tuple(dict.fromkeys(filter(None, statements)))

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of `names` that nothing has."""
        return tuple(sorted(name for name in names if not self.known.get(name)))

    def _use(self, name: str) -> Use:
        return self.uses.get(name, Use())

    def _cheap(self, name: str) -> Iterator[str]:
        """Yield the report's own import of a name, and what its packages may have."""
        if name in self.own:
            yield self.own[name]
        packages = main_packages(self.engine.subject)
        yield from import_candidates(
            name, packages, [*filter(None, self.stars), *packages], self._use(name)
        )

    def _searched(self, name: str, search: Search) -> Iterator[str]:
        """Yield how the project's files import a name, and the standard library.

        What a class is asked of may be the one module that has it, under another name.
        """
        defining = search.modules(name)
        yield from project_candidates(name, defining, search.usual(name))
        several = defining[:_MODULES] if len(name) >= _LETTERS else ()
        yield from (f"from {module} import {name}" for module in several)
        use = self._use(name)
        yield from standard_candidates(name, use)
        homes = (search.modules(part) for part in use.attributes if part[0].isupper())
        yield from (f"import {home[0]} as {name}" for home in homes if len(home) == 1)

    def _try(self, proposals: Mapping[str, Iterable[str]]) -> None:
        """Run every proposal, in one program, and keep the first that works for each name."""
        flat = [(name, statement) for name, several in proposals.items() for statement in several]
        if not flat:
            return
        program = Script(statements=tuple(statement for _, statement in flat))
        for observed in run_statements(self.engine, program).observed:
            name, statement = flat[observed.index]
            if observed.raised is None:
                self.known.setdefault(name, statement)


def main_packages(subject: Subject) -> tuple[str, ...]:
    """Return the project's packages; its lone modules only when it has no package.

    A module beside the packages is mostly a script, and importing it would run it.
    """
    roots = [Path(subject.root, root) for root in subject.source_roots]
    packages = (name for name in subject.packages if any((root / name).is_dir() for root in roots))
    return tuple(packages) or subject.packages


@dataclass(slots=True)
class Search:
    """Where the project's files have some names."""

    #: Modules that define each name at top level.
    defining: dict[str, set[str]] = field(default_factory=dict)
    #: How tests and docstrings import each name, and how often.
    imports: dict[str, Counter[str]] = field(default_factory=dict)

    def modules(self, name: str) -> tuple[str, ...]:
        """Return the modules that define a name, the shortest first."""
        known = self.defining.get(name, ())
        return tuple(sorted(known, key=lambda module: (module.count("."), len(module), module)))

    def usual(self, name: str) -> tuple[str, ...]:
        """Return how a name is imported, the most usual way first."""
        counts = self.imports.get(name, Counter())
        return tuple(statement for statement, _ in counts.most_common(_USUAL))


def search_project(subject: Subject, names: Iterable[str]) -> Search:
    """Return where the project's Python files define and import each of `names`."""
    search = Search()
    wanted = sorted({name for name in names if name.isidentifier()})
    choice = "|".join(map(re.escape, wanted)).encode()
    definition = re.compile(
        rb"^(?:class|def|async def)[ ]+(" + choice + rb")\b|^(" + choice + rb")[ ]*(?::[^=\n]+)?=",
        re.MULTILINE,
    )
    binding = re.compile(
        rb"^[ \t]*(>>> )?((?:from [\w.]+ )?import [^\n#]*\b(?:" + choice + rb")\b[^\n#]*)$",
        re.MULTILINE,
    )
    for path, data in _python_files(subject) if wanted else ():
        is_test = is_test_path(path)
        module = "" if is_test else _module_name(path, subject)
        for match in definition.finditer(data) if module else ():
            search.defining.setdefault((match[1] or match[2]).decode(), set()).add(module)
        for match in binding.finditer(data):
            if is_test or match[1]:
                _count_import(match[2].decode("utf-8", "replace"), wanted, search)
    return search


def _python_files(subject: Subject) -> Iterator[tuple[str, bytes]]:
    paths = [path for path in scan_tree(Path(subject.root)) if not is_vendored(path)]
    for path in sorted(paths, key=lambda path: (path.count("/"), path))[:_FILES]:
        file = Path(subject.root, path)
        try:
            data = file.read_bytes() if os.path.getsize(file) <= _BYTES else b""  # noqa: PTH202
        except OSError:
            continue  # it vanished, or cannot be read: it says nothing
        yield path, data


def _module_name(path: str, subject: Subject) -> str:
    """Return the dotted name of a source file of the project, "" when it has none."""
    roots = sorted(subject.source_roots, key=len, reverse=True)
    names = (name for name in module_names(path, roots) if name.split(".")[0] in subject.packages)
    return next(names, "")


def _count_import(line: str, wanted: Iterable[str], search: Search) -> None:
    """Count each wanted name that a line imports, with the shortest statement that does."""
    line = line.strip().rstrip(";\\")
    for item in read_facts(line).imports if parses(line) else ():
        if item.bound in wanted and item.name != "*" and not item.module.startswith("."):
            search.imports.setdefault(item.bound, Counter())[item.statement] += 1

"""How the names are imported that a report takes for known: proposed, and tried in the project."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.project.definitions import read_facts
from pytest_brt.project.imports import import_candidates, project_candidates, standard_candidates
from pytest_brt.project.layout import is_test_path, module_names, scan_tree
from pytest_brt.pysource.names import Use
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
        if not unknown:
            return
        parts = {part for name in unknown for part in self._use(name)}
        search = _Search(self.engine.subject, {*unknown, *parts})
        # All are tried in one program; of each name the first that works is kept.
        ways = [(name, way) for name in unknown for way in self._ways(name, search)]
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

    def _use(self, name: str) -> Use:
        return self.uses.get(name, Use())

    def _ways(self, name: str, search: _Search) -> Iterator[str]:
        """Yield the report's own import of a name, what the project has, and other packages.

        What a class is asked of may be the one module that has it, under another name.
        """
        if name in self.own:
            yield self.own[name]
        subject, use = self.engine.subject, self._use(name)
        # A module beside the packages is mostly a script, and importing it would run it.
        places = [Path(subject.root, root) for root in subject.source_roots]
        packages = [one for one in subject.packages if any((p / one).is_dir() for p in places)]
        packages = packages or [*subject.packages]
        yield from import_candidates(name, packages, [*filter(None, self.stars), *packages], use)
        defining = search.modules(name)
        usual = search.imports[name].most_common(_USUAL)
        yield from project_candidates(name, defining, [way for way, _ in usual])
        several = defining[:_MODULES] if len(name) >= _LETTERS else ()
        yield from (f"from {module} import {name}" for module in several)
        yield from standard_candidates(name, use)
        homes = [search.modules(part) for part in sorted(use) if part[0].isupper()]
        yield from (f"import {home[0]} as {name}" for home in homes if len(home) == 1)


class _Search:
    """Where the project's Python files define and import some names."""

    def __init__(self, subject: Subject, names: Iterable[str]) -> None:
        wanted = {name for name in names if name.isidentifier()}
        choice = "|".join(map(re.escape, sorted(wanted)))
        pattern = re.compile(
            rf"(?m)^(?:(?:class|def|async def) +({choice})\b|({choice}) *(?::[^=\n]+)?=)"
            rf"|^[ \t]*(>>> )?((?:from \w[\w.]* )?import [^\n#;\\]*\b(?:{choice})\b[^\n#;\\]*)"
        )
        #: Modules that define a name, and how tests and docstrings import it, and how often.
        self.defining: defaultdict[str, set[str]] = defaultdict(set)
        self.imports: defaultdict[str, Counter[str]] = defaultdict(Counter)
        roots = sorted(subject.source_roots, key=len, reverse=True)
        for path, text in _python_files(subject):
            is_test = is_test_path(path)
            modules = [] if is_test else module_names(path, roots)
            known = [name for name in modules if name.split(".")[0] in subject.packages]
            for function, variable, prompt, line in pattern.findall(text):
                if known and (function or variable):
                    self.defining[function or variable].add(known[0])
                for item in read_facts(line).imports if is_test or prompt else ():
                    if item.bound in wanted:
                        self.imports[item.bound][item.statement] += 1

    def modules(self, name: str) -> list[str]:
        """Return the modules that define a name, the shortest first."""
        known = self.defining[name]
        return sorted(known, key=lambda module: (module.count("."), len(module), module))


def _python_files(subject: Subject) -> Iterator[tuple[str, str]]:
    paths = scan_tree(Path(subject.root))
    for path in sorted(paths, key=lambda path: (path.count("/"), path))[:_FILES]:
        file = Path(subject.root, path)
        try:
            if file.stat().st_size <= _BYTES:
                yield path, file.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue  # it vanished, or cannot be read: it says nothing

"""Runs the statements of a report on the unpatched tree and keeps what each did and showed.

Names that a report takes for known are imported: ways are proposed, and tried in the project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from pytest_brt.project.definitions import Definition
from pytest_brt.project.imports import project_imports, standard_imports
from pytest_brt.project.index import Index, open_index
from pytest_brt.pysource.names import Names, Use, names_of, uses_in
from pytest_brt.pysource.parse import IMPORTS, code_of, parse
from pytest_brt.report.match import is_steady, quoted_in
from pytest_brt.sandbox.process import StatementResult
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import run_statements
from pytest_brt.types import Raised
from pytest_brt.types.note import value
from pytest_brt.types.report import Reading, Statement

#: What asks for versions and paths, which are others here.
_ENVIRONMENT = re.compile(
    r"__version__|show_versions|\bplatform\.|sys\.version|\.version\b|print_versions|__file__"
)
#: Characters of a result that is compared.
_LONGEST = 4000


@dataclass(kw_only=True)
class ImportResolver:
    """Knows how names are imported: those that were asked for, by trying it in the project."""

    engine: Runner
    #: Where the project's index is kept.
    cache: Path | None
    #: The report's imports by the name they bind, the modules that it imports with a star, and
    #: what it does with names.
    own: Mapping[str, str]
    stars: Iterable[str]
    uses: Mapping[str, Use]
    #: The statement that imports a name, "" where none does.
    known: dict[str, str] = field(default_factory=dict)

    @cached_property
    def index(self) -> Index:
        """The project's index, closed: nothing is searched in it."""
        with open_index(Path(self.engine.subject.root), self.cache) as index:
            return index

    def resolve(self, names: Iterable[str]) -> None:
        """Find out how `names` are imported, without those that were asked for before."""
        unknown = sorted(set(names) - set(self.known))
        if not unknown:
            return
        # All are tried in one program; of each name the first that works is kept.
        ways = [(name, way) for name in unknown for way in self._ways(name)]
        tried = run_statements(self.engine, [way for _, way in ways])
        for way, result in zip(ways, tried.observed, strict=False):
            if result.raised is None:
                self.known.setdefault(*way)
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
        if name in self.own:
            yield self.own[name]
        use, index = self.uses.get(name, Use()), self.index
        offering = [*self.stars, *index.packages]
        yield from project_imports(name, index, offering=offering, use=use)
        yield from standard_imports(name, use)
        for part in sorted(use):
            home = index.unique_definition(part) if part[0].isupper() else None
            if home:
                yield f"import {index.layout.module_of(home.path)} as {name}"


@value
class Observation:
    """A statement of the report and what it did on the unpatched tree."""

    statement: Statement
    names: Names
    #: None when it was not run, or ended the process.
    result: StatementResult | None
    #: "", or how it ended the process: "timed out after 20 s".
    ended: str = ""
    #: Names it needs that nothing binds.
    missing: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The statement."""
        return self.statement.source

    @property
    def raised(self) -> Raised | None:
        """The exception that it ended in."""
        return self.result.raised if self.result else None


@value
class ObservedReport:
    """A report whose statements were run."""

    reading: Reading
    observations: tuple[Observation, ...]
    imports: ImportResolver

    @property
    def raised(self) -> tuple[Raised, ...]:
        """The exceptions in which its statements ended."""
        return tuple(one.raised for one in self.observations if one.raised is not None)


def run_snippets(
    reading: Reading, engine: Runner, cache: Path | None = None
) -> ObservedReport:
    """Run the statements of a report in one namespace, in order.

    Names that nothing in the report binds are imported first.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    sources = [statement.source for statement in reading.statements]
    names = [names_of(source) for source in sources]
    own: dict[str, str] = {}  # they serve what stands above, too
    bound: frozenset[str] = frozenset()
    unbound: list[frozenset[str]] = []
    for source, one in zip(sources, names, strict=True):
        unbound.append(one.used - bound)
        bound |= one.bound
        if source.startswith(IMPORTS) and not one.stars:
            own = {**dict.fromkeys(one.bound, source), **own}
    stars = dict.fromkeys(star for one in names for star in one.stars)
    imports = ImportResolver(
        engine=engine, cache=cache, own=own, stars=stars, uses=uses_in("\n".join(sources))
    )
    loose = {name for some in unbound for name in some}
    imports.resolve(loose)
    prelude = imports.imports_for(loose)
    run = run_statements(engine, (*prelude, *sources))
    results = run.observed[len(prelude) :]
    observations = tuple(
        Observation(
            statement=statement,
            names=names[at],
            result=result,
            ended=run.ended if at == len(results) else "",
            missing=imports.missing(unbound[at]),
        )
        for at, (statement, result) in enumerate(zip_longest(reading.statements, results))
    )
    return ObservedReport(reading=reading, imports=imports, observations=observations)


def functions_run(
    observed: ObservedReport, index: Index, engine: Runner
) -> frozenset[Definition]:
    """Return the functions that the statements of a report run, imports left out.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    ran = [one for one in observed.observations if one.result is not None]
    ran.sort(key=lambda one: not one.source.startswith(IMPORTS))
    if not ran:
        return frozenset()
    before = observed.imports.imports_for(observed.imports.known)
    statements = (*before, *(one.source for one in ran))
    imports = sum(one.source.startswith(IMPORTS) for one in ran)
    called = run_statements(engine, statements, calls_from=len(before) + imports).called
    around = (index.definition_at(path, line) for path, line in called)
    return frozenset(filter(None, around))


# -- what a statement shows --


@value
class Result:
    """What a statement gives, or prints, and how a test gets hold of it."""

    #: The expression whose value it is.
    expression: str
    #: What it looks like on the unpatched tree.
    text: str
    type: str = ""
    #: Whether the text is Python source of an equal value, or what was printed.
    evaluable: bool = False
    is_printed: bool = False
    #: What is run first.
    before: tuple[str, ...] = ()

    @property
    def can_compare(self) -> bool:
        """Whether it is the same in every run and not too long."""
        return is_steady(self.text) and len(self.text) <= _LONGEST

    def quoted_by(self, text: str) -> bool:
        """Say whether a text quotes it."""
        return quoted_in(self.text, text)


def result_of(one: Observation) -> Result | None:
    """Return what a statement gave or printed on the unpatched tree, None where it raised."""
    source, did = one.source, one.result
    if did is None or did.raised is not None or _ENVIRONMENT.search(source):
        return None
    expression, value = evaluated_expression(source), did.value
    if value and not (value.type == "NoneType" and did.stdout):
        return Result(
            expression=expression,
            text=value.repr,
            type=value.type,
            evaluable=value.evaluable,
        )
    if did.stdout and source.startswith("print(") and expression not in ("", source):
        text = did.stdout.removesuffix("\n")
        return Result(expression=f"str({expression})", text=text, is_printed=True)
    if did.stdout:
        out = "capsys.readouterr().out"
        return Result(expression=out, text=did.stdout, is_printed=True, before=(source,))
    return None


def evaluated_expression(source: str) -> str:
    """Return the expression that a statement prints, shows or binds to a name, "" without one."""
    match parse(source).body[-1]:
        case (
            ast.Expr(ast.Call(ast.Name("print" | "pprint"), [value], []))
            | ast.Expr(ast.Call(ast.Attribute(attr="pprint"), [value], []))
            | ast.Expr(value)
            | ast.Assign([ast.Name() | ast.Tuple() | ast.List()], value)
        ) if not isinstance(value, ast.Starred):
            return ast.get_source_segment(source, value) or code_of(value)
    return ""

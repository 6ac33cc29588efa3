"""Runs the statements of a report on the unpatched tree and keeps what each did."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from itertools import accumulate

from pytest_brt.observe.missing_imports import ImportResolver
from pytest_brt.once import Once
from pytest_brt.pysource.names import Names, names_of, uses_in
from pytest_brt.pysource.parse import IMPORTS, parse
from pytest_brt.report.statements import read_report
from pytest_brt.sandbox.events import StatementResult
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.types import Issue, Raised
from pytest_brt.types.report import Reading, Statement

_NO_ATTRIBUTE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
#: A statement that ends the process is left out and the rest run again, this often.
_RESTARTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A statement of the report and what it did on the unpatched tree."""

    statement: Statement
    names: Names
    #: None when it was not run, or ended the process.
    result: StatementResult | None
    #: "", or how it ended the process: "timed out after 20 s".
    ended: str = ""
    timed_out: bool = False
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedReport:
    """A report whose statements were run."""

    reading: Reading
    observations: tuple[Observation, ...]
    imports: ImportResolver

    @property
    def raised(self) -> tuple[Raised, ...]:
        """The exceptions in which its statements ended."""
        return tuple(one.raised for one in self.observations if one.raised is not None)


class Reports:
    """What the reports of one run say, and what their code does; each is read and run once."""

    def __init__(self) -> None:
        self._readings: Once[str, Reading] = Once()
        self._observed: Once[str, ObservedReport] = Once()

    def reading(self, issue: Issue) -> Reading:
        """Return what a report says."""
        return self._readings.get(issue.id, lambda: read_report(issue))

    def observed(self, issue: Issue, engine: Runner) -> ObservedReport:
        """Return what the statements of a report do.

        Raises:
            SubjectProblem: the subject's interpreter cannot be started.
        """
        reading = self.reading(issue)
        return self._observed.get(issue.id, lambda: run_snippets(reading, engine))


def run_snippets(reading: Reading, engine: Runner) -> ObservedReport:
    """Run the statements of a report in one namespace, in order.

    Names that nothing in the report binds are imported first, and modules that its code takes for
    imported are.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    observed = _run(reading, engine)
    full = _with_submodules(observed)
    return observed if full == reading else _run(full, engine)


def _run(reading: Reading, engine: Runner) -> ObservedReport:
    sources = [statement.source for statement in reading.statements]
    names = [names_of(source) for source in sources]
    imports = ImportResolver(
        engine=engine,
        stars=tuple(dict.fromkeys(star for one in names for star in one.stars)),
        own=_own_imports(sources),
        uses=uses_in(*sources),
    )
    bound = accumulate((one.bound for one in names), frozenset.union, initial=frozenset[str]())
    unbound = [one.used - before for one, before in zip(names, bound, strict=False)]
    loose = frozenset[str]().union(*unbound)
    imports.resolve(loose)
    skipped = {at for at, one in enumerate(names) if one.stars or _is_torn(sources[at])}
    results, ended = _run_all(sources, imports.imports_for(loose), skipped, engine)
    return ObservedReport(
        reading=reading,
        imports=imports,
        observations=tuple(
            Observation(
                statement=statement,
                names=names[at],
                result=results.get(at),
                ended=ended.get(at, ("", False))[0],
                timed_out=ended.get(at, ("", False))[1],
                missing=imports.missing(unbound[at]),
            )
            for at, statement in enumerate(reading.statements)
        ),
    )


def _run_all(
    sources: list[str], prelude: tuple[str, ...], skipped: set[int], engine: Runner
) -> tuple[dict[int, StatementResult], dict[int, tuple[str, bool]]]:
    """Return what each statement did, and how some ended the process, without `skipped` ones."""
    results: dict[int, StatementResult] = {}
    ended: dict[int, tuple[str, bool]] = {}
    for _ in range(_RESTARTS):
        order = [at for at in range(len(sources)) if at not in skipped and at not in ended]
        run = run_statements(engine, Script(statements=(*prelude, *(sources[at] for at in order))))
        for observed in run.observed[len(prelude) :]:
            results.setdefault(order[observed.index - len(prelude)], observed)
        stopped = len(run.observed) - len(prelude)
        if not run.ended or not 0 <= stopped < len(order):
            break
        ended[order[stopped]] = (run.ended, run.timed_out)
    return results, ended


def _with_submodules(observed: ObservedReport) -> Reading:
    """Return the reading with an import of each module that its code takes for imported.

    A report that names an AttributeError may be about just that, and stays as it is.
    """
    reading = observed.reading
    if any(raised.type.endswith("AttributeError") for raised in reading.exceptions):
        return reading
    statements: list[Statement] = []
    for one in observed.observations:
        lacks = _NO_ATTRIBUTE.fullmatch(one.raised.message) if one.raised else None
        module = ".".join(lacks.groups()) if lacks else ""
        source = f"import {module}"
        is_new = all(known.source != source for known in statements)
        if is_new and module.partition(".")[0] in one.names.used and observed.imports.works(source):
            statements.append(replace(one.statement, source=source, claims=()))
        statements.append(one.statement)
    return replace(reading, statements=tuple(statements))


def _own_imports(sources: list[str]) -> dict[str, str]:
    """Return the report's imports by the names they bind: they serve what stands above, too."""
    own: dict[str, str] = {}
    for source in sources:
        if source.startswith(IMPORTS) and "*" not in source:
            for name in names_of(source).bound:
                own.setdefault(name, source)
    return own


def _is_torn(source: str) -> bool:
    """Say whether it is a `return` or `yield` torn from a function, which no module can hold."""
    for node in parse(source).body:
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.Return) or isinstance(value, ast.Yield | ast.YieldFrom):
            return True
    return False

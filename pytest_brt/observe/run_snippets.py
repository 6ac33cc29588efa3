"""Runs the statements of a report on the unpatched tree and keeps what each did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_brt.observe.missing_imports import ImportResolver
from pytest_brt.project.index import Index
from pytest_brt.pysource.names import Names, names_of, undefined_names, uses_in
from pytest_brt.pysource.parse import IMPORTS
from pytest_brt.report.statements import read_report
from pytest_brt.sandbox.events import StatementResult
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.store import Once
from pytest_brt.types import Issue, Raised
from pytest_brt.types.report import Reading, Statement

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

    def observed(self, issue: Issue, engine: Runner, cache: Path | None = None) -> ObservedReport:
        """Return what the statements of a report do; `cache` keeps the project's index.

        Raises:
            SubjectProblem: the subject's interpreter cannot be started.
        """
        reading = self.reading(issue)
        return self._observed.get(issue.id, lambda: run_snippets(reading, engine, cache))


def run_snippets(reading: Reading, engine: Runner, cache: Path | None = None) -> ObservedReport:
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
    imports = ImportResolver(engine, cache, own, stars, uses_in(*sources))
    loose = {name for some in unbound for name in some}
    imports.resolve(loose)
    # What a star gives is imported by name.
    order = [at for at, one in enumerate(names) if not one.stars]
    results, ended = _run_all(sources, order, imports.imports_for(loose), engine)
    observations = tuple(
        Observation(
            statement=statement,
            names=names[at],
            result=results.get(at),
            ended=ended.get(at, ""),
            missing=imports.missing(unbound[at]),
        )
        for at, statement in enumerate(reading.statements)
    )
    return ObservedReport(reading=reading, imports=imports, observations=observations)


def _run_all(
    sources: list[str], order: list[int], prelude: tuple[str, ...], engine: Runner
) -> tuple[dict[int, StatementResult], dict[int, str]]:
    """Return what each statement did, and how some ended the process."""
    results: dict[int, StatementResult] = {}
    ended: dict[int, str] = {}
    for _ in range(_RESTARTS):
        run = run_statements(engine, Script(statements=(*prelude, *(sources[n] for n in order))))
        observed = run.observed[len(prelude) :]
        results = {**dict(zip(order, observed, strict=False)), **results}
        if not run.ended or len(run.observed) < len(prelude) or len(observed) == len(order):
            break
        ended[order.pop(len(observed))] = run.ended
    return results, ended


def functions_run(
    observed: ObservedReport, index: Index, engine: Runner
) -> frozenset[tuple[str, str]]:
    """Return path and qualified name of what the statements of a report run, imports left out.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    ran = [one.source for one in observed.observations if one.result is not None]
    imports = [source for source in ran if source.startswith(IMPORTS)]
    rest = [source for source in ran if source not in imports]
    if not rest:
        return frozenset()
    before = (*observed.imports.imports_for(undefined_names("\n".join(ran))), *imports)
    program = Script(statements=(*before, *rest), calls_from=len(before))
    called = run_statements(engine, program).called
    around = [(path, index.definition_at(path, line)) for path, line in called]
    return frozenset((path, place.qualname if place else "") for path, place in around)

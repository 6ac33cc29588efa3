"""Runs the statements of a report on the unpatched tree and keeps what each did and showed."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.observe.missing_imports import ImportResolver
from pytest_brt.project.index import Index
from pytest_brt.pysource.names import Names, names_of, uses_in
from pytest_brt.pysource.parse import IMPORTS, parse
from pytest_brt.report.match import Match, is_steady, quoted_in
from pytest_brt.report.statements import read_report
from pytest_brt.sandbox.events import StatementResult
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.store import Once
from pytest_brt.types import Issue, Raised
from pytest_brt.types.report import Reading, Statement

#: What asks for versions and paths, which are others here.
_ENVIRONMENT = re.compile(
    r"__version__|show_versions|\bplatform\.|sys\.version|\.version\b|print_versions|__file__"
)
#: Characters of a result that is compared.
_LONGEST = 4000


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
    imports = ImportResolver(engine, cache, own, stars, uses_in("\n".join(sources)))
    loose = {name for some in unbound for name in some}
    imports.resolve(loose)
    prelude = imports.imports_for(loose)
    run = run_statements(engine, Script(statements=(*prelude, *sources)))
    results = run.observed[len(prelude) :]
    observations = tuple(
        Observation(
            statement=statement,
            names=names[at],
            result=results[at] if at < len(results) else None,
            ended=run.ended if at == len(results) else "",
            missing=imports.missing(unbound[at]),
        )
        for at, statement in enumerate(reading.statements)
    )
    return ObservedReport(reading=reading, imports=imports, observations=observations)


def functions_run(
    observed: ObservedReport, index: Index, engine: Runner
) -> frozenset[tuple[str, str]]:
    """Return path and qualified name of what the statements of a report run, imports left out.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    ran = [one for one in observed.observations if one.result is not None]
    imports = [one.source for one in ran if one.source.startswith(IMPORTS)]
    rest = [one.source for one in ran if one.source not in imports]
    if not rest:
        return frozenset()
    used = {name for one in ran for name in one.names.used}
    before = (*observed.imports.imports_for(used), *imports)
    program = Script(statements=(*before, *rest), calls_from=len(before))
    called = run_statements(engine, program).called
    around = [(path, index.definition_at(path, line)) for path, line in called]
    return frozenset((path, place.qualname if place else "") for path, place in around)


# -- what a statement shows --


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def quoted_by(self, text: str) -> Match:
        """Say how well a text quotes it."""
        return quoted_in(self.text, text)


def result_of(one: Observation) -> Result | None:
    """Return what a statement gave or printed on the unpatched tree, None where it raised."""
    source, did = one.source, one.result
    if did is None or did.raised is not None or _ENVIRONMENT.search(source):
        return None
    expression, printed, value = shown_expression(source), printed_argument(source), did.value
    if value and not (value.is_none and did.stdout):
        return Result(
            expression=expression, text=value.repr, type=value.type, evaluable=value.evaluable
        )
    if did.stdout and printed:
        text = did.stdout.removesuffix("\n")
        return Result(expression=f"str({printed})", text=text, is_printed=True)
    if did.stdout:
        out, before = "capsys.readouterr().out", (expression or source,)
        return Result(expression=out, text=did.stdout, is_printed=True, before=before)
    return None


def shown_expression(source: str) -> str:
    """Return the expression that a statement shows, "" when there is none."""
    node = parse(source).body[-1]
    return _segment(source, node.value) if isinstance(node, ast.Expr) else ""


def evaluated_expression(source: str) -> str:
    """Return the expression that a statement evaluates: shown, or bound to a name."""
    match parse(source).body[-1]:
        case ast.Assign(targets=[ast.Name() | ast.Tuple() | ast.List()], value=value):
            return _segment(source, value)
    return shown_expression(source)


def printed_argument(source: str) -> str:
    """Return X for `print(X)`, "" for anything else."""
    match parse(source).body[-1]:
        case ast.Expr(ast.Call(ast.Name("print"), [argument], [])):
            return "" if isinstance(argument, ast.Starred) else _segment(source, argument)
    return ""


def _segment(source: str, node: ast.expr) -> str:
    return ast.get_source_segment(source, node) or ast.unparse(node)

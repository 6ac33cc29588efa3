"""Which functions of a project the code of a report runs."""

from __future__ import annotations

from pytest_brt.observe.run_snippets import ObservedReport
from pytest_brt.project.index import Index
from pytest_brt.pysource.parse import IMPORTS
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements


def functions_run(
    observed: ObservedReport, index: Index, engine: Runner
) -> frozenset[tuple[str, str]]:
    """Return path and qualified name of what the statements of a report run, imports left out.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    ran = [one for one in observed.observations if one.result is not None]
    prelude = observed.imports.imports_for({name for one in ran for name in one.names.used})
    imports = [one.source for one in ran if one.source.startswith(IMPORTS)]
    rest = [one.source for one in ran if not one.source.startswith(IMPORTS)]
    if not rest:
        return frozenset()
    before = (*prelude, *imports)
    program = Script(statements=(*before, *rest), calls_from=len(before))
    called = run_statements(engine, program).called
    around = [(path, index.definition_at(path, line)) for path, line in called]
    return frozenset((path, place.qualname if place else "") for path, place in around)

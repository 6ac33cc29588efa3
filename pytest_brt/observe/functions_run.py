"""Which functions of a project the code of a report runs."""

from __future__ import annotations

from pytest_brt.execute.engine import Engine, Program
from pytest_brt.observe.watch import Replayed
from pytest_brt.project.index import Index
from pytest_brt.pysource.parse import IMPORTS


def functions_run(replayed: Replayed, index: Index, engine: Engine) -> frozenset[tuple[str, str]]:
    """Return path and qualified name of what the statements of a report run, imports left out.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    seen = [item for item in replayed.seen if item.did is not None]
    prelude = replayed.resolver.imports_for({name for item in seen for name in item.names.used})
    sources = [item.step.source for item in seen]
    imports = tuple(source for source in sources if source.startswith(IMPORTS))
    rest = tuple(source for source in sources if not source.startswith(IMPORTS))
    if not rest:
        return frozenset()
    found = set()
    before = (*prelude, *imports)
    program = Program(statements=(*before, *rest), calls_from=len(before))
    for path, line in engine.observe(program).called:
        around = index.definition_at(path, line)
        found.add((path, around.qualname if around else ""))
    return frozenset(found)

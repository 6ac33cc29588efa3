"""What existing tests call of what patches change: shown where no bug test tells patches apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from pytest_brt.guard import TestFiles
from pytest_brt.oracle.asked_call import call_of
from pytest_brt.patches.changes import Touched
from pytest_brt.pysource.names import undefined_names
from pytest_brt.pysource.parse import parse_or_empty
from pytest_brt.types import CandidateTest, Oracle, OracleKind, Origin

#: Test files that are read, the nearest first.
_FILES = 8


def find_existing_calls(
    files: TestFiles, pool: Sequence[Touched]
) -> Iterator[CandidateTest]:
    """Yield the existing tests whose last statement asks for what some patch changes.

    Each stands alone: it has its body and the imports of its module.
    """
    names = {name for touched in pool for name in touched.names}
    for path in files.nearest(pool)[:_FILES]:
        module = parse_or_empty(files.texts[path]).body
        imports = [node for node in module if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in module:
            if isinstance(node, ast.FunctionDef):
                source = ast.unparse(ast.Module([*imports, node], []))
                test = existing_test(f"{path}::{node.name}", source)
                call = call_of(test) if not undefined_names(source) else None
                if call and names.intersection(re.findall(r"\w+", call.statements[-1])):
                    yield test


def existing_test(name: str, source: str = "") -> CandidateTest:
    """Return an existing test, called as in "tests/test_a.py::test_x", as one of its own.

    It has a file of its own beside that of the test.
    """
    path, _, node = name.partition("::")
    return CandidateTest(
        id=name,
        name=node,
        issue="",
        origin=Origin(strategy="given"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence="An existing test."),
        path=f"{path.removesuffix('.py')}_brt.py",
        source=source,
    )

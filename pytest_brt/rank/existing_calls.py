"""What existing tests call of what patches change: shown where no bug test tells patches apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from pytest_brt.guard import TestFiles
from pytest_brt.oracle.asked_call import call_of
from pytest_brt.patches.changes import Touched
from pytest_brt.pysource.names import undefined_names
from pytest_brt.pysource.parse import find_tests, parse_or_empty
from pytest_brt.types import CandidateTest, Oracle, OracleKind, Origin

#: Test files that are read, the nearest first.
_FILES = 8


def find_existing_calls(
    files: TestFiles, pool: Sequence[Touched]
) -> tuple[CandidateTest, ...]:
    """Return the existing tests that ask for something, first those that name what patches change.

    Each stands alone: it has its body and the imports of its module.
    """
    names = {name for touched in pool for name in touched.names}
    tests: dict[CandidateTest, bool] = {}
    for path in files.nearest(pool)[:_FILES]:
        module = parse_or_empty(files.texts[path]).body
        imports = [node for node in module if isinstance(node, ast.Import | ast.ImportFrom)]
        for name, node in find_tests(module):
            source = ast.unparse(ast.Module([*imports, node], []))
            test = existing_test(f"{path}::{name}", source)
            if call_of(test) and not undefined_names(source):
                tests[test] = names.isdisjoint(re.findall(r"\w+", ast.unparse(node)))
    return tuple(sorted(tests, key=tests.__getitem__))


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

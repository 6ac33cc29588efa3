"""Gives a test that a model wrote its place in the project, and makes its names mean something.

This is the post-processing of LIBRO (paper 001, requirements 20-22 of its code): the test file
that is most like the test takes it, and names that it forgot to import are resolved against the
project. Beyond that, imports that cannot work are looked for elsewhere, and helpers and fixtures
that only the host file has come along, so that the module stands alone.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pytest_brt.code.imports import find_import, resolve
from pytest_brt.code.index import Index
from pytest_brt.code.names import NameProblem, check_imports
from pytest_brt.code.style import PYTEST_FIXTURES, fixtures_in_scope
from pytest_brt.reproduce.model_tests.host import choose_host, with_names_of, with_usual_imports
from pytest_brt.reproduce.model_tests.layout import laid_out, tidied
from pytest_brt.reproduce.model_tests.split import Single
from pytest_brt.syntax import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A test with its imports, and where it belongs."""

    single: Single
    #: The test file that it would be added to, or "".
    host: str
    #: Folder of the project that it is run in, "" for the project's root.
    folder: str
    #: What still cannot work, for the model and the reader.
    problems: tuple[NameProblem, ...]


def settle(
    single: Single,
    index: Index,
    *,
    test_root: str,
    host: str = "",
) -> Settled:
    """Return `single` with its names resolved.

    Args:
        single: a module with one test.
        index: the project.
        test_root: folder for tests that fit into no file.
        host: the test file that was chosen before; "" chooses the one that is most like it.
            Another one is taken where only that has the fixtures that the test asks for.

    Raises:
        SyntaxError: the module is not Python.
    """
    source = _with_known_imports(single.source, index)
    host = choose_host(source, index, host=host)
    fixtures = fixtures_in_scope(host, index) if host else PYTEST_FIXTURES
    if host:
        # The test was written for this file: what its names mean there comes first.
        source = with_names_of(host, source, index)
    source = with_usual_imports(source, index, near=host)
    done = resolve(source, index, near=host, fixtures=fixtures)
    problems = (*check_imports(done.source, index), *done.problems)
    suite = "" if test_root == "." else test_root.strip("/")
    folder = host.rpartition("/")[0] if host else suite
    return Settled(
        single=Single(name=single.name, source=tidied(done.source)),
        host=host,
        folder=folder,
        problems=tuple({problem.name: problem for problem in problems}.values()),
    )


def _with_known_imports(source: str, index: Index) -> str:
    """Take out imports that cannot work where the project offers the name elsewhere.

    Relative ones go as well: from where the test stands now they mean something else.
    """
    wrong = {problem.name for problem in check_imports(source, index)}
    tree = parse(source)
    changed: list[ast.stmt] = []
    dropped = False
    body: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            dropped = True
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [
                alias for alias in node.names if not _is_replaceable(node, alias, wrong, index)
            ]
            if not names:
                dropped = True
                continue
            if len(names) < len(node.names):
                node.names = names
                changed.append(node)
        body.append(node)
    return laid_out(body, source, changed) if changed or dropped else source


def _is_replaceable(
    node: ast.Import | ast.ImportFrom, alias: ast.alias, wrong: set[str], index: Index
) -> bool:
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
    whole = f"{module}.{alias.name}" if isinstance(node, ast.ImportFrom) else module
    if alias.name == "*" or not {module, whole} & wrong:
        return False
    bound = alias.asname or alias.name.partition(".")[0]
    return bool(find_import(bound, index))

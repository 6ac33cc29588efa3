"""The fixtures that a test of some file can use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from pytest_brt.code.index import Index
from pytest_brt.pysource.parse import Function, tree_of

#: Fixtures that come with pytest itself (docs: "Fixtures reference", "Built-in fixtures").
PYTEST_FIXTURES = frozenset(
    {"cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "capteesys"}
    | {"doctest_namespace", "monkeypatch", "pytestconfig", "pytester", "record_property"}
    | {"record_testsuite_property", "record_xml_attribute", "recwarn", "request", "subtests"}
    | {"testdir", "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory"}
)


def fixtures_in_scope(path: str, index: Index) -> frozenset[str]:
    """Return the names of the fixtures that a test in `path` can use.

    Those of the file itself, of the ``conftest.py`` files above it, and of pytest; fixtures
    of installed plugins are not known.
    """
    files = [path, *(str(folder / "conftest.py") for folder in PurePosixPath(path).parents)]
    known = (file for file in files if file in index.layout.files)
    return PYTEST_FIXTURES.union(*(_fixtures_of(file, index) for file in known))


def _fixtures_of(path: str, index: Index) -> Iterator[str]:
    try:
        tree = tree_of(index.source(path))
    except (SyntaxError, OSError):
        return  # pytest itself will tell
    for node in (node for node in tree.body if isinstance(node, Function)):
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            name = ast.unparse(call.func if call else decorator)
            if name.rpartition(".")[2] in ("fixture", "yield_fixture"):
                given = [k.value for k in call.keywords if k.arg == "name"] if call else []
                known = given[0] if given else None
                if isinstance(known, ast.Constant) and isinstance(known.value, str):
                    yield known.value
                else:
                    yield node.name

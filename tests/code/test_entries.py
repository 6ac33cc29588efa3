from __future__ import annotations

import pytest

from pytest_brt.code.entries import import_statement


@pytest.mark.parametrize(
    ("module", "name", "bound", "expected"),
    [
        ("a.b", "", "a", "import a.b"),
        ("a.b", "", "c", "import a.b as c"),
        ("a", "b", "b", "from a import b"),
        ("a", "b", "c", "from a import b as c"),
        ("a", "*", "*", "from a import *"),
    ],
)
def test_import_statement(module: str, name: str, bound: str, expected: str) -> None:
    assert import_statement(module, name, bound) == expected

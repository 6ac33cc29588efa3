from __future__ import annotations

import ast

import pytest

from pytest_brt.code.shrink import Finder, number, single_statements, statement_runs, unwrapped
from pytest_brt.syntax import parse


def variants(find: Finder, source: str, keep: tuple[int, ...] = (99,)) -> list[str]:
    """Return what `source` can become by one change."""
    tree = parse(source)
    return [ast.unparse(change.of(tree)) for change in find(tree, number(tree, keep))]


@pytest.mark.parametrize(
    ("find", "source", "expected"),
    [
        (statement_runs, "a\nb\nc\nd", ["c\nd", "a\nb"]),
        (single_statements, "a\nb", ["a", "b"]),
        (single_statements, "if a:\n    b", ["", "if a:\n    pass"]),
        (unwrapped, "if a:\n    b\nelse:\n    c", ["b", "c"]),
    ],
)
def test_one_change(find: Finder, source: str, expected: list[str]) -> None:
    found = variants(find, source)
    assert found[: len(expected)] == expected


def test_what_is_kept_is_not_offered() -> None:
    source = "a\nwith b:\n    f(1)\n    c"
    assert variants(single_statements, source, keep=(3,)) == [
        "with b:\n    f(1)\n    c",
        "a\nwith b:\n    f(1)",
    ]

"""The package keeps to the budgets in pyproject.toml: nodes of syntax trees, and modules."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pytest_brt"
BUDGETS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest-brt"]["size"]
#: Nodes of the longest program that a string may hold.
IN_STRINGS = 120


@cache
def trees() -> Mapping[Path, ast.Module]:
    """Return the tree of each module, by its path in the package."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {file.relative_to(PACKAGE): ast.parse(file.read_text("utf-8")) for file in files}


def size(tree: ast.AST) -> int:
    """Return the number of nodes."""
    return sum(1 for _ in ast.walk(tree))


def test_no_part_is_larger_than_its_budget() -> None:
    nodes: Counter[str] = Counter()
    for path, tree in trees().items():
        nodes[path.parts[0] if len(path.parts) > 1 else "top"] += size(tree)
    budgets = BUDGETS["nodes"]
    assert set(budgets) == set(nodes), "each part has a budget, and one that is gone has none"
    assert [f"{part}: {nodes[part]}" for part in nodes if nodes[part] > budgets[part]] == []


def test_there_are_no_more_modules_than_the_budget_says() -> None:
    assert len(trees()) <= BUDGETS["modules"]


def test_no_program_hides_in_a_string() -> None:
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                try:
                    program = ast.parse(node.value)
                except (SyntaxError, ValueError):
                    continue
                assert size(program) <= IN_STRINGS, f"{path}:{node.lineno}"

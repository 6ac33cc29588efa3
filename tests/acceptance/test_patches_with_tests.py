"""Patches that bring tests rank each other, with no report at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.patches import canonical_diff
from pytest_brt.types import FileChange
from tests.support.reports import patches_of, read_report
from tests.support.trees import tree_hash, write_tree

CORE = "def clamp(n):\n    return min(n, 10)\n"
SUITE = "from core import clamp\n\n\ndef test_small():\n    assert clamp(3) == 3\n"
#: The body of each fix, and what its test asserts.
FIXES = {
    "right": ("return max(0, min(n, 10))", "clamp(-1) == 0 and clamp(-7) == 0"),
    "special": ("return 0 if n == -1 else min(n, 10)", "clamp(-1) == 0"),
    "always-one": ("return max(1, min(n, 10))", "clamp(-2) == 1"),
}


@pytest.fixture
def toy(pytester: pytest.Pytester) -> pytest.Pytester:
    root = pytester.path
    write_tree(root, {"core.py": CORE, "test_core.py": SUITE, "pyproject.toml": ""})
    (root / "patches").mkdir()
    for name, (body, claim) in FIXES.items():
        test = f"{SUITE}\n\ndef test_{name.replace('-', '_')}():\n    assert {claim}\n"
        core = CORE.replace("return min(n, 10)", body)
        changes = (
            FileChange(path="core.py", content=core.encode()),
            FileChange(path="test_core.py", content=test.encode()),
        )
        (root / f"patches/{name}.diff").write_text(canonical_diff(changes, root), "utf-8")
    return pytester


def test_they_are_ranked_by_the_tests_of_the_others(toy: pytest.Pytester) -> None:
    before = tree_hash(toy.path)
    out = toy.path.parent / "found.json"
    toy.runpytest_subprocess("--rank-fixes=patches", f"--brt-report={out}")
    assert tree_hash(toy.path) == before
    found = patches_of(read_report(out))
    assert found["right.diff"]["place"] == [1, 1]
    assert found["right.diff"]["total"] == len(found["right.diff"]["cells"])


def test_the_next_step_is_said_where_no_patch_brings_a_test(toy: pytest.Pytester) -> None:
    for path in (toy.path / "patches").iterdir():
        text = path.read_text("utf-8")
        path.write_text(text.partition("diff --git a/test_core.py")[0], "utf-8")
    result = toy.runpytest_subprocess("--rank-fixes=patches")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*nothing to rank by: *no patch brings one (add --brt-issue FILE *"]
    )
    assert Path(toy.path / "patches/right.diff").exists()

"""One row: what is said of a patch besides its cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.patches import canonical_diff
from pytest_brt.rank.evaluate import evaluate
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import FileChange, JudgedTest, Patch, PatchResult, Verdict
from tests.support.interval import FIXES, SOURCE, diff_of
from tests.support.projects import open_on
from tests.support.rows import judged
from tests.support.trees import write_tree

CLAMP = "    return max(low, min(value, low))\n"
RIGHT = SOURCE.replace(CLAMP, FIXES["a-right"])


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("matrix") / "project"
    write_tree(root, {"interval/__init__.py": SOURCE})
    engine = open_on(root)
    yield engine
    engine.close()


def candidate(number: int, body: str) -> JudgedTest:
    found = judged(number)
    source = f"from interval import clamp, mean\n\n\ndef test_a():\n    {body}\n"
    return replace(
        found, test=replace(found.test, path=f"tests/test_brt_{number}.py", source=source)
    )


CLAMPS = candidate(0, "assert clamp(5, 0, 10) == 5")
MEANS = candidate(1, "assert mean([]) == 0")


def run(engine: Runner, text: str, *tests: JudgedTest) -> PatchResult:
    return evaluate(Patch(id="p.diff", name="p.diff", text=text), tests, engine)


def test_a_row_has_a_cell_per_candidate_in_their_order(engine: Runner) -> None:
    other = replace(MEANS, judgement=replace(MEANS.judgement, candidate=False))
    found = run(engine, diff_of(RIGHT), CLAMPS, MEANS)
    assert [(cell.test, cell.verdict) for cell in found.cells] == [
        ("t0", Verdict.PASS),
        ("t1", Verdict.FAIL),
    ]
    assert found.cells[1].raised is not None
    assert found.cells[1].raised.type == "ZeroDivisionError"
    assert found.cells[1].raised.frames == ()
    assert found.refused is None
    assert [cell.test for cell in run(engine, diff_of(RIGHT), other, CLAMPS).cells] == ["t0"]


def test_a_patch_that_no_test_reaches_is_said(engine: Runner) -> None:
    reached = run(engine, diff_of(RIGHT), CLAMPS, MEANS)
    assert "not-exercised" not in [note.code for note in reached.remarks]
    module = "--- /dev/null\n+++ b/interval/unused.py\n@@ -0,0 +1 @@\n+x = 1\n"
    found = run(engine, module, CLAMPS, MEANS)
    assert found.applies
    assert "not-exercised" in [note.code for note in found.remarks]


def test_what_lacks_something_around_it_says_nothing_of_a_patch(tmp_path: Path) -> None:
    """The patch lets the test come as far as a server that is not there."""
    write_tree(tmp_path, {"core.py": "def ask():\n    raise KeyError(1)\n"})
    made = judged(0)
    source = "import core\n\n\ndef test_a():\n    assert core.ask() == 1\n"
    test = replace(made, test=replace(made.test, source=source))
    after = b"def ask():\n    raise ConnectionRefusedError(111, 'Connection refused')\n"
    text = canonical_diff((FileChange(path="core.py", content=after),), tmp_path)
    engine = open_on(tmp_path)
    try:
        (cell,) = evaluate(Patch(id="p", name="p", text=text), (test,), engine).cells
    finally:
        engine.close()
    assert cell.verdict is Verdict.INVALID
    assert cell.cause.text == "something around the test is missing: Connection refused"

"""One row: what is said of a patch besides its cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.guard import Guard
from pytest_brt.patches import canonical_diff
from pytest_brt.rank.evaluate import evaluate
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    FileChange,
    JudgedTest,
    Note,
    Patch,
    PatchResult,
    Verdict,
)
from tests.support.interval import FIXES, SOURCE, diff_of
from tests.support.projects import open_on
from tests.support.rows import judged
from tests.support.trees import write_tree

CLAMP = "    return max(low, min(value, low))\n"
RIGHT = SOURCE.replace(CLAMP, FIXES["a-right"])


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("matrix") / "project"
    suite = "from interval import clamp\n\n\ndef test_clamp():\n    assert clamp(-1, 0, 10) == 0\n"
    write_tree(root, {"interval/__init__.py": SOURCE, "tests/test_old.py": suite, "doc.md": "x\n"})
    engine = open_on(root)
    yield engine
    engine.close()


def patch(after: str, name: str = "p.diff") -> Patch:
    return Patch(id=name, name=name, text=after)


def candidate(number: int, body: str) -> JudgedTest:
    found = judged(number)
    source = f"from interval import clamp, mean\n\n\ndef test_a():\n    {body}\n"
    return replace(
        found, test=replace(found.test, path=f"tests/test_brt_{number}.py", source=source)
    )


CLAMPS = candidate(0, "assert clamp(5, 0, 10) == 5")
MEANS = candidate(1, "assert mean([]) == 0")


def run(engine: Runner, text: str, *tests: JudgedTest, guard: bool = False) -> PatchResult:
    used = Guard(engine) if guard else None
    return evaluate(patch(text), tests, engine, guard=used)


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


def test_a_patch_that_does_not_apply_has_the_reason_and_nothing_else(engine: Runner) -> None:
    found = run(engine, diff_of("x\n", before="y\n"), CLAMPS)
    assert found.refused
    assert found.refused.code == "hunk-missing"
    assert (found.cells, found.guarded) == ((), None)


def test_a_patch_of_files_that_are_left_out_alone_is_no_patch(engine: Runner) -> None:
    suite = "--- a/tests/test_old.py\n+++ b/tests/test_old.py\n@@ -1,2 +1,2 @@\n"
    head, rest = "-from interval import clamp\n", " \n"
    other = f"{suite}{head}+from interval import mean as clamp\n{rest}"
    found = run(engine, other, CLAMPS, guard=True)
    assert found.refused
    assert found.refused.code == "only-left-out"
    assert (found.cells, found.guarded) == ((), None)
    # One that changes nothing is a patch, and does what the unpatched tree does.
    nothing = run(engine, "--- a/doc.md\n+++ b/doc.md\n@@ -1 +1 @@\n-x\n+x\n", CLAMPS)
    assert nothing.remarks == (Note(code="changes-nothing", text="changes nothing"),)
    assert [cell.verdict for cell in nothing.cells] == [Verdict.FAIL]


def test_without_candidates_only_existing_tests_are_run(engine: Runner) -> None:
    found = run(engine, diff_of(RIGHT), guard=True)
    assert (found.applies, found.cells) == (True, ())
    assert found.guarded is not None
    assert (found.guarded.ran, found.guarded.regressions) == (1, ())
    assert found.normal


def test_patches_that_are_written_differently_are_equal_after_normalisation(engine: Runner) -> None:
    comment = RIGHT.replace("def clamp", "# a word\ndef clamp")
    keys = [run(engine, diff_of(text)).normal for text in (RIGHT, comment, SOURCE + "x = 1\n")]
    assert keys[0] == keys[1] != keys[2]


def test_a_patch_that_no_test_reaches_is_said(engine: Runner) -> None:
    reached = run(engine, diff_of(RIGHT), CLAMPS, MEANS)
    assert "not-exercised" not in [note.code for note in reached.remarks]
    module = "--- /dev/null\n+++ b/interval/unused.py\n@@ -0,0 +1 @@\n+x = 1\n"
    found = run(engine, module, CLAMPS, MEANS)
    assert found.applies
    assert "not-exercised" in [note.code for note in found.remarks]


def test_existing_tests_are_run_beside_the_candidates(engine: Runner) -> None:
    always = SOURCE.replace(CLAMP, "    return 5\n")
    found = run(engine, diff_of(always), CLAMPS, guard=True)
    assert found.guarded is not None
    assert [regression.test for regression in found.guarded.regressions] == [
        "tests/test_old.py::test_clamp"
    ]


def test_a_test_is_run_as_it_was_written() -> None:
    target = Test.of(CLAMPS.test)
    assert (target.id, target.path, target.node) == ("t0", "tests/test_brt_0.py", "test_a")
    assert target.source == CLAMPS.test.source


def test_a_patch_for_the_reported_input_only_is_remarked(engine: Runner) -> None:
    literal = SOURCE.replace(CLAMP, "    if value == 5:\n        return 5\n" + CLAMP)
    found = run(engine, diff_of(literal), CLAMPS)
    (note,) = found.remarks
    assert note.code == "singles-out-input"
    assert note.text.endswith(": value == 5")
    assert run(engine, diff_of(RIGHT), CLAMPS).remarks == ()


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

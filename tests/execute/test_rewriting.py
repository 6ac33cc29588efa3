from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.types import FileChange, Verdict
from tests.execute.projects import make_project, open_on, run_one

#: Whether what pytest runs came from what was rewritten before, told in the failure.
WAS_KEPT = """\
from _pytest.assertion import rewrite


def test_a():
    paths = {}
    for cell in rewrite._rewrite_test.__closure__ or ():
        if hasattr(cell.cell_contents, "codes"):
            paths = {path for path, _ in cell.cell_contents.codes}
    known = __file__ in paths
    assert known == "asked"
"""


@pytest.fixture(scope="module", params=["ns", "process"])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    root = make_project(tmp_path_factory.mktemp("rewriting") / "project")
    ini = "[pytest]\nfilterwarnings =\n    error::pytest.PytestAssertRewriteWarning\n"
    (root / "pytest.ini").write_text(ini, encoding="utf-8")
    engine = open_on(root, sandbox=request.param)
    yield engine
    engine.close()


def test_a_test_is_rewritten_before_it_runs(engine: Engine) -> None:
    assert run_one(engine, WAS_KEPT).reason == "AssertionError: assert True == 'asked'"


def test_the_same_test_explains_itself_on_every_patch(engine: Engine) -> None:
    source = "from pkg.core import divide\n\n\ndef test_a():\n    assert divide(4, 2) == 2\n"
    for number in (3, 4):
        core = f"def divide(a, b):\n    return {number}\n".encode()
        run = run_one(engine, source, changes=(FileChange(path="pkg/core.py", content=core),))
        assert run.reason.startswith(f"AssertionError: assert {number} == 2")
        assert run.raised is not None
        assert run.raised.frames[-1].path == "tests/test_brt_x.py"
        assert run.raised.frames[-1].line == 5


def test_a_file_that_gets_another_text_is_rewritten_again(engine: Engine) -> None:
    for number in (1, 2):
        run = run_one(engine, f"def test_a():\n    assert {number} == 3\n")
        assert run.reason == f"AssertionError: assert {number} == 3"


def test_warnings_about_asserts_are_still_given(engine: Engine) -> None:
    run = run_one(engine, "def test_a():\n    assert (1, 2)\n")
    assert (run.verdict, "always true" in run.reason) == (Verdict.BROKEN, True), run


def test_source_that_the_compiler_refuses_harms_no_other_test(engine: Engine) -> None:
    deep = "def test_a():\n    assert " + "(" * 5000 + "1" + ")" * 5000 + "\n"
    targets = tuple(
        TestTarget(id=name, path=f"tests/test_{name}.py", source=source, node="test_a")
        for name, source in {"deep": deep, "cut": "def test_a(:\n", "good": WAS_KEPT}.items()
    )
    verdicts = {run.test: run.verdict for run in engine.run(Row(targets=targets)).runs}
    assert verdicts == {"deep": Verdict.BROKEN, "cut": Verdict.BROKEN, "good": Verdict.FAIL}


def test_the_hook_for_passed_assertions_is_kept(engine: Engine) -> None:
    ini = FileChange(path="pytest.ini", content=b"[pytest]\nenable_assertion_pass_hook = true\n")
    hook = b"def pytest_assertion_pass(orig, expl):\n    raise ValueError('passed: ' + orig)\n"
    changes = (ini, FileChange(path="tests/conftest.py", content=hook))
    run = run_one(engine, "def test_a():\n    assert 1 + 1 == 2\n", changes=changes)
    assert "passed: 1 + 1 == 2" in run.reason, run

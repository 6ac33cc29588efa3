from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_brt.execute.engine import Program, Row, TestTarget
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.execute.sandbox import FORKABLE
from pytest_brt.render.causes import run_words
from pytest_brt.types import FileChange, Verdict
from tests.execute.cases import CASES
from tests.support.projects import make_project, open_on
from tests.support.rounds import rounds
from tests.support.subjects import environment

pytestmark = [pytest.mark.slow, pytest.mark.long]

#: Python of the subject, its pytest.
PAIRS = [
    ("3.8", "4.4.2"),
    ("3.8", "6.2.5"),
    ("3.8", "8.3.5"),
    ("3.9", "7.0.1"),
    ("3.10", "7.4.4"),
    ("3.11", "8.4.2"),
    ("3.12", "7.4.4"),
    ("3.13", "9.0.0"),
]
#: Where each takes an interpreter of its own: what differs between versions of pytest.
FEW = ("pass", "assertion", "did-not-raise", "import-on-top", "fixture", "xfail", "teardown")
FIXED = FileChange(path="pkg/core.py", content=b"def divide(a, b):\n    return 3\n")
ASKS = "from pkg.core import divide\ndef test_a():\n    assert divide(4, 2) == 3\n"


#: Without forks each test starts an interpreter: all pairs on request, the oldest in CI.
PLAIN = PAIRS[: rounds(len(PAIRS))]


@pytest.fixture(scope="module")
def level() -> str:
    """Return the level that the interpreter which runs us gets here."""
    return open_sandbox("auto").level


@pytest.mark.parametrize(
    ("sandbox", "python", "version"),
    [*(("auto", *pair) for pair in PAIRS), *(("none", *pair) for pair in PLAIN)],
)
def test_every_pair_gives_the_same_verdicts(
    tmp_path: Path, level: str, sandbox: str, python: str, version: str
) -> None:
    found = environment(python, f"pytest=={version}")
    tmp_path.chmod(0o755)
    engine = open_on(make_project(tmp_path / "p"), python=str(found), sandbox=sandbox)
    subject = engine.subject
    assert f"{subject.python_version[0]}.{subject.python_version[1]}" == python
    names = tuple(CASES) if engine.forks and subject.pytest_version >= FORKABLE else FEW
    if sandbox == "none":  # the versions' differences are seen with a sandbox
        names = FEW[:2]
    try:
        # The library of the interpreter that runs us is not there once the subject's is shut in.
        assert engine.level == (level if sandbox == "auto" else sandbox)
        result = engine.run(
            Row(
                targets=tuple(
                    TestTarget(
                        id=name, path="tests/test_x.py", source=CASES[name][0], node="test_a"
                    )
                    for name in names
                )
            )
        )
        assert result.notes == ()
        for run in result.runs:
            _, verdict, words = CASES[run.test]
            assert (run.verdict, words in run_words(run)) == (verdict, True), run
        target = TestTarget(id="t", path="tests/test_x.py", source=ASKS, node="test_a")
        (fixed,) = engine.run(Row(targets=(target,), changes=(FIXED,))).runs
        assert fixed.verdict is Verdict.PASS
        assert fixed.exercised is (True if subject.python_version >= (3, 12) else None)
        seen = engine.observe(Program(statements=("from pkg.core import divide", "divide(1, 0)")))
        assert [one.raised is None for one in seen.observed] == [True, False]
    finally:
        engine.close()


@pytest.mark.skipif(sys.platform != "linux", reason="made for Linux")
def test_the_running_interpreter_is_among_them() -> None:
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in {python for python, _ in PAIRS}

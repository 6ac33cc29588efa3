"""What tests come to, in the strongest sandbox that is here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event, Thread

import pytest

from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.process import Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import open_sandbox
from pytest_brt.sandbox.statements import run_statements
from pytest_brt.types import CauseCode, FileChange, Subject, TestRun, Verdict
from tests.support.projects import make_project

#: Source of `test_a`, its verdict, and words of the reason.
CASES = {
    "passes": ("def test_a(): assert True", Verdict.PASS, ""),
    "fails": ("def test_a(): assert 1 == 2", Verdict.FAIL, "assert 1 == 2"),
    "prints": ("def test_a():\n  print('1 passed')\n  assert 0", Verdict.FAIL, ""),
    "skips": ("import pytest\ndef test_a(): pytest.skip('no')", Verdict.SKIP, "no"),
    "expected": ("import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0", Verdict.XFAIL, ""),
    "mended": ("import pytest\n@pytest.mark.xfail(strict=1)\ndef test_a(): pass", Verdict.PASS, ""),
    "import-error": ("import zork\ndef test_a(): pass", Verdict.BROKEN, "zork"),
    "syntax-error": ("def test_a(:", Verdict.BROKEN, "SyntaxError"),
    "name-error": ("def test_a(): zork", Verdict.BROKEN, "NameError"),
    "no-test": ("x = 1", Verdict.BROKEN, ""),
    "no-fixture": ("def test_a(zork): pass", Verdict.BROKEN, "fixture 'zork' not found"),
    "system-exit": ("def test_a(): raise SystemExit(0)", Verdict.BROKEN, "SystemExit"),
    "recursion": ("def f(): f()\ndef test_a(): f()", Verdict.FAIL, "RecursionError"),
    "odd-text": ("def test_a(): raise ValueError('\\ud800\\0\\x1b[31m')", Verdict.FAIL, "Value"),
    "in-project": (
        "from pkg.core import divide\ndef test_a(): divide(1, 0)", Verdict.FAIL, "ZeroDivision",
    ),
    "wrong-call": (
        "from pkg.core import divide\ndef test_a(): divide(1)", Verdict.FAIL, "does not fit",
    ),
    "unittest": (
        "import unittest\nclass TestX(unittest.TestCase):\n  def test_a(self): self.fail('x')",
        Verdict.BROKEN,
        "",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = make_project(tmp_path_factory.mktemp("run") / "project")
    subject = Subject(root=str(root), python=sys.executable, source_roots=(".",), packages=("pkg",))
    with closing(Runner(subject, open_sandbox("auto"), Limits(seconds=20.0))) as runner:
        yield runner


@pytest.fixture(scope="module")
def runs(runner: Runner) -> dict[str, TestRun]:
    """All cases, which want the same file, in one go."""
    tests = [
        Test(id=name, path="tests/test_x.py", source=f"{source}\n", node="test_a")
        for name, (source, _, _) in CASES.items()
    ]
    return {run.test: run for run in runner.run(tests)}


@pytest.mark.parametrize("name", CASES)
def test_each_test_has_its_verdict(runs: dict[str, TestRun], name: str) -> None:
    _, verdict, words = CASES[name]
    assert runs[name].verdict is verdict, runs[name].cause.text
    assert words in runs[name].cause.text


def test_paths_are_those_of_the_project(runs: dict[str, TestRun]) -> None:
    raised = runs["in-project"].raised
    assert raised is not None
    own = [(frame.path, frame.line) for frame in raised.frames if not frame.path.startswith("/")]
    assert own == [("tests/test_x.py", 2), ("pkg/core.py", 2)]
    assert raised.in_project is not None
    assert runs["in-project"].used_project is True
    assert runs["fails"].used_project is False


def run_file(
    runner: Runner, source: str, changes: tuple[FileChange, ...] = (), watch: tuple[str, ...] = ()
) -> dict[str, TestRun]:
    """Return what the tests of a file of the project did, by their nodes."""
    change = FileChange(path="tests/test_many.py", content=source.encode())
    tests = [Test(id="file", path="tests/test_many.py")]
    found = runner.run(tests, (*changes, change), watch=watch)
    return {run.node: run for run in found}


def test_a_test_that_ends_its_process_hides_no_other(runner: Runner) -> None:
    source = (
        "import os\ndef test_f(): os._exit(0)\ndef test_f_two(): assert 0\ndef test_f_3(): pass\n"
    )
    runs = run_file(runner, source)
    assert {node: run.verdict for node, run in runs.items()} == {
        "test_f": Verdict.CRASH,
        "test_f_two": Verdict.FAIL,
        "test_f_3": Verdict.PASS,
    }


def test_a_file_that_ends_its_process_hides_no_other(runner: Runner) -> None:
    sources = {"ends": "import os\nos._exit(0)\n", "passes": "def test_a(): pass\n"}
    tests = [
        Test(id=name, path=f"tests/test_{name}.py", source=source, node="test_a")
        for name, source in sources.items()
    ]
    found = [(run.verdict, run.cause.text) for run in runner.run(tests)]
    ended = "exit status 0 while being collected"
    assert found == [(Verdict.CRASH, ended), (Verdict.PASS, "passed")]


def test_lines_that_are_watched_are_told(runner: Runner) -> None:
    source = (
        "from pkg.core import Thing, divide\ndef test_a(): divide(1, 1)\n"
        "def test_b(): Thing().name()\n"
    )
    runs = run_file(runner, source, watch=("pkg/core.py",))
    lines = {node: {name: int(bits, 16) for name, bits in run.ran} for node, run in runs.items()}
    assert lines["test_a"] == {"pkg/core.py": 1 << 2}
    assert lines["test_b"] == {"pkg/core.py": 1 << 7}


def test_what_statements_compiled_is_not_kept(runner: Runner) -> None:
    """They leave other code in the place of what Python would compile."""
    false = (
        "import os, py_compile, pkg.core\n"
        "code, status = pkg.core.__file__, os.stat(pkg.core.__file__)\n"
        "text = open(code).read().replace('a / b', 'a + b')\n"
        "_ = open(code, 'w').write(text)\n"
        "os.utime(code, ns=(status.st_atime_ns, status.st_mtime_ns))\n"
        "_ = py_compile.compile(code, pkg.core.__cached__)\n"
    )
    observed = run_statements(runner, false.splitlines()).observed
    assert not any(one.raised for one in observed)
    result = run_statements(runner, ["import pkg.core", "pkg.core.divide(6, 3)"]).observed[-1]
    assert result.value is not None
    assert result.value.repr == "2.0"


def test_other_code_than_the_patched_is_no_result(runner: Runner) -> None:
    source = (
        "import importlib.util, sys\n"
        "spec = importlib.util.spec_from_file_location('pkg.core', '/usr/lib/core.py')\n"
        "sys.modules['pkg.core'] = importlib.util.module_from_spec(spec)\ndef test_a(): pass\n"
    )
    patch = FileChange(path="pkg/core.py", content=b"x = 1\n")
    run = run_file(runner, source, (patch,))["test_a"]
    assert run.verdict is Verdict.INVALID
    assert "/usr/lib/core.py" in run.cause.text


def test_a_module_that_becomes_a_package_is_the_patched_code(runner: Runner) -> None:
    package = FileChange(path="pkg/core/__init__.py", content=b"def divide(a, b): return 7\n")
    changes = (FileChange(path="pkg/core.py", content=None), package)
    run = run_file(
        runner, "from pkg.core import *\ndef test_a(): assert divide(1, 1) == 7\n", changes
    )
    assert run["test_a"].verdict is Verdict.PASS


def test_what_plugins_that_are_not_loaded_know_is_no_error(runner: Runner) -> None:
    settings = b"[pytest]\nfilterwarnings = error\nodd_option = 1\n"
    source = "import pytest\n@pytest.mark.odd(1)\ndef test_a(): pass\n"
    run = run_file(runner, source, (FileChange(path="pytest.ini", content=settings),))["test_a"]
    assert run.verdict is Verdict.PASS


def test_no_source_is_read_to_show_a_failure(runner: Runner) -> None:
    """Nobody sees it, and parsing a large file for each frame takes longer than most tests."""
    keeps = b"def pytest_runtest_logreport(report): print(report.longreprtext, file=open('s', 'a'))"
    support = (FileChange(path="tests/conftest.py", content=keeps),)
    source = "def test_a():\n    assert 1 == 2  # a comment\ndef test_b(): print(open('s').read())"
    (_, run) = runner.run([Test(id="t", path="tests/test_a.py", source=source, support=support)])
    assert "assert 1 == 2" in run.output
    assert "a comment" not in run.output


def test_bug_tests_leave_each_other_nothing(runner: Runner) -> None:
    sets = "import sys\ndef test_a():\n  assert not hasattr(sys, 'left')\n  sys.left = 1\n"
    tests = [
        Test(id=f"{n}", path="tests/test_s.py", source=f"{sets}# {n}\n", node="test_a")
        for n in range(3)
    ]
    assert {run.verdict for run in runner.run(tests)} == {Verdict.PASS}


def test_statements_tell_values_and_how_they_end(runner: Runner) -> None:
    statements = ("from pkg.core import divide", "divide(1, 2)", "divide(1, 0)", "exit(3)")
    found = run_statements(runner, (*statements, "import os; os._exit(4)", "1"))
    assert len(found.observed) == 4
    value, raised = found.observed[1].value, found.observed[2].raised
    assert value is not None
    assert (value.repr, value.evaluable) == ("0.5", True)
    assert raised is not None
    assert raised.in_project is not None
    assert found.ended == "exit status 4"


def test_no_test_is_run_any_more_once_the_time_of_the_processor_is_over(runner: Runner) -> None:
    burns = "    end = time.process_time() + 0.4\n    while time.process_time() < end: pass\n"
    tests = "".join(f"def test_{name}():\n{burns}" for name in "abc")
    change = FileChange(path="tests/test_burns.py", content=f"import time\n{tests}".encode())
    targets = [Test(id="t", path=change.path)]
    runs = runner.run(targets, (change,), seconds=60, cpu=0.5)
    assert [run.verdict for run in runs[:1]] == [Verdict.PASS]
    assert runs[-1].cause.code is CauseCode.TREE_TOO_SLOW
    assert len(runs) == 3


@pytest.mark.slow
def test_nothing_that_a_process_reports_is_lost_where_this_one_is_busy(runner: Runner) -> None:
    """It may end between two looks at what it wrote."""
    enough = Event()

    def work() -> None:
        while not enough.is_set():
            sum(range(1000))

    for _ in range(4):
        Thread(target=work, daemon=True).start()
    quick = Test(id="quick", path="tests/test_x.py", source="def test_a(): pass\n", node="test_a")
    several = Runner(runner.subject, runner.sandbox, runner.limits, jobs=4)
    with closing(several), ThreadPoolExecutor(4) as pool:
        verdicts = {run.verdict for (run,) in pool.map(lambda _: several.run([quick]), range(20))}
    enough.set()
    assert verdicts == {Verdict.PASS}

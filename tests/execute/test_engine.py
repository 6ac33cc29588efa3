from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.errors import SubjectProblem
from pytest_brt.execute.engine import Engine, Program, Row, TestTarget
from pytest_brt.render.causes import run_words
from pytest_brt.types import FileChange, Verdict
from tests.execute.cases import CASES
from tests.support.projects import SAYS_SO, make_project, open_on, run_one, wait_at_work

SLOW = (pytest.mark.slow, pytest.mark.long)
LEVELS = [
    "ns",
    pytest.param("none", marks=SLOW),
    pytest.param("landlock", marks=SLOW),
    pytest.param("process", marks=SLOW),
]


@pytest.fixture(scope="module", params=LEVELS)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    root = make_project(tmp_path_factory.mktemp("engine") / "project")
    engine = open_on(root, sandbox=request.param)
    assert engine.level == request.param
    yield engine
    engine.close()


def test_each_test_gets_its_verdict(engine: Engine) -> None:
    targets = tuple(
        TestTarget(id=name, path="tests/test_x.py", source=source, node="test_a")
        for name, (source, _, _) in CASES.items()
    )
    runs = engine.run(Row(targets=targets)).runs
    assert [(run.test, run.node) for run in runs] == [(name, "test_a") for name in CASES]
    for run in runs:
        _, verdict, words = CASES[run.test]
        assert (run.verdict, words in run_words(run)) == (verdict, True), run
        assert "\n" not in run_words(run)


def test_what_does_not_end_is_a_timeout(engine: Engine) -> None:
    run = run_one(engine, "import time\ndef test_a():\n    time.sleep(600)\n", seconds=1.0)
    assert (run.verdict, run_words(run)) == (Verdict.TIMEOUT, "did not end within 1 s"), run


def test_frames_are_named_as_the_project_names_them(engine: Engine) -> None:
    run = run_one(engine, CASES["project-raises"][0])
    assert run.raised is not None
    assert [(f.path, f.line, f.project) for f in run.raised.frames[-2:]] == [
        ("tests/test_brt_x.py", 3, False),
        ("pkg/core.py", 2, True),
    ]
    assert run.raised.type == "ZeroDivisionError"
    assert "ArithmeticError" in run.raised.bases
    assert run.raised.values == (("a", "1"), ("b", "0"))


def test_values_are_named_without_running_code_of_the_project(engine: Engine) -> None:
    source = (
        "import pkg.core\n"
        "class Loud:\n"
        "    def __repr__(self):\n"
        "        raise SystemExit('loud')\n"
        "def test_a():\n"
        "    pkg.core.divide({'k': [1, (2, [3])]}, [Loud(), None, 'x' * 99, 4, 5])\n"
    )
    run = run_one(engine, source)
    assert run.raised is not None
    values = dict(run.raised.values)
    assert values["a"] == "{'k': [1, <tuple>]}"
    assert values["b"].startswith("[<Loud>, None, 'xxx")
    assert len(values["b"]) == 60
    own = run_one(engine, "def test_a():\n    x = 1\n    assert not x\n").raised
    assert own is not None
    assert own.values == ()


def test_a_changed_tree_is_what_runs(engine: Engine) -> None:
    source = "from pkg.core import divide\ndef test_a():\n    assert divide(4, 2) == 3\n"
    fixed = FileChange(path="pkg/core.py", content=b"def divide(a, b):\n    return 3\n")
    other = FileChange(path="pkg/core.py", content=b"def divide(a, b):\n    return 4\n")
    verdicts = [
        run_one(engine, source, changes=changes).verdict
        for changes in ((), (fixed,), (other,), (fixed,), ())
    ]
    assert verdicts == ["FAIL", "PASS", "FAIL", "PASS", "FAIL"]


def test_what_a_test_writes_is_gone_for_the_next(engine: Engine) -> None:
    spoil = "import pkg.core\ndef test_a():\n    open(pkg.core.__file__, 'w').write('1/0')\n"
    assert run_one(engine, spoil).verdict is Verdict.PASS
    assert run_one(engine, "import pkg.core\ndef test_a(): pass\n").verdict is Verdict.PASS


def test_a_file_goes_on_after_a_test_that_ends_the_process(engine: Engine) -> None:
    source = (
        "import os, time\ndef test_a(): pass\ndef test_b(): os._exit(3)\ndef test_c(): pass\n"
        "def test_d(): time.sleep(600)\ndef test_e(): assert 0\n"
    )
    target = TestTarget(id="m", path="tests/test_m.py", source=source)
    runs = engine.run(Row(targets=(target,), test_seconds=3.0)).runs
    assert [(run.node, run.verdict) for run in runs] == [
        ("test_a", Verdict.PASS),
        ("test_b", Verdict.CRASH),
        ("test_c", Verdict.PASS),
        ("test_d", Verdict.TIMEOUT),
        ("test_e", Verdict.FAIL),
    ]


#: Leaves a process that has its pipe.
LEAVES = """
import os, time
def test_a():
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
"""


def test_a_process_that_is_left_with_the_pipe_holds_nobody_up(engine: Engine) -> None:
    assert run_one(engine, LEAVES).verdict is Verdict.PASS


#: Looks for other processes of its row.
LOOKS = """
import os
def parent(process):
    try:
        with open(f'/proc/{process}/stat') as stream:
            return int(stream.read().rpartition(')')[2].split()[1])
    except OSError:
        return None
def test_a():
    others = {int(name) for name in os.listdir('/proc') if name.isdigit()} - {os.getpid()}
    assert not [other for other in others if parent(other) == os.getppid()]
"""


def test_what_a_test_leaves_has_ended_when_the_next_begins(engine: Engine) -> None:
    if engine.level == "none":
        pytest.skip("what leaves its group is not ended there")
    targets = tuple(
        TestTarget(id=source, path="tests/test_x.py", source=source, node="test_a")
        for source in (LEAVES, LOOKS)
    )
    runs = engine.run(Row(targets=targets)).runs
    assert [run.verdict for run in runs] == [Verdict.PASS] * 2, runs


#: Tells more at once than the tool reads while the test ends.
TELLS_MUCH = """
import fcntl, os, stat
def test_a():
    for number in range(3, 64):
        try: is_pipe = stat.S_ISFIFO(os.fstat(number).st_mode)
        except OSError: continue
        if is_pipe:
            fcntl.fcntl(number, fcntl.F_SETPIPE_SZ, 1 << 20)
            os.write(number, b'garbage\\n' * 60000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux makes pipes larger")
def test_what_a_test_told_before_its_end_counts(engine: Engine) -> None:
    assert run_one(engine, TELLS_MUCH).verdict is Verdict.PASS


def test_items_of_one_name_count_as_one_run(engine: Engine) -> None:
    source = (
        "import pytest\n@pytest.mark.parametrize('x', [1, 2, 3])\ndef test_a(x): assert x != 2\n"
    )
    assert run_one(engine, source).verdict is Verdict.FAIL
    assert run_one(engine, source, node="test_a[1]").verdict is Verdict.PASS


def test_the_hash_seed_is_the_rows(engine: Engine) -> None:
    source = "import os\ndef test_a(): assert os.environ['PYTHONHASHSEED'] == '7'\n"
    target = TestTarget(id="t", path="tests/test_seed.py", source=source)
    assert engine.run(Row(targets=(target,), hash_seed=7)).runs[0].verdict is Verdict.PASS
    assert engine.run(Row(targets=(target,))).runs[0].verdict is Verdict.FAIL


#: Looks whether its module had been compiled before.
COMPILED = """
import os, pkg
def test_a(): assert os.path.exists(pkg.__cached__)
"""
#: Looks whether its module is that of a patch.
PATCHED = """
import pkg
def test_a(): assert hasattr(pkg, 'patched')
"""


def test_modules_are_compiled_for_rows_of_every_hash_seed_and_never_those_of_a_patch(
    engine: Engine,
) -> None:
    compiled, patched = (
        TestTarget(id=source, path="tests/test_compiled.py", source=source, node="test_a")
        for source in (COMPILED, PATCHED)
    )
    change = FileChange(path="pkg/__init__.py", content=b"patched = True\n")
    for seed in (11, 12):
        row = Row(targets=(compiled, patched), hash_seed=seed)
        assert [run.verdict for run in engine.run(row).runs] == [Verdict.PASS, Verdict.FAIL]
    for seed in (11, 13, 11):
        row = Row(targets=(compiled, patched), hash_seed=seed)
        on_patch = engine.run(replace(row, changes=(change,))).runs
        assert [run.verdict for run in on_patch] == [Verdict.FAIL, Verdict.PASS]
        assert engine.run(row).runs[1].verdict is Verdict.FAIL


def test_the_project_itself_is_left_alone(engine: Engine) -> None:
    root = Path(engine.subject.root)
    before = _digest(root)
    run_one(
        engine,
        "def test_a():\n    open('pkg/core.py', 'w').close()\n    open('new', 'w').close()\n",
    )
    assert _digest(root) == before


def _digest(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        digest.update(str(path).encode())
        if path.is_file():
            digest.update(path.read_bytes())
            digest.update(str(path.stat().st_mtime_ns).encode())
    return digest.hexdigest()


def test_statements_are_observed_one_by_one(engine: Engine) -> None:
    program = Program(
        statements=(
            "from pkg.core import divide",
            "divide(1, 2)",
            "divide(1, 0)",
            "import os, sys, warnings",
            "print('out'); print('err', file=sys.stderr)",
            "os.system('echo child')",
            "warnings.warn('careful', DeprecationWarning)",
            "sys.exit(3)",
            "open('data.txt').read()",
            "object()",
            "for i in range(2):\n    print(i)",
            "import asyncio",
            "await asyncio.sleep(0, 'awaited')",
        ),
        files=(FileChange(path="data.txt", content=b"content"),),
    )
    seen = engine.observe(program)
    assert seen.ended == ""
    by = {one.index: one for one in seen.observed}
    assert len(by) == 13
    half = by[1].value
    assert half is not None
    assert (half.type, half.repr, half.evaluable) == ("float", "0.5", True)
    error = by[2].raised
    assert error is not None
    assert error.type == "ZeroDivisionError"
    assert [(f.path, f.project) for f in error.frames] == [
        ("<report>", False),
        ("pkg/core.py", True),
    ]
    assert (by[4].stdout, by[4].stderr) == ("out\n", "err\n")
    assert by[5].stdout == "child\n"
    assert [(w.type, w.message) for w in by[6].warnings] == [("DeprecationWarning", "careful")]
    assert by[7].raised is not None
    assert by[7].raised.type == "SystemExit"
    content, plain, awaited = by[8].value, by[9].value, by[12].value
    assert content is not None
    assert plain is not None
    assert awaited is not None
    assert content.text == "content"
    assert not plain.evaluable
    assert by[10].stdout == "0\n1\n"
    assert awaited.repr == "'awaited'"


def test_functions_that_statements_call_are_noted_from_one_on(engine: Engine) -> None:
    statements = ("from pkg.core import Thing, divide", "divide(1, 2)", "Thing().name()")
    assert not engine.observe(Program(statements=statements)).called
    assert engine.observe(Program(statements=statements, calls_from=2)).called == {
        ("pkg/core.py", 6)
    }


@pytest.mark.parametrize(
    ("last", "share", "how"),
    [
        ("import time; time.sleep(600)", 0.1, "timed out after 6 s"),
        ("import os; os._exit(4)", 1.0, "exit status 4"),
        ("import os; os.kill(os.getpid(), 9)", 1.0, "killed by SIGKILL"),
    ],
)
def test_a_statement_that_ends_the_process_costs_only_itself(
    engine: Engine, last: str, share: float, how: str
) -> None:
    program = Program(statements=("1 + 1", last, "3"), statement_share=share)
    seen = engine.observe(program)
    assert [one.index for one in seen.observed] == [0]
    assert seen.ended == how


@pytest.mark.parametrize("path", [".", "..", "../..", "../../out.txt"])
def test_a_file_in_the_place_of_its_folders_is_left_out(engine: Engine, path: str) -> None:
    files = (
        FileChange(path="kept.txt", content=b"1"),
        FileChange(path=path, content=b"x"),
        FileChange(path="../beside.txt", content=b"2"),
    )
    statement = "[open(name).read() for name in ('kept.txt', '../beside.txt')]"
    (seen,) = engine.observe(Program(statements=(statement,), files=files)).observed
    assert seen.value is not None
    assert seen.value.repr == "['1', '2']"


def test_statements_see_changes_of_the_tree(engine: Engine) -> None:
    change = FileChange(path="pkg/core.py", content=b"divide = 'changed'\n")
    seen = engine.observe(
        Program(statements=("import pkg.core", "pkg.core.divide"), changes=(change,))
    )
    value = seen.observed[1].value
    assert value is not None
    assert value.text == "changed"


def test_a_row_may_allow_its_tests_less_time(engine: Engine) -> None:
    source = "import time\ndef test_a():\n    time.sleep(1.5)\n"
    assert run_one(engine, source).verdict is Verdict.PASS
    hurried = run_one(engine, source, seconds=0.5)
    assert (hurried.verdict, "0.5 s" in run_words(hurried)) == (Verdict.TIMEOUT, True)
    assert run_one(engine, source, seconds=100).verdict is Verdict.PASS


def test_tests_of_a_row_are_forked_and_not_started_anew(engine: Engine) -> None:
    """The notes of a row say when each test had to get a new interpreter."""
    targets = tuple(
        TestTarget(id=str(number), path="tests/test_fork.py", source=PARENT, node="test_a")
        for number in range(2)
    )
    result = engine.run(Row(targets=targets))
    assert result.notes == ()
    said = {run_words(run) for run in result.runs}
    if engine.level == "none":
        assert any("start.py run_tests" in reason for reason in said), said
    else:
        assert all("start.py zygote" in reason for reason in said), said


PARENT = """\
import sys
def test_a():
    with open("/proc/self/cmdline") as stream:
        raise ValueError(stream.read().replace(chr(0), " "))
"""


def test_an_engine_that_is_closed_while_rows_run_starts_nothing_more(tmp_path: Path) -> None:
    engine = open_on(make_project(tmp_path / "project"))
    source = f"import time\ndef test_a():\n    {SAYS_SO}\n    time.sleep(600)\n"
    target = TestTarget(id="t", path="tests/test_brt_x.py", source=source, node="test_a")
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(engine.run, Row(targets=(target,))) for _ in range(2)]
        wait_at_work(running[0])
        engine.close()
        for future in running:
            with pytest.raises(SubjectProblem, match="the run is over"):
                future.result()
    with pytest.raises(SubjectProblem, match="the run is over"):
        engine.run(Row(targets=(target,)))


def test_a_change_that_cannot_be_made_says_nothing_of_the_patch(tmp_path: Path) -> None:
    engine = open_on(make_project(tmp_path / "project"), sandbox="ns")
    target = TestTarget(
        id="t", path="tests/test_t.py", source="def test_a(): pass\n", node="test_a"
    )
    change = FileChange(path="pkg/core.py/below.py", content=b"x = 1\n")
    try:
        run = engine.run(Row(targets=(target,), changes=(change,))).runs[0]
        assert run.verdict is Verdict.INVALID, run_words(run)
        assert "core.py" in run_words(run)
        assert engine.run(Row(targets=(target,))).runs[0].verdict is Verdict.PASS
    finally:
        engine.close()


def test_what_a_unittest_raised_is_known(engine: Engine) -> None:
    source = (
        "import unittest\nfrom pkg.core import divide\n\n\nclass TestA(unittest.TestCase):\n"
        "    def test_a(self):\n        divide(1, 0)\n\n"
        "    def test_b(self):\n        self.assertEqual(divide(1, 1), 2)\n\n"
        "    def test_c(self):\n        self.skipTest('no')\n\n"
        "    @unittest.expectedFailure\n    def test_d(self):\n        divide(1, 0)\n\n"
        "    @unittest.expectedFailure\n    def test_e(self):\n        pass\n"
    )
    target = TestTarget(id="t", path="tests/test_case.py", source=source)
    runs = {run.node: run for run in engine.run(Row(targets=(target,))).runs}
    found = runs["TestA::test_a"]
    assert run_words(found) == "ZeroDivisionError: division by zero (pkg/core.py:2)"
    assert found.raised is not None
    assert run_words(runs["TestA::test_b"]).startswith("AssertionError: 1.0 != 2")
    assert [run.verdict for run in runs.values()] == [
        Verdict.FAIL,
        Verdict.FAIL,
        Verdict.SKIP,
        Verdict.XFAIL,
        Verdict.FAIL,
    ]


@pytest.mark.parametrize(
    ("body", "used"),
    [
        ("divide(4, 2)", True),
        ("Thing().name()", True),
        ("assert max(1, 2) == 2", False),
        ("import json\n    json.dumps(1)", False),
        ("import subprocess, sys\n    subprocess.run([sys.executable, '-c', ''])", None),
    ],
)
def test_it_is_seen_whether_a_test_uses_the_project(
    engine: Engine, body: str, used: bool | None
) -> None:
    source = f"from pkg.core import Thing, divide\n\n\ndef test_a():\n    {body}\n"
    assert run_one(engine, source).used_project is used


def test_what_a_library_keeps_in_c_is_whole_in_later_rows(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    (root / "pkg/waiting.py").write_text(
        "import asyncio\n\n\nasync def current():\n    return asyncio.current_task()\n", "utf-8"
    )
    source = (
        "import asyncio\nfrom pkg.waiting import current\n"
        "def test_a():\n    assert asyncio.run(current()) is not None\n"
    )
    engine = open_on(root)
    try:
        # What the first row loads is loaded before the next ones are forked.
        verdicts = [run_one(engine, source).verdict for _ in range(3)]
    finally:
        engine.close()
    assert verdicts == [Verdict.PASS] * 3


def test_a_library_with_the_name_of_a_plugin_is_loaded_as_it_is(tmp_path: Path) -> None:
    """As Django beside the plugin `django`: for ``-p`` alone pytest rewrites all its asserts."""
    installed = tmp_path / "installed"
    files = {
        "shop/__init__.py": "",
        "shop/orders.py": "",
        "pytest_shop.py": "import shop.orders\n",
        "pytest_shop-1.0.dist-info/METADATA": "Name: pytest-shop\nVersion: 1.0\n",
        "pytest_shop-1.0.dist-info/entry_points.txt": "[pytest11]\nshop = pytest_shop\n",
    }
    for name, content in files.items():
        (installed / name).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).write_text(content, encoding="utf-8")
    root = make_project(tmp_path / "project")
    (root / "requirements.txt").write_text("pytest-shop\n", encoding="utf-8")
    source = (
        "import sys\n\n\ndef test_a(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.hasplugin('shop')\n"
        "    loader = sys.modules['shop.orders'].__spec__.loader\n"
        "    assert type(loader).__name__ == 'SourceFileLoader'\n"
    )
    with closing(open_on(root, env={"PYTHONPATH": str(installed)})) as engine:
        assert engine.subject.pytest_args == ("-p", "shop")
        run = run_one(engine, source)
    assert run.verdict is Verdict.PASS, run

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.execute import rowrun, zygote
from pytest_brt.execute.engine import Engine, Limits, LocalEngine, Row, TestTarget
from pytest_brt.execute.process import Deadlines
from pytest_brt.execute.protocol import CellOrder, RowOrder
from pytest_brt.execute.zygote import Worker
from pytest_brt.render.causes import run_words
from pytest_brt.types import FileChange, Verdict
from tests.support.projects import SAYS_SO, make_project, open_on, run_one, wait_at_work

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks rows")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    folder.chmod(0o755)
    return make_project(folder / "project")


@pytest.fixture(scope="module")
def engine(root: Path) -> Iterator[Engine]:
    with closing(open_on(root)) as engine:
        yield engine


@pytest.fixture
def own(root: Path) -> Iterator[LocalEngine]:
    """Return an engine whose processes a test may do harm to."""
    with closing(open_on(root)) as engine:
        yield engine


IMPORTS = "import pkg.core\ndef test_a(): assert pkg.core.divide\n"


def _core(text: str) -> tuple[FileChange, ...]:
    return (FileChange(path="pkg/core.py", content=text.encode()),)


def test_a_patch_that_hangs_while_imported_is_a_timeout(
    own: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_one(own, IMPORTS)  # starts the worker
    setting = replace(own._slots.setting, limits=Limits(seconds=2.0, start_seconds=2.0))
    (worker,) = own._slots.slots[0].workers.values()
    targets = tuple(
        TestTarget(id=str(number), path=f"tests/test_{number}.py", source=IMPORTS, node="test_a")
        for number in range(3)
    )
    row = Row(targets=targets, changes=_core("import time\nwhile True: time.sleep(0.1)\n"))
    begin = time.monotonic()
    with monkeypatch.context() as hurry:
        hurry.setattr(own._slots, "setting", setting)
        hurry.setattr(worker, "_setting", setting)
        hurry.setattr(zygote, "GRACE", 1.0)
        result = own.run(row)
    assert [run.verdict for run in result.runs] == [Verdict.TIMEOUT] * 3, result
    assert time.monotonic() - begin < 50  # far from the minute that a test has by itself
    assert run_one(own, IMPORTS).verdict is Verdict.PASS


def test_a_patch_that_cannot_be_imported_breaks_its_tests_only(engine: Engine) -> None:
    broken = run_one(engine, IMPORTS, changes=_core("1 / 0\n"))
    assert broken.verdict is Verdict.BROKEN
    assert "ZeroDivisionError" in run_words(broken)
    ends = run_one(engine, IMPORTS, changes=_core("import os\nos._exit(3)\n"))
    assert ends.verdict in (Verdict.BROKEN, Verdict.CRASH), ends
    assert run_one(engine, IMPORTS).verdict is Verdict.PASS


def test_a_warning_while_importing_is_left_for_the_tests_to_see(engine: Engine) -> None:
    change = _core("import warnings\nwarnings.warn('old', DeprecationWarning)\ndivide = 1\n")
    sees = (
        "import pytest\ndef test_a():\n    with pytest.warns(DeprecationWarning):\n"
        "        import pkg.core\n"
    )
    assert run_one(engine, sees, changes=change).verdict is Verdict.PASS
    target = TestTarget(id="t", path="tests/test_w.py", source=IMPORTS, node="test_a")
    (run,) = engine.run(Row(targets=(target,), changes=change)).runs
    assert run.verdict is Verdict.PASS


def test_a_conftest_that_breaks_is_said_to_be_so(engine: Engine) -> None:
    change = (FileChange(path="tests/conftest.py", content=b"import zork\n"),)
    run = run_one(engine, "def test_a(): pass\n", changes=change)
    assert run.verdict is Verdict.BROKEN
    assert "zork" in run_words(run)


def test_only_what_all_tests_import_is_loaded_before_they_part(engine: Engine) -> None:
    """A submodule that one test imports must not appear, as if by itself, in another."""
    changes = (FileChange(path="pkg/extra.py", content=b"there = True\n"),)
    targets = (
        TestTarget(
            id="uses",
            path="tests/test_uses.py",
            source="import pkg.core\nimport pkg.extra\ndef test_a(): assert pkg.extra.there\n",
            node="test_a",
        ),
        TestTarget(
            id="lacks",
            path="tests/test_lacks.py",
            source="import pkg.core\ndef test_a(): assert pkg.extra.there\n",
            node="test_a",
        ),
    )
    runs = {run.test: run for run in engine.run(Row(targets=targets, changes=changes)).runs}
    assert runs["uses"].verdict is Verdict.PASS
    assert runs["lacks"].verdict is Verdict.FAIL
    assert "has no attribute 'extra'" in run_words(runs["lacks"])


#: Says that it is at work, and ends when it is told to.
TOLD = f"""
import signal
def test_a():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    {SAYS_SO}
    signal.sigwait([signal.SIGUSR1])
"""


def test_a_row_whose_zygote_is_killed_is_done_by_another(own: LocalEngine) -> None:
    target = TestTarget(id="t", path="tests/test_s.py", source=TOLD, node="test_a")
    with ThreadPoolExecutor(1) as pool:
        row = pool.submit(own.run, Row(targets=(target,)))
        first = wait_at_work(row)
        (worker,) = [worker for slot in own._slots.slots for worker in slot.workers.values()]
        os.kill(worker.process.pid, signal.SIGKILL)
        if second := wait_at_work(row, but=first):
            os.kill(second, signal.SIGUSR1)
        result = row.result()
    assert [run.verdict for run in result.runs] == [Verdict.PASS]
    assert any("tried again" in note for note in result.notes)


#: Stops the process that it is a fork of.
STOPS_ITS_ROW = """
import os, signal, time
def test_a():
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(600)
"""


def test_a_row_that_falls_silent_is_ended(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_on(root, sandbox="process")) as engine:
        with monkeypatch.context() as hurry:
            hurry.setattr(zygote, "GRACE", 1.0)
            run = run_one(engine, STOPS_ITS_ROW, seconds=2.0)
        assert run.verdict is Verdict.TIMEOUT, run
        assert run_one(engine, IMPORTS).verdict is Verdict.PASS


#: Stops the process that its row is a fork of.
STOPS_THE_ZYGOTE = """
import os, signal
def test_a():
    stat = open(f"/proc/{os.getppid()}/stat").read()
    os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGSTOP)
"""


def test_what_is_done_stays_so_where_the_end_of_its_row_is_not_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_on(root, sandbox="process")) as engine:
        run_one(engine, IMPORTS)  # starts the worker
        monkeypatch.setattr(zygote, "GRACE", 2.0)
        run = run_one(engine, STOPS_THE_ZYGOTE)
    assert run.verdict is Verdict.PASS, run_words(run)


#: A process that does nothing and ends by itself.
ENDS = CellOrder(
    deadlines=Deadlines(start=60.0, total=60.0),
    script="warm",
    flags=("-I", "-S"),
    spec={"paths": ()},
)


def test_an_order_to_end_a_test_that_has_ended_is_not_for_the_next(own: LocalEngine) -> None:
    with own._slots.lend() as slot:
        worker = own._slots.talk(slot, 0)
        assert isinstance(worker, Worker)
        worker.begin(RowOrder())
        first = worker.cell(ENDS)
        worker._row.send({"op": "kill"})
        second = worker.cell(ENDS)
        worker.end()
    assert [(ended.status, ended.timed_out) for ended in (first, second)] == [(0, False)] * 2


def _last_descendant(process: int) -> int:
    while children := Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split():
        process = int(children[-1])
    return process


def test_an_order_to_end_a_test_may_be_read_with_the_one_to_begin_it(own: LocalEngine) -> None:
    order = CellOrder(
        deadlines=Deadlines(start=0.0, total=0.0),
        # Too long to be read at once, and short enough for more to be sent behind it.
        files=(FileChange(path="long", content=bytes(29_000)),),
        script="observe",
        spec={"statements": ("__import__('time').sleep(600)",), "packages": (), "calls_from": None},
    )
    with own._slots.lend() as slot:
        worker = own._slots.talk(slot, 0)
        assert isinstance(worker, Worker)
        worker.begin(RowOrder())
        row = _last_descendant(worker.process.pid)
        os.kill(row, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as pool:
            cell = pool.submit(worker.cell, order)
            time.sleep(0.5)  # until both orders lie there
            os.kill(row, signal.SIGCONT)
            ended = cell.result()
        worker.end()
    assert (ended.status, ended.timed_out) == (-signal.SIGKILL, True)


#: Finds the pipe to the tool, and `tell` writes to it.
TELLS = """\
import json, os, stat, time
def is_pipe(number):
    try: return stat.S_ISFIFO(os.fstat(number).st_mode)
    except OSError: return False
PIPE = next(filter(is_pipe, range(3, 64)))
def tell(event, **more):
    os.write(PIPE, json.dumps(dict(more, event=event, pid=os.getpid())).encode() + b"\\n")
"""


def test_lines_that_are_none_end_no_run(engine: Engine) -> None:
    source = f"""{TELLS}
def test_a():
    for node in ("tests/test_brt_x.py::test_a", "other"):
        tell("item", node=node)
        tell("item_end", node=node, ran=[["pkg/core.py", "zz"]])
    os._exit(0)
"""
    assert run_one(engine, source).verdict is Verdict.CRASH


def test_a_file_that_ends_its_process_is_not_gone_on_with_for_ever(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rowrun, "EVENTS_MOST", 1000)
    source = f"""{TELLS}
mark = str(time.time())
tell("collected", nodes=[f"{{mark}}-{{number}}" for number in range(500)])
for number in range(499): tell("item", node=f"{{mark}}-{{number}}")
os._exit(0)
"""
    target = TestTarget(id="t", path="tests/test_brt_x.py", source=source)
    assert len(engine.run(Row(targets=(target,))).runs) == 3 * 499


def test_a_row_has_a_deadline_of_its_own(engine: Engine) -> None:
    sources = ["def test_a(): pass\n", *["import time\ndef test_a(): time.sleep(600)\n"] * 4]
    targets = tuple(
        TestTarget(id=str(n), path="tests/test_s.py", source=source, node="test_a")
        for n, source in enumerate(sources)
    )
    for seconds in (3.0, 12.0, 48.0):  # the first one must have time to begin and to end in
        first, *others = engine.run(Row(targets=targets, seconds=seconds)).runs
        assert [run.verdict for run in others] == [Verdict.TIMEOUT] * 4
        assert f"row did not end within {seconds:g} s" in run_words(others[-1])
        if first.verdict is Verdict.PASS:
            return
    pytest.fail(f"no row is long enough: {first}")


def test_rows_run_at_the_same_time(root: Path) -> None:
    source = "import pkg.core\ndef test_a(): assert pkg.core.divide == {}\n"
    rows = [
        Row(
            changes=_core(f"divide = {number}\n"),
            targets=(
                TestTarget(
                    id="r", path="tests/t_test.py", source=source.format(number), node="test_a"
                ),
                TestTarget(id="w", path="tests/t_test.py", source=source.format(-1), node="test_a"),
            ),
        )
        for number in range(6)
    ]
    with (
        closing(open_on(root, jobs=2)) as engine,
        ThreadPoolExecutor(4) as pool,
    ):
        for result in pool.map(engine.run, rows):
            assert [run.verdict for run in result.runs] == [Verdict.PASS, Verdict.FAIL]


def test_a_patch_that_eats_memory_while_imported_harms_nobody(engine: Engine) -> None:
    run = run_one(engine, IMPORTS, changes=_core("x = bytearray(1 << 36)\n"))
    assert run.verdict is Verdict.BROKEN
    assert "sandbox: MemoryError" in run_words(run)
    assert run_one(engine, IMPORTS).verdict is Verdict.PASS


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm")
def test_a_project_in_a_folder_that_is_private_to_each_test_is_seen() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        Path(name).chmod(0o755)
        with closing(open_on(make_project(Path(name) / "project"))) as engine:
            assert run_one(engine, IMPORTS).verdict is Verdict.PASS

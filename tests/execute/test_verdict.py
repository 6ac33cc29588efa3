from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.execute.events import Event, Told
from pytest_brt.execute.outcome import Scene
from pytest_brt.execute.places import Places
from pytest_brt.execute.process import Ended
from pytest_brt.execute.row import TestTarget
from pytest_brt.execute.verdict import verdicts
from pytest_brt.types import TestRun, Verdict

SCENE = Scene(
    target=TestTarget(id="t", path="tests/test_x.py", node="test_a"),
    places=Places(tree="/copy", root="/project"),
)
NODE = "tests/test_x.py::test_a"


def _report(when: str, outcome: str = "passed", raised: Told | None = None) -> Event:
    return Event(event="report", pid=1, node=NODE, when=when, outcome=outcome, raised=raised)


def _stream(*reports: Event, code: int = 0) -> tuple[Event, ...]:
    return (
        Event(event="start", pid=1),
        Event(event="collected", pid=1, nodes=(NODE,)),
        Event(event="item", pid=1, node=NODE),
        *reports,
        Event(event="item_end", pid=1, node=NODE),
        Event(event="finish", pid=1, code=code),
    )


def _ended(events: tuple[Event, ...], status: int = 0, timed_out: bool = False) -> Ended:
    return Ended(events=events, status=status, timed_out=timed_out, tail="", seconds=1.0)


def _one(events: tuple[Event, ...], status: int = 0, level: str = "process") -> TestRun:
    (run,) = verdicts(replace(SCENE, level=level), _ended(events, status))
    return run


GOOD = (_report("setup"), _report("call"), _report("teardown"))


def test_a_pass_needs_every_phase_in_order() -> None:
    assert _one(_stream(*GOOD)).verdict is Verdict.PASS
    for wrong in (GOOD[1:], GOOD[:2], (GOOD[0], GOOD[2]), (GOOD[1], GOOD[0], GOOD[2]), ()):
        assert _one(_stream(*wrong)).verdict is Verdict.TAMPERED


def test_a_pass_needs_one_process_and_a_matching_exit_status() -> None:
    assert _one(_stream(*GOOD), status=1).verdict is Verdict.TAMPERED
    two = tuple(replace(event, pid=2) for event in _stream(*GOOD)[4:])
    assert _one((*_stream(*GOOD)[:4], *two)).verdict is Verdict.TAMPERED


def test_a_report_that_contradicts_its_exception_is_tampered() -> None:
    told = Told(type="AssertionError", message="no")
    reports = (_report("setup"), _report("call", "passed", told), _report("teardown"))
    assert _one(_stream(*reports)).verdict is Verdict.TAMPERED


def test_a_stream_cut_short_is_never_a_pass() -> None:
    whole = _stream(*GOOD)
    for length in range(len(whole)):
        runs = verdicts(SCENE, _ended(whole[:length]))
        assert [run.verdict for run in runs] != [Verdict.PASS]
        late = verdicts(SCENE, _ended(whole[:length], -9, timed_out=True))
        assert {run.verdict for run in late} == {Verdict.TIMEOUT}


def test_any_failed_subtest_fails_the_test() -> None:
    told = Told(type="AssertionError", message="no", frames=(("/copy/tests/test_x.py", 2, "f"),))
    calls = (_report("call"), _report("call", "failed", told), _report("call"))
    run = _one(_stream(GOOD[0], *calls, GOOD[2], code=1), status=1)
    assert run.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("kind", "bases", "file", "verdict"),
    [
        ("NameError", (), "/copy/tests/test_x.py", Verdict.BROKEN),
        ("UnboundLocalError", ("NameError",), "/copy/tests/test_x.py", Verdict.BROKEN),
        ("ModuleNotFoundError", ("ImportError",), "/copy/tests/test_x.py", Verdict.BROKEN),
        ("NameError", (), "/copy/pkg/core.py", Verdict.FAIL),
        ("ImportError", (), "/copy/pkg/core.py", Verdict.FAIL),
        ("KeyError", (), "/copy/tests/test_x.py", Verdict.FAIL),
        ("SystemExit", (), "/copy/pkg/cli.py", Verdict.FAIL),
    ],
)
def test_whose_frame_it_is_decides(
    kind: str, bases: tuple[str, ...], file: str, verdict: Verdict
) -> None:
    frames = (
        ("/copy/tests/test_x.py", 1, "test_a"),
        (file, 3, "f"),
        ("/usr/lib/python3/importlib/__init__.py", 9, "g"),
    )
    told = Told(type=kind, message="m", bases=bases, frames=frames)
    run = _one(_stream(GOOD[0], _report("call", "failed", told), GOOD[2], code=1), status=1)
    assert run.verdict is verdict


@pytest.mark.parametrize(
    ("level", "denied", "named"),
    [
        ("process", "MemoryError", True),
        ("process", "EROFS", False),
        ("ns", "EROFS", True),
        ("ns", "ENETUNREACH", True),
        ("landlock", "EACCES", True),
    ],
)
def test_what_the_sandbox_forbids_is_named(level: str, denied: str, named: bool) -> None:
    told = Told(type="OSError", message="m", denied=denied, frames=(("/copy/pkg/a.py", 1, "f"),))
    stream = _stream(GOOD[0], _report("call", "failed", told), GOOD[2], code=1)
    run = _one(stream, status=1, level=level)
    assert run.verdict is Verdict.FAIL
    assert run.reason.startswith("sandbox: ") is named


def test_messages_name_the_project_and_not_the_copy() -> None:
    told = Told(type="OSError", message="no file /copy/a", frames=(("/copy/pkg/a.py", 1, "f"),))
    run = _one(_stream(GOOD[0], _report("call", "failed", told), GOOD[2], code=1), status=1)
    assert "/project/a" in run.reason
    assert "\n" not in run.reason

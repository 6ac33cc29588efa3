from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.execute.engine import TestTarget
from pytest_brt.execute.process import Ended, Event, Places, ToldException, read_event
from pytest_brt.execute.verdict import Scene, verdicts
from pytest_brt.render.causes import run_words
from pytest_brt.types import TestRun, Verdict
from pytest_brt.types.cause import (
    BodyRaised,
    CodeUntold,
    ExitDiffers,
    Odd,
    Oddity,
    OtherCode,
    ProcessEnded,
)

SCENE = Scene(
    target=TestTarget(id="t", path="tests/test_x.py", node="test_a"),
    places=Places(tree="/copy", root="/project"),
)
NODE = "tests/test_x.py::test_a"


def _report(when: str, outcome: str = "passed", raised: ToldException | None = None) -> Event:
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
    told = ToldException(type="AssertionError", message="no")
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
    told = ToldException(
        type="AssertionError", message="no", frames=(("/copy/tests/test_x.py", 2, "f"),)
    )
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
    told = ToldException(type=kind, message="m", bases=bases, frames=frames)
    run = _one(_stream(GOOD[0], _report("call", "failed", told), GOOD[2], code=1), status=1)
    assert run.verdict is verdict


@pytest.mark.parametrize(
    ("level", "denied", "named"),
    [
        ("process", "MemoryError", True),
        ("process", "EROFS", False),
        ("ns", "EROFS", True),
        ("process", "ELIBACC", False),
        ("ns", "ELIBACC", True),
        ("ns", "ENETUNREACH", True),
        ("landlock", "EACCES", True),
    ],
)
def test_what_the_sandbox_forbids_is_named(level: str, denied: str, named: bool) -> None:
    told = ToldException(
        type="OSError", message="m", denied=denied, frames=(("/copy/pkg/a.py", 1, "f"),)
    )
    stream = _stream(GOOD[0], _report("call", "failed", told), GOOD[2], code=1)
    run = _one(stream, status=1, level=level)
    assert run.verdict is Verdict.FAIL
    assert run.cause == BodyRaised(
        denied=denied if named else "", path="" if named else "pkg/a.py", line=0 if named else 1
    )


def test_messages_name_the_project_and_not_the_copy() -> None:
    told = ToldException(
        type="OSError", message="no file /copy/a", frames=(("/copy/pkg/a.py", 1, "f"),)
    )
    run = _one(_stream(GOOD[0], _report("call", "failed", told), GOOD[2], code=1), status=1)
    assert "/project/a" in run_words(run)
    assert "\n" not in run_words(run)


def _items(*nodes: str, last: str = "item_end") -> tuple[Event, ...]:
    """Return the events of items that pass, the last of them up to its event `last`."""
    events: list[Event] = []
    for node in nodes:
        events.append(Event(event="item", pid=1, node=node))
        events += [replace(report, node=node) for report in GOOD]
        events.append(Event(event="item_end", pid=1, node=node))
    names = [event.event for event in events]
    return tuple(events[: len(names) - names[::-1].index(last)])


def test_each_item_has_its_own_run() -> None:
    events = (*_items("f.py::a", "f.py::C::b[1]"), Event(event="finish", pid=1))
    runs = verdicts(SCENE, _ended(events))
    assert [(run.test, run.node, run.verdict) for run in runs] == [
        ("t", "a", Verdict.PASS),
        ("t", "C::b[1]", Verdict.PASS),
    ]


def test_the_item_that_ends_the_process_costs_no_other_its_verdict() -> None:
    first, second = verdicts(SCENE, _ended(_items("f::a", "f::b", last="item"), status=-11))
    assert first.verdict is Verdict.PASS
    assert (second.verdict, second.cause) == (
        Verdict.CRASH,
        ProcessEnded(status=-11),
    )
    for run in verdicts(SCENE, _ended(_items("f::a", "f::b"), status=-11)):
        assert run.verdict is Verdict.CRASH, "nobody knows which of them"


def test_a_failure_stays_one_though_the_process_died_later() -> None:
    wrong = (GOOD[0], _report("call", "failed"), GOOD[2])
    (run,) = verdicts(SCENE, _ended(_stream(*wrong)[:-1], status=-11))
    assert run.verdict is Verdict.FAIL


def test_an_item_that_was_begun_and_told_nothing_was_not_lost_in_collection() -> None:
    events = _stream(*GOOD)[:3]
    (run,) = verdicts(SCENE, _ended(events, status=1))
    assert (run.verdict, run.cause) == (Verdict.CRASH, ProcessEnded(status=1))
    (run,) = verdicts(SCENE, _ended(events[:2], status=1))
    assert (run.verdict, run.cause) == (Verdict.BROKEN, ProcessEnded(status=1, collecting=True))


def test_who_else_wrote_or_ended_otherwise_is_named() -> None:
    assert _one(_stream(*GOOD), status=3).cause == ExitDiffers(status=3, announced=0)
    forged = replace(_stream(*GOOD)[1], pid=2)
    for events in (_stream(*GOOD), _stream(*GOOD)[:2]):
        run = _one((*events, forged))
        assert (run.verdict, run.cause) == (Verdict.TAMPERED, Odd(oddity=Oddity.TWO_PROCESSES))
    assert _one((*_stream(*GOOD), Event(event="garbage", pid=2))).verdict is Verdict.PASS


def test_times_add_up_and_the_last_output_is_kept() -> None:
    reports = (
        replace(GOOD[0], duration=0.5, output="early"),
        replace(GOOD[1], duration=1.5, output="x" * 5000 + "late"),
        replace(GOOD[2], duration=0.25),
    )
    run = _one(_stream(*reports))
    assert run.seconds == 2.25
    assert run.output == "x" * 3996 + "late"


def test_what_the_process_printed_is_shown_where_it_failed() -> None:
    tail = "/copy/" + "y" * 5000
    wrong = _stream(GOOD[0], _report("call", "failed"), GOOD[2])

    def output(events: tuple[Event, ...]) -> str:
        (run,) = verdicts(SCENE, replace(_ended(events), tail=tail))
        return run.output

    assert output(_stream(*GOOD)) == ""
    assert output(wrong) == output(()) == "y" * 4000
    (run,) = verdicts(SCENE, replace(_ended(wrong), tail="in /copy/a"))
    assert run.output == "in /project/a"


PATCHED = (("pkg/a.py", "patched", "/copy/pkg/a.py"), ("pkg/b.py", "not loaded", ""))


def _touching(
    *states: tuple[str, str, str], lines: bool | None = None, outcome: str = "passed"
) -> TestRun:
    told = Event(event="touched", pid=1, states=states, lines=lines)
    reports = (GOOD[0], _report("call", outcome), GOOD[2])
    (run,) = verdicts(replace(SCENE, touched=True), _ended((*_stream(*reports), told)))
    return run


def test_other_code_than_the_patched_makes_the_run_invalid() -> None:
    other = ("pkg/b.py", "other", "/usr/lib/pkg/b.py")
    for outcome in ("passed", "failed"):
        run = _touching(PATCHED[0], other, lines=True, outcome=outcome)
        assert run.verdict is Verdict.INVALID
        assert run.cause == OtherCode(path="pkg/b.py", origin="/usr/lib/pkg/b.py")


@pytest.mark.parametrize(
    ("states", "lines", "exercised"),
    [
        (PATCHED, True, True),
        (PATCHED, False, False),
        (PATCHED, None, None),
        (PATCHED[1:], None, False),
        (PATCHED[1:], True, False),
        ((), None, False),
    ],
)
def test_a_patch_that_was_not_exercised_is_told(
    states: tuple[tuple[str, str, str], ...], lines: bool | None, exercised: bool | None
) -> None:
    for outcome, verdict in (
        ("passed", Verdict.PASS),
        ("failed", Verdict.FAIL),
        ("skipped", Verdict.SKIP),
    ):
        run = _touching(*states, lines=lines, outcome=outcome)
        assert (run.verdict, run.exercised) == (verdict, exercised)


def test_a_pass_without_word_of_what_was_loaded_is_invalid() -> None:
    scene = replace(SCENE, touched=True)
    (run,) = verdicts(scene, _ended(_stream(*GOOD)))
    assert (run.verdict, run.cause) == (Verdict.INVALID, CodeUntold())
    (run,) = verdicts(SCENE, _ended(_stream(*GOOD)))
    assert run.verdict is Verdict.PASS
    (run,) = verdicts(scene, _ended(_stream(GOOD[0], _report("call", "failed"), GOOD[2])))
    assert run.verdict is Verdict.FAIL
    first, _ = verdicts(scene, _ended(_items("f::a", "f::b", last="item"), status=-11))
    assert first.verdict is Verdict.PASS, "who died could not tell"


def test_of_several_tests_each_says_whether_it_ran_a_changed_line() -> None:
    told = Event(event="touched", pid=1, states=PATCHED, lines=True)
    lines = {"f.py::a": True, "f.py::b": False, "f.py::c": None}
    events = (*_items(*lines), Event(event="finish", pid=1), told)
    events = tuple(
        replace(event, lines=lines[event.node]) if event.event == "item_end" else event
        for event in events
    )
    every = replace(SCENE, touched=True, target=replace(SCENE.target, node=""))
    runs = verdicts(every, _ended(events))
    assert [run.exercised for run in runs] == [True, False, None]
    runs = verdicts(replace(SCENE, touched=True), _ended(events))
    assert {run.exercised for run in runs} == {True}, "one test with several parameters"


def test_events_that_are_nested_too_deeply_are_tampering() -> None:
    trap = read_event(b'{"event": "item", "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}")
    assert trap.event == "trap"
    assert read_event(b"no event").event == "garbage"
    stream = _stream(*GOOD)
    assert _one((*stream[:3], trap, *stream[3:])).verdict is Verdict.TAMPERED
    (run,) = verdicts(SCENE, _ended((*stream[:2], trap)))
    assert run.verdict is Verdict.TAMPERED


@pytest.mark.parametrize(
    "told",
    [
        '"ran": [["pkg/core.py", "zz"]]',
        '"ran": [["pkg/core.py", "%s"]]' % ("f" * 300_000),
        '"duration": 1e300',
        f'"code": {10**30}',
        '"text": "%s"' % ("x" * 30_000),
        '"raised": {"type": "E", "message": "%s"}' % ("x" * 30_000),
        '"raised": {"type": "E", "message": "", "frames": [%s["", 0, ""]]}'
        % ('["", 0, ""],' * 200),
        r'"when": "\ud800", "duration": NaN',
    ],
)
def test_what_no_probe_of_ours_tells_is_not_read(told: str) -> None:
    assert read_event(f'{{"event": "item", {told}}}'.encode()).event == "garbage"

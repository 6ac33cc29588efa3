"""What the agent is told of a run of its test."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.agent.running import printed, worst_verdict
from pytest_brt.reproduce.agent.run_test import tell_tests
from pytest_brt.types import Frame, Raised, TestRun, Verdict
from tests.support.outcomes import caused


def run(verdict: Verdict, node: str = "test_a", raised: Raised | None = None) -> TestRun:
    return TestRun(test="t", node=node, verdict=verdict, cause=caused(verdict), raised=raised)


def test_a_failure_says_what_and_where() -> None:
    frames = (Frame(path="tests/test_a.py", line=3, function="test_a"),)
    raised = Raised(type="builtins.ValueError", message="bad\nreally", frames=frames)
    told = tell_tests([run(Verdict.FAIL, raised=raised)])
    assert told == ("test_a: FAIL\nValueError: bad\nreally\n  at tests/test_a.py:3 in test_a")


def test_of_many_tests_those_that_fail_are_told() -> None:
    runs = [run(Verdict.PASS, f"test_{n}") for n in range(9)] + [run(Verdict.FAIL, "test_x")]
    told = tell_tests(runs)
    assert told.startswith("test_x: FAIL")
    assert "10 tests in the file, 9 pass." in told
    assert worst_verdict(runs) is Verdict.FAIL


def test_what_pytest_itself_prints_is_not_what_the_test_printed() -> None:
    report = (
        "F  [100%]\n===== FAILURES =====\n____ test_a ____\n    assert 1 == 2\n"
        "------ Captured stdout call ------\nseen 1\nseen x\n"
        "------ Captured stderr call ------\noops\n===== short test summary info =====\nFAILED"
    )
    assert printed(report) == "seen 1\nseen x\noops"
    assert printed("just words\n") == "just words"


def test_a_log_is_told_without_colours_warnings_and_names_that_are_not_known() -> None:
    frames = (Frame(path="tests/test_x_12ab.py", line=3, function="test_a"),)
    raised = Raised(type="AssertionError", message="\x1b[31massert 1\x1b[0m")
    seen = replace(
        run(Verdict.FAIL, raised=replace(raised, frames=frames)),
        output="\x1b[01mbuilding\x1b[39;49;00m /root/of/it/docs\n"
        "=== warnings summary ===\npkg/a.py:1\n  Deprecated\n-- Docs: x\n=== 1 failed in 1s ===",
    )
    told = tell_tests([seen], {"/root/of/it/": "", "tests/test_x_12ab.py": "tests/test_mine.py"})
    assert "\x1b" not in told
    assert "building docs" in told
    assert "Deprecated" not in told
    assert "at tests/test_mine.py:3" in told

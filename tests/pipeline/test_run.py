"""A run makes tests, runs them on patches, and tells what was not done."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock
from typing import Any

import pytest

from pytest_brt.errors import ModelProblem, UsageProblem
from pytest_brt.model.model import Model
from pytest_brt.model.replies import Replies
from pytest_brt.model.request import Request
from pytest_brt.oracle.judge import judge
from pytest_brt.pipeline import Plan
from pytest_brt.pipeline.run import Run
from pytest_brt.render.report import build_report
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.store import Journal
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    FileChange,
    Issue,
    JudgedTest,
    Oracle,
    OracleKind,
    Origin,
    Patch,
    Status,
    TestRun,
    Verdict,
)
from tests.render.pages import SETTING
from tests.support.interval import CLAMP, FIXES, SOURCE, diff_of
from tests.support.projects import open_on
from tests.support.trees import write_tree

ISSUE = Issue(id="i1", title="clamp is wrong", text="", source="clamp.md")
TEST = "from interval import clamp\n\n\ndef test_it():\n    assert clamp(5, 0, 10) == 5\n"


def patch(name: str) -> Patch:
    return Patch(id=name, name=f"{name}.diff", text=diff_of(SOURCE.replace(CLAMP, FIXES[name])))


class Counting:
    """A strategy that writes one test and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.lock = Lock()

    def attempt(self, issue: Issue, index: int, workbench: Workbench) -> Attempt:
        with self.lock:
            self.asked.append(index)
        if index == 1:
            raise ModelProblem("gone")
        target = Test(id=f"t{index}", path="tests/test_it.py", source=TEST, node="test_it")
        runs = workbench.engine.run([target])
        test = CandidateTest(
            id=target.id,
            name="test_it",
            issue=issue.id,
            origin=Origin(strategy="counting"),
            oracle=Oracle(kind=OracleKind.WRITTEN, sentence=""),
            path=target.path,
            source=TEST,
        )
        judged = judge(test, tuple(runs), None, confidence=1.0)
        return Attempt(issue=issue.id, strategy="counting", index=index, tests=(judged,))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("futures")
    write_tree(root, {"interval/__init__.py": SOURCE})
    opened = open_on(root, sandbox="auto")
    yield opened
    opened.close()


def bench_of(engine: Runner) -> Workbench:
    kept = Replies(None)
    model = Model(replies=kept, unfinished=kept)
    return Workbench(engine=engine, repeat=1, model=model, say=lambda text: None)


def make(engine: Runner, strategy: Strategy, jobs: int = 1, *only: str) -> Run:
    """Return a run of a strategy at a report with two patches, or those that are named."""
    patches = tuple(patch(name) for name in ("c-wrong", "a-right"))
    plan = plan_of(strategy, patches, jobs)
    wanted = [job for job in plan.rows(patches) if not only or job.name in only]
    return Run(plan, bench_of(engine), wanted if only else (*plan.attempts(), *wanted))


def plan_of(strategy: Strategy, patches: tuple[Patch, ...], jobs: int) -> Plan:
    return Plan(
        issues=(ISSUE,), strategies={"counting": strategy}, patches=patches, ranked="i1", jobs=jobs
    )


@pytest.mark.parametrize("jobs", [1, 4])
def test_patches_pull_their_attempts_and_nothing_runs_twice(engine: Runner, jobs: int) -> None:
    counting = Counting()
    run = make(engine, Strategy(attempt=counting.attempt), jobs, "a-right.diff", "c-wrong.diff")
    run.start().result()
    record = run.record()
    assert counting.asked == [0]
    assert [rank.result.patch.name for rank in record.ranks] == ["a-right.diff", "c-wrong.diff"]
    assert [rank.epr for rank in record.ranks] == [1.0, 0.0]
    assert record.not_run == ()


class Rows(Runner):
    """A runner that remembers which contents of the patched file it was asked to test."""

    def __init__(self, runner: Runner) -> None:
        vars(self).update(vars(runner))  # who made that closes it
        self.contents: list[bytes] = []

    def run(
        self, tests: Sequence[Test], changes: Sequence[FileChange] = (), **how: Any
    ) -> tuple[TestRun, ...]:
        self.contents += [change.content or b"" for change in changes]
        return super().run(tests, changes, **how)


@pytest.mark.parametrize("jobs", [1, 3])
def test_equal_patches_are_run_once_and_each_has_the_result(engine: Runner, jobs: int) -> None:
    rows = Rows(engine)
    right = SOURCE.replace(CLAMP, FIXES["a-right"])
    commented = diff_of(right.replace("def clamp", "# Both ends count.\ndef clamp"))
    copy = Patch(id="copy", name="copy.diff", text=commented)
    patches = (patch("c-wrong"), patch("a-right"), copy)
    plan = plan_of(Strategy(attempt=Counting().attempt), patches, jobs)
    run = Run(plan, bench_of(rows), plan.rows(patches))
    run.start().result()
    found = [future.result() for job, future in run.futures.items() if job.patch]
    ranks = {rank.result.patch.name: rank for rank in run.record().ranks}
    assert len(rows.contents) == 2
    _, first, second = found
    assert first.normal == second.normal
    assert [cell.verdict for cell in first.cells] == [Verdict.PASS]
    assert [cell.verdict for cell in second.cells] == [Verdict.PASS]
    assert ranks["copy.diff"].copies == ("a-right.diff",)


def test_patches_that_were_not_run_are_named_and_nobody_leads(engine: Runner) -> None:
    begun, go_on = Event(), Event()

    def waiting(issue: Issue, index: int, workbench: Workbench) -> Attempt:
        begun.set()
        assert go_on.wait(60)
        return Counting().attempt(issue, index, workbench)

    # Only what was asked for can be missing: the user may have selected patches.
    run = make(engine, Strategy(attempt=waiting), 1, "a-right.diff")
    run.start()
    assert begun.wait(60)
    run.stop()
    record = run.record()
    go_on.set()
    assert record.not_run == ("a-right.diff",)
    assert record.ranks == ()
    (ranking,) = build_report(record, SETTING, 0).rankings
    assert ranking.answer.status is Status.UNFINISHED
    assert ranking.answer.text == "No answer yet: 1 of 1 patches did not run."


def test_an_attempt_that_broke_leaves_the_others(engine: Runner) -> None:
    run = make(engine, Strategy(attempt=Counting().attempt, runs=2), 2)
    run.start().result()
    first, second, *rows = run.futures.values()
    assert first.result().tests
    assert isinstance(second.exception(), ModelProblem)
    assert [len(row.result().cells) for row in rows] == [1, 1]
    record = run.record()
    assert [attempt.index for attempt in record.attempts] == [0]
    assert [rank.epr for rank in record.ranks] == [1.0, 0.0]


def test_what_breaks_all_is_told_to_whoever_waits(engine: Runner) -> None:
    def given() -> tuple[JudgedTest, ...]:
        raise UsageProblem("no such test")

    plan = Plan(strategies={}, given=given, patches=(patch("a-right"),))
    run = Run(plan, bench_of(engine), plan.rows(plan.patches))
    run.start().result()
    (future,) = run.futures.values()
    assert isinstance(future.exception(), UsageProblem)


def test_an_attempt_that_ran_out_of_time_is_made_again(engine: Runner, tmp_path: Path) -> None:
    def late(issue: Issue, index: int, workbench: Workbench) -> Attempt:
        workbench.model.complete(Request(messages=()))
        raise AssertionError("the model was asked")

    def attempt(budget: float) -> Attempt:
        plan = plan_of(Strategy(attempt=late), (), 1)
        journal = Journal(tmp_path / "journal.jsonl", "s")
        bench = replace(bench_of(engine), journal=journal, deadline=time.monotonic() + budget)
        jobs = plan.attempts()
        run = Run(plan, bench, jobs)
        run.start().result()
        made: Attempt = run.futures[jobs[0]].result()
        return made

    made = attempt(-60.0)
    (note,) = made.notes
    assert note.text == "the time for this run is used up (--brt-budget)"
    assert not (tmp_path / "journal.jsonl").exists()
    # With time, the model is asked: here there is none.
    with pytest.raises(ModelProblem, match="none was chosen"):
        attempt(60.0)


def test_what_is_cut_short_is_partial_though_it_ends_soon_after(engine: Runner) -> None:
    begun, stopped = Event(), Event()

    def attempt(issue: Issue, index: int, workbench: Workbench) -> Attempt:
        made = Counting().attempt(issue, index, workbench)
        workbench.found(made)
        begun.set()
        stopped.wait()
        raise ModelProblem("hung up")

    run = make(engine, Strategy(attempt=attempt))
    over = run.start()
    begun.wait()
    run.stop()
    stopped.set()
    over.result()
    (made,) = run.record().attempts
    assert made.tests
    assert "interrupted" in [note.code for note in made.notes]

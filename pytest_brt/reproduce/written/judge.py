"""Whether a test that a model wrote fails for the reported reason: by rules, then by signs.

A test from a rule of replay knows how it must fail. Of a model's test only the failure itself
can be looked at: what was raised, where, and what the report says.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Sequence

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.reports import API_MISMATCH
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.oracle.polarity import pinned
from pytest_brt.reproduce.judge import is_isolation
from pytest_brt.reproduce.written.confidence import Signs, confidence, count_tokens
from pytest_brt.reproduce.written.facts import CLAIMS, Facts, matches, simple
from pytest_brt.types import CandidateTest, JudgedTest, Judgement, Raised, TestRun, Verdict

#: Seconds that a test gets, however late it is.
_LEAST = 5.0
#: Exceptions of a test that only lacks an import, a name or a fixture.
_NAMES = frozenset(
    {"ImportError", "ModuleNotFoundError", "NameError", "UnboundLocalError", "FixtureLookupError"}
)

_NOT_THERE = re.compile(r"module '([\w.]+)' has no attribute")


def run_tests(
    tests: Sequence[CandidateTest], engine: Engine, repeat: int, *, deadline: float = math.inf
) -> dict[str, tuple[TestRun, ...]]:
    """Run every test on the buggy tree; those that fail `repeat` times, with other hash seeds.

    Towards `deadline`, as `time.monotonic` counts, a test gets its share of what is left and
    no more, so that a few that hang do not use up everything; but a few seconds in any case.
    """
    runs: dict[str, list[TestRun]] = {test.id: [] for test in tests}
    waiting = list(tests)
    for seed in range(max(1, repeat)):
        targets = tuple(
            TestTarget(id=test.id, path=test.path, source=test.source, node=test.name)
            for test in waiting
        )
        if not targets:
            break
        share = None if math.isinf(deadline) else (deadline - time.monotonic()) / len(targets)
        seconds = None if share is None else max(_LEAST, share)
        for run in engine.run(Row(targets=targets, hash_seed=seed, test_seconds=seconds)).runs:
            runs[run.test].append(run)
        waiting = [t for t in waiting if any(r.verdict is Verdict.FAIL for r in runs[t.id])]
    return {test: tuple(found) for test, found in runs.items()}


def judge_written(
    test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts, signs: Signs
) -> JudgedTest:
    """Judge a model's test by its runs on the buggy tree.

    `signs` says what is known of it besides: agreement, opinion. The others are filled in here.
    """
    why_not = refusal(test, runs, facts)
    verdict = _verdict(runs)
    if why_not:
        judgement = Judgement(
            verdict=verdict, candidate=False, reason=why_not, confidence=0.0, runs=runs
        )
        return JudgedTest(test=test, judgement=judgement)
    seen = signs_of(test, runs[0], facts, signs)
    value, reasons = confidence(seen)
    judgement = Judgement(
        verdict=Verdict.FAIL,
        candidate=True,
        reason="; ".join((told(runs[0]), *reasons)),
        confidence=value,
        runs=runs,
        agree=seen.agree,
        samples=seen.samples,
    )
    return JudgedTest(test=test, judgement=judgement)


def refusal(test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts) -> str:
    """Say by the rules why a test is no candidate, "" when it is one."""
    if not runs:
        return "it did not run"
    verdicts = {run.verdict for run in runs}
    if len(verdicts) > 1 or len({run.raised.type if run.raised else "" for run in runs}) > 1:
        return f"runs on the same tree differ: {', '.join(run.verdict for run in runs)}"
    run = runs[0]
    if run.verdict is Verdict.PASS:
        return "passes on this tree"
    if run.verdict is not Verdict.FAIL:
        return run.reason or run.verdict.lower()
    if run.raised is None:
        return "failed without an exception that could be read"
    if _misused(run.raised):
        return f"error in the test itself: {first_line(run.raised)}"
    if is_isolation(run.raised):
        return f"caused by the isolation: {first_line(run.raised)}"
    if matches(facts, test.source or "", run.raised):
        return ""  # whatever else it demands: what fails is what the report complains about
    wrong = () if facts.crash else facts.wrong
    return pinned(test.source or "", wrong, facts.raised if facts.crash else ())


def signs_of(test: CandidateTest, run: TestRun, facts: Facts, signs: Signs) -> Signs:
    """Return `signs` with what the failure itself shows."""
    raised = run.raised
    crashed = raised is not None and simple(raised.type) not in CLAIMS
    match = matches(facts, test.source or "", raised)
    return Signs(
        agree=signs.agree,
        samples=signs.samples,
        same=signs.same,
        opinion=signs.opinion,
        match=match,
        other_kind=crashed and not facts.crash and not match,
        mismatch=run.reason.startswith(API_MISMATCH),
        tokens=count_tokens(test.source or ""),
    )


def is_repairable(run: TestRun) -> bool:
    """Say whether a test is broken by nothing but an import, a name or a fixture."""
    if run.verdict is Verdict.FAIL and run.raised is not None:
        return _misused(run.raised)
    if run.verdict is not Verdict.BROKEN or run.reason.startswith("sandbox"):
        return False
    if run.raised is None:
        return "fixture" in run.reason
    names = {simple(run.raised.type), *(simple(base) for base in run.raised.bases)}
    return bool(names & _NAMES) or "fixture" in run.reason


def _misused(raised: Raised) -> bool:
    """Say whether the test asked a module of the standard library for what it does not have."""
    asked = _NOT_THERE.match(raised.message) if simple(raised.type) == "AttributeError" else None
    return asked is not None and asked[1].partition(".")[0] in sys.stdlib_module_names


def failure_key(run: TestRun) -> str:
    """Return what two failures have in common that are the same (paper 001, requirement 25).

    Exception and message, without what differs from run to run, and the place in the project.
    """
    raised = run.raised
    if raised is None:
        return f"{run.verdict}:{run.reason}"
    message = re.sub(r"\b0x[0-9a-fA-F]+\b", "0x", first_line(raised))
    message = re.sub(r"\btest_\w+|\bTest\w+", "test", message)
    last = raised.in_project
    crashed = simple(raised.type) not in CLAIMS
    place = f"{last.path}:{last.function}" if last and crashed else ""
    return f"{raised.type}|{message}|{place}"


def told(run: TestRun) -> str:
    """Say in one line how a test failed."""
    raised = run.raised
    if raised is None:
        return "fails"
    name = simple(raised.type)
    if name in CLAIMS:
        return f"fails: {first_line(raised)[:160]}" if raised.message.strip() else "its claim fails"
    last = raised.in_project
    where = f" in {last.path}, {last.function}" if last else ""
    return f"raises {name}{where}"


def first_line(raised: Raised) -> str:
    """Return the first line of an exception's message, cut to size."""
    return raised.message.strip().split("\n")[0][:200]


def _verdict(runs: tuple[TestRun, ...]) -> Verdict:
    if not runs:
        return Verdict.INVALID
    if len({run.verdict for run in runs}) > 1:
        return Verdict.FLAKY
    return runs[0].verdict

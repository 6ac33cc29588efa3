"""The one judge: runs a test on the unpatched tree and says whether it is a bug test.

It asks the same five questions of every test, whoever wrote it. A test is a candidate where no
answer is no.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_brt.oracle.assertions import asserts_reported_bug
from pytest_brt.oracle.draft import simple
from pytest_brt.oracle.environment_errors import not_set_up
from pytest_brt.oracle.evidence import measured
from pytest_brt.oracle.report_facts import (
    ASSERTIONS,
    ReportFacts,
    failure_matches_report,
    shows_exception,
)
from pytest_brt.render.words import FAILURES, run_words
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    CandidateTest,
    Check,
    Evidence,
    Finding,
    JudgedTest,
    Judgement,
    OracleKind,
    Raised,
    TestRun,
    Verdict,
)

#: Seconds that a test gets, however late it is.
_LEAST = 5.0
#: The test or its surroundings are not fit to say anything.
_LACKING = frozenset({Verdict.BROKEN, Verdict.INVALID, Verdict.SKIP})
_NOT_THERE = re.compile(r"module '([\w.]+)' has no attribute")
_WORDS = re.compile(r"[a-z_]{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """How likely a failing test is F→P, and why."""

    #: In 0..1, where no evidence says it.
    confidence: float = 0.0
    #: Few words each.
    reasons: tuple[str, ...] = ()
    #: Samples or runs that fail alike, this one too, and how many there were.
    agree: int = 1
    samples: int = 1
    #: What it rests on: how often such tests were right is then how likely it is.
    evidence: Evidence | None = None


def run_tests(
    tests: Sequence[CandidateTest], engine: Runner, repeat: int, *, deadline: float = math.inf
) -> dict[str, tuple[TestRun, ...]]:
    """Run every test on the unpatched tree; those that fail `repeat` times, with other hash seeds.

    With another seed a test that depends on the order of a set shows. Towards `deadline`, as
    `time.monotonic` counts, a test gets its share of what is left and no more, so that a few that
    hang do not use up everything; but a few seconds in any case. Tests in files of the project
    bring as many runs as they have items.
    """

    def run(targets: Sequence[Test], seed: int) -> Iterable[TestRun]:
        seconds = max(_LEAST, (deadline - time.monotonic()) / len(targets))
        return engine.run(targets, hash_seed=seed, test_seconds=seconds)

    return run_again(tests, repeat, run)


def run_again(
    tests: Sequence[CandidateTest],
    repeat: int,
    run: Callable[[Sequence[Test], int], Iterable[TestRun]],
) -> dict[str, tuple[TestRun, ...]]:
    """Run tests by `run`, which is given a hash seed; those that fail `repeat` times in all."""
    runs: dict[str, tuple[TestRun, ...]] = {test.id: () for test in tests}
    waiting = list(tests)
    for seed in range(max(1, repeat)):
        if not waiting:
            break
        for one in run([*map(Test.of, waiting)], seed):
            runs[one.test] += (one,)
        waiting = [t for t in waiting if any(r.verdict is Verdict.FAIL for r in runs[t.id])]
    return runs


def judge(
    test: CandidateTest, runs: tuple[TestRun, ...], facts: ReportFacts | None, rating: Rating
) -> JudgedTest:
    """Judge a test by its runs on the unpatched tree.

    It is rated where nothing speaks against it. Of a test that a person wrote, who knows what it
    asks, no `facts` are needed.
    """
    verdict = _verdict(runs)
    if why_not := refusal(test, runs, facts):
        return JudgedTest(test=test, judgement=refused(verdict, why_not, runs))
    figures = measured(rating.evidence) if rating.evidence else None
    confidence = rating.confidence if figures is None else figures.confidence
    most = 1.0 if facts is None else 0.95
    judgement = Judgement(
        verdict=verdict,
        candidate=True,
        reason="; ".join(filter(None, (describe_failure(test, runs[0]), *rating.reasons))),
        confidence=round(min(max(confidence, 0.01), most), 2),
        runs=runs,
        agree=rating.agree,
        samples=rating.samples,
        evidence=rating.evidence,
        measured=figures,
    )
    return JudgedTest(test=test, judgement=judgement)


def refused(verdict: Verdict, reason: str, runs: tuple[TestRun, ...]) -> Judgement:
    """Return the judgement of a test that is no candidate."""
    return Judgement(verdict=verdict, candidate=False, reason=reason, confidence=0.0, runs=runs)


def refusal(test: CandidateTest, runs: tuple[TestRun, ...], facts: ReportFacts | None) -> str:
    """Say why a test is no candidate, "" when it is one."""
    findings = examine(test, runs, facts)
    return next((finding.said for finding in findings if finding.answer is False), "")


def examine(
    test: CandidateTest, runs: tuple[TestRun, ...], facts: ReportFacts | None
) -> tuple[Finding, ...]:
    """Return a finding for each question about a test, by its runs on the unpatched tree.

    It is a bug test of the report if all answers are yes. Without `facts` it is asked only whether
    it fails, and every time.
    """
    return tuple(_findings(test, runs, facts))


def _findings(
    test: CandidateTest, runs: tuple[TestRun, ...], facts: ReportFacts | None
) -> Iterator[Finding]:
    verdicts = ", ".join(run.verdict for run in runs)
    fails = any(run.verdict is Verdict.FAIL for run in runs)
    said = (run_words(runs[0]) or str(runs[0].verdict)) if runs else "the test did not run"
    if runs and not fails and runs[0].verdict is Verdict.PASS:
        said = "passes on this tree"
    yield Finding(question=Check.FAILS, answer=fails, said=said)
    steady = not _is_flaky(runs)
    said = f"{len(runs)} runs" if steady else f"its runs on the same tree differ: {verdicts}"
    is_asked = fails or not steady
    yield Finding(
        question=Check.STEADY, answer=steady if is_asked else None, said=said if is_asked else ""
    )
    if facts is None:
        return
    raised = runs[0].raised if runs else None
    missing = not_set_up(raised, facts.text) if raised else ""
    lacks = f"not set up on this machine: {missing}" if missing else ""
    if runs and runs[0].verdict in _LACKING:
        lacks = lacks or run_words(runs[0])
    yield Finding(question=Check.EQUIPPED, answer=not lacks, said=lacks)
    if fails and steady and not lacks:
        yield _as_reported(test, runs[0], facts)
    else:
        yield Finding(question=Check.AS_REPORTED, answer=None, said="")
    # Whatever else it asserts: what fails may be what the report complains about.
    is_reported = failure_matches_report(facts, test.source or "", raised)
    said = "" if is_reported else asserts_reported_bug(test, facts)
    # What passes here may hold for right what nobody has called wrong yet.
    is_right = True if fails else None
    yield Finding(question=Check.HONEST, answer=False if said else is_right, said=said)


def _as_reported(test: CandidateTest, run: TestRun, facts: ReportFacts) -> Finding:
    """Say whether a test fails for the reason that the report gives."""
    question, raised = Check.AS_REPORTED, run.raised
    if raised is None:
        said = "failed, but the exception could not be read"
        return Finding(question=question, answer=False, said=said)
    if said := _other_than_drafted(test, raised) or _not_the_project(test, run, facts):
        return Finding(question=question, answer=False, said=said)
    if said := failure_matches_report(facts, test.source or "", raised):
        return Finding(question=question, answer=True, said=said)
    if test.oracle.kind is not OracleKind.WRITTEN:
        said = "fails as the report's code does here"
        return Finding(question=question, answer=True, said=said)
    name = simple(raised.type)
    if not facts.names_failure:
        said = "the report names neither an exception nor a value"
        return Finding(question=question, answer=None, said=said)
    if name in ASSERTIONS:
        said = "its failure shows no value that the report has"
        return Finding(question=question, answer=None, said=said)
    said = f"the report does not name {name}"
    return Finding(question=question, answer=None if facts.is_crash else False, said=said)


def _other_than_drafted(test: CandidateTest, raised: Raised) -> str:
    """Say what fails instead of what the oracle foresaw, "" when it is that."""
    name, line = simple(raised.type), first_line(raised)
    if test.expects is None:
        if name in ASSERTIONS or test.oracle.kind in (OracleKind.WRITTEN, OracleKind.NO_RAISE):
            return ""
        return f"stopped before its check: {name}: {line}"
    wanted = simple(test.expects.type)
    if name != wanted:
        return f"raises {name}, not {wanted} as before: {line}"
    is_same = _is_alike(test.expects, raised)
    return "" if is_same else f"raises a different {name} from before: {line}"


def _not_the_project(test: CandidateTest, run: TestRun, facts: ReportFacts) -> str:
    """Say why the failure has nothing to do with the project, "" when it has."""
    raised = run.raised
    assert raised is not None, "asked of what raised"
    if any(frame.project and frame.path != test.path for frame in raised.frames):
        return ""
    if _is_misuse(raised):
        return f"error in the test itself: {first_line(raised)}"
    is_claim = simple(raised.type) in ASSERTIONS
    shown = not is_claim and shows_exception(facts, raised)
    # Of a call that does not fit, Python complains before any line of the project runs.
    if run.used_project is False and not (shown and run.mismatch):
        return "no code of the project ran in it"
    if is_claim or shown or run.used_project is None or run.mismatch:
        return ""  # in a process of its own; or the project lacks what it asks for, which is rated
    return f"fails in the test itself, not in the project: {simple(raised.type)}"


def _is_misuse(raised: Raised) -> bool:
    """Say whether the test asked a module of the standard library for what it does not have."""
    asked = _NOT_THERE.match(raised.message) if simple(raised.type) == "AttributeError" else None
    return asked is not None and asked[1].partition(".")[0] in sys.stdlib_module_names


def _is_alike(seen: Raised, raised: Raised) -> bool:
    """Say whether an exception comes from the same place as the other, or says the same.

    Values in a message may differ between runs; most of its words do not.
    """
    here, there = seen.in_project, raised.in_project
    if here and there and (here.path, here.function) == (there.path, there.function):
        return True
    one, other = (set(_WORDS.findall(r.message.lower())) for r in (seen, raised))
    return not one or not other or len(one & other) * 2 >= len(one | other)


def failing_line(test: CandidateTest, run: TestRun) -> int:
    """Return the 1-based line of the test at which it failed, 0 when that is not known."""
    frames = run.raised.frames if run.raised else ()
    lines = [frame.line for frame in frames if frame.path == test.path]
    return lines[0] if lines else 0


def failure_key(run: TestRun) -> str:
    """Return what two failures have in common that are the same (paper 001, requirement 25).

    Exception and message, without what differs from run to run, and the place in the project.
    """
    raised = run.raised
    if raised is None:
        return f"{run.verdict}|{run.cause}"
    message = re.sub(r"\b0x[0-9a-fA-F]+\b", "0x", first_line(raised))
    message = re.sub(r"\btest_\w+|\bTest\w+", "test", message)
    last = raised.in_project
    crashed = simple(raised.type) not in ASSERTIONS
    place = f"{last.path}:{last.function}" if last and crashed else ""
    return f"{raised.type}|{message}|{place}"


def describe_failure(test: CandidateTest, run: TestRun) -> str:
    """Say in one line how a test failed."""
    raised = run.raised
    if raised is None:
        return "fails"
    name = simple(raised.type)
    kind = test.oracle.kind
    words = FAILURES[kind]
    if kind is not OracleKind.WRITTEN and words and test.expects is None:
        return words
    if name in ASSERTIONS:
        return f"fails: {first_line(raised)[:160]}" if raised.message.strip() else words
    last = raised.in_project
    where = f" in {last.path}, {last.function}" if last else ""
    return f"raises {name}{where}"


def first_line(raised: Raised) -> str:
    """Return the first line of an exception's message, cut to size."""
    return raised.message.strip().split("\n")[0][:200]


def rescored(judged: JudgedTest, confidence: float, reason: str = "") -> JudgedTest:
    """Return the same test with another confidence, and a further reason."""
    old = judged.judgement
    text = "; ".join(part for part in (old.reason, reason) if part)
    # Another number than its own is none that was measured.
    figures = old.measured if confidence == old.confidence else None
    new = replace(old, confidence=round(confidence, 2), measured=figures, reason=text)
    return replace(judged, judgement=new)


def _verdict(runs: tuple[TestRun, ...]) -> Verdict:
    if not runs:
        return Verdict.INVALID
    return Verdict.FLAKY if _is_flaky(runs) else runs[0].verdict


def _is_flaky(runs: tuple[TestRun, ...]) -> bool:
    """Say whether runs on the same tree end differently."""
    return len({(run.verdict, run.raised.type if run.raised else "") for run in runs}) > 1

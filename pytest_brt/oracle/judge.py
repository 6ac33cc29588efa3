"""The one judge: runs a test on the unpatched tree and says whether it is a bug test.

It asks the same five questions of every test, whoever wrote it. A test is a candidate where no
answer is no.
"""

from __future__ import annotations

import math
import re
import time
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pytest_brt.oracle.report_facts import (
    ASSERTIONS,
    asserts_reported_bug,
    failure_matches_report,
    is_crash,
)
from pytest_brt.report.match import messages_agree
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    CandidateTest,
    Check,
    Evidence,
    Finding,
    JudgedTest,
    Judgement,
    Measured,
    OracleKind,
    Raised,
    Review,
    TestRun,
    Verdict,
)
from pytest_brt.types.report import ClaimKind, Reading

#: The runs of one test.
Runs = tuple[TestRun, ...]
#: Seconds that a test gets, however late it is.
_LEAST = 5.0
#: What the message of an exception holds that says that something around a test is missing. Where
#: each comes from: asyncio (``loop.create_connection``), errno's ECONNREFUSED, ENETUNREACH, EROFS
#: and EPERM, ``socket.getaddrinfo``, urllib3, pytest-django, Django's ``SimpleTestCase``.
_MISSING = (
    "Connect call failed", "Connection refused", "Network is unreachable",
    "Name or service not known", "Temporary failure in name resolution",
    "nodename nor servname provided", "Failed to resolve", "getaddrinfo failed",
    "Read-only file system", "Operation not permitted",
    "Database access not allowed", "are not allowed in SimpleTestCase subclasses",
)  # fmt: skip
#: Types that say what this machine lacks, unless the report names them.
_NOT_HERE = frozenset(
    {
        "ImproperlyConfigured",
        "AppRegistryNotReady",
        "OperationalError",
        "ModuleNotFoundError",
    }
    | {"ConnectionRefusedError", "PackageNotFoundError", "FileNotFoundError"}
)
#: The test or its surroundings are not fit to say anything.
_LACKING = frozenset({Verdict.BROKEN, Verdict.INVALID, Verdict.SKIP})
#: What differs between messages that say the same: addresses, and names of tests.
_CHANGING = re.compile(r"\b0x[0-9a-fA-F]+\b|\btest_\w+|\bTest\w+")


def run_tests(
    tests: Sequence[CandidateTest],
    engine: Runner,
    repeat: int,
    *,
    deadline: float = math.inf,
    test_seconds: float = math.inf,
    seconds: float = math.inf,
    watch: Sequence[str] = (),
) -> dict[str, Runs]:
    """Run every test on the unpatched tree; those that fail `repeat` times, with other hash seeds.

    With another seed a test that depends on the order of a set shows. Towards `deadline`, as
    `time.monotonic` counts, a test gets its share of what is left and no more, so that a few that
    hang do not use up everything; but a few seconds in any case. Tests in files of the project
    bring as many runs as they have items. The rest is as `Runner.run` has it.
    """
    runs: dict[str, Runs] = {test.id: () for test in tests}
    waiting = tests
    for seed in range(repeat):
        if not waiting:
            break
        share = max(_LEAST, (deadline - time.monotonic()) / len(waiting))
        for one in engine.run(
            [*map(Test.of, waiting)],
            hash_seed=seed,
            test_seconds=min(share, test_seconds),
            seconds=seconds,
            watch=watch,
        ):
            runs[one.test] += (one,)
        waiting = [test for test in tests if _fails(runs[test.id])]
    return runs


def _fails(runs: Sequence[TestRun]) -> bool:
    return any(run.verdict is Verdict.FAIL for run in runs)


def judge(
    test: CandidateTest,
    runs: Runs,
    reading: Reading | None,
    *,
    confidence: float = 0.0,
    evidence: Evidence | None = None,
) -> JudgedTest:
    """Judge a test by its runs on the unpatched tree.

    Where nothing speaks against it, it is right as often as tests with such `evidence` were, or
    with this `confidence` where it rests on none. Of a test that a person wrote, who knows what it
    asks, no report is needed.
    """
    verdict = Verdict.FLAKY if _is_flaky(runs) else runs[0].verdict
    figures = measured(evidence) if evidence else None
    judgement = Judgement(
        verdict=verdict,
        candidate=True,
        confidence=round(figures.confidence if figures else confidence, 2),
        runs=runs,
        evidence=evidence,
        measured=figures,
    )
    judged = JudgedTest(test=test, judgement=judgement)
    why_not = refusal(test, runs, reading)
    return dropped(judged, why_not) if why_not else judged


def dropped(judged: JudgedTest, reason: str) -> JudgedTest:
    """Return a test that is no candidate any more, for `reason`; as it is when it was none."""
    old = judged.judgement
    if not old.candidate:
        return judged
    new = Judgement(
        verdict=old.verdict, candidate=False, reason=reason, confidence=0.0, runs=old.runs
    )
    return replace(judged, judgement=new)


def accepted(test: CandidateTest) -> JudgedTest:
    """Return a test that a person says is right, of what the unpatched tree does otherwise."""
    judgement = Judgement(verdict=Verdict.FAIL, candidate=True, confidence=1.0)
    return JudgedTest(test=test, judgement=judgement, review=Review.ACCEPTED)


def rescored(judged: JudgedTest, confidence: float) -> JudgedTest:
    """Return the same test with another confidence."""
    old = judged.judgement
    # Another number than its own is none that was measured.
    figures = old.measured if confidence == old.confidence else None
    new = replace(old, confidence=round(confidence, 2), measured=figures)
    return replace(judged, judgement=new)


# -- the questions --


def refusal(test: CandidateTest, runs: Runs, reading: Reading | None) -> str:
    """Say why a test is no candidate, "" when it is one."""
    findings = examine(test, runs, reading)
    return next((finding.said for finding in findings if finding.answer is False), "")


def examine(
    test: CandidateTest, runs: Runs, reading: Reading | None
) -> tuple[Finding, ...]:
    """Return a finding for each question about a test, by its runs on the unpatched tree.

    It is a bug test of the report if all answers are yes. Without one it is asked only whether it
    fails, and every time.
    """
    first, fails, is_flaky = runs[0], _fails(runs), _is_flaky(runs)
    verdicts = ", ".join(run.verdict for run in runs)
    said = "passes on this tree" if verdicts == Verdict.PASS else first.cause.text
    often = (
        f"its runs on the same tree differ: {verdicts}" if is_flaky else f"{len(runs)} runs"
    )
    found: list[tuple[Check, bool | None, str]] = [
        (Check.FAILS, fails, said),
        (Check.STEADY, not is_flaky if fails else None, often if fails else ""),
    ]
    if reading is not None:
        lacks = said if first.verdict in _LACKING else ""
        if missing := missing_here(first.raised, reading.issue.text):
            lacks = f"not set up on this machine: {missing}"
        is_fit = fails and not is_flaky and not lacks
        matching = failure_matches_report(reading, test.source or "", first.raised)
        as_reported = _as_reported(test, first, reading, matching) if is_fit else (None, "")
        # Whatever else it asserts: what fails may be what the report complains about.
        bug = "" if matching else asserts_reported_bug(test, reading)
        found += [
            (Check.EQUIPPED, not lacks, lacks),
            (Check.AS_REPORTED, *as_reported),
            # What passes here may hold for right what nobody has called wrong yet.
            (Check.HONEST, False if bug else fails or None, bug),
        ]
    return tuple(Finding(question=check, answer=yes, said=why) for check, yes, why in found)


def missing_here(raised: Raised | None, report: str | None = None) -> str:
    """Return what says that something around a test is missing, "" where nothing does.

    A test that fails so on the unpatched tree reproduces nothing; on a patch it says nothing of
    the patch, which may have come further than without. With the text of a `report`, types say it
    too that this does not name.
    """
    if raised is None:
        return ""
    if report is not None and raised.name in _NOT_HERE and raised.name not in report:
        return f"{raised.name}: {first_line(raised)}"
    return next((text for text in _MISSING if text in raised.message), "")


def _as_reported(
    test: CandidateTest, run: TestRun, reading: Reading, matching: str
) -> tuple[bool | None, str]:
    """Return whether a test fails for the reason that the report gives, and why.

    `matching` says how its failure matches the report, "" where it does not.
    """
    raised = run.raised
    if raised is None:
        return False, "failed, but the exception could not be read"
    if said := _something_else(test, run, raised, reading):
        return False, said
    if matching:
        return True, matching
    if test.oracle.kind is not OracleKind.WRITTEN:
        return True, "fails as the report's code does here"
    if raised.name in ASSERTIONS:
        return None, "its failure shows no value that the report has"
    is_about_values = reading.claims_of(ClaimKind.VALUE) and not is_crash(reading)
    return False if is_about_values else None, f"the report does not name {raised.name}"


def _something_else(
    test: CandidateTest, run: TestRun, raised: Raised, reading: Reading
) -> str:
    """Say what fails instead of what the oracle foresaw, or instead of the project; or ""."""
    name, seen = raised.name, test.expects
    is_claim, what = name in ASSERTIONS, f"{name}: {first_line(raised)}"
    if seen is None and not is_claim and test.oracle.kind is not OracleKind.WRITTEN:
        return f"stopped before its check: {what}"
    if seen and not _are_alike(seen, raised):
        return f"raises another exception than the report's code did here: {what}"
    # What stands in no file was generated, which tests do not.
    is_ours = any(
        (frame.project or frame.path.startswith("<")) and frame.path != test.path
        for frame in raised.frames
    )
    if is_ours or run.mismatch:
        return ""  # or the project lacks what the test asks for, which is rated
    if run.used_project is False:
        return "no code of the project ran in it"
    if is_claim or run.used_project is None or what in reading.issue.text:
        return ""  # it may have run in a process of its own
    return f"fails in the test itself, not in the project: {name}"


def _are_alike(seen: Raised, raised: Raised) -> bool:
    """Say whether two exceptions are one: of a type, from one place or with the same words."""
    says = messages_agree(seen.message, raised.message)
    return seen.name == raised.name and (says or _place(seen) == _place(raised))


# -- a failure --


def _place(raised: Raised) -> str:
    """Return where in the project an exception comes from, "" for nowhere."""
    last = raised.in_project
    return f"{last.path}, {last.function}" if last else ""


def failing_line(test: CandidateTest, run: TestRun) -> int:
    """Return the 1-based line of the test at which it failed, 0 when that is not known."""
    frames = run.raised.frames if run.raised else ()
    return next((frame.line for frame in frames if frame.path == test.path), 0)


def failure_key(run: TestRun) -> str:
    """Return what two failures have in common that are the same (paper 001, requirement 25).

    Exception and message, without what differs from run to run, and the place in the project.
    """
    raised = run.raised
    if raised is None:
        return f"{run.verdict}|{run.cause}"
    place = "" if raised.name in ASSERTIONS else _place(raised)
    return f"{raised.type}|{_CHANGING.sub('_', first_line(raised))}|{place}"


def first_line(raised: Raised) -> str:
    """Return the first line of an exception's message, cut to size."""
    return raised.message.strip().split("\n")[0][:200]


def _is_flaky(runs: Sequence[TestRun]) -> bool:
    """Say whether runs on the same tree end differently."""
    return len({(run.verdict, run.raised.type if run.raised else "") for run in runs}) > 1


@cache
def measured(evidence: Evidence) -> Measured:
    """Return how often tests with such evidence were right; with no row, how often the others."""
    table = tomllib.loads(
        Path(__file__).with_name("measured.toml").read_text(encoding="utf-8")
    )
    rows = table.get(evidence, table[Evidence.OTHER])
    return Measured(
        right=sum(row["right"] for row in rows), of=sum(row["of"] for row in rows)
    )

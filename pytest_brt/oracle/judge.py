"""The one judge: runs a test on the unpatched tree and says whether it fails for a reason.

Whoever wrote it, a test is a candidate only when it fails every time, its failure comes out of
the project or of a claim about what the project returned, neither this machine nor the isolation
is the cause, and it does not demand what the report complains about.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_brt.execute.engine import Engine, Row, target_of
from pytest_brt.oracle.asked import pinned
from pytest_brt.oracle.facts import CLAIMS, Facts, matches, simple, without_values
from pytest_brt.oracle.measured import measured
from pytest_brt.render.causes import failure_words, run_words
from pytest_brt.types import (
    CandidateTest,
    Evidence,
    JudgedTest,
    Judgement,
    OracleKind,
    Raised,
    TestRun,
    Verdict,
)

#: Seconds that a test gets, however late it is.
_LEAST = 5.0
#: Raised by the isolation, not by the project.
_SANDBOX = (
    "Network is unreachable",
    "Name or service not known",
    "Temporary failure in name resolution",
    "nodename nor servname provided",
    "Failed to resolve",
    "getaddrinfo failed",
    "Read-only file system",
    "Operation not permitted",
)
#: Exceptions that say what this machine lacks: settings, a database, an optional package.
_PLACE = frozenset(
    {"ImproperlyConfigured", "AppRegistryNotReady", "OperationalError", "ModuleNotFoundError"}
    | {"ConnectionRefusedError", "PackageNotFoundError", "FileNotFoundError"}
)
_NOTHING_RAN = "no code of the project ran in it"
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


#: Rates a failing test by how it fails.
Rate = Callable[[TestRun], Rating]


def run_tests(
    tests: Sequence[CandidateTest], engine: Engine, repeat: int, *, deadline: float = math.inf
) -> dict[str, tuple[TestRun, ...]]:
    """Run every test on the unpatched tree; those that fail `repeat` times, with other hash seeds.

    With another seed a test that depends on the order of a set shows. Towards `deadline`, as
    `time.monotonic` counts, a test gets its share of what is left and no more, so that a few that
    hang do not use up everything; but a few seconds in any case. Tests in files of the project
    bring as many runs as they have items.
    """
    runs: dict[str, list[TestRun]] = {test.id: [] for test in tests}
    waiting = list(tests)
    for seed in range(max(1, repeat)):
        targets = tuple(map(target_of, waiting))
        if not targets:
            break
        share = None if math.isinf(deadline) else (deadline - time.monotonic()) / len(targets)
        seconds = None if share is None else max(_LEAST, share)
        for run in engine.run(Row(targets=targets, hash_seed=seed, test_seconds=seconds)).runs:
            runs[run.test].append(run)
        waiting = [t for t in waiting if any(r.verdict is Verdict.FAIL for r in runs[t.id])]
    return {test: tuple(found) for test, found in runs.items()}


def judge(
    test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts | None, rate: Rate
) -> JudgedTest:
    """Judge a test by its runs on the unpatched tree.

    It is rated where nothing speaks against it. Of a test that a person wrote, who knows what it
    asks, no `facts` are needed.
    """
    verdict = _verdict(runs)
    why_not = unsteady(runs) if facts is None else refusal(test, runs, facts)
    if why_not:
        return JudgedTest(test=test, judgement=refused(verdict, why_not, runs))
    rating = rate(runs[0])
    figures = measured(rating.evidence) if rating.evidence else None
    confidence = rating.confidence if figures is None else figures.confidence
    judgement = Judgement(
        verdict=Verdict.FAIL,
        candidate=True,
        reason="; ".join(part for part in (told(test, runs[0]), *rating.reasons) if part),
        confidence=round(min(max(confidence, 0.01), 1.0 if facts is None else 0.95), 2),
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


def unsteady(runs: tuple[TestRun, ...]) -> str:
    """Say why runs show no steady failure, "" when they do."""
    if not runs:
        return "the test did not run"
    if unlike(runs):
        return f"runs on the same tree differ: {', '.join(run.verdict for run in runs)}"
    if runs[0].verdict is Verdict.PASS:
        return "passes on this tree"
    if runs[0].verdict is not Verdict.FAIL:
        return run_words(runs[0])
    return ""


def refusal(test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts) -> str:
    """Say by the rules why a test is no candidate, "" when it is one."""
    why_not = unsteady(runs)
    if why_not:
        return why_not
    raised = runs[0].raised
    if raised is None:
        return "failed, but the exception could not be read"
    return (
        of_the_place(raised, facts)
        or _other_than_expected(test, raised)
        or _not_the_project(test, runs[0], raised, facts)
        or _pins(test, raised, facts)
    )


def of_the_place(raised: Raised, facts: Facts) -> str:
    """Say what of this machine or of the isolation caused a failure, "" for nothing."""
    line = first_line(raised)
    if is_isolation(raised):
        return f"caused by the isolation: {line}"
    if is_unset_variable(raised):
        return f"an environment variable is not set here (--brt-env NAME=VALUE): {line}"
    if simple(raised.type) in _PLACE and simple(raised.type) not in facts.text:
        return f"something is not set up on this machine: {simple(raised.type)}: {line}"
    return ""


def _other_than_expected(test: CandidateTest, raised: Raised) -> str:
    """Say what fails instead of what the rule that made the test foresaw, "" when it is that."""
    name, line = simple(raised.type), first_line(raised)
    if test.expects is None:
        if name in CLAIMS or test.oracle.kind in (OracleKind.WRITTEN, OracleKind.NO_RAISE):
            return ""
        return f"stopped before its check: {name}: {line}"
    wanted = simple(test.expects.type)
    if name != wanted:
        return f"raises {name}, not {wanted} as before: {line}"
    return (
        "" if _is_alike(test.expects, raised) else f"raises a different {name} from before: {line}"
    )


def _not_the_project(test: CandidateTest, run: TestRun, raised: Raised, facts: Facts) -> str:
    """Say why the failure has nothing to do with the project, "" when it has."""
    if any(frame.project and frame.path != test.path for frame in raised.frames):
        return ""
    if is_misuse(raised):
        return f"error in the test itself: {first_line(raised)}"
    is_claim = simple(raised.type) in CLAIMS
    shown = not is_claim and _is_shown(raised, facts)
    # Of a call that does not fit, Python complains before any line of the project runs.
    if run.used_project is False and not (shown and run.mismatch):
        return _NOTHING_RAN
    if is_claim or shown or run.used_project is None or run.mismatch:
        return ""  # in a process of its own; or the project lacks what it asks for, which is rated
    return f"fails in the test itself, not in the project: {simple(raised.type)}"


def _pins(test: CandidateTest, raised: Raised, facts: Facts) -> str:
    """Say what a test demands that the report complains about, "" for nothing."""
    source = test.source or ""
    if test.oracle.kind is not OracleKind.WRITTEN:
        return pinned(test, facts.wrong, facts.raised)
    if matches(facts, source, raised):
        return ""  # whatever else it demands: what fails is what the report complains about
    return pinned(test, () if facts.crash else facts.wrong, facts.raised if facts.crash else ())


def _is_shown(raised: Raised, facts: Facts) -> bool:
    """Say whether the report has an exception with its message, numbers and quotes aside."""
    message = without_values(first_line(raised))
    name = simple(raised.type)
    if name not in facts.text:
        return False
    return len(message) > 8 and message in without_values(facts.text)


def is_misuse(raised: Raised) -> bool:
    """Say whether the test asked a module of the standard library for what it does not have."""
    asked = _NOT_THERE.match(raised.message) if simple(raised.type) == "AttributeError" else None
    return asked is not None and asked[1].partition(".")[0] in sys.stdlib_module_names


def is_isolation(raised: Raised) -> bool:
    """Say whether an exception comes from the isolation: no network, nothing to write to."""
    return any(mark in raised.message for mark in _SANDBOX)


def is_unset_variable(raised: Raised) -> bool:
    """Say whether an exception is that of ``os.environ`` for a name that is not set."""
    last = raised.frames[-1] if raised.frames else None
    return (
        simple(raised.type) == "KeyError"
        and last is not None
        and last.function == "__getitem__"
        and last.path.rpartition("/")[2] in ("os.py", "<frozen os>")
    )


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
    crashed = simple(raised.type) not in CLAIMS
    place = f"{last.path}:{last.function}" if last and crashed else ""
    return f"{raised.type}|{message}|{place}"


def told(test: CandidateTest, run: TestRun) -> str:
    """Say in one line how a test failed."""
    raised = run.raised
    if raised is None:
        return "fails"
    name = simple(raised.type)
    kind = test.oracle.kind
    words = failure_words(kind)
    if kind is not OracleKind.WRITTEN and words and test.expects is None:
        return words
    if name in CLAIMS:
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
    return Verdict.FLAKY if unlike(runs) else runs[0].verdict


def unlike(runs: tuple[TestRun, ...]) -> bool:
    """Say whether runs on the same tree end differently."""
    return len({(run.verdict, run.raised.type if run.raised else "") for run in runs}) > 1

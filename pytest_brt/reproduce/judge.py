"""What the runs of a test on the buggy tree say: whether it fails for the reported reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.oracle.polarity import pinned
from pytest_brt.types import (
    CandidateTest,
    JudgedTest,
    Judgement,
    Raised,
    TestRun,
    Verdict,
)

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
_WORDS = re.compile(r"[a-z_]{2,}")
_CLAIMS = ("AssertionError", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A test to be judged, with what is believed of it."""

    test: CandidateTest
    #: Probability that it is F→P if it fails as it should, in 0..1.
    score: float
    #: Few words each, for the judgement's reason.
    reasons: tuple[str, ...] = ()
    #: Right already: it is to pass, and never a candidate.
    guard: bool = False
    #: Values and exceptions that the report complains about; a test must not demand them.
    wrong: tuple[str, ...] = ()
    raised: tuple[str, ...] = ()


def judge_all(proposals: Sequence[Proposal], engine: Engine, repeat: int) -> tuple[JudgedTest, ...]:
    """Run every test on the buggy tree and judge it; those that fail run `repeat` times.

    Each time with another hash seed, so that a test that depends on the order of sets shows.
    """
    runs: dict[str, list[TestRun]] = {proposal.test.id: [] for proposal in proposals}
    waiting = list(proposals)
    for seed in range(max(1, repeat)):
        targets = tuple(_target(proposal.test) for proposal in waiting)
        if not targets:
            break
        for run in engine.run(Row(targets=targets, hash_seed=seed)).runs:
            runs[run.test].append(run)
        waiting = [p for p in waiting if runs[p.test.id] and _fails(runs[p.test.id][-1])]
    return tuple(judge(proposal, tuple(runs[proposal.test.id])) for proposal in proposals)


def _target(test: CandidateTest) -> TestTarget:
    return TestTarget(id=test.id, path=test.path, source=test.source, node=test.name)


def _fails(run: TestRun) -> bool:
    return run.verdict is Verdict.FAIL


def judge(proposal: Proposal, runs: tuple[TestRun, ...]) -> JudgedTest:
    """Judge one test by its runs on the buggy tree."""
    test = proposal.test
    verdicts = {run.verdict for run in runs}
    if not runs:
        judgement = _no(Verdict.INVALID, "it did not run", runs)
    elif len(verdicts) > 1 or _differ(runs):
        seen = ", ".join(run.verdict for run in runs)
        judgement = _no(Verdict.FLAKY, f"runs on the same tree differ: {seen}", runs)
    elif proposal.guard:
        judgement = _no(runs[0].verdict, "; ".join(proposal.reasons), runs)
    elif runs[0].verdict is not Verdict.FAIL:
        judgement = _no(runs[0].verdict, _not_failing(runs[0]), runs)
    else:
        pins = pinned(test.source or "", proposal.wrong, proposal.raised)
        wrong = pins or _wrong_reason(test, runs[0].raised)
        if wrong:
            judgement = _no(Verdict.FAIL, wrong, runs)
        else:
            why = "; ".join((_right_reason(test, runs[0].raised), *proposal.reasons))
            judgement = Judgement(
                verdict=Verdict.FAIL,
                candidate=True,
                reason=why,
                confidence=round(min(max(proposal.score, 0.01), 0.95), 2),
                runs=runs,
            )
    return JudgedTest(test=test, judgement=judgement)


def _no(verdict: Verdict, reason: str, runs: tuple[TestRun, ...]) -> Judgement:
    return Judgement(verdict=verdict, candidate=False, reason=reason, confidence=0.0, runs=runs)


def _not_failing(run: TestRun) -> str:
    if run.verdict is Verdict.PASS:
        return "passes on this tree: what the report describes does not happen in it"
    return run.reason or run.verdict.lower()


def _differ(runs: tuple[TestRun, ...]) -> bool:
    """Say whether the runs failed in different ways; messages may differ, types not."""
    kinds = {run.raised.type if run.raised else "" for run in runs}
    return len(kinds) > 1


def _wrong_reason(test: CandidateTest, raised: Raised | None) -> str:
    """Say why the failure is not the reported one, "" when it is."""
    if raised is None:
        return "failed without an exception that could be read"
    if is_isolation(raised):
        return f"caused by the isolation: {_line(raised)}"
    if is_unset_variable(raised):
        return f"an environment variable is not set here (--brt-env NAME=VALUE): {_line(raised)}"
    name = raised.type.rsplit(".", 1)[-1]
    if test.expects is not None:
        wanted = test.expects.type.rsplit(".", 1)[-1]
        if name != wanted:
            return f"raises {name}, not the {wanted} that was seen: {_line(raised)}"
        if not _is_alike(test.expects, raised):
            return f"raises another {name} than was seen: {_line(raised)}"
        return ""
    if name not in _CLAIMS:
        return f"stopped before its claim: {name}: {_line(raised)}"
    return ""


def _is_alike(seen: Raised, raised: Raised) -> bool:
    """Say whether an exception comes from the same place as the other, or says the same.

    Values in a message may differ between runs; most of its words do not.
    """
    here, there = seen.in_project, raised.in_project
    if here and there and (here.path, here.function) == (there.path, there.function):
        return True
    one, other = (set(_WORDS.findall(r.message.lower())) for r in (seen, raised))
    return not one or not other or len(one & other) * 2 >= len(one | other)


def is_isolation(raised: Raised) -> bool:
    """Say whether an exception comes from the isolation: no network, nothing to write to."""
    return any(mark in raised.message for mark in _SANDBOX)


def is_unset_variable(raised: Raised) -> bool:
    """Say whether an exception is that of ``os.environ`` for a name that is not set."""
    last = raised.frames[-1] if raised.frames else None
    return (
        raised.type.rsplit(".", 1)[-1] == "KeyError"
        and last is not None
        and last.function == "__getitem__"
        and last.path.rpartition("/")[2] in ("os.py", "<frozen os>")
    )


def _right_reason(test: CandidateTest, raised: Raised | None) -> str:
    if raised is None:
        return "fails"
    if test.expects is not None:
        name = raised.type.rsplit(".", 1)[-1]
        last = raised.in_project
        where = f" in {last.path}, {last.function}" if last else ""
        return f"raises {name}{where}"
    return test.oracle.kind.failure or "fails"


def _line(raised: Raised) -> str:
    return raised.message.split("\n")[0][:200]


def rescored(judged: JudgedTest, confidence: float, reason: str = "") -> JudgedTest:
    """Return the same test with another confidence, and a further reason."""
    old = judged.judgement
    text = "; ".join(part for part in (old.reason, reason) if part)
    return replace(judged, judgement=replace(old, confidence=round(confidence, 2), reason=text))

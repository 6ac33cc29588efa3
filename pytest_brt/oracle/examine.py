"""A test that anybody wrote, held against a report: what `judge` asks, question by question."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.oracle.asked import pinned
from pytest_brt.oracle.facts import CLAIMS, Facts, matches, simple
from pytest_brt.oracle.judge import of_the_place, refusal, unlike
from pytest_brt.render.causes import run_words
from pytest_brt.types import CandidateTest, TestRun, Verdict
from pytest_brt.types.finding import Finding, Question

#: The test or its surroundings are not fit to say anything.
_LACKING = frozenset({Verdict.BROKEN, Verdict.INVALID, Verdict.SKIP})


def examine(test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts) -> tuple[Finding, ...]:
    """Return a finding for each question about a test, by its runs on the unpatched tree.

    It is a bug test of the report if all answers are yes.
    """
    return tuple(_findings(test, runs, facts))


def _findings(test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts) -> Iterator[Finding]:
    run = runs[0]
    fails = run.verdict is Verdict.FAIL
    yield Finding(question=Question.FAILS, answer=fails, said=run_words(run) or str(run.verdict))
    steady = not unlike(runs)
    verdicts = ", ".join(str(one.verdict) for one in runs)
    yield Finding(
        question=Question.STEADY,
        answer=steady if fails else None,
        said=(f"{len(runs)} runs" if steady else f"its runs: {verdicts}") if fails else "",
    )
    lacks = of_the_place(run.raised, facts) if run.raised else ""
    if run.verdict in _LACKING:
        lacks = lacks or run_words(run)
    yield Finding(question=Question.EQUIPPED, answer=not lacks, said=lacks)
    if fails and steady and not lacks:
        yield _as_reported(test, runs, facts)
    else:
        yield Finding(question=Question.AS_REPORTED, answer=None, said="")
    demands = pinned(test, facts.wrong, facts.raised)
    if demands and run.raised and matches(facts, test.source or "", run.raised):
        demands = ""  # what fails is what the report complains about
    yield Finding(question=Question.HONEST, answer=not demands, said=demands)


def _as_reported(test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts) -> Finding:
    """Say whether a test fails for the reason that the report gives."""
    raised = runs[0].raised
    refused = refusal(test, runs, facts)
    told = matches(facts, test.source or "", raised)
    if refused or told:
        return Finding(question=Question.AS_REPORTED, answer=not refused, said=refused or told)
    values = (*facts.wrong, *facts.shown, *facts.wanted)
    if not (values or facts.raised or facts.crash):
        said = "the report names neither an exception nor a value"
        return Finding(question=Question.AS_REPORTED, answer=None, said=said)
    name = simple(raised.type) if raised else ""
    crashes = name not in CLAIMS
    if crashes or (facts.crash and not values):
        said = f"the report does not name {name}" if crashes else "the report tells of an exception"
        return Finding(question=Question.AS_REPORTED, answer=False, said=said)
    said = "the report has other values than those that the test compares"
    return Finding(question=Question.AS_REPORTED, answer=None, said=said)

"""One attempt to make tests of a report: paid for on its own, with advice where it found none."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import OutOfTime, UsageProblem
from pytest_brt.pipeline.plan import Job
from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Attempt, Issue, Note

#: Wall-clock seconds for finding the commit that fixed a bug.
_SEARCH_SECONDS = 60.0


def make_attempt(issue: Issue, job: Job, strategy: Strategy, shared: Workbench) -> Attempt:
    """Make one attempt; models are not asked after the deadline.

    Raises:
        BrtError: the attempt cannot be made.
    """
    started = time.perf_counter()
    usage = shared.model.usage.part(shared.deadline)

    def accounted(attempt: Attempt) -> Attempt:
        return replace(attempt, seconds=time.perf_counter() - started, cost=usage.cost)

    bench = replace(
        shared,  # but for its models: they are paid for by this attempt alone
        model=shared.model.paid_by(usage, asks_again=strategy.asks_again),
        editor=shared.editor and shared.editor.paid_by(usage, asks_again=strategy.asks_again),
        found=lambda attempt: shared.found(accounted(attempt)),
    )
    try:
        attempt = strategy.attempt(issue, job.index, bench)
    except OutOfTime as over:
        note = Note(code="model-failed", text=str(over))
        attempt = Attempt(
            issue=issue.id, strategy=job.strategy, index=job.index, tests=(), notes=(note,)
        )
        return accounted(attempt)
    is_found = any(judged.judgement.candidate for judged in attempt.tests)
    if attempt.settled and not job.index and not is_found:
        attempt = _with_fix(attempt, bench)
    return accounted(attempt)


def _with_fix(attempt: Attempt, bench: Workbench) -> Attempt:
    """Return an attempt with the commit that fixed what it could not reproduce."""
    from pytest_brt.patches.history import History  # git is asked for this alone
    from pytest_brt.revisions.fixed import find_fix

    deadline = min(bench.deadline, time.monotonic() + _SEARCH_SECONDS)
    bench.say("looking in the history for the commit that fixed it")
    try:
        history = History(Path(bench.engine.subject.root))
        fix = find_fix(history, bench.engine, attempt.settled[0].test, deadline, bench.say)
    except UsageProblem as problem:
        bench.say(str(problem))
        return attempt
    return replace(attempt, fix=fix)

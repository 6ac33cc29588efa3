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
_NONE_WRITTEN = Note(
    code="model-gave-nothing",
    text="the model wrote no test that can be run",
    hint="try a larger one ('pytest-brt models' names some), and read its replies beside the "
    "report of --brt-report FILE.json",
)
_NONE_STANDS = Note(
    code="model-gave-nothing",
    text="no test by the model holds up",
    hint="give the exact input and the right result in the report, say where the bug is with "
    "--brt-buggy-file, or try a larger model ('pytest-brt models')",
)


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
    if not job.index and not any(judged.judgement.candidate for judged in attempt.tests):
        attempt = _advised(attempt) if strategy.asks else attempt
        attempt = _with_fix(attempt, bench) if attempt.settled else attempt
    return accounted(attempt)


def _advised(attempt: Attempt) -> Attempt:
    """Return an attempt that found nothing with a note that says so."""
    if any(note.code == "without-model" for note in attempt.notes):
        return attempt
    wrote = any(judged.test.origin.model for judged in attempt.tests)
    return replace(attempt, notes=(*attempt.notes, _NONE_STANDS if wrote else _NONE_WRITTEN))


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

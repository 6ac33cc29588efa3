"""The attempts of one invocation: each paid for on its own, and what it has so far."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import ModelProblem, OutOfTime, UsageProblem
from pytest_brt.model.request import Usage
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.run.plan import AttemptKey, Plan
from pytest_brt.types import Attempt, Note

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


class Attempting:
    """Carries out attempts; safe to call from many threads."""

    def __init__(self, plan: Plan, workbench: Workbench) -> None:
        self.plan = plan
        self.workbench = workbench
        self._so_far: dict[AttemptKey, Attempt] = {}
        #: Why attempts ended that needed a model.
        self._problems: dict[AttemptKey, str] = {}

    def attempt(self, key: AttemptKey, deadline: float) -> Attempt:
        """Make one attempt; models are not asked after `deadline`, by `time.monotonic`.

        Raises:
            BrtError: the attempt cannot be made.
        """
        issue = next(case.issue for case in self.plan.cases if case.issue_id == key.issue)
        assert issue is not None, "keys are made from cases that have an issue"
        started = time.perf_counter()
        shared = self.workbench
        strategy = self.plan.strategies[key.strategy]
        usage = shared.model.usage.part(deadline)

        def found(attempt: Attempt) -> None:
            seconds = time.perf_counter() - started
            self._so_far[key] = self._accounted(attempt, usage, seconds)

        bench = replace(
            shared,  # but for its models: they are paid for by this attempt alone
            model=shared.model.paid_by(usage, asks_again=strategy.asks_again),
            editor=shared.editor and shared.editor.paid_by(usage, asks_again=strategy.asks_again),
            deadline=deadline,
            found=found,
            say=lambda text: shared.say(f"{key.strategy}-{key.index:02}: {text}"),
        )
        try:
            attempt = _advised(strategy.attempt(issue, key.index, bench), asks=strategy.asks)
            attempt = _with_fix(attempt, bench)
        except OutOfTime as over:
            told = (Note(code="model-failed", text=str(over)),)
            attempt = Attempt(
                issue=key.issue, strategy=key.strategy, index=key.index, tests=(), notes=told
            )
        except ModelProblem as problem:
            self._problems[key] = str(problem)
            raise
        return self._accounted(attempt, usage, time.perf_counter() - started)

    def so_far(self, key: AttemptKey) -> Attempt | None:
        """Return what an attempt that did not end had found, None for nothing."""
        attempt, said = self._so_far.get(key), self._problems.get(key)
        if said is None:
            note = Note(code="interrupted", text="Partial results (interrupted)")
        else:
            note = Note(code="without-model", text=f"without the model: {said}")
        return attempt and replace(attempt, notes=(*attempt.notes, note))

    def _accounted(self, attempt: Attempt, usage: Usage, seconds: float) -> Attempt:
        return replace(attempt, seconds=seconds, cost=usage.cost)


def _with_fix(attempt: Attempt, bench: Workbench) -> Attempt:
    """Return an attempt with the commit that fixed what it could not reproduce."""
    nothing = not any(item.judgement.candidate for item in attempt.tests)
    if not attempt.settled or not nothing or attempt.index:
        return attempt
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


def _advised(attempt: Attempt, *, asks: bool) -> Attempt:
    """Return an attempt that found nothing with a note that says so."""
    nothing = not any(item.judgement.candidate for item in attempt.tests)
    alone = any(note.code == "without-model" for note in attempt.notes)
    if not asks or attempt.index or alone or not nothing:
        return attempt
    wrote = any(item.test.origin.model for item in attempt.tests)
    note = _NONE_STANDS if wrote else _NONE_WRITTEN
    return replace(attempt, notes=(*attempt.notes, note))

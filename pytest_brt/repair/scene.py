"""Makes what a repair looks at: the failing tests watched and placed, the existing ones at hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from pytest_brt.agent.prompts import Prompts
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.engine import Engine, Row, target_of
from pytest_brt.guard import Guard, Touched, touched_by
from pytest_brt.guard.selection import targets_of
from pytest_brt.guard.suite import ExistingTest
from pytest_brt.localise.places import find_places, given_places
from pytest_brt.model.base import Model
from pytest_brt.render.causes import run_words
from pytest_brt.repair.site import Site
from pytest_brt.repair.trial import Check, Trials
from pytest_brt.types import (
    Attempt,
    Author,
    Ending,
    FileChange,
    Guarded,
    Issue,
    JudgedTest,
    Localised,
    Place,
    TestRun,
    Trajectory,
    Verdict,
)

#: Existing tests that are watched beside the failing ones.
_NEARBY = 60
#: Wall-clock seconds for watching all.
_WATCHING = 30.0
#: Places of the report whose tests are watched.
_FIRST = 6
#: Candidates that a model is asked about.
_ASKED = 5
#: Names of tests among existing ones that assert the reported wrong behaviour.


def make_site(
    issue: Issue,
    *,
    engine: Engine,
    index: Index,
    failing: Sequence[JudgedTest],
    guard: Guard,
    allowance: float,
    hints: frozenset[str],
    model: Model,
    prompts: Prompts,
    given: Sequence[str] = (),
    jobs: int = 2,
) -> Site:
    """Return what the repairs of one issue share; places are looked for when first needed.

    The tests that fail because of the bug are candidates, the most trusted first. On a fix that
    passes them `guard` runs existing tests, for `allowance` seconds on one tree; 0 runs none.
    `hints` are names that the failing tests use. The user may have `given` places, as in
    PATH:FIRST-LAST. Up to `jobs` fixes are tried at a time.

    Raises:
        UsageProblem: a place that was given does not exist.
    """
    known = given_places(given, index) if given else ()
    root = Path(engine.subject.root)

    check = _checker(engine, guard, allowance, failing, hints)

    def tests_near(changes: tuple[FileChange, ...]) -> tuple[str, ...]:
        return guard.files_near(touched_by(changes, root), hints)

    @cache
    def places() -> tuple[Place, ...]:
        return known or localise(issue, engine, index, failing, guard).places

    return Site(
        issue=issue,
        root=root,
        index=index,
        failing=tuple(failing),
        places=places,
        perfect=bool(known),
        trials=Trials(engine, failing, check, jobs=jobs),
        model=model,
        prompts=prompts,
        tests_near=tests_near,
    )


def trusted(tests: Iterable[JudgedTest]) -> tuple[JudgedTest, ...]:
    """Return the candidates among `tests`, the most trusted first; equals stay in their order."""
    candidates = [judged for judged in tests if judged.judgement.candidate]
    return tuple(sorted(candidates, key=lambda judged: -judged.judgement.confidence))


def choose_brt(
    attempts: Sequence[Attempt],
    given: Sequence[JudgedTest],
    seed: int,
    says: Callable[[JudgedTest], bool | None] = lambda _: None,
) -> JudgedTest | None:
    """Return the test to give to a repair that does not know the fix (paper 001, requirement 45).

    None when there is no candidate.

    Preferred is, in this order: a failure that was judged to be caused by the bug, by rules and
    then by a model, a run that ended because its model said so, one whose last execution of a
    test failed, more confidence (in tenths). Among equals it is drawn, likelier the more it is
    trusted. A run without a dialogue ended by itself, and its last execution is the judge's.

    `given` are tests that a person gave. `says` tells whether a model holds the failure for the
    bug's, None where it was not asked; it is called for the few most trusted candidates, where
    there are several and none is a person's.
    """
    ended = {judged.test.id: True for judged in given}
    last = {judged.test.id: _last_verdict(judged, ()) for judged in given}
    tests = list(given)
    for attempt in attempts:
        ended_well = all(one.ending is Ending.FINISH for one in attempt.trajectories)
        for judged in attempt.tests:
            ended[judged.test.id] = ended_well
            last[judged.test.id] = _last_verdict(judged, attempt.trajectories)
            tests.append(judged)
    candidates = [judged for judged in tests if judged.judgement.candidate]
    held = _held(candidates, says)

    def merits(judged: JudgedTest) -> tuple[bool, bool, bool, float]:
        test = judged.test.id
        trust = round(judged.judgement.confidence, 1)
        return test in held, ended[test], last[test] is Verdict.FAIL, trust

    of_each = [merits(judged) for judged in candidates]
    best = [one for one, own in zip(candidates, of_each, strict=True) if own == max(of_each)]
    if not best:
        return None
    weights = [max(0.01, judged.judgement.confidence) for judged in best]
    return Random(seed).choices(best, weights)[0]


def _last_verdict(judged: JudgedTest, dialogues: Sequence[Trajectory]) -> Verdict | None:
    """Return what the last test did that a dialogue ran, or else the last run of the judge."""
    steps = [step.verdict for told in dialogues for step in told.steps if step.verdict is not None]
    judging = [run.verdict for run in judged.judgement.runs]
    return next(reversed(steps or judging), None)


def _held(
    candidates: Sequence[JudgedTest], says: Callable[[JudgedTest], bool | None]
) -> frozenset[str]:
    """Return the ids of the candidates that a person gave, else of those that a model believes."""
    ours = frozenset(j.test.id for j in candidates if j.test.origin.author is Author.PERSON)
    if ours or len(candidates) < 2:
        return ours
    asked = sorted(candidates, key=lambda judged: -judged.judgement.confidence)[:_ASKED]
    return frozenset(j.test.id for j in asked if j.judgement.runs and says(j))


def localise(
    issue: Issue, engine: Engine, index: Index, failing: Sequence[JudgedTest], guard: Guard
) -> Localised:
    """Return where the bug may be: by the report, the failing tests' stacks, and what they run.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    begin = time.monotonic()
    runs = tuple(run for judged in failing for run in judged.judgement.runs[:1])
    watched: tuple[TestRun, ...] = ()
    notes: tuple[str, ...] = ("no failing test: only the report was looked at",)
    if failing:
        first = find_places(issue, index, failing=runs, limit=_FIRST)
        names = tuple(sorted(f"{place.path}::{place.function}" for place in first))
        near = guard.near(Touched(places=names, size=0))[:_NEARBY] if names else ()
        watched = _watch(engine, index, failing, near)
        notes = ()
        if not any(run.ran for run in watched):
            notes = (f"the tests could not be watched: {run_words(watched[0])}",)
            watched = ()
    verdicts = [run.verdict for run in watched]
    return Localised(
        issue=issue.id,
        places=find_places(issue, index, failing=runs, watched=watched),
        failing=verdicts.count(Verdict.FAIL),
        passing=verdicts.count(Verdict.PASS),
        notes=notes,
        seconds=time.monotonic() - begin,
    )


def _watch(
    engine: Engine, index: Index, failing: Sequence[JudgedTest], near: Sequence[ExistingTest]
) -> tuple[TestRun, ...]:
    """Return what the failing tests did, and those near that pass, with the lines they ran."""
    own = [target_of(judged.test) for judged in failing]
    files = tuple(sorted(path for path in index.layout.files if not is_test_path(path)))
    row = Row(targets=(*own, *targets_of(near)), watch=files, seconds=_WATCHING)
    ids = {target.id for target in own}
    # An existing test that fails as well may do so for a reason of its own.
    runs = engine.run(row).runs
    return tuple(run for run in runs if run.test in ids or run.verdict is not Verdict.FAIL)


def _checker(
    engine: Engine,
    guard: Guard,
    allowance: float,
    failing: Sequence[JudgedTest],
    hints: frozenset[str],
) -> Check:
    root = Path(engine.subject.root)

    def check(changes: tuple[FileChange, ...]) -> Guarded | None:
        if allowance <= 0:
            return None
        touched = touched_by(changes, root)
        return guard.check(changes, touched, allowance=allowance, hints=hints, bug_tests=failing)

    return check

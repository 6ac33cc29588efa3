"""A bug, the project that has it, and what judges its fixes: shared by every run on a report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pytest_brt.agent.action import Refusal
from pytest_brt.agent.prompts import Prompts
from pytest_brt.agent.running import Names
from pytest_brt.agent.tree import Tree
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.engine import Engine, Row, TestTarget, target_of
from pytest_brt.guard import Guard, Touched, touched_by
from pytest_brt.guard.existing_tests import targets_of
from pytest_brt.guard.suite import ExistingTest, read_tests
from pytest_brt.localise.places import find_places, given_places
from pytest_brt.localise.sign import Key
from pytest_brt.localise.spectrum import SuspectLine, lines_of, rank_lines
from pytest_brt.render.clues import clue_words
from pytest_brt.repair.trial import Check, Trials
from pytest_brt.types import (
    FileChange,
    Guarded,
    Issue,
    JudgedTest,
    Place,
    TestRun,
    Verdict,
)
from pytest_brt.types.clue import GivenByUser

#: Existing tests that are watched beside the failing ones.
_NEARBY = 60
#: Wall-clock seconds for watching all.
_WATCHING = 30.0
#: Places of the report whose tests are watched.
_FIRST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A bug, the project that has it, and what is known of both."""

    issue: Issue
    index: Index
    #: The project as it is.
    tree: Tree
    #: Tests that fail because of the bug, the most trusted first.
    failing: tuple[JudgedTest, ...]
    #: Where the bug may be, likeliest first; found when first asked for.
    places: Callable[[], tuple[Place, ...]]
    #: Whether the user said where it is.
    is_place_given: bool
    #: The lines that failing tests run and passing ones do not, the most suspicious first; tests
    #: are watched when they are first asked for.
    suspect_lines: Callable[[], tuple[SuspectLine, ...]]
    trials: Trials
    prompts: Prompts
    #: The existing test files that are nearest to changes, the nearest first.
    tests_near: Callable[[tuple[FileChange, ...]], tuple[str, ...]]
    #: What the project's own tests do on the unchanged tree, in so many seconds, None for as long
    #: as one row may take.
    run_suite: Callable[[float | None], tuple[TestRun, ...]]

    @property
    def names(self) -> Names:
        """What the failing tests are called, by their ids."""
        return {judged.test.id: judged.test.name for judged in self.failing}

    def failing_runs(self) -> tuple[TestRun, ...]:
        """Run the failing tests on the unchanged tree.

        Raises:
            Refusal: there is none.
            SubjectProblem: the interpreter cannot be started at all.
        """
        if not self.failing:
            raise Refusal("There is no failing test to run.")
        row = Row(targets=tuple(target_of(judged.test) for judged in self.failing))
        return self.trials.engine.run(row).runs

    def source_of(self, judged: JudgedTest) -> str:
        """Return the source of a test: its module when it stands alone, else its function."""
        test = judged.test
        if test.source is not None:
            return test.source
        text = (self.tree.root / test.path).read_text(encoding="utf-8", errors="replace")
        # Parameters of a test follow its name in brackets.
        bare = test.name.partition("[")[0]
        found = [one.source for one in read_tests(test.path, text) if one.node == bare]
        return found[0] if found else text


def make_bug(
    issue: Issue,
    *,
    engine: Engine,
    index: Index,
    failing: Sequence[JudgedTest],
    guard: Guard,
    check: Check,
    hints: frozenset[str],
    prompts: Prompts,
    given: Sequence[str] = (),
    ran: Callable[[], Collection[Key]] = tuple,
    jobs: int = 2,
) -> Bug:
    """Return what the repairs of one issue share; places are looked for when first needed.

    The tests that fail because of the bug are candidates, the most trusted first. `check` says
    what existing tests say of a fix that passes them; `hints` are names that the failing tests
    use. The user may have `given` places, as in PATH:FIRST-LAST; `ran` tells the functions that the
    report's code runs. Up to `jobs` fixes are tried at a time.

    Raises:
        UsageProblem: a place that was given does not exist.
    """
    known = given_places(given, index) if given else ()
    root = Path(engine.subject.root)

    def tests_near(changes: tuple[FileChange, ...]) -> tuple[str, ...]:
        return guard.files_near(touched_by(changes, root), hints)

    @cache
    def places() -> tuple[Place, ...]:
        return known or find_places(issue, index, ran=ran())

    @cache
    def suspect_lines() -> tuple[SuspectLine, ...]:
        return rank_suspect_lines(issue, engine, index, failing, guard)

    def run_suite(seconds: float | None) -> tuple[TestRun, ...]:
        targets = tuple(TestTarget(id=path, path=path) for path in sorted(guard.suite.files))
        return engine.run(Row(targets=targets, seconds=seconds)).runs if targets else ()

    return Bug(
        issue=issue,
        index=index,
        tree=Tree(root=root, files=index.layout.files),
        failing=tuple(failing),
        places=places,
        is_place_given=bool(known),
        suspect_lines=suspect_lines,
        trials=Trials(engine, failing, check, jobs=jobs),
        prompts=prompts,
        tests_near=tests_near,
        run_suite=run_suite,
    )


def guard_check(guard: Guard, hints: frozenset[str], allowance: float) -> Check:
    """Return what runs existing tests on a fix, for `allowance` seconds; 0 runs none."""

    def check(changes: tuple[FileChange, ...]) -> Guarded | None:
        if allowance <= 0:
            return None
        touched = touched_by(changes, guard.root)
        return guard.check(changes, touched, allowance=allowance, hints=hints)

    return check


def trusted(tests: Iterable[JudgedTest]) -> tuple[JudgedTest, ...]:
    """Return the candidates among `tests`, the most trusted first; equals stay in their order."""
    candidates = [judged for judged in tests if judged.judgement.candidate]
    return tuple(sorted(candidates, key=lambda judged: -judged.judgement.confidence))


def rank_suspect_lines(
    issue: Issue, engine: Engine, index: Index, failing: Sequence[JudgedTest], guard: Guard
) -> tuple[SuspectLine, ...]:
    """Return lines of the product by Ochiai's score over failing tests and passing ones near them.

    Lines that every test runs are left out.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    if not failing:
        return ()
    first = find_places(issue, index, limit=_FIRST)
    names = tuple(sorted(f"{place.path}::{place.function}" for place in first))
    near = guard.near(Touched(places=names, size=0))[:_NEARBY] if names else ()
    runs = _watch(engine, index, failing, near)
    bad = [lines_of(run) for run in runs if run.verdict is Verdict.FAIL]
    good = [lines_of(run) for run in runs if run.verdict is Verdict.PASS]
    return tuple(line for line in rank_lines(bad, good) if not line.is_everywhere)


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


#: Places that a model is told.
_TOLD = 8


def tell_places(bug: Bug, most: int = _TOLD) -> str:
    """Return where the bug may be, as a list for a model: `most` places, or all that were given."""
    places = bug.places()[: None if bug.is_place_given else most]
    if not places:
        return "Nothing points to a place. Search the code for names from the report."
    head = "The most suspicious places, likeliest first:"
    if bug.is_place_given:
        head = "The bug is here:"
    return "\n".join([head, *map(_tell_place, places)])


def tell_suspect_lines(bug: Bug) -> str:
    """Return the most suspicious lines by what tests run, "" where that says nothing."""
    lines = bug.suspect_lines()[:_TOLD]
    if not lines:
        return ""
    head = "Lines by Ochiai's score, of what failing and passing tests run:"
    return "\n".join([head, *(f"- {one.path}:{one.line} {one.ochiai:.2f}" for one in lines)])


def _tell_place(place: Place) -> str:
    span = f":{place.line}-{place.end_line}" if place.end_line else ""
    name = f" {place.function}" if place.function else ""
    lines = f", lines {', '.join(map(str, sorted(place.lines)))}" if place.lines else ""
    told = [clue_words(clue) for clue in place.clues if not isinstance(clue, GivenByUser)]
    why = f" ({told[0]})" if told else ""
    return f"- {place.path}{span}{name}{lines}{why}"

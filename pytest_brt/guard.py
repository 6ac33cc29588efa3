"""The project's own tests: chosen on the unpatched tree, and those that a patch makes fail.

The whole suite is run with each patch where it fits into the time for one. Else lines are watched,
and those tests come first that execute what the patches change.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path

from pytest_brt.errors import StoreProblem
from pytest_brt.patches.changes import Executed, Touched
from pytest_brt.project.layout import scan_tree
from pytest_brt.project.pytest_config import read_config
from pytest_brt.render.words import count, listed
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner, most_severe
from pytest_brt.store import Journal, Once
from pytest_brt.types import (
    CauseCode,
    FileChange,
    Guarded,
    Note,
    Regression,
    TestRun,
    Verdict,
)
from pytest_brt.types.note import value

#: Seconds of existing tests with each patch, where nothing else is asked for (docs/ranking.md).
EACH = 2.0
#: How many times the seconds of one patch the search on the unpatched tree may take.
LOOKING = 4.0
#: Verdicts that mean that something is wrong: what is left out on purpose, or expected to fail, is
#: not.
_BROKEN = (Verdict.FAIL, Verdict.BROKEN, Verdict.TIMEOUT, Verdict.CRASH)
#: Seconds that each test takes besides its own: reporting it.
_LEAST = 0.001
#: Seconds of a test of a quick suite. One that would not fit even so is watched at once.
_QUICK = 0.002
#: How many times as long as its CPU seconds what runs may take, and wall-clock seconds in any case.
_MOST_CROWDED, _LEAST_WALL = 4.0, 5.0
#: Test files that are run first on the unpatched tree.
_FIRST_FILES = 4
#: How much more the name of a test file says than a word in it.
_PLACE = 3
_WATCHING = "the existing tests take too long: watching which lines they run"
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
#: What tests did, by their names; all parameters of one together.
_Results = Mapping[str, TestRun]


class TestFiles:
    """The test files of a project, by path, as its settings have them; environments left out.

    They are read as text: nothing is imported or run.
    """

    #: pytest must not take this for a test class.
    __test__ = False

    def __init__(self, root: Path) -> None:
        """Read them."""
        ini = read_config(root)
        self.collected = ini.collected
        paths = ini.test_files(scan_tree(root))
        self.texts = {path: (root / path).read_text("utf-8", "replace") for path in paths}

    def count(self) -> int:
        """Return how many test functions there seem to be; pytest may find more, or fewer."""
        names = (name for text in self.texts.values() for name in _DEFINED.findall(text))
        return sum(map(self.collected.has_function, names))

    def nearest(self, pool: Iterable[Touched]) -> tuple[str, ...]:
        """Return the files, the likeliest to notice what patches change first.

        A file is near by the names of what is changed: in its path, and in its text.
        """
        names: set[str] = set()
        for touched in pool:
            names.update(touched.names)
            for path in touched.files:
                names.update(path.removesuffix(".py").split("/"))

        def nearness(path: str) -> int:
            words = names.intersection(_WORD.findall(self.texts[path]))
            return len(words) + _PLACE * sum(name in path for name in names)

        return tuple(sorted(self.texts, key=lambda path: (-nearness(path), path)))


@value
class Selection:
    """The existing tests that every patch of a pool is tried with."""

    #: What they execute on the unpatched tree, by their names, where that was watched.
    tests: dict[str, Executed] = field(default_factory=dict)
    #: Whether they are all that pass; else it was seen which lines they execute.
    is_whole: bool = False
    #: Why there are no more of them.
    shortfalls: tuple[Note, ...] = ()
    #: Tests that the project has, as far as is known.
    total: int = 0


@dataclass(frozen=True, eq=False)
class Guard:
    """Finds the regressions of patches of one project; safe to call from many threads.

    What the tests do on the unpatched tree is found out once for all patches, and all patches of a
    pool are compared on the same tests.
    """

    engine: Runner
    #: What the patches change.
    pool: tuple[Touched, ...] = ()
    _: KW_ONLY
    #: What the tests of each patch may take; the search on the unpatched tree may take as long,
    #: and where the suite is cut besides twice as long.
    seconds: float = EACH
    #: Is told what is done.
    say: Callable[[str], None] = lambda _: None
    #: Keeps the choice, for all patches and between runs.
    kept: Journal = field(default_factory=lambda: Journal(None))
    #: The choice, where it was made elsewhere.
    chosen: Selection | None = None
    #: What files do on the unpatched tree, by what is watched.
    _known: Once[tuple[str, ...], tuple[TestRun, ...]] = field(default_factory=Once)

    @property
    def root(self) -> Path:
        """The project's folder."""
        return Path(self.engine.subject.root)

    @cached_property
    def files(self) -> TestFiles:
        """The project's test files, read where existing tests are asked for."""
        return TestFiles(self.root)

    def run(
        self, tests: Sequence[Test], changes: tuple[FileChange, ...], touched: Touched
    ) -> tuple[tuple[TestRun, ...], Guarded]:
        """Run tests and the chosen ones with a patch; return the runs, and what it breaks.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        chosen = self.choose(touched)
        runs = self.engine.run([*tests, *_targets(chosen.tests)], changes)
        results = [run for run in runs if run.test in chosen.tests]
        failed = {run.test: run for run in results if run.verdict in _BROKEN}
        guarded = Guarded(
            ran=sum(run.verdict is not Verdict.INVALID for run in results),
            total=chosen.total,
            reached=None
            if chosen.is_whole
            else sum(map(touched.is_run, chosen.tests.values())),
            regressions=tuple(
                _regression(failed[name]) for name in self._confirm(changes, failed)
            ),
            shortfalls=chosen.shortfalls,
        )
        return runs, guarded

    def choose(self, touched: Touched) -> Selection:
        """Return the existing tests to be run with a patch: the same for all patches of the pool.

        Where there is none, as for repairs, they are those for what the patch itself changes.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        if self.chosen:
            return self.chosen
        pool = self.pool or (touched,)
        names = (repr(pool), f"{self.seconds}")
        if known := self.kept.get(Selection, *names):
            return known
        watch = tuple(sorted({path for one in pool for path in one.files}))
        may_fit = self.files.count() * _QUICK <= self.seconds
        chosen = self._choose(pool, () if may_fit else watch)
        if may_fit and not chosen.is_whole:
            chosen = self._choose(pool, watch)
        self.kept.forget()
        with suppress(StoreProblem):  # it is chosen anew the next time
            self.kept.put(chosen, *names)
        return chosen

    def _choose(self, pool: Sequence[Touched], watch: tuple[str, ...]) -> Selection:
        """Choose tests from what files do on the unpatched tree, run once for all that ask."""
        files = self.files.nearest(pool)
        runs = self._known.get(watch, lambda: self._run_files(files, watch))
        timely = [run for run in runs if run.cause.code is not CauseCode.TREE_TOO_SLOW]
        lost = [run.test for run in timely if run.cause.is_uncollected]
        collected = self.files.collected
        tests = _by_name(run for run in timely if collected.has_node(run.node))
        passing = {n: run for n, run in tests.items() if run.verdict is Verdict.PASS}
        failing = sum(run.verdict in _BROKEN for run in tests.values())
        chosen = affordable(passing, pool, self.seconds)
        is_complete = len(timely) == len(runs) and set(files) == {run.test for run in runs}
        is_whole = is_complete and len(chosen) == len(passing)
        return Selection(
            tests=chosen,
            is_whole=is_whole,
            shortfalls=tuple(self._shortfalls(lost, failing, is_whole)),
            total=max(len(tests), self.files.count()),
        )

    def _shortfalls(
        self, lost: Sequence[str], failing: int, is_whole: bool
    ) -> Iterator[Note]:
        """Yield why no more tests were chosen."""
        if lost:
            text = f"{listed(lost[:3])} cannot be collected on the unpatched tree"
            yield Note(code="not-collected", text=text)
        if not is_whole:
            text = f"the budget of {self.seconds:g} s a patch allows no more (--brt-guard)"
            yield Note(code="budget-spent", text=text)
        if failing:
            text = f"left out, failing without a patch: {count(failing, 'existing test')}"
            yield Note(code="fail-before", text=text)

    def _run_files(
        self, files: Sequence[str], watch: tuple[str, ...]
    ) -> tuple[TestRun, ...]:
        """Run files on the unpatched tree, nearest first, as far as the time allows.

        pytest runs nothing before it has collected all files, which takes minutes of a large suite:
        so a few files come first, then twice as many. It ends where there are more tests than a
        patch has time for; twice as many where lines are watched, as some run none of those.
        """
        self.say(_WATCHING if watch else "running existing tests without a patch")
        enough = self.seconds * (2 if watch else 1)
        seconds = max(_LEAST_WALL, LOOKING * self.seconds * _MOST_CROWDED)
        targets = [Test(id=path, path=path) for path in files]
        runs: list[TestRun] = []
        end, size, cpu = time.monotonic() + seconds, _FIRST_FILES, 0.0
        while targets and cpu <= enough and (left := end - time.monotonic()) > 0:
            some = self.engine.run(
                targets[:size], seconds=left, cpu=enough - cpu, watch=watch
            )
            runs += some
            cpu += sum(_LEAST + run.cpu for run in some)
            targets, size = targets[size:], 2 * size
        return tuple(runs)

    def _confirm(self, changes: tuple[FileChange, ...], failed: Iterable[str]) -> list[str]:
        """Return those that fail again, last first and under another hash seed.

        Those that pass the second time are run a third time, each alone, which decides.
        """

        def still_failing(names: Iterable[str]) -> list[str]:
            runs = self.engine.run(_targets(names), changes, hash_seed=1, reverse=True)
            return [run.test for run in runs if run.verdict in _BROKEN]

        again = still_failing(failed)
        return [name for name in failed if name in again or still_failing([name])]


def _targets(names: Iterable[str]) -> tuple[Test, ...]:
    """Return existing tests as the engine runs them."""
    parts = ((name, *name.split("::", 1)) for name in names)
    return tuple(Test(id=name, path=path, node=node) for name, path, node in parts)


def affordable(
    tests: _Results, pool: Sequence[Touched], seconds: float
) -> dict[str, Executed]:
    """Return the tests that can be afforded, first those that run what most patches change."""
    chosen = {}
    for name, run in sorted(
        tests.items(), key=lambda item: -sum(one.is_run(item[1].ran) for one in pool)
    ):
        # Seconds of the processor, or of the clock where the process did not end by itself.
        needed = _LEAST + (run.cpu or run.seconds)
        if needed <= seconds:
            seconds -= needed
            chosen[name] = run.ran
    return chosen


def _regression(run: TestRun) -> Regression:
    """Return what is told of an existing test that a patch makes fail."""
    frames = run.raised.frames if run.raised else ()
    own = [frame.line for frame in frames if run.test.startswith(f"{frame.path}::")]
    return Regression(
        test=run.test,
        reason=run.cause.text,
        line=own[-1] if own else 0,
    )


def _by_name(runs: Iterable[TestRun]) -> dict[str, TestRun]:
    """Return what each test did, by its name without parameters: the worst of these."""
    groups: defaultdict[str, list[TestRun]] = defaultdict(list)
    for run in runs:
        groups[f"{run.test}::{run.node.partition('[')[0]}"].append(run)
    return {name: most_severe(group) for name, group in groups.items()}

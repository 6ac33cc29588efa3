"""Tries fixes: the failing tests, then the existing ones, on private views of the changed tree.

The user's tree is never written, so there is nothing to revert after a fix that does not work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.code.normal import patch_key
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.types import FileChange, Guarded, JudgedTest, TestRun, Verdict

#: What existing tests say of changes; None when they are not to be run.
Check = Callable[[tuple[FileChange, ...]], Guarded | None]
#: A test may take this many times as long with a fix as without, and at least so many seconds.
_SLOWER = 20.0
_LEAST_SECONDS = 10.0
#: Share of the trust in all failing tests that a fix must win.
SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a fix does."""

    changes: tuple[FileChange, ...]
    #: Equal for fixes that make equal trees, but for comments and layout.
    key: str
    #: What the failing tests do with it, in their order.
    runs: tuple[TestRun, ...] = ()
    #: Whether it passes those that are to be trusted.
    passes: bool = False
    #: What existing tests do; None when they were not run.
    guarded: Guarded | None = None

    @property
    def plausible(self) -> bool:
        """Whether it passes the failing tests and breaks none of the others that were run."""
        return self.passes and not (self.guarded and self.guarded.regressions)

    @property
    def failed(self) -> tuple[TestRun, ...]:
        """The runs that do not pass."""
        return tuple(run for run in self.runs if run.verdict is not Verdict.PASS)


class Trials:
    """Tries fixes of one issue, each tree once; safe to call from many threads."""

    def __init__(
        self, engine: Engine, failing: Sequence[JudgedTest], check: Check, *, jobs: int = 2
    ) -> None:
        self.engine = engine
        self.failing = tuple(failing)
        self._check = check
        self._jobs = jobs
        self._lock = threading.Lock()
        self._known: dict[str, Trial] = {}

    def key(self, changes: Sequence[FileChange]) -> str:
        """Return what is equal for fixes that make equal trees."""
        root = Path(self.engine.subject.root)
        return patch_key(changes, lambda path: _bytes(root / path))

    def known(self, key: str) -> Trial | None:
        """Return what a fix of this key did, None when none was tried."""
        with self._lock:
            return self._known.get(key)

    def run(self, changes: tuple[FileChange, ...]) -> Trial:
        """Try a fix.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        key = self.key(changes)
        known = self.known(key)
        if known is None:
            known = self._try(changes, key)
            with self._lock:
                self._known.setdefault(key, known)
        return known

    def run_all(self, all_changes: Sequence[tuple[FileChange, ...]]) -> tuple[Trial, ...]:
        """Try several fixes, as many at a time as there are jobs; see `run`."""
        if len(all_changes) <= 1:
            return tuple(self.run(changes) for changes in all_changes)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="brt-try") as pool:
            return tuple(pool.map(self.run, all_changes))

    def passes(self, runs: Sequence[TestRun]) -> bool:
        """Say whether runs of the failing tests are what a right fix would do.

        The most trusted test must pass, and tests with half of the trust in all of them: one
        of several tests that a model wrote may well demand something wrong.
        """
        green = {run.test for run in runs if run.verdict is Verdict.PASS}
        if not self.failing or self.failing[0].test.id not in green:
            return False
        trust = {judged.test.id: judged.judgement.confidence for judged in self.failing}
        total = sum(trust.values())
        return sum(trust[test] for test in green if test in trust) >= SHARE * total

    def _try(self, changes: tuple[FileChange, ...], key: str) -> Trial:
        runs: tuple[TestRun, ...] = ()
        if self.failing:
            row = Row(
                changes=changes,
                targets=tuple(_target(judged) for judged in self.failing),
                test_seconds=self._seconds(),
            )
            runs = self.engine.run(row).runs
            if not self.passes(runs):
                return Trial(changes=changes, key=key, runs=runs)
        guarded = self._check(changes)
        return Trial(
            changes=changes, key=key, runs=runs, passes=bool(self.failing), guarded=guarded
        )

    def _seconds(self) -> float:
        """Return what one failing test may take: a fix that never ends is to be noticed soon."""
        usual = [run.seconds for judged in self.failing for run in judged.judgement.runs[:1]]
        return max(_LEAST_SECONDS, _SLOWER * max(usual, default=0.0))


def _target(judged: JudgedTest) -> TestTarget:
    test = judged.test
    return TestTarget(id=test.id, path=test.path, source=test.source, node=test.name)


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None

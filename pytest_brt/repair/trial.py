"""Tries fixes: the failing tests, then the existing ones, on private views of the changed tree.

The user's tree is never written, so there is nothing to revert after a fix that does not work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.execute.engine import Engine, Row, target_of
from pytest_brt.execute.touched import shared
from pytest_brt.syntax.parse import decode
from pytest_brt.types import Author, FileChange, Guarded, JudgedTest, TestRun, Verdict

#: What existing tests say of changes; None when they are not to be run.
Check = Callable[[tuple[FileChange, ...]], Guarded | None]
#: A test may take this many times as long with a fix as without, and at least so many seconds.
_SLOWER = 20.0
_LEAST_SECONDS = 10.0
#: Share of the trust in all failing tests that a fix must win.
SHARE = 0.5
#: Of many fixes that pass the failing tests, so many are tried on the existing ones.
_GUARDED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a fix does."""

    changes: tuple[FileChange, ...]
    #: Equal for fixes that make equal trees, but for blank lines and lines of comments.
    key: str
    #: What the failing tests do with it, in their order.
    runs: tuple[TestRun, ...] = ()
    #: Whether it passes those that are to be trusted.
    passes: bool = False
    #: Whether the existing tests had their turn, and what they did; None when none is to run.
    checked: bool = False
    guarded: Guarded | None = None

    @property
    def plausible(self) -> bool:
        """Whether it passes the failing tests and breaks none of the others that were run."""
        return self.passes and self.unrefuted

    @property
    def unrefuted(self) -> bool:
        """Whether all that was run speaks for it; without a failing test it need not be right."""
        judged = self.passes or not self.runs
        return judged and self.checked and not (self.guarded and self.guarded.regressions)

    @property
    def disputed(self) -> bool:
        """Whether it passes the failing tests but breaks others, which may be what is wrong."""
        return self.passes and self.guarded is not None and bool(self.guarded.regressions)

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
        #: What a fix did, by its key.
        self.known: dict[str, Trial] = {}
        #: What a test, or a file of them, does on the unchanged tree; each is run once.
        self.before = cache(lambda target: engine.run(Row(targets=(target,))).runs)

    def key(self, changes: Sequence[FileChange]) -> str:
        """Return what is equal for fixes that make equal trees; "" where only comments change.

        Only what differs is looked at: whole files, of which there may be thousands of lines
        and dozens of variants, would take seconds each.
        """
        root = Path(self.engine.subject.root)
        parts: list[str] = []
        for change in sorted(changes, key=lambda change: change.path):
            path = root / change.path
            parts += _difference(change, path.read_bytes() if path.is_file() else None)
        return content_id(*parts) if parts else ""

    def run(self, changes: tuple[FileChange, ...]) -> Trial:
        """Try a fix: the failing tests and, when it passes them, existing ones.

        Raises:
            SubjectProblem: the interpreter cannot be started at all.
        """
        return self._guarded(self._tested(changes))

    def run_all(self, all_changes: Sequence[tuple[FileChange, ...]]) -> tuple[Trial, ...]:
        """Try several fixes, as many at a time as there are jobs; see `run`.

        Of those that pass the failing tests, or of all where there are none, only the first few
        are tried on existing ones, which takes far longer; the others are not plausible then.
        """
        if len(all_changes) <= 1:
            return tuple(self.run(changes) for changes in all_changes)
        with ThreadPoolExecutor(self._jobs, thread_name_prefix="brt-try") as pool:
            tested = list(pool.map(self._tested, all_changes))
            worth = [n for n, trial in enumerate(tested) if trial.passes or not self.failing]
            first = worth[:_GUARDED]
            for number, trial in zip(
                first, pool.map(self._guarded, [tested[n] for n in first]), strict=True
            ):
                tested[number] = trial
        return tuple(tested)

    def passes(self, runs: Sequence[TestRun]) -> bool:
        """Say whether runs of the failing tests are what a right fix would do.

        All tests that a person gave must pass, the most trusted test, and tests with half of the
        trust in all of them: one of several that a model wrote may well demand something wrong.
        """
        green = {run.test for run in runs if run.verdict is Verdict.PASS}
        tests = (judged.test for judged in self.failing)
        if any(test.id not in green for test in tests if test.origin.author is Author.PERSON):
            return False
        if not self.failing or self.failing[0].test.id not in green:
            return False
        trust = {judged.test.id: judged.judgement.confidence for judged in self.failing}
        total = sum(trust.values())
        return sum(trust[test] for test in green if test in trust) >= SHARE * total

    def _tested(self, changes: tuple[FileChange, ...]) -> Trial:
        key = self.key(changes)
        if key in self.known:
            return self.known[key]
        runs: tuple[TestRun, ...] = ()
        if self.failing:
            # A fix that never ends is to be noticed soon.
            usual = [run.seconds for judged in self.failing for run in judged.judgement.runs[:1]]
            row = Row(
                changes=changes,
                targets=tuple(target_of(judged.test) for judged in self.failing),
                test_seconds=max(_LEAST_SECONDS, _SLOWER * max(usual, default=0.0)),
            )
            runs = self.engine.run(row).runs
        trial = Trial(changes=changes, key=key, runs=runs, passes=self.passes(runs))
        return self._keep(trial)

    def _guarded(self, trial: Trial) -> Trial:
        """Run existing tests on a fix that passes the failing ones, or that has none to pass."""
        if trial.checked or (self.failing and not trial.passes):
            return trial
        return self._keep(replace(trial, checked=True, guarded=self._check(trial.changes)))

    def _keep(self, trial: Trial) -> Trial:
        self.known[trial.key] = trial
        return trial


def _difference(change: FileChange, before: bytes | None) -> list[str]:
    """Return a file's path, the line where it begins to differ, and the lines that differ.

    Nothing when only blank lines and lines of comments do.
    """
    if change.content is None or before is None:
        return [change.path, "absent" if change.content is None else decode(change.content)]
    old, new = decode(before).split("\n"), decode(change.content).split("\n")
    same = shared(old, new)
    tail = shared(old[same:][::-1], new[same:][::-1])
    gone = _told(old[same : len(old) - tail])
    come = _told(new[same : len(new) - tail])
    return [] if gone == come else [change.path, str(same), "\n".join(come), str(len(gone))]


def _told(lines: Sequence[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#")]

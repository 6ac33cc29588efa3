"""The versions of a test that were tried, and what each did."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_brt.execute.verdict import API_MISMATCH
from pytest_brt.oracle.facts import Facts, matches
from pytest_brt.oracle.judge import refusal, run_tests
from pytest_brt.reproduce.model_tests.confidence import judge_written
from pytest_brt.reproduce.model_tests.make import Maker, Written
from pytest_brt.reproduce.model_tests.small import made_small
from pytest_brt.reproduce.opinion import Opinion, with_opinion
from pytest_brt.reproduce.select import dropped
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import CandidateTest, JudgedTest, Origin, TestRun, Verdict

#: Lines of a failure that a model is shown.
_LINES = 10
#: Stands for a candidate that came about by mistake.
_UNASKED = Opinion(right=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedVersion:
    """One version, and what it did on the buggy tree."""

    written: Written
    runs: tuple[TestRun, ...]
    #: What happened, for the model.
    told: str
    #: It fails for a reason that stands.
    candidate: bool
    #: And the failure is what the report speaks of, as far as rules can tell.
    reported: bool
    #: It passes, and is about the project.
    passes: bool

    @property
    def source(self) -> str:
        """The test as a module."""
        return self.written.test.source or ""


@dataclass(slots=True, kw_only=True, eq=False)
class Tries:
    """Runs versions and remembers them; not for several threads."""

    maker: Maker
    facts: Facts
    bench: Workbench
    #: What the model says of a candidate, by its id.
    opinions: dict[str, Opinion] = field(default_factory=dict)
    _known: dict[str, TriedVersion] = field(default_factory=dict)

    def run(self, reply: str, *, parent: TriedVersion | None = None) -> TriedVersion | None:
        """Run the tests in a reply and return the one that counts, None when it has none.

        That is one that fails as it should where a passing one was to be turned (`parent`),
        and one that passes otherwise.
        """
        origin = Origin(
            strategy="invert",
            model=self.bench.model.name,
            parent=parent.written.test.id if parent else "",
        )
        found = self._run(self.maker.make(reply, origin))

        def order(tried: TriedVersion) -> tuple[bool, bool]:
            return (tried.candidate, tried.passes) if parent else (tried.passes, tried.reported)

        return max(found, key=order) if found else None

    def _run(self, made: Sequence[Written]) -> list[TriedVersion]:
        new = [item for item in made if item.key not in self._known]
        tests = [item.test for item in new]
        bench = self.bench
        runs = run_tests(tests, bench.engine, bench.repeat, deadline=bench.deadline)
        for item in new:
            self._known[item.key] = self._tried(item, runs[item.test.id])
        return [self._known[item.key] for item in made]

    def _tried(self, item: Written, runs: tuple[TestRun, ...]) -> TriedVersion:
        why_not = refusal(item.test, runs, self.facts)
        passes = bool(runs) and all(run.verdict is Verdict.PASS for run in runs)
        packages = self.maker.index.packages
        own = _imports(item.test, packages)
        if not why_not and runs[0].reason.startswith(API_MISMATCH):
            why_not = "the project has no such thing, or cannot be called like this"
        candidate = not why_not and own
        match = matches(self.facts, item.test.source or "", runs[0].raised) if candidate else ""
        return TriedVersion(
            written=item,
            runs=runs,
            told=_told(runs, why_not, packages if passes and not own else ()),
            candidate=candidate,
            reported=bool(match),
            passes=passes and own,
        )

    def judge(self, tried: TriedVersion) -> JudgedTest:
        """Return a version with its judgement."""
        return judge_written(tried.written.test, tried.runs, self.facts)

    def has_accepted(self) -> bool:
        """Say whether a candidate was judged, and not held for another bug."""
        candidates = (tried.written.test.id for tried in self._known.values() if tried.candidate)
        return any(self.opinions.get(test, _UNASKED).right is not False for test in candidates)

    def judged(self) -> tuple[JudgedTest, ...]:
        """Return every version, judged; candidates without what their failure does not need."""
        found = []
        for tried in self._known.values():
            item = self.judge(tried)
            opinion = self.opinions.get(tried.written.test.id)
            if opinion is not None:
                small = made_small(item, self.bench.engine, self.bench.repeat, self.facts)
                item = with_opinion(small, opinion, self.facts)
            elif item.judgement.candidate:
                # It was to pass, or demands nonsense.
                item = dropped(item, "fails, but not as was wanted")
            found.append(item)
        return tuple(found)


def _imports(test: CandidateTest, packages: Sequence[str]) -> bool:
    """Say whether a test imports anything of the project; else it cannot be about it."""
    names = "|".join(map(re.escape, packages))
    source = test.source or ""
    return not names or bool(re.search(rf"(?m)^\s*(?:from|import)\s[^\n]*\b(?:{names})\b", source))


def _told(runs: tuple[TestRun, ...], why_not: str, missing: Sequence[str]) -> str:
    if not runs:
        return "It did not run."
    run = runs[0]
    if run.verdict is Verdict.PASS:
        if missing:
            name = f"`{missing[0]}`"
            return f"It passes, but it does not use the package {name}: import it from there."
        return "It passes."
    message = run.raised.message.strip() if run.raised else ""
    lines = message.split("\n")[:_LINES] if message else []
    if run.verdict is Verdict.FAIL:
        kind = run.raised.type if run.raised else ""
        shown = "\n".join(
            [f"It fails with {kind}: {lines[0]}" if lines else "It fails.", *lines[1:]]
        )
        return f"{shown}\nThis test is not accepted: {why_not}." if why_not else shown
    return f"It cannot run ({run.verdict}): {run.reason}"

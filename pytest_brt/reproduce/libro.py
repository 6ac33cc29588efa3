"""LIBRO: many samples of one prompt, and what they agree on (Kang et al. 2023; paper 001).

What is not said otherwise is theirs: 50 samples at temperature 0.7 and top-p 0.95, tests placed
and given imports after the fact, those that fail clustered, nothing shown unless more than one
sample fails in the same way. Added is that tests go without what their failure does not need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest

from pytest_brt.agents.prompts import report_text, system_and_user
from pytest_brt.errors import OutOfTime, Overflowed
from pytest_brt.oracle.judge import dropped, failure_key, refusal, rescored, run_tests
from pytest_brt.oracle.report_facts import catches_named, failure_matches_report
from pytest_brt.render.words import count
from pytest_brt.reproduce.extract import read_tests
from pytest_brt.reproduce.order import judge_written, without_doubles
from pytest_brt.reproduce.prompt import Findings, fitted
from pytest_brt.reproduce.reduce import reduce_test
from pytest_brt.reproduce.strategy import KEEP, Workbench, seed_of
from pytest_brt.types import (
    COUNTS,
    Attempt,
    CandidateTest,
    Ending,
    JudgedTest,
    Note,
    Origin,
    TestRun,
)
from pytest_brt.types.report import Reading

#: Samples, and how many must fail alike for a bug to count as reproduced is more than this.
SAMPLES, _AGREE = 50, 1
#: Longest reply, and where it ends in LIBRO: at the fence that closes the first block.
_REPLY, _STOP = 512, ("\n```\n",)


@dataclass(slots=True, eq=False)
class Sampled:
    """A test, the samples with it but for names and layout, and what it did."""

    test: CandidateTest
    #: The test of the reported input that it came with, for one with another input.
    beside: Sampled | None = None
    samples: set[int] = field(default_factory=set)
    runs: tuple[TestRun, ...] = ()

    @property
    def tokens(self) -> int:
        """How long the test is."""
        return len(re.findall(r"\w+|[^\w\s]", self.test.source or ""))


#: Tests that fail in the same way, best first.
Cluster = list[Sampled]


def size_of(cluster: Cluster) -> int:
    """Return how many samples fail in this way."""
    return len(set().union(*(item.samples for item in cluster)))


def clusters_of(failing: Iterable[Sampled], facts: Reading) -> list[Cluster]:
    """Return the clusters by failure, best first: match, then size, then short tests."""

    def order_tests(item: Sampled) -> tuple[bool, bool, int, str]:
        catches = catches_named(facts, item.test.source or "")
        return item.beside is not None, not catches, item.tokens, item.test.id

    def order_clusters(items: Cluster) -> tuple[bool, int, float]:
        runs = [(item.test.source or "", item.runs[0].raised) for item in items]
        match = any(failure_matches_report(facts, *run) for run in runs)
        return not match, -size_of(items), sum(item.tokens for item in items) / len(items)

    clusters: dict[str, Cluster] = {}
    for item in sorted(failing, key=order_tests):
        clusters.setdefault(failure_key(item.runs[0]), []).append(item)
    return sorted(clusters.values(), key=order_clusters)


@dataclass(slots=True)
class Libro:
    """The samples of one report; `auto` draws them batch by batch, `libro` all at once.

    It asks for a test with another input, too, without which a patch of the reported one alone
    would pass; it believes a test that stands alone, and lets a reply end where the model ends it.
    """

    bench: Workbench
    findings: Findings
    number: int
    #: What the report says.
    facts: Reading
    in_auto: bool = False
    #: How many were drawn, and the tests in them by their paths.
    samples: int = 0
    by_path: dict[str, Sampled] = field(default_factory=dict)

    def draw(self, samples: int) -> None:
        """Ask for so many more tests, and run them.

        Raises:
            Overflowed: the prompt does not fit the model.
            ModelProblem: the model cannot be asked.
        """
        bench, findings = self.bench, self.findings
        bench.say(f"asking for {samples} tests")
        seed = seed_of(findings.issue.id, "libro", self.number)
        request = fitted(
            findings,
            bench.model,
            partial(system_and_user, "libro", in_auto=self.in_auto),
            n=samples,
            seed=(seed + self.samples) % 2**31,
            max_tokens=max(16, min(_REPLY, bench.model.context // 4)),
            stop=() if self.in_auto else _STOP,
        )
        replies = bench.model.complete(request)
        origin = Origin(strategy="libro", model=bench.model.name)
        folder = bench.engine.subject.test_root
        host = (findings.host if self.in_auto else bench.host) or None
        for reply in replies:
            reported: Sampled | None = None
            for test in read_tests(
                reply.text, findings.issue, findings.index, origin, folder, host
            ):
                item = Sampled(test, reported if self.in_auto else None)
                known = self.by_path.setdefault(test.path, item)
                known.samples.add(self.samples)
                reported = reported or known
            self.samples += 1
        new = [one for one in self.by_path.values() if not one.runs]
        tests = [one.test for one in new]
        runs = run_tests(tests, bench.engine, bench.repeat, deadline=bench.deadline)
        for one in new:
            one.runs = runs[one.test.id]

    def clusters(self) -> list[Cluster]:
        """Return the tests that fail for a reason that stands, clustered, best first."""
        return clusters_of(filter(self._stands, self.by_path.values()), self.facts)

    def _stands(self, item: Sampled) -> bool:
        """Say whether a test fails for a reason; with another input, as with the reported one."""
        if refusal(item.test, item.runs, self.facts):
            return False
        if item.beside is None:
            return True
        kinds = {
            one.runs[0].raised.type for one in (item, item.beside) if one.runs[0].raised
        }
        return self._stands(item.beside) and len(kinds) == 1

    def tests(self) -> tuple[JudgedTest, ...]:
        """Return all tests, judged: candidates first, clusters taking turns.

        A bug is shown when more than one sample fails alike, but for `auto`.
        """
        clusters = self.clusters()
        sizes = {item: size_of(cluster) for cluster in clusters for item in cluster}
        is_shown = self.in_auto or max(sizes.values(), default=0) > _AGREE
        turns = filter(None, chain.from_iterable(zip_longest(*clusters)))
        judged = []
        for item in dict.fromkeys([*turns, *self.by_path.values()]):
            agree = sizes.get(item, 1)
            one = judge_written(item.test, item.runs, self.facts, agree, self.samples)
            if item not in sizes and item.beside is not None:
                one = dropped(
                    one, "another input, and it does not fail as with the reported one"
                )
            elif item in sizes and not is_shown:  # too few samples agree
                confidence = min(one.judgement.confidence, COUNTS - 0.01)
                one = rescored(one, confidence)
            judged.append(one)
        return without_doubles(judged)

    def outcome(self) -> Note:
        """Return what became of the samples."""
        text = count(len(self.by_path), "different test") if self.by_path else "none usable"
        return Note(code="samples-drawn", text=f"{count(self.samples, 'sample')}: {text}")


def libro(number: int, bench: Workbench, findings: Findings) -> Attempt:
    """Make failing tests of a report as LIBRO does.

    Raises:
        ModelProblem: the model cannot be asked.
        SubjectProblem: the project's interpreter cannot be started.
    """
    issue = findings.issue
    told = {**findings.told, "report": report_text(issue, 10**6)}  # the whole one
    work = Libro(bench, replace(findings, told=told), number, bench.facts(issue))
    wanted = bench.samples or SAMPLES
    ending, notes = Ending.FINISH, []
    try:
        work.draw(wanted)
    except (Overflowed, OutOfTime) as problem:
        notes.append(Note(code="model-failed", text=str(problem)))
        ending = Ending.TIME if isinstance(problem, OutOfTime) else Ending.TOKENS
    tests = work.tests()
    if not any(item.judgement.candidate for item in tests):
        notes.append(work.outcome())
    small = [reduce_test(item, bench) for item in tests[:KEEP]]
    return Attempt(
        issue=issue.id,
        strategy="libro",
        index=number,
        tests=without_doubles((*small, *tests[KEEP:])),
        notes=tuple(notes),
        endings=(ending,) * (work.samples or wanted),
    )

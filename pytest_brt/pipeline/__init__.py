"""What one invocation is to do, decided before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from pytest_brt.reproduce.strategy import Strategy, Workbench
from pytest_brt.types import Issue, JudgedTest, Patch, PatchResult
from pytest_brt.types.note import value

if TYPE_CHECKING:  # only a run that ranks or repairs imports what that needs
    from pytest_brt.agents.loop import Agent

Tests = tuple[JudgedTest, ...]


@value
class Job:
    """A piece of work that is shown: a patch, or a run of a strategy of tests or of fixes."""

    #: Id of the report, "" without one.
    issue: str
    #: What it is called: the patch's name, or as in "agent-03", or "libro" where there is one.
    name: str
    #: The patch that is judged; None for a run of a strategy.
    patch: Patch | None = None
    strategy: str = ""
    #: 0-based number of the run within its strategy.
    index: int = 0
    #: Whether the strategy writes fixes.
    is_repair: bool = False


@value
class Plan:
    """What is to be done, decided before anything runs."""

    issues: tuple[Issue, ...] = ()
    #: By name, in the order in which they are tried.
    strategies: Mapping[str, Strategy]
    #: Finds and judges the tests that were given; called once.
    given: Callable[[], Tests] | None = None
    patches: tuple[Patch, ...] = ()
    #: Tests that were made before, of which a person said whether they are right.
    reviewed: Tests = ()
    #: Id of the report that patches are ranked for, those of a repair too; "" for none.
    ranked: str = ""
    #: Strategies that write fixes, and places that the user names for them, as in PATH:FIRST-LAST.
    agents: Mapping[str, Agent] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    #: Seconds for running existing tests on the patches; 0 is none, None a few for each patch.
    guard: float | None = 0.0
    #: Runs a patch on another machine; None for this one.
    elsewhere: Callable[..., PatchResult] | None = None
    #: What is done at a time.
    jobs: int = 1
    #: Whether likely places are looked for where a bug test was found, too.
    wants_places: bool = False

    def attempts(self) -> list[Job]:
        """Return the runs of strategies that write tests, for each report in order."""
        return [job for issue in self.issues for job in _jobs(issue.id, self.strategies)]

    def fixes(self) -> list[Job]:
        """Return the runs of strategies that write fixes, in order."""
        return _jobs(self.ranked, self.agents, is_repair=True)

    def rows(self, patches: Iterable[Patch]) -> list[Job]:
        """Return the jobs to judge patches."""
        return [Job(issue=self.ranked, name=patch.name, patch=patch) for patch in patches]


def _jobs(
    issue: str, ways: Mapping[str, Strategy | Agent], *, is_repair: bool = False
) -> list[Job]:
    return [
        Job(
            issue=issue,
            name=f"{name}-{index:02}" if way.runs > 1 else name,
            strategy=name,
            index=index,
            is_repair=is_repair,
        )
        for name, way in ways.items()
        for index in range(way.runs)
    ]


def bench_of(job: Job, way: Strategy | Agent, bench: Workbench) -> Workbench:
    """Return what a run of a strategy works with: it pays for models, and speaks, on its own."""
    usage = bench.model.usage.part(bench.deadline)
    return replace(
        bench,
        model=bench.model.paid_by(usage, asks_again=way.asks_again),
        editor=(bench.editor or bench.model).paid_by(usage, asks_again=way.asks_again),
        say=lambda text: bench.say(f"{job.name}: {text}"),
    )

"""What a study found out: one value per instance and stage, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from pytest_brt.types import Attempt, Cost, Verdict


class Stage(StrEnum):
    """A part of what is done with one bug."""

    REPRODUCE = "reproduce"
    RANK = "rank"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    """All that repairs depend on besides the bugs and what reproduces them."""

    strategies: tuple[str, ...]
    #: Parts of repairagent that are switched off, a set for each further way beside the whole.
    without: tuple[tuple[str, ...], ...] = ()
    #: Variants of a fix that fails.
    variants: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySettings:
    """All that the results depend on, besides the bugs."""

    strategies: tuple[str, ...]
    model: str = "none"
    edit_model: str = ""
    context: int = 0
    samples: int | None = None
    steps: int | None = None
    agree: int | None = None
    seed: int = 0
    keep: int = 5
    repeat: int = 2
    #: Wall-clock seconds in which models may be asked, per bug.
    budget: float = 900.0
    timeout: float = 60.0
    memory: int = 2048
    sandbox: str = "auto"
    #: Folders that tests may read besides.
    show: tuple[str, ...] = ()
    net: str = "none"
    #: Seconds of existing tests per bug; 0 for none, None for a few a patch.
    guard: float | None = None
    #: What of the true fix is given away: "files", "test-file", and to repairs "place".
    given: tuple[str, ...] = ()
    #: None where nothing is repaired.
    repairs: RepairSettings | None = None


class Transition(StrEnum):
    """What a test does on the bug, then with the true fix (SWT-bench; paper 001)."""

    FAIL_TO_PASS = "F→P"
    FAIL_TO_FAIL = "F→F"
    PASS_TO_PASS = "P→P"
    PASS_TO_FAIL = "P→F"
    #: It says nothing on one of the trees: it cannot be collected, is skipped, is flaky.
    BROKEN = "broken"


class Flaw(StrEnum):
    """Why a test is not to be added as it is (paper 001)."""

    NONE = "none"
    #: An existing test is not as it was: the paper calls such a test invalid.
    CHANGES_TESTS = "changes-tests"
    #: A further test passes on the bug: valid in the paper, which counts them apart.
    ADDS_PASSING = "adds-passing"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutcome:
    """A test that was considered, and what the true fix makes of it."""

    #: pytest must not take this for a test class.
    __test__: ClassVar[bool] = False

    #: As in its candidate test; "" where nothing else is to be known of it.
    id: str = ""
    strategy: str
    #: 0-based number of the run within its strategy.
    index: int
    name: str
    #: By what it tells wrong from right.
    rule: str
    confidence: float
    #: What it does on the bug, and with the true fix.
    before: Verdict = Verdict.FAIL
    after: Verdict
    #: Whether it fails for a reason that can be named.
    candidate: bool = True
    #: Samples or runs that fail alike, this one too.
    agree: int = 1
    #: Whether it reaches the lines that the true fix changes; None when that is not known.
    reaches: bool | None = None
    flaw: Flaw = Flaw.NONE

    @property
    def transition(self) -> Transition:
        """What it does on both trees."""
        letters = [_LETTERS.get(verdict) for verdict in (self.before, self.after)]
        if None in letters:
            return Transition.BROKEN
        return Transition(f"{letters[0]}→{letters[1]}")

    @property
    def fails(self) -> bool:
        """Whether it fails on the bug, whatever for: what paper 001 calls a candidate, F→X."""
        return _LETTERS.get(self.before) == "F"

    @property
    def plausible(self) -> bool:
        """Whether it fails on the bug and passes with the fix."""
        return self.transition is Transition.FAIL_TO_PASS


#: A test that crashes or hangs fails; every other verdict says nothing.
_LETTERS = {
    Verdict.PASS: "P",
    Verdict.FAIL: "F",
    Verdict.CRASH: "F",
    Verdict.TIMEOUT: "F",
}


#: The ending of a run in which the model made nothing: its first prompt did not fit, or it is gone.
UNSTARTED = "unstarted"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedRun:
    """How one run of one strategy went."""

    strategy: str
    index: int
    #: Names of the actions in order; empty without a dialogue.
    actions: tuple[str, ...] = ()
    #: Why the dialogue, or else each sample, ended; empty without a model.
    endings: tuple[str, ...] = ()
    #: Wall-clock seconds.
    seconds: float = 0.0
    cost: Cost = field(default_factory=Cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Studied:
    """What a stage made of one bug."""

    instance: str
    #: Wall-clock seconds: the tool's own, making the tree, and judging.
    seconds: float = 0.0
    setup: float = 0.0
    judging: float = 0.0
    #: Why there is no result, or "".
    problem: str = ""
    runs: tuple[StudiedRun, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced(Studied):
    """What the strategies made of one bug."""

    #: All tests that each strategy considered, best first.
    tests: tuple[TestOutcome, ...] = ()
    #: What later stages need, candidates and how runs ended; not in the rows that are written.
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchOutcome:
    """A candidate patch, what is known of it, and what the tool says."""

    name: str
    system: str
    applies: bool
    #: Plausible: it passes the hidden tests. None where nobody could say.
    right: bool | None
    #: Correct for certain: equal to the true fix but for layout, comments and local names.
    same_as_fix: bool
    epr: float | None
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedBy:
    """The order that one ranker gives: groups of names, best first."""

    ranker: str
    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked(Studied):
    """What the rankers made of the patches for one bug."""

    #: Tests that the patches were ranked by.
    tests: int = 0
    patches: tuple[PatchOutcome, ...] = ()
    orders: tuple[RankedBy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOutcome:
    """A tree that a repair wrote, and what it is worth."""

    #: 1-based step of the run that wrote it.
    step: int
    #: As in "agent" or "variant".
    source: str
    #: Whether the run kept it as a fix, one that breaks existing tests among them.
    kept: bool
    #: Whether it passes the failing tests that the tool made; None where there is none.
    own: bool | None
    #: Whether it passes the hidden tests: what the papers call plausible.
    right: bool
    #: Equal to the true fix but for layout, comments and local names.
    same_as_fix: bool
    #: Of one that was kept.
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRun(StudiedRun):
    """How one run of one repair strategy went."""

    #: Parts that were switched off.
    without: tuple[str, ...] = ()
    #: Whether it was given the failing tests, and the name of the one that it was shown.
    given: bool
    brt: str = ""
    #: Whether it executed that test, or read its file.
    used: bool = False
    #: In the order in which they were written.
    fixes: tuple[FixOutcome, ...] = ()
    #: 1-based numbers of the steps that wrote a right fix, kept or not.
    right_steps: tuple[int, ...] = ()
    #: Wall-clock seconds that its actions took.
    tool_seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        """Whether a fix that it kept is right."""
        return any(fix.kept and fix.right for fix in self.fixes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired(Studied):
    """What the repair strategies made of one bug."""

    #: Candidate tests that there were to give.
    tests: int = 0
    runs: tuple[RepairRun, ...] = ()


#: What comes of each stage.
KINDS: Mapping[Stage, type[Studied]] = {
    Stage.REPRODUCE: Reproduced,
    Stage.RANK: Ranked,
    Stage.REPAIR: Repaired,
}


def missed(result: Studied) -> str:
    """Return what a stage did not find, or ""."""
    match result:
        case Reproduced(tests=tests) if not any(test.candidate for test in tests):
            return "no bug test found"
        case Ranked(tests=0):
            return "no bug test to rank by"
        case Repaired(runs=()):
            return "no plausible test to give"
        case Repaired(runs=runs) if not any(fix.kept for run in runs for fix in run.fixes):
            return "no patch passes the bug tests"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a study is of, as it is written to ``study.json``."""

    schema: int = 2
    version: str
    dataset: str
    settings: StudySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A bug of the data set."""

    id: str
    repo: str
    #: "single-line", "multi-line" or "multi-file", for its true fix.
    extent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult:
    """All that is known of a study; its rows are written."""

    about: About
    bugs: tuple[Bug, ...]
    reproduced: tuple[Reproduced, ...] = ()
    ranked: tuple[Ranked, ...] = ()
    repaired: tuple[Repaired, ...] = ()

    @property
    def stages(self) -> dict[Stage, tuple[Studied, ...]]:
        """What each stage made of the bugs."""
        return {
            Stage.REPRODUCE: self.reproduced,
            Stage.RANK: self.ranked,
            Stage.REPAIR: self.repaired,
        }

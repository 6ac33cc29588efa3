"""The words of this project as values: frozen, slotted, keyword-only.

Everything here is text, numbers, enums and tuples of them, so that each value can be
hashed, compared, sent to another process and written as JSON (`codec`). Ids are content
hashes; paths are POSIX strings relative to the root of the project under test.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class Verdict(StrEnum):
    """What one test did on one tree."""

    PASS = "PASS"
    FAIL = "FAIL"
    #: The test itself is wrong: collection, fixture, import or name error in its own frame.
    BROKEN = "BROKEN"
    TIMEOUT = "TIMEOUT"
    CRASH = "CRASH"
    #: What the test process reported contradicts what it did.
    TAMPERED = "TAMPERED"
    SKIP = "SKIP"
    XFAIL = "XFAIL"
    FLAKY = "FLAKY"
    #: The cell says nothing: other code was imported, or the patch did not apply.
    INVALID = "INVALID"


class BlockKind(StrEnum):
    """What a stretch of a bug report is."""

    PROSE = "prose"
    HEADING = "heading"
    PYTHON = "python"
    REPL = "repl"
    TRACEBACK = "traceback"
    SHELL = "shell"
    OUTPUT = "output"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of a bug report, in document order."""

    kind: BlockKind
    #: The text without fences, indentation or HTML around it.
    text: str
    #: 1-based line of its first line in the report.
    line: int
    #: The fence's language tag, lower case, or "".
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A bug report."""

    id: str
    title: str
    #: The whole report, newlines normalised.
    text: str
    #: Where it was read: a path as the user gave it, or "-".
    source: str
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One level of a stack, outermost first in a tuple of them."""

    #: Relative to the project when `project`, else as the interpreter names it.
    path: str
    line: int
    function: str
    #: Whether the code belongs to the project under test (tests and libraries do not).
    project: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """An exception that was seen."""

    #: Qualified name, as in "ValueError" or "pkg.errors.ParseError".
    type: str
    message: str
    #: Qualified names of its base classes, nearest first.
    bases: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    #: Variables of the last frame of the project: names and values in a few words.
    values: tuple[tuple[str, str], ...] = ()

    @property
    def in_project(self) -> Frame | None:
        """The last frame of the project, None when it came through none."""
        return next((frame for frame in reversed(self.frames) if frame.project), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The new content of one file of a tree; None deletes it."""

    path: str
    content: bytes | None
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A candidate fix, as text."""

    id: str
    #: Path within the folder it came from, as in "fix-03.diff".
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedPatch:
    """What a patch makes of a tree."""

    patch: Patch
    changes: tuple[FileChange, ...]
    #: Remarks for the report, as in "applied leniently" or "touches tests: left out".
    notes: tuple[str, ...] = ()


class OracleKind(StrEnum):
    """By what a test tells wrong from right; each a rule of `oracle`."""

    NO_RAISE = "no-raise"
    MUST_RAISE = "must-raise"
    EQUALS = "equals-expected"
    GONE = "observed-gone"
    AGREE = "sibling-agreement"
    WARNS = "warning-present"
    NO_WARN = "warning-absent"
    PRINTS = "output-contains"
    NO_PRINT = "output-lacks"
    ROUND_TRIP = "round-trip"
    IDEMPOTENT = "idempotence"
    EXIT_STATUS = "exit-status"
    #: Written by a person or a model, not by a rule.
    WRITTEN = "written"


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Why a test's failure is held to be the bug."""

    kind: OracleKind
    #: One sentence for the reader, from the report; becomes the test's docstring.
    sentence: str
    #: Share of such tests that are F→P, measured on real reports, in 0..1.
    prior: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who wrote a test, so that it can be written again."""

    strategy: str
    model: str = ""
    seed: int = 0
    #: Id of the test it was made from, or "".
    parent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTest:
    """A test that may reproduce a bug; whether it does, its Judgement says."""

    id: str
    #: Function name, with the class in front where there is one ("TestX::test_y").
    name: str
    #: Id of the issue, or "" for tests a person gave.
    issue: str
    origin: Origin
    oracle: Oracle
    #: Where the module is placed in the tree.
    path: str
    #: A whole test module that stands alone; None when `path` already holds it.
    source: str | None
    #: The existing test file it would be added to, or "".
    host: str = ""
    #: What the report says the failure looks like, for `judge`.
    expects: Raised | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """What one test did, once, on one tree."""

    #: pytest must not take this for a test class.
    __test__: ClassVar[bool] = False

    test: str
    #: pytest's own name of the item below its file, as in "TestX::test_y[1]".
    node: str
    verdict: Verdict
    #: One line.
    reason: str
    raised: Raised | None = None
    seconds: float = 0.0
    #: The end of what it printed.
    output: str = ""
    #: False when the patched lines or modules were not reached; None when not known.
    exercised: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the runs on the buggy tree say about a test."""

    verdict: Verdict
    #: FAIL on the buggy tree, every time, for a reason that can be named.
    candidate: bool
    reason: str
    #: Probability that the test is F→P, in 0..1, 0 when not a candidate.
    confidence: float
    runs: tuple[TestRun, ...] = ()
    #: Samples or runs of its strategy that fail alike, this one too, and how many there were.
    agree: int = 1
    samples: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTest:
    """A test together with its judgement."""

    test: CandidateTest
    judgement: Judgement


class Ending(StrEnum):
    """Why a dialogue with a model ended (paper 001 reports these)."""

    #: The model asked for it, and was allowed to.
    FINISH = "finish"
    STEPS = "steps"
    #: Nothing more fits the model's context, or the tokens allowed are used up.
    TOKENS = "tokens"
    TIME = "time"
    #: The same action again and again.
    LOOP = "loop"
    #: The model could not be asked any more.
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What was spent on a model."""

    calls: int = 0
    #: Tokens of the prompts, and those of them that had to be evaluated.
    prompt_tokens: int = 0
    evaluated: int = 0
    #: Tokens made.
    tokens: int = 0
    #: Wall-clock seconds of waiting for it.
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """Return the sum of both."""
        return Cost(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            evaluated=self.evaluated + other.evaluated,
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of a dialogue: what a model replied, and what came of it."""

    #: 1-based.
    number: int
    #: As it came.
    reply: str
    #: Name of the action after mending, "" when the reply held none.
    action: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    thought: str = ""
    #: What the model is shown of it.
    observation: str = ""
    #: Why it was not carried out, or ""; part of the observation too.
    problem: str = ""
    #: What of the reply was put right, as in "action 'search' read as 'code_search'".
    mended: tuple[str, ...] = ()
    #: Files as they are after it, of the private tree.
    changes: tuple[FileChange, ...] = ()
    #: What a test did, when one was run.
    verdict: Verdict | None = None
    #: Whatever else the strategy wants to remember, by name.
    facts: tuple[tuple[str, str], ...] = ()
    #: Equal for the same action with the same arguments and code.
    key: str = ""
    cost: Cost = Cost()
    #: Seconds that the action took.
    seconds: float = 0.0

    def argument(self, name: str, default: str = "") -> str:
        """Return the argument called `name`."""
        return dict(self.arguments).get(name, default)

    def fact(self, name: str, default: str = "") -> str:
        """Return what was remembered as `name`."""
        return dict(self.facts).get(name, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A whole dialogue."""

    steps: tuple[Step, ...]
    ending: Ending
    #: One line, for the reader.
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What one run of one strategy made of one issue."""

    issue: str
    strategy: str
    #: 0-based number of the run within its strategy.
    index: int
    #: Every test considered, best first.
    tests: tuple[JudgedTest, ...]
    #: What was looked for and not found, for the reader of an honest miss.
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    #: What a model was paid for it.
    cost: Cost = Cost()
    #: The dialogues with a model, in order; none where it was not a dialogue.
    trajectories: tuple[Trajectory, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One test on one patched tree."""

    patch: str
    test: str
    verdict: Verdict
    reason: str
    raised: Raised | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """An existing test that passed on the unpatched tree and does not on a patched one."""

    #: File and node, as in "tests/test_a.py::TestX::test_y".
    test: str
    verdict: Verdict
    #: One line.
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What the project's existing tests say about a patched tree."""

    #: Tests near the patch that pass on the unpatched tree and were run on the patched one.
    ran: int
    #: Test functions in the project's suite.
    total: int
    #: How many of those that ran execute a patched line; None where that cannot be seen.
    reached: int | None = None
    #: By what the tests were chosen: "coverage" or "names".
    by: str
    regressions: tuple[Regression, ...] = ()
    #: Tests that assert the reported wrong behaviour; failing them is no regression.
    pinned: tuple[str, ...] = ()
    #: Why fewer tests ran than could have, as in "the budget of 5 s was used up"; or "".
    cut: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """What a candidate test did on a patched tree after one of its literals was changed."""

    #: Id of the candidate.
    test: str
    #: The literal that was changed, and the change, as in "5" and "5 → 6".
    literal: str
    change: str
    #: The changed module.
    source: str
    #: Whether the test decides by itself; else it only says what value it saw.
    decides: bool
    #: What it did on the unpatched tree and on the patched one: "passes", a value, or an
    #: exception with its message; one line each.
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """An input near the reported one on which a patch shows the bug again."""

    #: The smallest such change.
    varied: Varied
    #: What other patches make of it; "" when none was needed to know better.
    others: str
    #: Changed inputs that count, and how many of them expose the patch.
    tried: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchResult:
    """A row: all tests on one patched tree."""

    patch: Patch
    #: Id of the issue it is meant to fix; "" when only tests were given.
    issue: str = ""
    applies: bool
    #: Why it does not apply; "" when it does.
    reason: str = ""
    cells: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    #: Equal for patches that are the same but for comments, layout and local names; or "".
    normal: str = ""
    #: Lines added and removed.
    size: int = 0
    #: Definitions that it changes, as in "pkg/core.py::Thing.walk".
    places: tuple[str, ...] = ()
    #: None when the project's own tests were not run on it.
    guarded: Guarded | None = None
    #: Only for a patch that passes the candidates themselves.
    varied: tuple[Varied, ...] = ()


class Standing(StrEnum):
    """How sure the order is at a patch's place."""

    #: The evidence tells it from the leading patches, or it leads and is told from the rest.
    SEPARATED = "separated"
    #: It behaves like a leading patch on everything that could be run.
    TIED = "tied"
    #: It behaves differently from the leading patch, but not so that one is clearly better.
    CLOSE = "too close to call"
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Where a patch stands among the others (EPR: paper 001, section on fix selection)."""

    result: PatchResult
    #: Share of candidate BRTs with a valid cell that pass, in 0..1; None without any.
    epr: float | None
    #: Competition rank by EPR alone, 1 is best; None without EPR.
    rank: int | None
    tied_with: tuple[str, ...]
    passed: int
    total: int
    #: Competition rank in the order that the ranker gives; `rank` where that is plain EPR.
    place: int | None = None
    #: The patches that share its place.
    placed_with: tuple[str, ...] = ()
    #: Probability that the patch is right, as the weighted ranker estimates it; in 0..1.
    score: float | None = None
    #: Where the score lies with 80 % probability; None without a score.
    interval: tuple[float, float] | None = None
    standing: Standing | None = None
    #: Number of its group: patches that behave alike on every test; 0 for none.
    group: int = 0
    #: Names of the patches that are the same as it after normalisation.
    copies: tuple[str, ...] = ()
    #: What moved its score, strongest first, a few words each.
    because: tuple[str, ...] = ()
    exposure: Exposure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An input near the report on which leading patches do not agree."""

    #: What is changed in which test, as in "5 → 6".
    change: str
    test: str
    source: str
    #: What the unpatched tree does.
    before: str
    #: What the patches do, and their names; the leading patch's answer first.
    answers: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def question(self) -> str:
        """The one thing to ask who knows what the project should do."""
        said = " or ".join(f"`{answer}`" for answer, _ in self.answers[:3])
        return f"with {self.change}, which is right: {said}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A function, class or file where the bug may be."""

    path: str
    #: Qualified name, or "" for the file as a whole.
    function: str
    #: 1-based span; the whole file is (1, 0).
    line: int
    end_line: int
    #: Sum of three signs, in 0..3; 0 for a place that the user gave.
    score: float = 0.0
    #: Its most suspicious lines in their order, as far as tests were watched.
    lines: tuple[int, ...] = ()
    #: Of its most suspicious line; None when no test was watched. DStar has no upper bound: a
    #: line that exactly the failing tests run is at infinity, which is -1 here.
    ochiai: float | None = None
    dstar: float | None = None
    tarantula: float | None = None
    #: For the reader, the weightiest first.
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Localised:
    """Where the bug of one issue may be."""

    issue: str
    #: Likeliest first.
    places: tuple[Place, ...]
    #: Tests that were watched: failing because of the bug, and passing ones nearby.
    failing: int = 0
    passing: int = 0
    #: By what they were watched: "coverage", "trace" or "" for not at all.
    by: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFix:
    """A candidate fix that a repair wrote, and what is known of it."""

    patch: Patch
    #: Equal for fixes that make equal trees, but for comments and layout.
    key: str
    #: As in "the agent" or "a variant".
    source: str
    #: It passes the failing tests that are to be trusted, and breaks no other that was run.
    plausible: bool
    #: Names of the tests that failed before and pass with it, and how many there are.
    passed: tuple[str, ...] = ()
    total: int = 0
    #: What the bug was held to be, or "".
    hypothesis: str = ""
    #: None when the project's own tests were not run.
    guarded: Guarded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What one run of one repair strategy made of one issue."""

    issue: str
    strategy: str
    #: 0-based number of the run within its strategy.
    index: int
    #: The plausible ones first.
    fixes: tuple[FoundFix, ...]
    #: Name of the failing test that the model was given, or "".
    brt: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    cost: Cost = Cost()
    trajectory: Trajectory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """All that one invocation found out."""

    issues: tuple[Issue, ...]
    attempts: tuple[Attempt, ...]
    #: Tests that a person gave or an earlier run wrote.
    given: tuple[JudgedTest, ...]
    ranks: tuple[Rank, ...]
    #: Isolation level that was reached: ns, landlock, process or none.
    sandbox: str
    #: Remarks about the run as a whole.
    notes: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    localised: tuple[Localised, ...] = ()

"""Changes of a tree, what tests did on a patched tree, and where patches stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum

from pytest_brt.types.note import Note, value
from pytest_brt.types.test import CauseCode, FileChange, Frame, TestRun, Verdict


@value
class Patch:
    """A candidate fix, as text."""

    id: str
    #: Path within the folder it came from, as in "fix-03.diff".
    name: str
    text: str
    #: Who wrote it, as its mail, its commits or its folder say; "" where nothing does.
    source: str = ""


@value
class AppliedPatch:
    """What a patch makes of a tree."""

    changes: tuple[FileChange, ...]
    #: How it applied, and what was left out.
    remarks: tuple[Note, ...] = ()


@value
class Regression:
    """An existing test that passed on the unpatched tree and does not on a patched one."""

    #: File and node, as in "tests/test_a.py::TestX::test_y".
    test: str
    #: Why, in words.
    reason: str
    #: The line of the test's file at which it fails; 0 where that is not known.
    line: int = 0


@value
class AssertedBug:
    """An existing test that asserts the bug, so that it counts against no patch."""

    #: File and node.
    test: str
    #: What it asks about, as in "clamp(-1)", and the bug test that asks for the contrary.
    call: str
    bug_test: str


@value
class Outcome:
    """What a call gives on a tree; nothing where that cannot be told or compared."""

    #: The value as Python shows it; "" where it raises.
    text: str = ""
    #: Type of the exception, or "", and its message.
    raised: str = ""
    message: str = ""
    #: Where it was raised, if in the project.
    frame: Frame | None = field(default=None, compare=False)


@value
class Variation:
    """The call of a test, or the same with one literal changed."""

    #: The bug test's id, or the name of an existing test.
    test: str
    #: What is run first, imports among it, and the expression at the end.
    statements: tuple[str, ...]
    #: What is changed in it, as in "2 instead of 1"; "" for the call itself.
    change: str = ""
    #: What it gives without a patch.
    before: Outcome = Outcome()
    #: Code of the project raises there, and not by a statement that says so.
    stumbles: bool = False


@value
class Guarded:
    """What the project's existing tests say about a patched tree."""

    #: Tests near the patch that pass on the unpatched tree and were run on the patched one.
    ran: int
    #: Test functions in the project's suite.
    total: int
    #: How many of the tests chosen execute a changed line on the unpatched tree; None where that
    #: cannot be seen.
    reached: int | None = None
    #: Tests that fail newly, but for those that assert the bug: these count against no patch.
    regressions: tuple[Regression, ...] = ()
    #: Those that assert the bug.
    disputed: tuple[AssertedBug, ...] = ()
    #: Why fewer tests ran than could have.
    shortfalls: tuple[Note, ...] = ()


@value
class PatchResult:
    """A row: all tests on one patched tree."""

    patch: Patch
    #: Why it does not apply; None when it does.
    refused: Note | None = None
    #: What each bug test did.
    cells: tuple[TestRun, ...] = ()
    #: What the tests did that came with it, or from its source: they say nothing of it.
    own_cells: tuple[TestRun, ...] = ()
    remarks: tuple[Note, ...] = ()
    #: Equal for patches that make the same program; its name where it does not apply.
    normal: str = ""
    #: What each variation gives; empty where there are bug tests and none passes.
    outcomes: tuple[Outcome, ...] = ()
    #: None when the project's own tests were not run on it.
    guarded: Guarded | None = None

    @property
    def applies(self) -> bool:
        """Whether it applies to the tree."""
        return self.refused is None

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What each test did on it; INVALID is our fault and says nothing."""
        return {
            cell.test: cell.verdict
            for cell in self.cells
            if cell.verdict is not Verdict.INVALID
        }

    @property
    def is_late(self) -> bool:
        """Whether there was no time for any of its bug tests, so that it is not judged."""
        late = [cell.cause.code is CauseCode.TREE_TOO_SLOW for cell in self.cells]
        return bool(late) and all(late)

    def remark(self, code: str) -> Note | None:
        """Return the remark of a code, None where there is none."""
        return next((note for note in self.remarks if note.code == code), None)

    @property
    def passes_own(self) -> bool:
        """Whether it passes a bug test that it brings."""
        return any(cell.verdict is Verdict.PASS for cell in self.own_cells)

    @property
    def regressions(self) -> tuple[Regression, ...]:
        """The existing tests that it makes fail."""
        return self.guarded.regressions if self.guarded else ()


class Standing(StrEnum):
    """How sure the order is at a patch's place."""

    #: It leads, the odds tell it from all others, a believed test and existing tests support it.
    SEPARATED = "separated"
    #: The odds tell it from the leading patch.
    BEHIND = "behind"
    #: The same tests pass on it as on a leading patch.
    TIED = "tied"
    #: It behaves differently from the leading patch, but not so that one is clearly better.
    CLOSE = "too-close"
    #: It leads by the odds, and what that rests on is not enough to say so (`Rank.doubt`).
    UNSURE = "unsure"
    NO_EVIDENCE = "no-evidence"


@value
class Rank:
    """Where a patch stands among the others (EPR: paper 001, section on fix selection)."""

    result: PatchResult
    #: Share of candidate BRTs with a valid cell that pass, in 0..1; None without any.
    epr: float | None
    passed: int
    total: int
    #: First and last place that it may have: those of the patches that share it.
    place: tuple[int, int] | None = None
    #: Probability that the patch is right, as the weighted ranker estimates it; in 0..1.
    score: float | None = None
    standing: Standing | None = None
    #: Why it does not lead clearly, though the odds say so.
    doubt: Note | None = None
    #: What the strongest sure test rests on that the first patch passes; "" for all others.
    leads_by: str = ""
    #: Number of its group: patches on which the same tests pass; 0 for none.
    group: int = 0
    #: Names of the patches that make the same program.
    copies: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The patch's."""
        return self.result.patch.name


def tied(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return the patches that share the first place; copies of the first are not among them."""
    standing = ranks[0].standing
    if standing not in (Standing.TIED, Standing.CLOSE):
        return ()
    return tuple(
        r for r in ranks if r.standing is standing and r.name not in ranks[0].copies
    )


#: What the unpatched tree is called among patches.
UNPATCHED = "no patch"


@value
class Given:
    """What the call gives on some patches."""

    #: Names of the patches; "no patch" for the unpatched tree.
    patches: tuple[str, ...]
    #: The value as Python shows it; "" where it raises.
    text: str = ""
    #: Type of the exception; "" for a value.
    raised: str = ""


@value
class Telling:
    """What a call gives on patches; none of them is right for that."""

    #: Id of the bug test whose call it is, or was before it was varied; where there is none, the
    #: name of an existing test, as in "tests/test_a.py::test_x".
    test: str
    #: What is run first, imports among it, and the expression.
    setup: tuple[str, ...]
    expression: str
    #: What it gives, in the order of the patches.
    gives: tuple[Given, ...]
    #: What is changed in the test's call, as in "2 instead of 1"; "" for nothing.
    change: str = ""

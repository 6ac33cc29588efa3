"""Changes of a tree, and what tests did on a patched tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pytest_brt.types.cause import Cause, CauseCode
from pytest_brt.types.note import Note
from pytest_brt.types.outcome import Frame, Raised, Verdict


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
    #: The file it came from, as the system calls it; "" for none.
    file: str = ""
    #: Who wrote it, as its mail, its commits or its folder say; "" where nothing does.
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedPatch:
    """What a patch makes of a tree."""

    changes: tuple[FileChange, ...]
    #: How it applied, and what was left out.
    remarks: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One test on one patched tree."""

    test: str
    verdict: Verdict
    cause: Cause
    raised: Raised | None = None
    #: As of a `TestRun`.
    exercised: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """An existing test that passed on the unpatched tree and does not on a patched one."""

    #: File and node, as in "tests/test_a.py::TestX::test_y".
    test: str
    verdict: Verdict
    cause: Cause
    raised: Raised | None = None
    #: The line of the test's file at which it fails; 0 where that is not known.
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertedBug:
    """An existing test that asserts the bug, so that it counts against no patch."""

    #: As of `Regression`.
    test: str
    #: What it asks about, as in "clamp(-1)", and the bug test that asks for the contrary.
    call: str
    bug_test: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailsBefore:
    """An existing test that does not pass on the unpatched tree."""

    #: As of `Regression`.
    test: str
    cause: Cause
    raised: Raised | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call gives on a tree; nothing where that cannot be told or compared."""

    #: The value as Python shows it; "" where it raises.
    text: str = ""
    #: Type of the exception, or "", and its message.
    raised: str = ""
    message: str = ""
    #: Where it was raised, if in the project.
    frame: Frame | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """The call of a bug test, or the same with one literal changed."""

    #: The bug test's id.
    test: str
    #: What is run first, imports among it, and the expression at the end.
    statements: tuple[str, ...]
    is_varied: bool = False
    #: What it gives without a patch.
    before: Outcome = Outcome()
    #: Code of the project raises there, and not by a statement that says so.
    stumbles: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What the expression of a bug test gives on a patched tree; it decides nothing."""

    #: The bug test's id.
    test: str
    expression: str
    #: What it gives without a patch, which is what the reporter complains about, or what it raises.
    before: str
    raised_before: str = ""
    #: As Python shows it; "" where it raises.
    text: str
    #: The exception's type, or "".
    raised: str = ""


class ChosenBy(StrEnum):
    """By what existing tests were chosen."""

    #: All of them were run: none had to be chosen.
    ALL = "all"
    COVERAGE = "coverage"
    #: The names that they use.
    NAMES = "names"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What the project's existing tests say about a patched tree."""

    #: Tests near the patch that pass on the unpatched tree and were run on the patched one.
    ran: int
    #: Test functions in the project's suite.
    total: int
    #: How many of the tests chosen execute a changed line on the unpatched tree; None where that
    #: cannot be seen.
    reached: int | None = None
    by: ChosenBy
    regressions: tuple[Regression, ...] = ()
    #: Tests that fail newly, and are no regressions.
    disputed: tuple[AssertedBug, ...] = ()
    #: Tests near the patches that do not pass on the unpatched tree, and so were left out.
    failing: tuple[FailsBefore, ...] = ()
    #: Why fewer tests ran than could have.
    shortfalls: tuple[Note, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchResult:
    """A row: all tests on one patched tree."""

    patch: Patch
    #: Id of the issue it is meant to fix; "" when only tests were given.
    issue: str = ""
    #: Why it does not apply; None when it does.
    refused: Note | None = None
    cells: tuple[Cell, ...] = ()
    #: What the tests did that came with it, or from its source: they say nothing of it.
    own_cells: tuple[Cell, ...] = ()
    remarks: tuple[Note, ...] = ()
    seconds: float = 0.0
    #: Equal for patches that make the same program; or "".
    normal: str = ""
    #: Lines added and removed.
    size: int = 0
    #: What each variation gives; empty where no bug test passes.
    outcomes: tuple[Outcome, ...] = ()
    #: What the expressions of bug tests give that only say what is wrong.
    values: tuple[Value, ...] = ()
    #: None when the project's own tests were not run on it.
    guarded: Guarded | None = None

    @property
    def program(self) -> str:
        """Equal for patches that make the same program."""
        return self.normal or self.patch.name

    @property
    def applies(self) -> bool:
        """Whether it applies to the tree."""
        return self.refused is None

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What each test did on it; INVALID is our fault and says nothing."""
        return {
            cell.test: cell.verdict for cell in self.cells if cell.verdict is not Verdict.INVALID
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

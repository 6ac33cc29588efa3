"""What a run says about a report, and about its patches; `render` makes sentences of it."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.attempt import AttemptNote, VerdictCount, WithoutModel
from pytest_brt.types.candidate import Evidence, Measured
from pytest_brt.types.cause import Cause
from pytest_brt.types.dialogue import Ending
from pytest_brt.types.fact import Fact
from pytest_brt.types.fixed import Fix
from pytest_brt.types.no_test import NoTestReason
from pytest_brt.types.outcome import Raised


class Reproduced(Fact, frozen=True, kw_only=True):
    """Tests fail, probably because of the bug."""

    #: Name of the best one, its confidence, and how many there are.
    best: str
    confidence: float
    tests: int
    #: How often such tests were right, where it was measured.
    measured: Measured | None = None


class PossiblyReproduced(Fact, frozen=True, kw_only=True):
    """A test fails, perhaps for another reason."""

    best: str
    confidence: float
    #: The report does not say what should happen instead.
    needs_value: bool
    #: What it rests on, and how often such tests were right, where that is known.
    evidence: Evidence | None = None
    measured: Measured | None = None


class OtherTests(Fact, frozen=True, kw_only=True):
    """What the tests do that are no bug tests."""

    verdicts: tuple[VerdictCount, ...]
    #: Why the first one cannot be run: where none can, and no model wrote them.
    cause: Cause | None = None
    raised: Raised | None = None


class CheckVersion(Fact, frozen=True, kw_only=True):
    """Is this the version that the report is about?"""


class CheckInterpreter(Fact, frozen=True, kw_only=True):
    """Can the project's tests run with this interpreter at all?"""


class Mend(Fact, frozen=True, kw_only=True):
    """The report or its surroundings lack something."""

    #: What to do, as in "add to the report …".
    hint: str


class AskAgain(Fact, frozen=True, kw_only=True):
    """Give the model more of what ran out, or try another way."""

    #: What its dialogues or samples ran out of.
    ran_out: tuple[Ending, ...]
    #: Only a larger model is left to try.
    tried_all: bool


class LookCloser(Fact, frozen=True, kw_only=True):
    """Details are shown with ``-v``."""


Advice = CheckVersion | CheckInterpreter | Mend | AskAgain | WithoutModel | LookCloser


class NotReproduced(Fact, frozen=True, kw_only=True):
    """No test was found."""

    #: None where nothing is known.
    why: OtherTests | NoTestReason | AttemptNote | None
    advice: Advice | None


class NotHere(Fact, frozen=True, kw_only=True):
    """What the report complains about does not show on this tree."""

    #: What a test sees instead, as in "`f(1)` gives 2."
    seen: str
    #: What changed it, as far as that was found.
    fix: Fix | None


IssueAnswer = Reproduced | PossiblyReproduced | NotReproduced | NotHere


class Doubt(StrEnum):
    """Why a patch does not lead clearly, though the odds say so."""

    NO_SURE_TEST = "no-sure-test"
    BREAKS_TESTS = "breaks-tests"
    NO_EXISTING_TESTS = "no-existing-tests"


class Level(StrEnum):
    """In what the patches that share the first place are level."""

    #: The same tests pass on them, and the same fail.
    TESTS = "tests"
    #: Tests tell them apart, and neither is clearly better.
    ODDS = "odds"


class Lack(StrEnum):
    """Why no patch is known to fix the bug."""

    NO_BUG_TEST = "no-bug-test"
    NO_TEST_RAN = "no-test-ran"
    NONE_PASSES = "none-passes"
    #: Bug tests pass on the patches that brought them, and on no other.
    OWN_TESTS = "own-tests"


class Leader(Fact, frozen=True, kw_only=True):
    """One patch is first."""

    patch: str
    #: Why that is not sure; None when it leads clearly.
    doubt: Doubt | None = None


class NoLeader(Fact, frozen=True, kw_only=True):
    """Several patches share the first place; copies of the first are not among them."""

    patches: tuple[str, ...]
    level: Level


class OnlyOne(Fact, frozen=True, kw_only=True):
    """No other patch could be tried."""

    patch: str


class NoneFixes(Fact, frozen=True, kw_only=True):
    """No patch passes a bug test of another's, or none could be tried by one."""

    lack: Lack


class Unfinished(Fact, frozen=True, kw_only=True):
    """Patches were not run."""

    missing: int
    of: int


RankingAnswer = Leader | NoLeader | OnlyOne | NoneFixes | Unfinished

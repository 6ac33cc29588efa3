"""Why a test has its verdict; `render` makes a sentence of it."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.fact import Fact

#: What is denied where a shared library is not found: Linux' own name for that (errno(3)).
NO_LIBRARY = "ELIBACC"


class Phase(StrEnum):
    """What is done around a test's body."""

    COLLECTION = "collection"
    SETUP = "setup"
    TEARDOWN = "teardown"


class Timed(StrEnum):
    """What has a time limit."""

    #: Loading the project.
    IMPORT = "import"
    COLLECTION = "collection"
    TEST = "test"
    #: All tests of one tree together.
    ROW = "row"


class Oddity(StrEnum):
    """How what a test process told cannot have come from our probe alone."""

    PHASES = "phases"
    TWO_PROCESSES = "two-processes"
    #: Events made to end their reader.
    TRAP = "trap"


class Passed(Fact, frozen=True, kw_only=True):
    """Every phase passed."""

    #: It was marked as expected to fail.
    marked_xfail: bool = False


class Skipped(Fact, frozen=True, kw_only=True):
    """It was skipped; `said` holds the project's words, which may be none."""

    said: str


class ExpectedFailure(Fact, frozen=True, kw_only=True):
    """It failed, and is marked as expected to; `said` holds the project's words."""

    said: str


class BodyRaised(Fact, frozen=True, kw_only=True):
    """The test's body ended with an exception, which stands beside this."""

    #: Path of the innermost file that is no library's; "" for the test's own.
    path: str = ""
    #: 1-based line there.
    line: int = 0
    #: The test and the project disagree about a name or a call.
    mismatch: bool = False
    #: What the sandbox did not allow, as in "EROFS"; such a failure reproduces nothing.
    denied: str = ""


class BodyFailed(Fact, frozen=True, kw_only=True):
    """The test's body failed, and only its text is known."""

    text: str


class OwnError(Fact, frozen=True, kw_only=True):
    """The test itself is wrong: a name, an import, a fixture, raised in its own frame."""


class PhaseFailed(Fact, frozen=True, kw_only=True):
    """Something around the test's body failed."""

    phase: Phase
    #: What is known where no exception is.
    text: str = ""
    denied: str = ""


class NoTest(Fact, frozen=True, kw_only=True):
    """The file was collected and has no such test."""


class CannotRun(Fact, frozen=True, kw_only=True):
    """pytest did not get to collect anything."""

    #: The end of what it said; "" when it said nothing.
    said: str = ""


class RunBrokenOff(Fact, frozen=True, kw_only=True):
    """The test ended pytest's run, as `pytest.exit` does."""

    #: The exception's name.
    by: str


class PytestFailed(Fact, frozen=True, kw_only=True):
    """An internal error of pytest or of a plugin; the exception stands beside this."""


class TookTooLong(Fact, frozen=True, kw_only=True):
    """Something did not end in time."""

    what: Timed
    #: None where the time for it has no one length.
    seconds: float | None = None

    @property
    def is_of_all(self) -> bool:
        """Whether all tests of a tree took too long, so that nothing is known of this one."""
        return self.what is Timed.ROW


class ProcessEnded(Fact, frozen=True, kw_only=True):
    """Its process ended too early."""

    #: Exit status; negative for the signal that killed it.
    status: int
    #: No test had begun.
    collecting: bool = False


class RaisedYetPassed(Fact, frozen=True, kw_only=True):
    """A phase was reported as something else than a failure though it raised."""

    #: In the process's own words: they may be anything.
    when: str
    outcome: str


class ExitDiffers(Fact, frozen=True, kw_only=True):
    """The exit status is not the one that pytest announced."""

    status: int
    announced: int


class Odd(Fact, frozen=True, kw_only=True):
    """What the process told cannot be true."""

    oddity: Oddity


class OtherCode(Fact, frozen=True, kw_only=True):
    """Another file than the patched one was imported."""

    path: str
    origin: str


class DiskFull(Fact, frozen=True, kw_only=True):
    """While it ran, or before, the room for private copies of the project was used up."""


class LacksSurroundings(Fact, frozen=True, kw_only=True):
    """On a patch the test lacked something around it, which says nothing of the patch."""

    #: The words of the exception that say so.
    said: str


class NotStarted(Fact, frozen=True, kw_only=True):
    """The sandbox could not be set up: no code of the project ran."""

    said: str


#: What the test itself came to.
Finished = (
    Passed
    | Skipped
    | ExpectedFailure
    | BodyRaised
    | BodyFailed
    | OwnError
    | PhaseFailed
    | NoTest
    | CannotRun
    | RunBrokenOff
    | PytestFailed
)
#: What ended before it did.
CutShort = TookTooLong | ProcessEnded
#: Why what it did is not believed, or says nothing of the patch.
Untrusted = (
    DiskFull | RaisedYetPassed | ExitDiffers | Odd | OtherCode | LacksSurroundings | NotStarted
)
Cause = Finished | CutShort | Untrusted


def is_uncollected(cause: Cause) -> bool:
    """Say whether a file cannot even be imported, or a conftest.py above it."""
    if isinstance(cause, CannotRun):
        return True
    return isinstance(cause, PhaseFailed) and cause.phase is Phase.COLLECTION

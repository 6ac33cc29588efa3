"""Why a report gave no bug test, as far as its own code shows; `render` makes sentences of it."""

from __future__ import annotations

from pytest_brt.types.cause import Cause
from pytest_brt.types.fact import Fact
from pytest_brt.types.outcome import Raised


class NoCode(Fact, frozen=True, kw_only=True):
    """The report has no Python code that can be read."""

    #: It shows what the bug ends in.
    has_traceback: bool = False


class CodeInShell(Fact, frozen=True, kw_only=True):
    """The report's code stands in a command of a shell, and nowhere else."""

    #: 1-based, in the report.
    line: int


class CodeLeftOut(Fact, frozen=True, kw_only=True):
    """Lines of the report's code were not read."""

    #: 1-based, in the report; both ends belong to it.
    line: int
    end_line: int
    #: The first of them.
    code: str


class TooManyStatements(Fact, frozen=True, kw_only=True):
    """Only so many statements are run, and so many of those in sentences."""

    most: int
    most_inline: int


class CodeRead(Fact, frozen=True, kw_only=True):
    """How much code the report has: no reason, but what the others are about."""

    statements: int
    #: Code blocks that they stand in, beside sentences.
    blocks: int


class UndefinedNames(Fact, frozen=True, kw_only=True):
    """The report's code uses names that neither it nor the project defines."""

    names: tuple[str, ...]
    #: Python 2 defined all of them.
    of_python_2: bool = False


class StatementEnded(Fact, frozen=True, kw_only=True):
    """A statement ended its process."""

    line: int
    source: str
    #: How, as in "timed out after 20 s".
    said: str
    #: Its time was over, which is an option's share.
    timed_out: bool = False


class StatementRaised(Fact, frozen=True, kw_only=True):
    """A statement raises something."""

    line: int
    source: str
    exception: str
    message: str


class PassingTests(Fact, frozen=True, kw_only=True):
    """So many tests made from the report pass."""

    tests: int


class OwnTestPasses(Fact, frozen=True, kw_only=True):
    """A test that the report brings passes."""

    name: str


class OwnTestUnused(Fact, frozen=True, kw_only=True):
    """A test that the report brings could not be run, or failed for another reason."""

    name: str
    cause: Cause
    raised: Raised | None


class StatedValue(Fact, frozen=True, kw_only=True):
    """A value that the report calls right."""

    text: str
    #: Of the report, 1-based.
    line: int


class NothingWrong(Fact, frozen=True, kw_only=True):
    """The code does what the report shows, and the report does not say what is wrong."""


class ComplaintUnclear(Fact, frozen=True, kw_only=True):
    """It cannot be told which result is wrong, and what the right one is."""


class AlreadyRight(Fact, frozen=True, kw_only=True):
    """The code gives the values that the report calls right."""

    values: tuple[StatedValue, ...]


class NotComparable(Fact, frozen=True, kw_only=True):
    """What the code gives cannot be compared with the values that the report calls right."""

    values: tuple[StatedValue, ...]


#: What a person can mend by adding to the report.
Incomplete = (
    NoCode
    | CodeInShell
    | CodeLeftOut
    | UndefinedNames
    | NothingWrong
    | ComplaintUnclear
    | AlreadyRight
    | NotComparable
)
#: What a person can mend.
Mendable = Incomplete | StatementRaised
Miss = (
    Mendable
    | TooManyStatements
    | CodeRead
    | StatementEnded
    | PassingTests
    | OwnTestPasses
    | OwnTestUnused
)

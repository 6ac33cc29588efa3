"""Why a test has its verdict: a code for programs, and a text for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CauseCode(StrEnum):
    """What decided a verdict."""

    PASSED = "passed"
    SKIPPED = "skipped"
    EXPECTED_FAILURE = "expected-failure"
    #: The body of the test failed.
    RAISED = "raised"
    #: The test and the project disagree about a name or a call.
    MISMATCH = "mismatch"
    #: The sandbox refused something, so the failure reproduces nothing.
    DENIED = "denied"
    #: A limit of the machine was met, that other runs share.
    SHORT = "machine-limit"
    #: The test itself is wrong: a name, an import, a fixture, raised in its own frame.
    OWN_ERROR = "own-error"
    SETUP = "setup-failed"
    TEARDOWN = "teardown-failed"
    NOT_COLLECTED = "not-collected"
    #: The file was collected and has no such test.
    NO_TEST = "no-test"
    #: pytest's run was ended, by the test or by an error of pytest or of a plugin.
    BROKEN_OFF = "broken-off"
    TOO_SLOW = "test-too-slow"
    #: All tests of a tree took too long, so nothing is known of this one.
    TREE_TOO_SLOW = "tree-too-slow"
    #: The process of the test ended too early.
    ENDED = "process-ended"
    #: What the process reported cannot be true.
    CONTRADICTION = "contradiction"
    #: Another file than the patched one was imported.
    OTHER_CODE = "other-code"
    DISK_FULL = "disk-full"
    #: On a patch the test lacked something around it, which says nothing of the patch.
    SURROUNDINGS = "lacks-surroundings"
    #: The sandbox could not be set up: no code of the project ran.
    NOT_STARTED = "not-started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a test has its verdict."""

    code: CauseCode
    #: On one line.
    text: str

    @property
    def is_uncollected(self) -> bool:
        """Whether the file cannot even be imported, or a conftest.py above it."""
        return self.code is CauseCode.NOT_COLLECTED

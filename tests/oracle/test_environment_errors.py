"""What says that something around a test is missing, and what is the project's own."""

from __future__ import annotations

import pytest

from pytest_brt.oracle.environment_errors import missing_here
from pytest_brt.types import Raised


@pytest.mark.parametrize(
    ("type_", "message", "said"),
    [
        (
            "RuntimeError",
            'Database access not allowed, use the "django_db" mark to enable it.',
            "Database access not allowed",
        ),
        (
            "django.test.testcases.DatabaseOperationForbidden",
            "Database queries to 'default' are not allowed in SimpleTestCase subclasses.",
            "are not allowed in SimpleTestCase subclasses",
        ),
        ("OSError", "Multiple exceptions: [Errno 111] Connect call failed", "Connect call failed"),
        ("ConnectionRefusedError", "[Errno 111] Connection refused", "Connection refused"),
        ("ValueError", "Database access not allowed", ""),
        ("AssertionError", "assert 1 == 2", ""),
    ],
)
def test_exceptions_of_the_surroundings(type_: str, message: str, said: str) -> None:
    assert missing_here(Raised(type=type_, message=message)) == said


def test_without_an_exception_nothing_is_said() -> None:
    assert missing_here(None) == ""

from __future__ import annotations

import pytest

from pytest_brt.issue.words import heading_role, is_complaint, role_of


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("I would expect the following:", "expected"),
        ("The answer should be", "expected"),
        ("It could print", "expected"),
        ("but it doesn't work", "observed"),
        ("The following two lines of code work:", "contrast"),
        ("The following lines give an error:", "observed"),
        ("This should not happen:", "observed"),
        ("In version 1.0:", "contrast"),
        ("Now, the same in tool 1.1:", "observed"),
        ("This is the setup:", "shown"),
        ("unexpected output", "observed"),
        ("works as expected", "contrast"),
        ("", "shown"),
        ("but on 3.0.2 :", "observed"),
        ("It works in 1.2 but in 1.3 I get:", "observed"),
        ("worked fine, but with 2.1:", "observed"),
        ("It fails in 2.0 but in 1.9:", "contrast"),
        ("but it works in 1.2:", "contrast"),
        ("It raises `Odd: expected identifier`:", "observed"),
        ("I get TypeError: expected str, bytes or os.PathLike object", "observed"),
        ('I get "must be a number" from it:', "observed"),
        ("It says `this should work`:", "shown"),
        ("I get ValueError: bad date, but it should work:", "expected"),
    ],
)
def test_roles_of_sentences(text: str, role: str) -> None:
    assert role_of(text).value == role


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Expected behavior", "expected"),
        ("What did you expect to happen?", "expected"),
        ("Actual behavior", "observed"),
        ("What actually happened?", "observed"),
        ("Current behaviour", "observed"),
        ("Error: expected identifier", "observed"),
        ("Steps to reproduce", "shown"),
        ("Environment", "shown"),
    ],
)
def test_roles_of_sections(text: str, role: str) -> None:
    assert heading_role(text).value == role


def test_complaints() -> None:
    assert is_complaint("this is not handled correctly")
    assert not is_complaint("this works fine")

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.plugin.option_list import TYPED, command_again


def test_what_sets_a_run_apart_was_not_typed() -> None:
    assert command_again(["-q"], {}) == "pytest -q"
    assert command_again(["-c", "x", "--no-header", "-q"], {}) == "pytest -q"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_a_shell_reads_what_was_given(arguments: list[str]) -> None:
    assert shlex.split(command_again(arguments, {})) == ["pytest", *arguments]


def test_the_front_end_says_what_was_typed() -> None:
    assert command_again(["-c", "/tmp/x.ini"], {TYPED: "pytest-brt issue a.md"}) == (
        "pytest-brt issue a.md"
    )

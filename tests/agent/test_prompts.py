"""Prompts: found and filled."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from pytest_brt.agent.prompts import Prompts, fenced
from pytest_brt.model.base import Role


def test_values_are_put_in_as_they_are() -> None:
    text = Prompts().render("shared/report", title="{{ 1 + 1 }} <b>", report="{% raw %} & x")
    assert text == "# {{ 1 + 1 }} <b>\n\n{% raw %} & x"


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'report' is undefined"):
        Prompts().render("shared/report", title="x")


def test_an_unknown_prompt_is_the_caller_s_mistake() -> None:
    with pytest.raises(KeyError, match="nothing"):
        Prompts().render("nothing")


def test_asking_gives_the_messages_in_order() -> None:
    message = Prompts().message(Role.USER, "shared/report", title="t", report="r")
    assert (message.role, message.text) == (Role.USER, "# t\n\nr")


def test_examples_are_turns_of_the_conversation() -> None:
    roles = [turn.role for turn in Prompts().turns("libro/examples")]
    assert roles
    assert roles == [Role.USER, Role.ASSISTANT] * (len(roles) // 2)


def test_many_threads_render_the_same() -> None:
    prompts, seen = Prompts(), set()

    def work() -> None:
        for number in range(50):
            text = prompts.render("shared/report", title=str(number), report="r")
            seen.add(text == f"# {number}\n\nr")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {True}


@given(st.text(alphabet="`~ a\n", max_size=40))
def test_a_fence_is_closed_only_by_its_own(code: str) -> None:
    lines = fenced(code, "python").split("\n")
    fence = lines[-1]
    assert lines[0] == f"{fence}python"
    assert not [line for line in lines[1:-1] if line.strip().startswith(fence)]

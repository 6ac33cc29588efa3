"""A conversation grows at its end only, as long as it fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_brt.agent.history import Counter, conversation
from pytest_brt.model.base import Message, Prompt, Role
from pytest_brt.types import Step, Verdict
from tests.agent.scripts import script

OPENING = (Message(role=Role.SYSTEM, text="Be short."), Message(role=Role.USER, text="Go."))


def step(number: int) -> Step:
    lines = "\n".join(f"line {n} of observation {number}" for n in range(20))
    return Step(number=number, reply=f'{{"action": "{number}"}}', observation=lines)


STEPS = tuple(step(number) for number in range(1, 21))


def test_all_of_it_is_shown_when_it_fits(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    messages = conversation(OPENING, STEPS, most=100_000, count=count)
    assert [m.text for m in messages[2::2]] == [s.reply for s in STEPS]
    assert [m.text for m in messages[3::2]] == [s.observation for s in STEPS]


def test_the_oldest_go_first_and_the_reader_is_told(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    most = 1500
    messages = conversation(OPENING, STEPS, most=most, count=count)
    assert count.of(messages) <= most
    assert messages[-1].text == STEPS[-1].observation
    assert "19 lines of this were shown and left out since" in messages[3].text


def test_what_was_evaluated_is_used_again_most_of_the_time(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    changed = 0
    before: tuple[Message, ...] = ()
    for number in range(1, 21):
        messages = conversation(OPENING, STEPS[:number], most=2500, count=count)
        changed += messages[: len(before)] != before
        before = messages
    assert 1 <= changed <= 5


def test_steps_go_altogether_when_their_observations_are_not_enough(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    messages = conversation(OPENING, STEPS, most=700, count=count)
    assert count.of(messages) <= 700
    assert "steps were left out here.]" in messages[1].text
    assert messages[0] == OPENING[0]


def test_the_count_is_never_below_what_the_model_measures(tmp_path: Path) -> None:
    model = script(tmp_path, "x")
    messages = conversation(OPENING, STEPS, most=100_000, count=Counter(model))
    assert Counter(model).of(messages) >= model.count(Prompt(messages=messages))


def test_the_listings_go_before_any_step_and_old_steps_keep_a_line(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    listing = Message(role=Role.USER, text="Go. " + "listing " * 900)
    long = (OPENING[0], listing)
    few = STEPS[:3]
    most = count.of(conversation(OPENING, few, most=100_000, count=count)) + 50
    shown = conversation(long, few, most=most, count=count, short=OPENING)
    assert shown[1].text == "Go."
    told = tuple(
        replace(
            s, action="cat", thought="find out\nwhere", arguments=(("path", f"f{s.number}.py"),)
        )
        for s in STEPS
    )
    text = conversation(long, told, most=900, count=count, short=OPENING)[1].text
    assert text.startswith("Go.\n\n[Your first ")
    assert "\n9. cat f9.py; find out where\n" in text


def test_a_test_that_was_run_keeps_what_it_raised(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    ran = tuple(
        replace(
            s, observation=f"test_a: FAIL\nValueError: x\n{s.observation}", verdict=Verdict.FAIL
        )
        for s in STEPS
    )
    messages = conversation(OPENING, ran, most=1500, count=count)
    assert messages[3].text.startswith("test_a: FAIL\nValueError: x\n[… 20 lines")

"""A conversation grows at its end only, as long as it fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.memory import Counter, Entry, conversation, fit_entries, headline
from pytest_brt.model.base import Message, Prompt, Role
from pytest_brt.types import Call, Done, NotDone, Step, TestsRan, Unreadable, Verdict
from tests.agent.scripts import script

OPENING = (Message(role=Role.SYSTEM, text="Be short."), Message(role=Role.USER, text="Go."))


def step(number: int) -> Step:
    lines = "\n".join(f"line {n} of observation {number}" for n in range(20))
    return Step(number=number, reply=f'{{"action": "{number}"}}', observation=lines)


STEPS = tuple(step(number) for number in range(1, 21))


def test_all_of_it_is_shown_when_it_fits(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    messages = conversation(OPENING, STEPS, 100_000, count)
    assert [m.text for m in messages[2::2]] == [s.reply for s in STEPS]
    assert [m.text for m in messages[3::2]] == [s.observation for s in STEPS]


def test_the_oldest_go_first_and_the_reader_is_told(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    most = 1500
    messages = conversation(OPENING, STEPS, most, count)
    assert count.of(messages) <= most
    assert messages[-1].text == STEPS[-1].observation
    assert "Your first steps, in short:\n1. no action" in messages[1].text


def test_what_was_evaluated_is_used_again_most_of_the_time(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    changed = 0
    before: tuple[Message, ...] = ()
    for number in range(1, 21):
        messages = conversation(OPENING, STEPS[:number], 2500, count)
        changed += messages[: len(before)] != before
        before = messages
    assert 1 <= changed <= 5


def test_steps_go_altogether_when_their_observations_are_not_enough(tmp_path: Path) -> None:
    count = Counter(script(tmp_path, "x"))
    messages = conversation(OPENING, STEPS, 700, count)
    assert count.of(messages) <= 700
    assert "Your first steps, in short:" in messages[1].text
    assert messages[0] == OPENING[0]


def test_the_count_is_never_below_what_the_model_measures(tmp_path: Path) -> None:
    model = script(tmp_path, "x")
    messages = conversation(OPENING, STEPS, 100_000, Counter(model))
    assert Counter(model).of(messages) >= model.count(Prompt(messages=messages))


def test_a_headline_says_what_was_done_why_and_what_came_of_it() -> None:
    call = Call(action="test", arguments=(("path", "tests/test_a.py"),))
    ran = (TestsRan(path="tests/test_a.py", verdict=Verdict.FAIL),)
    done = Step(number=3, reply="", call=call, thought="see\nit", result=Done(effects=ran))
    assert headline(done) == "3. test tests/test_a.py: FAIL (see it)"
    assert headline(replace(done, result=NotDone())) == "3. test tests/test_a.py: refused (see it)"
    unread = Step(number=4, reply="hm", result=Unreadable())
    assert headline(unread) == "4. no action: refused"


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 3)), min_size=1, max_size=12),
    st.integers(10, 200),
)
def test_what_was_reduced_stays_so_and_all_but_headlines_fits(
    sizes: list[tuple[int, int]], room: int
) -> None:
    entries = [Entry(headline="x", text="x " * size, worth=worth) for size, worth in sizes]
    before: tuple[Entry | str, ...] = ()
    for number in range(1, len(entries) + 1):
        shown = fit_entries(entries[:number], room, words)
        assert shown[-1] is entries[number - 1]
        assert all(now == "x" for was, now in zip(before, shown, strict=False) if was == "x")
        whole = [one for one in shown[:-1] if not isinstance(one, str)]
        size = sum(words(one if isinstance(one, str) else one.text) + 2 for one in shown)
        assert size <= room or not whole
        before = shown


def test_what_is_worth_least_goes_first() -> None:
    entries = [Entry(headline="x", text="y " * 30, worth=worth) for worth in (3, 1, 2, 1)]
    shown = fit_entries(entries, 110, words)
    assert [isinstance(one, str) for one in shown] == [False, True, True, False]


def words(text: str) -> int:
    return len(text.split())

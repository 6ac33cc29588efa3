from __future__ import annotations

from pytest_brt.pipeline.progress import Progress


class Clock:
    """Shows the seconds that it is set to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_are_taken_once_and_in_order() -> None:
    progress = Progress()
    progress.say("one")
    progress.say("two\x1b[31m")
    assert progress.taken() == ["one", "two?[31m"]
    assert progress.taken() == []


def test_signs_of_life_are_the_last_line_now_and_then() -> None:
    clock = Clock()
    progress = Progress(clock)
    clock.now += 40
    assert progress.sign_of_life(30) == []  # nothing was said
    progress.say("one")
    progress.say("two")
    clock.now += 5
    assert progress.sign_of_life(30) == ["two (5 s ago)"]
    progress.say("three")
    clock.now += 29
    assert progress.sign_of_life(30) == []
    clock.now += 1
    assert progress.sign_of_life(30) == ["three (30 s ago)"]
    clock.now += 30
    assert progress.sign_of_life(30) == ["three (60 s ago)"]

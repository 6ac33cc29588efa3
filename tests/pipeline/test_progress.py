from __future__ import annotations

from pytest_brt.pipeline.progress import Progress


def test_lines_are_taken_once_and_in_order() -> None:
    progress = Progress()
    progress.say("one")
    progress.say("two\x1b[31m")
    assert progress.taken() == ["one", "two?[31m"]
    assert progress.taken() == []

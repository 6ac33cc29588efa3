"""What a model says of a failure, and how it is asked."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.issue.load import read_issue
from pytest_brt.model.base import Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.reproduce.asking import Asker, answer_room, seed_of
from pytest_brt.reproduce.context import Hints
from pytest_brt.reproduce.opinion import opinion_of, opinion_prompt
from tests.reproduce.examples import scripted
from tests.reproduce.written.test_judge import judged, run

ISSUE = read_issue("# f() is wrong\n\nf(1) gives 'a-b'.", "issue.md")


def asker(folder: Path, reply: str, deadline: float = float("inf")) -> Asker:
    return Asker(scripted(folder, f"=== always\n{reply}"), deadline=deadline)


@pytest.mark.parametrize(
    ("reply", "caused"),
    [
        ('{"sentence": "f(1) gives \'a-b\'.", "answer": "yes"}', True),
        ('{"sentence": "It says \\"answer\\": \\"yes\\"", "answer": "no"}', False),
        ('{"sentence": "", "answer": "perhaps"}', None),
        ('{"sentence": "It is cut of', None),
        ("yes", True),
        ("No.", False),
        ("Yes, it is", True),
        ("perhaps", None),
        ("", None),
    ],
)
def test_the_answer_is_read(reply: str, caused: bool | None, tmp_path: Path) -> None:
    ask = asker(tmp_path, reply)
    found = opinion_of(judged(run()), ISSUE, Hints(), prompts=Prompts(), asker=ask)
    assert found.caused is caused
    assert ask.cost.calls == 1


def test_it_is_not_asked_when_there_is_no_time_or_no_room(tmp_path: Path) -> None:
    late = asker(tmp_path, "yes", deadline=time.monotonic() - 1)
    assert late.over
    small = Asker(ScriptedModel(str(tmp_path / "replies.txt"), Settings(context=40)))
    for ask in (late, small):
        found = opinion_of(judged(run()), ISSUE, Hints(), prompts=Prompts(), asker=ask)
        assert (found.caused, ask.cost.calls) == (None, 0)


def test_seeds_and_room_are_what_they_say(tmp_path: Path) -> None:
    assert seed_of("a", 1) != seed_of("a", 2)
    assert 0 <= seed_of("a", 1) < 2**31
    model = scripted(tmp_path, "=== always\nx")
    assert answer_room(model, 512) == 512
    assert (
        answer_room(ScriptedModel(str(tmp_path / "replies.txt"), Settings(context=400)), 512) == 100
    )


def test_of_a_long_failure_both_ends_are_shown(tmp_path: Path) -> None:
    message = "\n".join(
        ["assert 'a-b' == 'ab'", *(f"line {n}" for n in range(60)), "KeyError: 'k'"]
    )
    model = scripted(tmp_path, "=== always\nyes")
    prompt = opinion_prompt(
        judged(run(message=message)), ISSUE, Hints(), prompts=Prompts(), model=model
    )
    text = prompt.messages[-1].text
    assert "assert 'a-b' == 'ab'" in text
    assert "KeyError: 'k'\n```" in text
    assert "[… 50 lines left out …]" in text
    assert "line 30" not in text

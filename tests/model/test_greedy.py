"""A greedy question is put to a model once in a run, and never answered by what was cut short."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_brt.model.base import Completion, Finish, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.greedy import AskedOnce
from pytest_brt.model.scripted import ScriptedModel

SCRIPT = "=== reply\none\n=== reply\ntwo\n=== reply\nthree\n"
GREEDY = Prompt(
    messages=(Message(role=Role.USER, text="Is it right?"),), sampling=Sampling(temperature=0.0)
)


def scripted(folder: Path) -> AskedOnce:
    (folder / "replies.txt").write_text(SCRIPT, "utf-8")
    return AskedOnce(ScriptedModel(str(folder / "replies.txt"), Settings()))


def said(model: AskedOnce, prompt: Prompt) -> str:
    (answer,) = model.complete(prompt)
    return answer.text.strip()


def test_the_same_question_has_the_answer_that_it_had(tmp_path: Path) -> None:
    model = scripted(tmp_path)
    later = replace(GREEDY, seconds=5.0, purpose="judge", sampling=replace(GREEDY.sampling, seed=7))
    assert [said(model, GREEDY), said(model, later), said(model, GREEDY)] == ["one"] * 3
    (again,) = model.complete(GREEDY)
    assert (again.tokens, again.prompt_tokens, again.seconds) == (0, 0, 0.0)


def test_another_question_and_what_is_drawn_are_asked(tmp_path: Path) -> None:
    model = scripted(tmp_path)
    drawn = replace(GREEDY, sampling=Sampling(temperature=0.2))
    assert [said(model, GREEDY), said(model, drawn), said(model, drawn)] == ["one", "two", "three"]
    assert said(model, GREEDY) == "one"


class Slow:
    """Cuts its first answer, for want of time."""

    name, context, notes = "slow", 1000, ()

    def __init__(self) -> None:
        self.asked = 0

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        self.asked += 1
        finish = Finish.TIME if self.asked == 1 else Finish.STOP
        return (Completion(text=f"answer {self.asked}", finish=finish),)

    def count(self, asked: str | Prompt) -> int:
        return 1

    def close(self) -> None:
        self.asked = -1


def test_an_answer_that_was_cut_is_asked_for_again() -> None:
    slow = Slow()
    model = AskedOnce(slow)
    assert [said(model, GREEDY) for _ in range(3)] == ["answer 1", "answer 2", "answer 2"]
    assert (model.context, model.notes, model.count("x")) == (1000, (), 1)
    model.close()
    assert slow.asked == -1

"""No question is put to a model twice, and none is answered by what was cut short."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.model.base import Completion, Finish, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.kept import KeptAnswers, asked_anew
from pytest_brt.model.scripted import ScriptedModel
from tests.model.stand_in import Server

SCRIPT = "=== reply\none\n=== reply\ntwo\n=== reply\nthree\n"
GREEDY = Prompt(
    messages=(Message(role=Role.USER, text="Is it right?"),), sampling=Sampling(temperature=0.0)
)


def scripted(folder: Path) -> KeptAnswers:
    (folder / "replies.txt").write_text(SCRIPT, "utf-8")
    return KeptAnswers(ScriptedModel(str(folder / "replies.txt"), Settings()))


def said(model: KeptAnswers, prompt: Prompt) -> str:
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
    model = KeptAnswers(slow)
    assert [said(model, GREEDY) for _ in range(3)] == ["answer 1", "answer 2", "answer 2"]
    assert (model.context, model.notes, model.count("x")) == (1000, (), 1)
    model.close()
    assert slow.asked == -1


class Identified:
    """Answers by the prompt and the seed, and says which model it is."""

    name, context, notes = "identified", 1000, ()

    def __init__(self, *identity: str | Path) -> None:
        self.identity = identity
        self.asked: list[Prompt] = []

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        self.asked.append(prompt)
        first = prompt.sampling.seed
        text = prompt.messages[0].text
        return tuple(
            Completion(text=f"{text} {seed}", finish=Finish.STOP, seed=seed, tokens=3)
            for seed in range(first, first + prompt.samples)
        )

    def count(self, asked: str | Prompt) -> int:
        return 1

    def close(self) -> None:
        self.asked.clear()


DRAWN = replace(GREEDY, sampling=Sampling(temperature=0.8), samples=4)


def test_a_later_run_has_the_answers_of_an_earlier_one(tmp_path: Path) -> None:
    first, later = Identified("sha256:abc"), Identified("sha256:abc")
    texts = [answer.text for answer in KeptAnswers(first, tmp_path / "answers").complete(DRAWN)]
    again = KeptAnswers(later, tmp_path / "answers").complete(DRAWN)
    assert [answer.text for answer in again] == texts
    assert all((answer.tokens, answer.seconds) == (0, 0.0) for answer in again)
    assert (len(first.asked), later.asked) == (1, [])


def test_only_the_samples_that_nobody_has_drawn_are_asked_for(tmp_path: Path) -> None:
    model = Identified("sha256:abc")
    kept = KeptAnswers(model, tmp_path)
    kept.complete(replace(DRAWN, samples=1, sampling=replace(DRAWN.sampling, seed=2)))
    answers = kept.complete(replace(DRAWN, samples=6))
    assert [answer.seed for answer in answers] == list(range(6))
    asked = [(prompt.sampling.seed, prompt.samples) for prompt in model.asked]
    assert asked == [(2, 1), (0, 2), (3, 3)]


def test_another_model_or_prompt_or_a_changed_file_is_asked_anew(tmp_path: Path) -> None:
    weights = tmp_path / "m.gguf"
    weights.write_bytes(b"one")
    for identity in ("sha256:abc", "sha256:abd", weights):
        model = Identified(identity)
        KeptAnswers(model, tmp_path / "answers").complete(DRAWN)
        assert len(model.asked) == 1
    same = Identified(weights)
    KeptAnswers(same, tmp_path / "answers").complete(DRAWN)
    assert same.asked == []
    weights.write_bytes(b"another")
    for prompt in (DRAWN, replace(DRAWN, prefill="Yes"), replace(DRAWN, thinking=9)):
        changed = Identified(weights)
        KeptAnswers(changed, tmp_path / "answers").complete(prompt)
        assert len(changed.asked) == 1


def test_a_damaged_answer_is_asked_for_again(tmp_path: Path) -> None:
    KeptAnswers(Identified("a"), tmp_path).complete(DRAWN)
    for file in tmp_path.iterdir():
        file.write_bytes(b"\xff{")
    model = Identified("a")
    assert len(KeptAnswers(model, tmp_path).complete(DRAWN)) == 4
    assert len(model.asked) == 1


def test_where_nothing_can_be_written_the_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    model = Identified("a")
    for _ in range(2):
        assert len(KeptAnswers(model, tmp_path / "file" / "below").complete(DRAWN)) == 4
    assert len(model.asked) == 2


@pytest.mark.parametrize("strategy", ["libro", "agent", "passerine", "repairagent"])
def test_a_strategy_of_a_paper_asks_as_often_as_the_paper(strategy: str) -> None:
    model = Identified("a")
    kept = KeptAnswers(model)
    assert asked_anew(kept, strategy) is model
    assert asked_anew(kept, "auto") is kept


ISSUE = (
    "# clamp() ignores its upper bound\n\nA value inside of the interval comes back as the bound.\n"
)
TEST = """\
```python
from interval import clamp


def test_clamp_inside():
    assert clamp(5, 0, 10) == 5
```
"""


@pytest.mark.slow
def test_a_later_session_asks_nothing_until_the_cache_is_cleared(
    project: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(tmp_path)
    listed = {"data": [{"id": "qwen3:8b", "owned_by": "library"}]}
    tags = {"models": [{"name": "qwen3:8b", "digest": "abc"}]}
    server.about(__v1__models=listed, __api__show={}, __api__ps={}, __api__tags=tags)
    server.plan({"text": TEST})
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
    (project.path / "issue.md").write_text(ISSUE, "utf-8")
    command = ("--brt-issue", "issue.md", "--brt-model", "ollama:qwen3:8b", "--brt-samples", "4")
    asked: list[int] = []
    try:
        for more in ((), (), ("--cache-clear",), ("--brt-strategy", "libro")):
            before = len(server.asked()) if asked else 0
            session = project.runpytest_subprocess(*command, *more)
            session.stdout.fnmatch_lines(["*clamp(5, 0, 10) == 5*"])
            asked.append(len(server.asked()) - before)
    finally:
        server.end()
    first, again, cleared, of_a_paper = asked
    assert first == cleared > again == 0
    assert of_a_paper >= 4

"""One way after the other, until it is enough."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.read import read_report
from pytest_brt.model.base import Completion, Prompt, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.observe.watch import watch
from pytest_brt.reproduce.libro.pool import Sampled, next_batch, why_stop
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Ending, Verdict
from pytest_brt.types.attempt import (
    DialogueEnded,
    NotTried,
    SamplingStopped,
    StopReason,
    Untried,
    WithoutModel,
)
from tests.reproduce.bench import act, bench_of, code, issue_of, replies
from tests.reproduce.examples import judge_says
from tests.support.interval import CLAMP_ISSUE, MEAN_ISSUE

attempt = STRATEGIES["auto"].attempt

VAGUE = "# mean() of nothing is wrong\n\nWith no values mean does something bad. It should be 0.\n"
RIGHT = code("from interval import mean\n\n\ndef test_nothing():\n    assert mean([]) == 0")
WRONG = code("from interval import mean\n\n\ndef test_one():\n    assert mean([1]) == 1")
SAMPLES = f"=== always if: You write pytest tests that reproduce\n{WRONG}\n"


@pytest.fixture
def engine(interval: Engine) -> Engine:
    return interval


def test_a_strong_test_of_replay_is_enough(engine: Engine, tmp_path: Path) -> None:
    made = attempt(issue_of(MEAN_ISSUE, tmp_path), 0, bench_of(engine, tmp_path, replies("x")))
    assert made.strategy == "auto"
    assert {item.test.origin.strategy for item in made.tests} == {"replay"}
    assert made.tests[0].judgement.candidate


def test_a_test_of_replay_that_the_model_holds_for_wrong_is_not_enough(
    engine: Engine, tmp_path: Path
) -> None:
    issue = issue_of(MEAN_ISSUE, tmp_path)
    alone = attempt(issue, 0, bench_of(engine, tmp_path, replies("x"))).tests[0].judgement
    quoted = " ".join(MEAN_ISSUE.split()[1:6])
    no = judge_says("no", quoted)
    samples = f"=== always if: You write pytest tests that reproduce\n{RIGHT}\n"
    made = attempt(issue, 0, bench_of(engine, tmp_path, no + samples))
    lowered = [item for item in made.tests if item.test.origin.strategy == "replay"]
    assert lowered[0].judgement.confidence < 0.6 < alone.confidence
    assert "does not ask for this" in lowered[0].judgement.reason
    assert any(note.by == "libro" for note in made.notes)
    yes = attempt(issue, 0, bench_of(engine, tmp_path, judge_says("yes", quoted)))
    assert yes.tests[0].judgement.confidence == alone.confidence
    assert not any(note.by == "libro" for note in yes.notes)


class Listening(ScriptedModel):
    """A script that keeps what it was asked."""

    def __init__(self, bench: Workbench, folder: Path, script: str) -> None:
        path = folder / "listening.txt"
        path.write_text(script, "utf-8")
        super().__init__(str(path), Settings())
        self.asked: list[str] = []
        self.bench = replace(bench, model=self)

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        self.asked.append("\n".join(message.text for message in prompt.messages))
        return super().complete(prompt)


def test_a_test_that_is_held_for_wrong_is_not_shown_as_one_that_is_too_weak(
    engine: Engine, tmp_path: Path
) -> None:
    samples = f"=== always if: You write pytest tests that reproduce\n{RIGHT}\n"
    script = judge_says("no", "x") + samples
    model = Listening(bench_of(engine, tmp_path, replies("x")), tmp_path, script)
    made = attempt(issue_of(CLAMP_ISSUE, tmp_path), 0, model.bench)
    ours = [item for item in made.tests if item.test.origin.strategy == "replay"]
    assert any(item.judgement.candidate for item in ours)
    (first, *_) = [text for text in model.asked if "tests that reproduce bug reports" in text]
    assert "its assertion may be too weak" not in first


def test_what_was_asked_to_pass_is_not_told_of_as_refused(engine: Engine, tmp_path: Path) -> None:
    script = (
        "=== always if: You write pytest tests that reproduce\nno test\n"
        f"=== always if: You write pytest tests that show\n{WRONG}\n=== always\nx\n"
    )
    model = Listening(bench_of(engine, tmp_path, replies("x")), tmp_path, script)
    made = attempt(issue_of(VAGUE, tmp_path), 0, model.bench)
    passing = [item for item in made.tests if item.test.origin.strategy == "invert"]
    assert {item.judgement.verdict for item in passing} == {Verdict.PASS}
    assert "passes on this tree" not in model.asked[-1]


def test_samples_come_next_and_stop_when_they_tell_nothing_new(
    engine: Engine, tmp_path: Path
) -> None:
    script = f"=== always if: You write pytest tests that reproduce\n{RIGHT}\n"
    made = attempt(issue_of(VAGUE, tmp_path), 0, bench_of(engine, tmp_path, script))
    best = made.tests[0]
    assert best.judgement.candidate
    assert best.test.origin.strategy == "auto-libro"
    assert "samples fail alike" in best.judgement.reason
    (stopped,) = (note for note in made.notes if isinstance(note, SamplingStopped))
    assert stopped.why is StopReason.AGREE


@pytest.mark.parametrize(
    ("word", "said"),
    [("yes", "the model says it is the reported bug"), ("no", "does not ask for this")],
)
def test_the_model_is_asked_what_rules_cannot_say(
    engine: Engine, tmp_path: Path, word: str, said: str
) -> None:
    script = f"=== always if: You write pytest tests that reproduce\n{RIGHT}\n"
    asked = bench_of(engine, tmp_path, script + judge_says(word, "mean does something bad"))
    made = attempt(issue_of(VAGUE, tmp_path), 0, asked)
    alone = attempt(issue_of(VAGUE, tmp_path), 0, bench_of(engine, tmp_path, script))
    confidence = made.tests[0].judgement.confidence
    assert said in made.tests[0].judgement.reason
    assert (confidence > alone.tests[0].judgement.confidence) == (word == "yes")


def test_the_agent_comes_last_and_knows_what_replay_saw(engine: Engine, tmp_path: Path) -> None:
    path = "tests/test_interval.py"
    script = (
        SAMPLES
        + f"=== always if: You write pytest tests that show\n{WRONG}\n"
        + judge_says("no", "mean does something bad")
        + replies(f"{act('write_test', path=path)}\n{RIGHT}")
    )
    made = attempt(issue_of(VAGUE, tmp_path), 0, bench_of(engine, tmp_path, script, samples=4))
    best = made.tests[0]
    assert best.judgement.candidate
    assert best.test.origin.strategy == "auto-agent"
    ended = DialogueEnded(by="agent", ending=Ending.FINISH, steps=1, said="", wrote=True)
    assert ended in made.notes
    assert len(made.trajectories) >= 2


def test_a_report_is_read_and_run_once_for_all(engine: Engine, tmp_path: Path) -> None:
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in (read_report.__code__, watch.__code__):
            calls[frame.f_code.co_name] += 1

    report = f"{VAGUE}\n```python\nfrom interval import mean\nmean([1])\n```\n"
    ways = ("You write pytest tests that reproduce", "You write pytest tests that show")
    script = "".join(f"=== always if: {way}\n{WRONG}\n" for way in ways)
    script += judge_says("no", "mean does something bad") + replies(act("finish"))
    bench = bench_of(engine, tmp_path, script, samples=4)
    sys.setprofile(count)
    try:
        made = attempt(issue_of(report, tmp_path), 0, bench)
    finally:
        sys.setprofile(None)
    assert {note.by for note in made.notes} >= {"libro", "invert", "agent"}
    assert calls == {"read_report": 1, "watch": 1}


def test_time_that_is_over_is_said_with_what_it_would_have_been_for(
    engine: Engine, tmp_path: Path
) -> None:
    bench = bench_of(engine, tmp_path, replies("x"), deadline=time.monotonic() - 1)
    made = attempt(issue_of(CLAMP_ISSUE, tmp_path), 0, bench)
    assert any(item.judgement.candidate for item in made.tests)
    made = attempt(issue_of(VAGUE, tmp_path), 0, bench)
    assert NotTried(what=(Untried.LIBRO, Untried.INVERT, Untried.AGENT)) in made.notes


def test_a_model_that_never_answers_is_an_error_when_there_is_nothing_else(
    engine: Engine, tmp_path: Path
) -> None:
    script = "=== reply if: never found in any prompt\nx\n"
    with pytest.raises(ModelProblem, match="no reply"):
        attempt(issue_of(VAGUE, tmp_path), 0, bench_of(engine, tmp_path, script))
    # Replay has a test of 65 % here, which is not enough for not asking.
    made = attempt(issue_of(CLAMP_ISSUE, tmp_path), 0, bench_of(engine, tmp_path, script))
    assert any(item.judgement.candidate for item in made.tests)
    (alone,) = (note for note in made.notes if isinstance(note, WithoutModel))
    assert "no reply" in alone.said
    answered = attempt(
        issue_of(CLAMP_ISSUE, tmp_path), 0, bench_of(engine, tmp_path, "=== always\nx\n")
    )
    assert not any(isinstance(note, WithoutModel) for note in answered.notes)


def shares(*leading: int) -> list[Sampled]:
    sizes = [4, 8, 16, 24, 40]
    return [Sampled(samples=sizes[n], leading=lead) for n, lead in enumerate(leading)]


@pytest.mark.parametrize(
    ("history", "why"),
    [
        ((), None),
        ((0,), None),
        ((0, 0), None),
        ((0, 0, 0), StopReason.NONE_FAILS),
        ((2,), None),
        ((1, 4), None),
        ((2, 4), StopReason.AGREE),
        ((1, 1, 2), None),
        ((0, 1, 1, 2), None),
    ],
)
def test_sampling_stops_when_the_leading_share_stands_still(
    history: tuple[int, ...], why: StopReason | None
) -> None:
    assert why_stop(shares(*history)) is why


def test_batches_grow_and_end_where_the_user_says() -> None:
    assert [next_batch(shares(*[1] * n)) for n in range(5)] == [4, 4, 8, 8, 16]
    assert next_batch(shares(1, 1), most=10) == 2
    assert why_stop(shares(1, 1), most=8) is StopReason.ALLOWED

"""Every note of an attempt has its sentence, and travels as JSON."""

from __future__ import annotations

from typing import get_args

from pytest_brt.answers import answer_issue
from pytest_brt.codec import from_json, to_json
from pytest_brt.render.notes import attempt_words, note_sentence
from pytest_brt.types import Attempt, AttemptNote, Ending, Verdict
from pytest_brt.types.attempt import (
    DialogueEnded,
    Interrupted,
    ModelFailed,
    ModelGaveNothing,
    NotTried,
    PlansFailed,
    PutAtTop,
    SamplesDrawn,
    Shortened,
    VerdictCount,
    WithoutModel,
)
from tests.render.samples import LEFT_OUT, NO_CODE, UNCLEAR

NOTES: list[AttemptNote] = [
    Shortened(part="report", left_out=False),
    Shortened(part="report", left_out=True),
    SamplesDrawn(samples=1, unreadable=1, tests=0, verdicts=()),
    SamplesDrawn(
        samples=3,
        unreadable=1,
        tests=2,
        verdicts=(VerdictCount(verdict=Verdict.FAIL, tests=2),),
    ),
    *(DialogueEnded(ending=ending, steps=1, said="", wrote=True) for ending in Ending),
    DialogueEnded(ending=Ending.LOOP, steps=2, said="4 times alike", wrote=False),
    PlansFailed(said="no plan of 3"),
    PutAtTop(reason="a conftest.py cannot be imported"),
    NotTried(what=("libro", "agent")),
    ModelFailed(said="no answer"),
    WithoutModel(said="no connection"),
    ModelGaveNothing(wrote=True),
    ModelGaveNothing(wrote=False),
    Interrupted(),
]


def test_the_samples_have_every_member() -> None:
    assert {type(note) for note in NOTES} == set(get_args(AttemptNote))


def test_no_two_have_the_same_sentence() -> None:
    assert len({note_sentence(note) for note in NOTES}) == len(NOTES)


def test_they_travel() -> None:
    attempt = Attempt(
        issue="i", strategy="auto", index=0, tests=(), misses=(NO_CODE,), notes=tuple(NOTES)
    )
    assert from_json(to_json(attempt), Attempt) == attempt


def test_whose_note_it_is_stands_before_it() -> None:
    assert note_sentence(ModelFailed(by="libro", said="no answer")) == "libro: no answer"


def test_what_the_answer_says_is_not_said_again() -> None:
    misses = (UNCLEAR, LEFT_OUT)
    attempt = Attempt(
        issue="i", strategy="replay", index=0, tests=(), misses=misses, notes=(Interrupted(),)
    )
    answer = answer_issue([attempt])
    assert list(attempt_words(attempt, answer)) == [LEFT_OUT.text]
    assert len(list(attempt_words(attempt))) == 4

"""Every miss and every note of an attempt has its sentence, and travels as JSON."""

from __future__ import annotations

from typing import get_args

from pytest_brt.answers import answer_issue
from pytest_brt.codec import from_json, to_json
from pytest_brt.render.misses import miss_advice, miss_sentence
from pytest_brt.render.notes import attempt_words, note_sentence
from pytest_brt.types import Attempt, AttemptNote, Ending, Miss, Verdict
from pytest_brt.types.attempt import (
    DialogueEnded,
    Interrupted,
    ModelFailed,
    ModelGaveNothing,
    NotAsked,
    NotTried,
    PlansFailed,
    PutAtTop,
    Question,
    SamplesDrawn,
    SamplingStopped,
    Shortened,
    StopReason,
    Untried,
    VerdictCount,
    WithoutModel,
)
from pytest_brt.types.miss import (
    AlreadyRight,
    CodeInShell,
    CodeLeftOut,
    CodeRead,
    ComplaintUnclear,
    Mendable,
    NoCode,
    NotComparable,
    NothingWrong,
    OwnTestPasses,
    OwnTestUnused,
    PassingTests,
    StatedValue,
    StatementEnded,
    StatementRaised,
    TooManyStatements,
    UndefinedNames,
)
from tests.support.outcomes import caused

VALUES = (StatedValue(text="3", line=7),)
MISSES: list[Miss] = [
    NoCode(),
    CodeInShell(line=3),
    CodeLeftOut(line=2, end_line=2, code="print x"),
    CodeLeftOut(line=2, end_line=4, code="y"),
    TooManyStatements(most=150, most_inline=40),
    CodeRead(statements=1, blocks=0),
    CodeRead(statements=2, blocks=1),
    UndefinedNames(names=("f", "g")),
    StatementEnded(line=2, source="f()", said="exit status 3"),
    StatementEnded(line=2, source="f()", said="timed out after 20 s", timed_out=True),
    StatementRaised(line=2, source="f()", exception="KeyError", message="'a'"),
    StatementRaised(line=2, source="import x", exception="ModuleNotFoundError", message="no"),
    PassingTests(tests=1),
    PassingTests(tests=2),
    OwnTestPasses(name="test_a"),
    OwnTestUnused(name="test_a", cause=caused(Verdict.BROKEN, "no test found"), raised=None),
    NothingWrong(),
    ComplaintUnclear(),
    AlreadyRight(values=VALUES),
    NotComparable(values=VALUES),
]
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
    *(SamplingStopped(why=why, samples=8, alike=4) for why in StopReason),
    *(DialogueEnded(ending=ending, steps=1, said="", wrote=True) for ending in Ending),
    DialogueEnded(ending=Ending.LOOP, steps=2, said="4 times alike", wrote=False),
    PlansFailed(said="no plan of 3"),
    NotTried(what=tuple(Untried)),
    ModelFailed(said="no answer"),
    *(NotAsked(question=question, said="no answer") for question in Question),
    WithoutModel(said="no connection"),
    ModelGaveNothing(wrote=True),
    ModelGaveNothing(wrote=False),
    PutAtTop(folder="tests", cause=caused(Verdict.BROKEN, "no test found"), raised=None),
    Interrupted(),
]


def test_the_samples_have_every_member() -> None:
    assert {type(miss) for miss in MISSES} == set(get_args(Miss))
    assert {type(note) for note in NOTES} == set(get_args(AttemptNote))


def test_no_two_have_the_same_sentence() -> None:
    assert len({miss_sentence(miss) for miss in MISSES}) == len(MISSES)
    assert len({note_sentence(note) for note in NOTES}) == len(NOTES)


def test_each_miss_that_a_person_can_mend_has_advice_of_its_own() -> None:
    mended = [miss for miss in MISSES if isinstance(miss, Mendable)]
    whose = {miss_advice(miss): type(miss) for miss in mended}
    assert all(whose[miss_advice(miss)] is type(miss) for miss in mended)
    assert set(whose.values()) == set(get_args(Mendable))


def test_they_travel() -> None:
    attempt = Attempt(
        issue="i", strategy="auto", index=0, tests=(), misses=tuple(MISSES), notes=tuple(NOTES)
    )
    assert from_json(to_json(attempt), Attempt) == attempt


def test_whose_note_it_is_stands_before_it() -> None:
    assert note_sentence(ModelFailed(by="libro", said="no answer")) == "libro: no answer"


def test_what_the_answer_says_is_not_said_again() -> None:
    misses = (CodeRead(statements=1, blocks=0), ComplaintUnclear())
    attempt = Attempt(
        issue="i", strategy="replay", index=0, tests=(), misses=misses, notes=(Interrupted(),)
    )
    answer = answer_issue([attempt])
    assert list(attempt_words(attempt, answer)) == ["found 1 statement in the text"]
    assert len(list(attempt_words(attempt))) == 4

"""Every answer about a ranking has its sentence, and travels as JSON."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.render.answer import doubt_clause, ranking_sentence
from pytest_brt.types import (
    Contradicted,
    Doubt,
    Lack,
    Leader,
    Level,
    NoLeader,
    NoneFixes,
    OnlyOne,
    RankingAnswer,
    Unfinished,
)
from tests.support.rows import judged, row

RANKS = rank_by_weight((row("a", "pp"), row("b", "pf")), (judged(0), judged(1)))
ANSWERS: list[RankingAnswer] = [
    Leader(patch="a"),
    Leader(patch="a", by_bug_tests_alone=True),
    *(Leader(patch="a", doubt=doubt) for doubt in Doubt),
    *(NoLeader(patches=("a", "b"), level=level) for level in Level),
    OnlyOne(patch="a"),
    *(NoneFixes(lack=lack) for lack in Lack),
    Contradicted(bug_tests=("test_a",), existing=tuple(f"t.py::test_{n}" for n in range(5))),
    Unfinished(missing=1, of=7),
]


def test_the_samples_have_every_member() -> None:
    assert {type(answer) for answer in ANSWERS} == set(get_args(RankingAnswer))


def test_no_two_answers_have_the_same_sentence() -> None:
    sentences = [ranking_sentence(answer, RANKS) for answer in ANSWERS]
    assert len(set(sentences)) == len(ANSWERS)
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_an_answer_survives_json(answer: RankingAnswer) -> None:
    assert from_json(to_json(answer), RankingAnswer) == answer  # type: ignore[arg-type]


def test_every_doubt_has_its_clause() -> None:
    assert len({doubt_clause(doubt) for doubt in Doubt}) == len(Doubt)

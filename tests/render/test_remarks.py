"""Every remark on a patch has its sentence, and travels as JSON."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.render.remarks import left_out_words, remark_sentence, warning_words
from pytest_brt.types import (
    AppliedLeniently,
    ChangesNothing,
    LeftOutFiles,
    LeftOutKind,
    NamesTestTools,
    NeedsBuild,
    NotExercised,
    Remark,
    SinglesOutInput,
    SyntaxErrorAfter,
)

REMARKS: list[Remark] = [
    AppliedLeniently(),
    *(LeftOutFiles(what=kind, paths=("a", "b")) for kind in LeftOutKind),
    ChangesNothing(),
    NeedsBuild(paths=("setup.py",)),
    SyntaxErrorAfter(path="pkg/a.py", line=3, message="invalid syntax"),
    NamesTestTools(names=tuple("abcdefg")),
    SinglesOutInput(comparison="x == 5"),
    NotExercised(),
]


def test_the_samples_have_every_member() -> None:
    assert {type(remark) for remark in REMARKS} == set(get_args(Remark))


def test_no_two_remarks_have_the_same_sentence() -> None:
    sentences = {remark_sentence(remark) for remark in REMARKS}
    assert len(sentences) == len(REMARKS)
    assert all(sentences)


def test_every_kind_has_its_words() -> None:
    assert len({left_out_words(kind) for kind in LeftOutKind}) == len(LeftOutKind)


def test_only_code_that_may_deceive_is_warned_of() -> None:
    warned = [remark for remark in REMARKS if warning_words(remark)]
    assert {type(remark) for remark in warned} == {NamesTestTools, SinglesOutInput}


@pytest.mark.parametrize("remark", REMARKS, ids=repr)
def test_a_remark_survives_json(remark: Remark) -> None:
    assert from_json(to_json(remark), Remark) == remark  # type: ignore[arg-type]

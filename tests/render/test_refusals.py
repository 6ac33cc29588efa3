"""Every reason to refuse a patch has its sentence, and travels as JSON."""

from __future__ import annotations

from typing import get_args

from pytest_brt.codec import from_json, to_json
from pytest_brt.render.refusals import refusal_sentence
from pytest_brt.types import LeftOutFiles, LeftOutKind, Patch, PatchResult, Refused
from pytest_brt.types.refused import (
    EmptyPatch,
    FileExists,
    FileGone,
    FileMissing,
    FileUnreadable,
    GitFailed,
    HunkAdrift,
    HunkMissing,
    Malformed,
    NoFilesText,
    NotADiff,
    OnlyLeftOut,
    PathFault,
    UnsafePath,
)

REFUSED: list[Refused] = [
    EmptyPatch(),
    NotADiff(),
    NoFilesText(),
    Malformed(line=3, said="no hunk"),
    *(UnsafePath(path="a\n.py", fault=fault, detail="b") for fault in PathFault),
    FileMissing(path="a.py"),
    FileExists(path="a.py"),
    FileUnreadable(path="a.py", said="Permission denied"),
    FileGone(path="a.py"),
    HunkMissing(path="a.py", hunk=2, line=12, meant=40),
    HunkAdrift(path="a.py", line=3),
    OnlyLeftOut(
        left_out=(
            LeftOutFiles(what=LeftOutKind.BINARY_FILES, paths=("a.bin", "b.bin")),
            LeftOutFiles(what=LeftOutKind.TESTS, paths=("tests/test_a.py",)),
        )
    ),
    GitFailed(said="diff did not end within 60 s"),
]


def test_the_samples_have_every_member() -> None:
    assert {type(refused) for refused in REFUSED} == set(get_args(Refused))


def test_no_two_have_the_same_sentence_and_each_is_one_line() -> None:
    sentences = {refusal_sentence(refused) for refused in REFUSED}
    assert len(sentences) == len(REFUSED)
    assert not any("\n" in sentence for sentence in sentences)


def test_they_travel() -> None:
    patch = Patch(id="p", name="p.diff", text="")
    for refused in REFUSED:
        result = PatchResult(patch=patch, refused=refused)
        assert from_json(to_json(result), PatchResult) == result

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.prose import sentences
from pytest_brt.types import Block, BlockKind


def block(text: str, kind: BlockKind = BlockKind.PROSE) -> Block:
    return Block(kind=kind, text=text, line=4)


def test_sentences_and_their_code() -> None:
    found = sentences(block("`f(1.5). G` returns 2. It should\nbe `3`! E.g. this one.\n- An item"))
    assert [sentence.text for sentence in found] == [
        "`f(1.5). G` returns 2.",
        "It should be `3`!",
        "E.g. this one.",
        "- An item",
    ]
    assert found[0].spans[0].text == "f(1.5). G"
    assert [sentence.line for sentence in found] == [4, 4, 5, 6]


def test_blanks_in_code_stay_and_ends_of_lines_become_one() -> None:
    (found,) = sentences(block("Here  `f('a  b',\n  1)`  is\nwrong."))
    assert found.text == "Here `f('a  b', 1)` is wrong."
    assert found.spans[0].text == "f('a  b', 1)"


def test_a_sentence_may_start_with_code() -> None:
    found = sentences(block("Not sure if this is a bug. `f(1)` returns `2`. ``g. H`` too."))
    assert [sentence.text for sentence in found] == [
        "Not sure if this is a bug.",
        "`f(1)` returns `2`.",
        "``g. H`` too.",
    ]


def test_labels_begin_sentences() -> None:
    found = sentences(block("**Actual**: 0\n**Right one:** 5\nExpected result: 6\nand so on: 7"))
    assert [sentence.text for sentence in found] == [
        "**Actual**: 0",
        "**Right one:** 5",
        "Expected result: 6 and so on: 7",
    ]


def test_code_has_no_sentences() -> None:
    assert sentences(block("f(1)", BlockKind.PYTHON)) == ()


@given(st.text())
def test_spans_stand_where_they_say(text: str) -> None:
    for sentence in sentences(block(text)):
        for span in sentence.spans:
            assert span.text in sentence.text[span.start : span.end]

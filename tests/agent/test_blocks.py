from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.agent.blocks import ReplyProblem, fenced_blocks
from tests.model.actions import Cat, Edit, Search, Verdict
from tests.model.headers import read_reply


def test_a_header_and_its_code() -> None:
    text = '{"thought": "try", "action": "edit", "path": "t.py", "block": 1}\n```python\nx = 1\n```'
    reply = read_reply(text, Cat, Edit)
    assert reply.header == Edit(thought="try", path="t.py", block=1)
    assert reply.blocks == ("x = 1\n",)
    assert reply.closed


def test_prose_and_a_fence_around_the_header_are_forgiven() -> None:
    text = (
        "Sure! {braces} first.\n```json\n"
        '{"thought": "a\nb", "action": "edit", "path": "t.py", "block": 1}\n```\n'
        "And here:\n```python\ny = 2\n```\n"
    )
    reply = read_reply(text, Cat, Edit)
    assert reply.header == Edit(thought="a\nb", path="t.py", block=1)
    assert reply.blocks == ("y = 2\n",)


def test_a_cut_block_is_said_to_be_open() -> None:
    reply = read_reply('{"action": "code_search", "thought": "", "query": "q"}\n```\nx', Search)
    assert not reply.closed
    assert reply.blocks == ("x\n",)


def test_unpaired_surrogates_are_dropped() -> None:
    text = '{"reproduces": true, "confidence": 3, "why": "a\\ud800b"}'
    assert read_reply(text, Verdict).header.why == "ab"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no header at all", "no JSON header"),
        ('{"reproduces": true', "JSON error"),
        ('{"reproduces": true, "confidence": 101, "why": ""}', "confidence"),
        ('{"reproduces": 1, "confidence": 1, "why": ""}', "reproduces"),
        ("[1, 2]", "no JSON header"),
        ("", "no JSON header"),
        ("{" * 5000, "no JSON header"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ReplyProblem, match=message):
        read_reply(text, Verdict)


def test_longer_fences_hold_shorter_ones() -> None:
    assert fenced_blocks("````md\n```\nx\n```\n````\n") == (("```\nx\n```\n",), True)
    assert fenced_blocks("~~~\na\n~~~\n```\nb\n```") == (("a\n", "b\n"), True)


@settings(deadline=None, max_examples=100)
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ReplyProblem):
        read_reply(text, Cat, Edit)
    fenced_blocks(text)


line = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=20
).filter(lambda s: not s.lstrip().startswith(("```", "~~~")))


@settings(deadline=None, max_examples=100)
@given(blocks=st.lists(st.lists(line, min_size=1, max_size=4), max_size=3), why=st.text(max_size=9))
def test_what_was_written_is_read_again(blocks: list[list[str]], why: str) -> None:
    header = {"reproduces": True, "confidence": 7, "why": why}
    code = tuple("".join(f"{text}\n" for text in block) for block in blocks)
    text = json.dumps(header) + "".join(f"\n```python\n{block}```" for block in code)
    assert read_reply(text, Verdict).blocks == code

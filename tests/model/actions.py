"""Replies as an agent would be asked for them, for the tests."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec

from pytest_brt.model.base import Grammar
from pytest_brt.model.grammar import Shape

Thought = Annotated[str, msgspec.Meta(max_length=80)]
Path = Annotated[str, msgspec.Meta(min_length=1, max_length=60)]


class Cat(msgspec.Struct, tag="cat", tag_field="action", forbid_unknown_fields=True):
    thought: Thought
    path: Path
    line: Annotated[int, msgspec.Meta(ge=0, le=9999)] = 0


class Search(msgspec.Struct, tag="code_search", tag_field="action", forbid_unknown_fields=True):
    thought: Thought
    query: Annotated[str, msgspec.Meta(max_length=40)]
    kind: Literal["symbol", "text"] = "text"


class Edit(msgspec.Struct, tag="edit", tag_field="action", forbid_unknown_fields=True):
    thought: Thought
    path: Path
    block: Annotated[int, msgspec.Meta(ge=0, le=9)]


class Finish(msgspec.Struct, tag="finish", tag_field="action", forbid_unknown_fields=True):
    thought: Thought
    sure: bool
    level: Literal["low", 'very "high"']


class Verdict(msgspec.Struct, forbid_unknown_fields=True):
    reproduces: bool
    confidence: Annotated[int, msgspec.Meta(ge=0, le=99)]
    why: Annotated[str, msgspec.Meta(max_length=60)]


AGENT = (
    Shape(header=Cat),
    Shape(header=Search),
    Shape(header=Edit, most=2, lines=3),
    Shape(header=Finish),
)
JUDGE = (Shape(header=Verdict),)


def choice_grammar(*words: str) -> Grammar:
    """Return the grammar of an answer that is exactly one of `words`."""
    return Grammar(gbnf=f"root ::= {' | '.join(map(json.dumps, words))}\n")

"""Replies as an agent would be asked for them, for the tests."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec

from pytest_brt.model.base import Grammar
from pytest_brt.model.form import Choice, Header, Number, Text

Path = Annotated[str, msgspec.Meta(min_length=1, max_length=60)]


class Cat(msgspec.Struct, tag="cat", tag_field="action", forbid_unknown_fields=True):
    thought: Annotated[str, msgspec.Meta(max_length=80)]
    path: Path
    line: Annotated[int, msgspec.Meta(ge=0, le=9999)] = 0


class Search(msgspec.Struct, tag="code_search", tag_field="action", forbid_unknown_fields=True):
    thought: str
    query: Annotated[str, msgspec.Meta(max_length=40)]
    kind: Literal["symbol", "text"] = "text"


class Edit(msgspec.Struct, tag="edit", tag_field="action", forbid_unknown_fields=True):
    thought: str
    path: Path
    block: Annotated[int, msgspec.Meta(ge=0, le=9)]


class Finish(msgspec.Struct, tag="finish", tag_field="action", forbid_unknown_fields=True):
    thought: str
    sure: bool
    level: Literal["low", 'very "high"']


class Verdict(msgspec.Struct, forbid_unknown_fields=True):
    reproduces: bool
    confidence: Annotated[int, msgspec.Meta(ge=0, le=99)]
    why: Annotated[str, msgspec.Meta(max_length=60)]


def header(action: str, *fields: tuple[str, Text | Number | Choice], blocks: int = 0) -> Header:
    lead = (("thought", Text(longest=80)), ("action", Choice(words=(action,))))
    return Header(fields=(*lead, *fields), blocks=blocks, lines=3)


PATH = ("path", Text(shortest=1, longest=60))
BOOL = Choice(words=(True, False))
AGENT = (
    header("cat", PATH, ("line", Number(digits=4))),
    header("code_search", ("query", Text(longest=40)), ("kind", Choice(words=("symbol", "text")))),
    header("edit", PATH, ("block", Number(digits=1)), blocks=2),
    header("finish", ("sure", BOOL), ("level", Choice(words=("low", 'very "high"')))),
)
JUDGE = (
    Header(
        fields=(("reproduces", BOOL), ("confidence", Number(digits=2)), ("why", Text(longest=60)))
    ),
)


def choice_grammar(*words: str) -> Grammar:
    """Return the grammar of an answer that is exactly one of `words`."""
    return Grammar(gbnf=f"root ::= {' | '.join(map(json.dumps, words))}\n")

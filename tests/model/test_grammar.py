from __future__ import annotations

import json
from typing import Annotated

import msgspec
import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model.grammar import Shape, block_grammar, grammar_for
from tests.model.actions import AGENT, JUDGE


def rules(gbnf: str) -> dict[str, str]:
    return dict(line.split(" ::= ", 1) for line in gbnf.strip().split("\n"))


def test_the_thought_comes_before_the_action() -> None:
    root = rules(grammar_for(*AGENT, lead=("thought",)).gbnf)["root"]
    assert root.startswith(r'"{" "\"thought\": " "\"" char{0,80} "\"" (shape0 | ')
    action = rules(grammar_for(*AGENT, lead=("thought",)).gbnf)["shape0"]
    assert action.startswith(r'", " "\"action\": \"cat\"" ", \"path\": " "\"" char{1,60} "\""')


def test_every_rule_that_is_used_is_defined() -> None:
    for grammar in (grammar_for(*AGENT, lead=("thought",)), grammar_for(*JUDGE), block_grammar()):
        known = rules(grammar.gbnf)
        for body in known.values():
            bare = ""
            quoted = False
            position = 0
            while position < len(body):  # drop literals and character classes
                letter = body[position]
                if letter == "\\":
                    position += 2
                    continue
                if letter in '"' and not quoted:
                    position = body.index('"', skip_escapes(body, position + 1)) + 1
                    continue
                if letter == "[":
                    position = body.index("]", skip_escapes(body, position + 1, "]")) + 1
                    continue
                bare += letter
                position += 1
            names = {
                word.split("{")[0] for word in bare.replace("(", " ").replace(")", " ").split()
            }
            names = {n.rstrip("*+?") for n in names} - {"|", "", "*", "+", "?"}
            assert names <= set(known), (names, body)


def skip_escapes(body: str, position: int, close: str = '"') -> int:
    while body[position] != close:
        position += 2 if body[position] == "\\" else 1
    return position


def test_a_schema_has_its_fields_in_the_order_of_writing_and_no_others() -> None:
    class Look(msgspec.Struct, tag="look", tag_field="action"):
        thought: str
        path: str = ""

    class Stop(msgspec.Struct, tag="stop", tag_field="action"):
        thought: str

    shapes = (Shape(header=Look), Shape(header=Stop))
    found = json.loads(grammar_for(*shapes, lead=("thought",)).schema)["anyOf"]
    look = found[0]
    assert list(look["properties"]) == look["required"] == ["thought", "action", "path"]
    assert all(part["additionalProperties"] is False for part in found)


def test_a_schema_is_given_when_there_is_no_code() -> None:
    schema = json.loads(grammar_for(*JUDGE).schema)
    assert schema["required"] == ["reproduces", "confidence", "why"]
    assert grammar_for(*AGENT, lead=("thought",)).schema == ""


class Pattern(msgspec.Struct):
    text: Annotated[str, msgspec.Meta(pattern="^a")]


class Mapping(msgspec.Struct):
    table: dict[str, int]


class Odd(msgspec.Struct):
    number: Annotated[int, msgspec.Meta(ge=0, le=100)]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Pattern, "text: .*pattern"),
        (Mapping, "table: .*DictType"),
        (Odd, "number: .*IntType"),
    ],
)
def test_what_a_grammar_cannot_say_is_refused_by_name(kind: type, message: str) -> None:
    with pytest.raises(ModelProblem, match=message):
        grammar_for(Shape(header=kind))

from __future__ import annotations

import json

from pytest_brt.model.form import Text, block_grammar, grammar_for
from tests.model.actions import AGENT, JUDGE, header


def rules(gbnf: str) -> dict[str, str]:
    return dict(line.split(" ::= ", 1) for line in gbnf.strip().split("\n"))


def test_the_thought_comes_before_the_action() -> None:
    root = rules(grammar_for(*AGENT).gbnf)["root"]
    assert root.startswith(r'"{" "\"thought\": " "\"" char{0,80} "\"" (reply0 | ')
    action = rules(grammar_for(*AGENT).gbnf)["reply0"]
    assert action.startswith(r'", " "\"action\": " ("\"cat\"") ", \"path\": " "\""')


def test_every_rule_that_is_used_is_defined() -> None:
    for grammar in (grammar_for(*AGENT), grammar_for(*JUDGE), block_grammar()):
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
    look, stop = header("look", ("path", Text(longest=9))), header("stop")
    found = json.loads(grammar_for(look, stop).schema)["anyOf"]
    assert list(found[0]["properties"]) == found[0]["required"] == ["thought", "action", "path"]
    assert all(part["additionalProperties"] is False for part in found)
    assert json.loads(grammar_for(look).schema) == found[0]


def test_a_schema_is_given_when_there_is_no_code() -> None:
    schema = json.loads(grammar_for(*JUDGE).schema)
    assert schema["required"] == ["reproduces", "confidence", "why"]
    assert grammar_for(*AGENT).schema == ""

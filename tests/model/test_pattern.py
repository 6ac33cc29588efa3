from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Grammar
from pytest_brt.model.grammar import Shape, block_grammar, choice_grammar, grammar_for
from pytest_brt.model.pattern import as_grammar_has_it, compile_grammar
from tests.model.actions import AGENT, JUDGE, Cat

AGENT_GRAMMAR = grammar_for(*AGENT, lead=("thought",))
GOOD = [
    '{"thought": "", "action": "cat", "path": "a", "line": 0}',
    '{"thought": "é \\" \\\\ \\n \\u00e9 😀", "action": "cat", "path": "a", "line": 120}',
    '{"thought": "x", "action": "code_search", "query": "", "kind": "symbol"}',
    '{"thought": "x", "action": "edit", "path": "p", "block": 2}\n```python 1\n\n```',
    '{"thought": "x", "action": "edit", "path": "p", "block": 1}\n```python 1\na ``b``\n`\n```'
    "\n```python 2\n``\n```",
    '{"thought": "x", "action": "finish", "sure": false, "level": "very \\"high\\""}',
]
BAD = [
    "",
    "{}",
    '{"thought": "a\nb", "action": "cat", "path": "a", "line": 0}',
    '{"thought": "a\x7f", "action": "cat", "path": "a", "line": 0}',
    '{"thought": "\\ud800", "action": "cat", "path": "a", "line": 0}',
    '{"thought": "", "action": "cat", "path": "", "line": 0}',
    '{"thought": "", "action": "dog", "path": "a", "line": 0}',
    '{"thought": "", "action": "cat", "path": "a", "line": 10000}',
    '{"thought": "", "action": "cat", "path": "a", "line": 0}\n```python\nx\n```',
    '{"thought": "x", "action": "edit", "path": "p", "block": 1}',
    '{"thought": "x", "action": "edit", "path": "p", "block": 10}\n```python 1\nx\n```',
    '{"thought": "x", "action": "edit", "path": "p", "block": 1}\n```python 1\n```',
    '{"thought": "' + "x" * 81 + '", "action": "cat", "path": "a", "line": 0}',
]


@pytest.mark.parametrize("text", GOOD)
def test_what_the_grammar_allows(text: str) -> None:
    assert compile_grammar(AGENT_GRAMMAR.gbnf).fullmatch(text)
    assert as_grammar_has_it(text, AGENT_GRAMMAR) == text


@pytest.mark.parametrize("text", BAD)
def test_what_it_does_not(text: str) -> None:
    assert not compile_grammar(AGENT_GRAMMAR.gbnf).fullmatch(text)


def test_the_dress_is_put_right() -> None:
    loose = '```json\n{"action":"edit","block":1,"path":"p","thought":"x"}\n```\n~~~\ny\n~~~ bye'
    assert as_grammar_has_it(loose.replace(" bye", ""), AGENT_GRAMMAR) == (
        '{"thought": "x", "action": "edit", "path": "p", "block": 1}\n```python 1\ny\n```'
    )
    assert as_grammar_has_it("Sure:\n```py\nx\n```", block_grammar()) == "```python\nx\n```"
    assert as_grammar_has_it("`yes`.", choice_grammar(["yes", "no"])) == "yes"
    assert as_grammar_has_it("maybe", choice_grammar(["yes", "no"])) is None


def test_code_that_may_follow_is_not_lost() -> None:
    grammar = grammar_for(Shape(header=Cat, most=3), lead=("thought",))
    said = '{"thought": "x", "action": "cat", "path": "p", "line": 0}\n```python\ny\n```'
    assert as_grammar_has_it(said, grammar) == said.replace("```python", "```python 1")
    header = said.partition("\n")[0]
    assert as_grammar_has_it(f"{header}\n", grammar) == header


@settings(deadline=None)
@given(
    st.booleans(),
    st.integers(0, 99),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=25),
)
def test_any_verdict_is_recognised(right: bool, sure: int, why: str) -> None:
    said = json.dumps({"why": why, "confidence": sure, "reproduces": right}, indent=2)
    form = as_grammar_has_it(said, grammar_for(*JUDGE))
    assert form is not None
    assert json.loads(form) == {"reproduces": right, "confidence": sure, "why": why}


@pytest.mark.parametrize(
    "gbnf", ['root ::= "a" root', "root ::= other", "root ::= <token>", 'other ::= "a"']
)
def test_what_cannot_be_checked_is_said_so(gbnf: str) -> None:
    with pytest.raises(ModelProblem, match="rule"):
        as_grammar_has_it("a", Grammar(gbnf=gbnf))

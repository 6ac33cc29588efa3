"""What a model asked for, read out of replies that are right, nearly right, and wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.action import Action, describe, grammar_of
from pytest_brt.agent.parse import Refused, read_action
from pytest_brt.agent.paths import closest
from tests.agent.scripts import FILES, SPECS, header


def read(reply: str, **more: Any) -> Action | Refused:
    return read_action(reply, SPECS, paths=FILES, **more)


def done(reply: str) -> Action:
    action = read(reply)
    assert isinstance(action, Action), action
    return action


def refused(reply: str, **more: Any) -> str:
    problem = read(reply, **more)
    assert isinstance(problem, Refused), problem
    return problem.text


def test_a_proper_reply_is_taken_as_it_is() -> None:
    action = done(header("cat", path="pkg/core.py"))
    assert (action.name, action["path"], action.thought) == ("cat", "pkg/core.py", "because")
    assert action.mended == ()


@pytest.mark.parametrize(
    ("reply", "name", "value"),
    [
        (header("search", text="x"), "code_search", "x"),
        (header("Code-Search", text="x"), "code_search", "x"),
        (header("code_searches", text="x"), "code_search", "x"),
        (header("cat", file_path="pkg/core.py"), "cat", "pkg/core.py"),
        (header("cat", filename="pkg/core.py"), "cat", "pkg/core.py"),
        (header("cat", path="./core.py:17"), "cat", "pkg/core.py"),
        (header("cat", path="/repo/pkg/core.py"), "cat", "pkg/core.py"),
        (header("cat", path="pkg.core"), "cat", "pkg/core.py"),
        (header("cat", path="test_core.py::test_x"), "cat", "tests/test_core.py"),
        (header("cat", path="pkg/coree.py"), "cat", "pkg/core.py"),
        ('{"command": {"name": "cat", "args": {"path": "pkg/core.py"}}}', "cat", "pkg/core.py"),
        ('{"name": "cat", "arguments": {"path": "pkg/core.py"}}', "cat", "pkg/core.py"),
        ('{"action": "cat", "action_input": "pkg/core.py"}', "cat", "pkg/core.py"),
        (r'{"action": "code_search", "text": "\\d+\\w \\p"}', "code_search", r"\d+\w \p"),
        (r'{"action": "code_search", "text": "\d+ \n \p"}', "code_search", "\\d+ \n \\p"),
    ],
)
def test_what_is_nearly_right_is_put_right(reply: str, name: str, value: str) -> None:
    action = done(reply)
    assert action.name == name
    assert action.arguments[0][1] == value


def test_what_was_put_right_is_said() -> None:
    action = done(header("search", query="x"))
    assert action.mended == (
        "action 'search' read as 'code_search'",
        "argument 'query' read as 'text'",
    )


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("I would look at the code first.", "No action found"),
        (header("grep", text="x"), "no action 'grep' now. You can use: cat, code_search, write"),
        (header("cat_or_finish"), "'cat_or_finish' could be cat or finish"),
        (header("cat"), "cat needs 'path': a file"),
        (header("cat", path="util.py"), "could be other/util.py or pkg/util.py"),
        (header("cat", path="pkg/absent.py"), "There is no file 'pkg/absent.py'. Files like it"),
        (header("write", path="../../etc/x.py") + "\n```python\nx\n```", "no path of a .py file"),
        ('{"thought": "x"}', "names no action"),
    ],
)
def test_what_cannot_be_put_right_is_told(reply: str, told: str) -> None:
    assert told in refused(reply)


def test_code_stands_in_a_block_or_where_models_put_it_otherwise() -> None:
    block = header("write", path="tests/test_b.py") + "\n```python\ndef test():\n    pass\n```"
    inside = header("write", path="tests/test_b.py", code="def test():\n    pass")
    assert done(block).blocks == done(inside).blocks == ("def test():\n    pass\n",)
    assert done(block)["path"] == "tests/test_b.py"


def test_a_file_that_is_to_be_made_is_not_taken_for_another() -> None:
    code = "\n```python\nx\n```"
    for path in ("tests/test_cores.py", "tests/sub/test_core.py"):
        assert done(header("write", path=path) + code)["path"] == path
    assert done(header("write", path="./test_core.py") + code)["path"] == "tests/test_core.py"


@pytest.mark.parametrize(
    ("written", "meant"),
    [(r"\s+x", r"\s+x"), (r"\bend\b", r"\bend\b"), (r"\\s\s", r"\s\s"), (r"\up", r"\up")],
)
def test_a_lone_backslash_is_read_as_it_is_written(written: str, meant: str) -> None:
    reply = f'{{"thought": "t", "action": "code_search", "text": "{written}"}}'
    action = done(reply)
    assert action["text"] == meant
    (note,) = action.mended
    assert "lone" in note
    fenced = '```python\nr"\\d \\\\d \\b"\n```'
    both = f'{{"thought": "{written}", "action": "write", "path": "tests/test_b.py"}}\n{fenced}'
    assert done(both).blocks == ('r"\\d \\\\d \\b"\n',)
    assert done(both).thought == meant


def test_escapes_of_json_are_no_lone_backslashes() -> None:
    action = done(r'{"thought": "t", "action": "code_search", "text": "a\\d \"b\" \u0041\n\tc"}')
    assert action["text"] == 'a\\d "b" A\n\tc'
    assert action.mended == ()


def test_backslashes_in_code_stay_as_they_are() -> None:
    reply = (
        '{"thought": "\\d", "action": "write", "path": "tests/test_b.py"}\n```python\nr"\\d"\n```'
    )
    assert done(reply).blocks == ('r"\\d"\n',)


def test_code_that_was_cut_off_is_refused() -> None:
    reply = header("write", path="tests/test_b.py") + "\n```python\ndef test():\n    pa"
    assert "cut off" in refused(reply, cut=True)


def test_the_key_is_about_what_is_done_and_not_about_why() -> None:
    one = done('{"thought": "a", "action": "cat", "path": "core.py"}')
    other = done('{"thought": "b", "action": "cat", "path": "pkg/core.py"}')
    assert one.key == other.key
    assert one.key != done(header("cat", path="tests/test_core.py")).key


@pytest.mark.parametrize(
    ("given", "meant"),
    [("cats", "cat"), ("run_finish_now", "finish"), ("c", ""), ("", ""), ("code_serach", "")],
)
def test_names_are_matched_by_parts_and_a_small_distance(given: str, meant: str) -> None:
    assert closest(given, list(SPECS)).name == meant


def test_a_distance_below_a_tenth_is_near_enough() -> None:
    assert closest("search_code_bose", ["search_code_base", "cat"]).name == "search_code_base"


def test_the_prompt_shows_replies_that_are_read_back() -> None:
    shown = describe(SPECS.values())
    for spec in SPECS.values():
        assert spec.example() in shown
        example = spec.example().replace("a file", "pkg/core.py")
        assert done(example).name == spec.name


def test_the_grammar_has_every_action_and_the_thought_first() -> None:
    grammar = grammar_of(tuple(SPECS.values()))
    assert all(f'\\"{name}\\"' in grammar.gbnf for name in SPECS)
    rules = dict(line.split(" ::= ", 1) for line in grammar.gbnf.strip().split("\n"))
    assert rules["root"].startswith(r'"{" "\"thought\": ')
    assert rules["reply0"].index("action") < rules["reply0"].index("path")


_words = st.sampled_from([*SPECS, "grep", "path", "pkg/core.py", "util.py", "", "x", "tests"])
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | _words | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["thought", "action", "name", "args", "input", "path", "text", "code"]),
        _values,
    ),
    st.text(max_size=30),
)
def test_no_reply_is_too_odd(values: dict[str, Any], after: str) -> None:
    found = read(json.dumps(values) + after)
    assert isinstance(found, Action | Refused)


@given(st.text(max_size=200))
def test_no_text_is_too_odd(reply: str) -> None:
    assert isinstance(read(reply), Action | Refused)

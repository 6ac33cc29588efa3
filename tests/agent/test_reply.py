"""What a model asked for, read out of replies that are right, nearly right, and wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.action import describe, grammar_of
from pytest_brt.agent.paths import Paths, closest
from pytest_brt.agent.reply import Read, Unread, read_reply
from pytest_brt.types import Call
from tests.agent.scripts import ACTIONS, FILES, header


def read(reply: str, **more: Any) -> Read | Unread:
    return read_reply(reply, ACTIONS, paths=Paths(FILES), **more)


def done(reply: str) -> Read:
    found = read(reply)
    assert isinstance(found, Read), found
    return found


def argument(reply: str, name: str) -> str:
    return dict(done(reply).call.arguments)[name]


def refused(reply: str, **more: Any) -> str:
    problem = read(reply, **more)
    assert isinstance(problem, Unread), problem
    return problem.why


def test_a_proper_reply_is_taken_as_it_is() -> None:
    found = done(header("cat", path="pkg/core.py"))
    assert found.call == Call(action="cat", arguments=(("path", "pkg/core.py"),))
    assert (found.thought, found.corrections) == ("because", ())


@pytest.mark.parametrize(
    ("reply", "name", "value"),
    [
        (header("search", text="x"), "code_search", "x"),
        (header("Code-Search", text="x"), "code_search", "x"),
        (header("code_searches", text="x"), "code_search", "x"),
        (header("cat", file_path="pkg/core.py"), "cat", "pkg/core.py"),
        (header("cat", filename="pkg/core.py"), "cat", "pkg/core.py"),
        (header("cat", file_path="pkg/core.py", encoding="utf-8"), "cat", "pkg/core.py"),
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
    call = done(reply).call
    assert call.action == name
    assert call.arguments[0][1] == value


def test_what_was_put_right_is_said() -> None:
    assert done(header("search", query="x")).corrections == (
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
    assert done(block).call.code == done(inside).call.code == ("def test():\n    pass\n",)
    assert argument(block, "path") == "tests/test_b.py"


def test_a_file_that_is_to_be_made_is_not_taken_for_another() -> None:
    code = "\n```python\nx\n```"
    for path in ("tests/test_cores.py", "tests/sub/test_core.py"):
        assert argument(header("write", path=path) + code, "path") == path
    assert argument(header("write", path="./test_core.py") + code, "path") == "tests/test_core.py"


@pytest.mark.parametrize(
    ("written", "meant"),
    [(r"\s+x", r"\s+x"), (r"\bend\b", r"\bend\b"), (r"\\s\s", r"\s\s"), (r"\up", r"\up")],
)
def test_a_lone_backslash_is_read_as_it_is_written(written: str, meant: str) -> None:
    reply = f'{{"thought": "t", "action": "code_search", "text": "{written}"}}'
    assert argument(reply, "text") == meant
    (note,) = done(reply).corrections
    assert "lone" in note
    fenced = '```python\nr"\\d \\\\d \\b"\n```'
    both = f'{{"thought": "{written}", "action": "write", "path": "tests/test_b.py"}}\n{fenced}'
    assert done(both).call.code == ('r"\\d \\\\d \\b"\n',)
    assert done(both).thought == meant


def test_escapes_of_json_are_no_lone_backslashes() -> None:
    reply = r'{"thought": "t", "action": "code_search", "text": "a\\d \"b\" \u0041\n\tc"}'
    assert argument(reply, "text") == 'a\\d "b" A\n\tc'
    assert done(reply).corrections == ()


def test_backslashes_in_code_stay_as_they_are() -> None:
    reply = (
        '{"thought": "\\d", "action": "write", "path": "tests/test_b.py"}\n```python\nr"\\d"\n```'
    )
    assert done(reply).call.code == ('r"\\d"\n',)


@pytest.mark.parametrize(
    "reply",
    [
        "{'thought': 'because', 'action': 'cat', 'path': 'pkg/core.py'}",
        '{"thought": "because", "action": "cat", "path": "pkg/core.py",}',
        '{"thought": "because", "action": "cat", "path": "pkg/core.py"',
        'I look.\n{"thought": "because", "action": "cat" "path": "pkg/core.py"}',
    ],
)
def test_broken_json_is_mended(reply: str) -> None:
    found = done(reply)
    assert found.call == Call(action="cat", arguments=(("path", "pkg/core.py"),))
    (note,) = found.corrections
    assert "JSON" in note


def test_broken_json_is_told_from_the_code_behind_it() -> None:
    code = 'KNOWN = {"action": "finish"}\n'
    reply = "{'action': 'write', 'path': 'tests/test_b.py',}\n```python\n" + code + "```"
    assert done(reply).call.code == (code,)
    assert argument(reply, "path") == "tests/test_b.py"


def test_code_that_was_cut_off_is_refused() -> None:
    reply = header("write", path="tests/test_b.py") + "\n```python\ndef test():\n    pa"
    assert "cut off" in refused(reply, cut=True)


def test_a_call_is_about_what_is_done_and_not_about_why() -> None:
    one = done('{"thought": "a", "action": "cat", "path": "core.py"}')
    other = done('{"thought": "b", "action": "cat", "path": "pkg/core.py"}')
    assert one.call == other.call
    assert one.call != done(header("cat", path="tests/test_core.py")).call


@pytest.mark.parametrize(
    ("given", "meant"),
    [("cats", "cat"), ("run_finish_now", "finish"), ("c", ""), ("", ""), ("code_serach", "")],
)
def test_names_are_matched_by_parts_and_a_small_distance(given: str, meant: str) -> None:
    assert closest(given, list(ACTIONS)).name == meant


def test_a_distance_below_a_tenth_is_near_enough() -> None:
    assert closest("search_code_bose", ["search_code_base", "cat"]).name == "search_code_base"


def test_the_prompt_shows_replies_that_are_read_back() -> None:
    shown = describe(ACTIONS.values())
    for action in ACTIONS.values():
        assert action.example() in shown
        example = action.example().replace("a file", "pkg/core.py")
        assert done(example).call.action == action.name


def test_the_grammar_has_every_action_and_the_thought_first() -> None:
    grammar = grammar_of(ACTIONS)
    assert all(f'\\"{name}\\"' in grammar.gbnf for name in ACTIONS)
    rules = dict(line.split(" ::= ", 1) for line in grammar.gbnf.strip().split("\n"))
    assert rules["root"].startswith(r'"{" "\"thought\": ')
    assert rules["reply0"].index("action") < rules["reply0"].index("path")


_words = st.sampled_from([*ACTIONS, "grep", "path", "pkg/core.py", "util.py", "", "x", "tests"])
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
    assert isinstance(found, Read | Unread)


@given(st.text(max_size=200))
def test_no_text_is_too_odd(reply: str) -> None:
    assert isinstance(read(reply), Read | Unread)

from __future__ import annotations

import pytest

from pytest_brt.agents.reply import Tool, read_reply
from pytest_brt.agents.workspace import Refused, Workspace


def look(env: Workspace, path: str, first: str = "1") -> str:
    """Show a file."""
    return path


def write(env: Workspace, path: str, code: tuple[str, ...] = ()) -> str:
    """Write code."""
    return path


TOOLS: dict[str, Tool] = {"look": look, "write": write}
FENCE = "```python\nx = 1\n```\n"


@pytest.mark.parametrize(
    "reply",
    [
        '{"thought": "t", "action": "look", "path": "a.py"}',
        'I look.\n```json\n{"thought": "t", "action": "look", "args": {"path": "a.py"}}\n```',
        '{"thoughts": "t", "command": {"name": "look", "args": {"path": "a.py"}}}',
        "{'thought': 't', 'action': 'look', 'path': 'a.py',}",
        '{"thought": "t", "action": "look", "path": "a.py"',
        '{"thought": "t", "action": "look_at", "file_path": "a.py"}',
    ],
)
def test_untidy_replies_are_understood(reply: str) -> None:
    call, thought = read_reply(reply, TOOLS)
    assert thought == "t"
    assert (call.action, dict(call.arguments)) == ("look", {"path": "a.py", "first": "1"})


def test_code_stands_below_the_object() -> None:
    call, _ = read_reply('{"action": "write", "path": "a.py"}\n' + FENCE + FENCE, TOOLS)
    assert call.code == ("x = 1\n", "x = 1\n")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("I do not know.", "No JSON object"),
        ('{"action": "fly"}', "no action 'fly' now. Use: look, write"),
        ('{"action": "look"}', "look needs 'path'"),
    ],
)
def test_what_cannot_be_done_is_said(reply: str, problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        read_reply(reply, TOOLS)


def test_a_reply_that_was_cut_off_writes_nothing() -> None:
    reply = '{"action": "write", "path": "a.py"}\n```python\nx = '
    with pytest.raises(Refused, match="was cut off"):
        read_reply(reply, TOOLS, is_cut=True)
    call, _ = read_reply('{"action": "look", "path": "a.py"}', TOOLS, is_cut=True)
    assert call.action == "look"

"""What the page about repair shows is what happens."""

from __future__ import annotations

import re
import shlex
import sys

import pytest

from pytest_brt.agent.action import actions_of
from pytest_brt.repair.repairagent import STATES, RepairAgent, State
from tests.support.docs import PAGE, TRIED
from tests.support.interval import CLAMP_ISSUE
from tests.support.sessions import LEAN


def shown_after(command: str) -> set[str]:
    """Return the lines that the page shows as what a command prints, and writes."""
    rest = PAGE.partition(f"$ {command}\n```\n")[2]
    blocks = re.findall(r"```(?:text|diff)\n(.*?)```", rest, re.DOTALL)
    lines = [line.strip() for block in blocks[:2] for line in block.splitlines()]
    return {line.partition("; …")[0] for line in lines if not line.startswith(("===", "{"))}


def table_text() -> str:
    """Return the table as Markdown, one row per tool."""
    states = [state for state in State if state is not State.DONE]
    lines = [
        "| tool | " + " | ".join(state.name.lower() for state in states) + " |",
        "|---" * (len(states) + 1) + "|",
    ]
    for tool in actions_of(object.__new__(RepairAgent)):
        cells = [_cell(state, tool) for state in states]
        lines.append(f"| `{tool}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(state: State, tool: str) -> str:
    target = STATES[state].get(tool)
    if target is None:
        return ""
    return "·" if target is state else f"→ {target.name.lower()}"


def test_the_table_is_the_one_that_the_tool_uses() -> None:
    assert table_text() in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("command", TRIED)
def test_commands_print_what_is_shown(project: pytest.Pytester, command: str) -> None:
    (project.path / "issue.md").write_text(CLAMP_ISSUE, "utf-8")
    script = re.search(
        r"^````text\n(=== (?:reply|always).*?)^````$", PAGE, re.DOTALL | re.MULTILINE
    )
    assert script is not None
    (project.path / "fixes.txt").write_text(script[1], "utf-8")
    typed = (*shlex.split(command)[1:], *LEAN.split())
    result = project.run(sys.executable, "-m", "pytest_brt", *typed)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    patches = (project.path / "brt-patches").rglob("*.diff")
    printed = result.stdout.str() + "".join(path.read_text("utf-8") for path in patches)
    for line in shown_after(command):
        assert line in printed


def test_there_are_commands_to_try() -> None:
    assert len(TRIED) == 2
    assert all(command in PAGE for command in TRIED)

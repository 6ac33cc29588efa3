"""The prompts of the agents as they are sent, for one small bug."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.agent.loop import Turn
from pytest_brt.code.index import open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.model.base import Prompt
from pytest_brt.reproduce.agent.edit_test import edit_prompt
from pytest_brt.reproduce.agent.run import session_of
from pytest_brt.reproduce.agent.task import Found, TestTask
from pytest_brt.reproduce.agent.writers import BrtAgent, FreeAgent
from pytest_brt.reproduce.prompting.context import gather_hints
from pytest_brt.types import Call, Done, FileChange, Step
from tests.reproduce.bench import bench_of, issue_of, replies
from tests.reproduce.golden import check
from tests.support.interval import CLAMP_ISSUE, TESTS

HOST = "tests/test_interval.py"
CHANGE = "Assert that clamp(5, 0, 10) is 5."
ROOM = 12_000


@pytest.fixture(scope="module")
def task(interval: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestTask]:
    folder = tmp_path_factory.mktemp("prompts")
    issue = issue_of(CLAMP_ISSUE, folder)
    with open_index(Path(interval.subject.root)) as index:
        yield TestTask(
            issue=issue,
            bench=bench_of(interval, folder, replies("x")),
            index=index,
            hints=gather_hints(issue, index),
            strategy="agent",
        )


@pytest.fixture(scope="module")
def told(task: TestTask, interval: Engine) -> TestTask:
    """Return a task for which the report's code was run."""
    hints = gather_hints(task.issue, task.index, interval)
    return replace(task, hints=hints, found=Found(hints=hints), strategy="auto-agent")


def turn(task: TestTask, *steps: Step) -> Turn:
    session = session_of(task, 0, top_k=0, longest=400)
    return Turn(session=session, steps=steps, tree=task.tree.after(steps))


def test_the_opening(task: TestTask) -> None:
    prompt = Prompt(messages=BrtAgent(task).opening(ROOM).messages)
    check("agent-opening", prompt)
    system, user = (message.text for message in prompt.messages)
    # Paper 001, 5.1.2: three examples in the system prompt, and given are the report and the file.
    assert system.count("<example>") == 3
    assert "return max(low, min(value, low))" in user
    assert "does this" not in user


def test_the_opening_with_what_replay_found(told: TestTask) -> None:
    check("free-agent-opening", Prompt(messages=FreeAgent(told).opening(ROOM).messages))


def test_the_opening_with_what_was_tried_before(told: TestTask) -> None:
    best = "from interval import clamp\n\n\ndef test_a():\n    assert clamp(5, 0, 10) != 0"
    reasons = ("`assert clamp(0, 0, 10) == 0`: passes on this tree", "`assert 1 == 2`: nothing ran")
    tried = replace(told, found=Found(hints=told.hints, best=best, refused=reasons))
    check("free-agent-opening-tried", Prompt(messages=FreeAgent(tried).opening(ROOM).messages))


def test_the_edit_is_shown_the_whole_file_and_what_was_written_into_it(task: TestTask) -> None:
    first = edit_prompt(task, turn(task), HOST, CHANGE)
    check("agent-edit", first)
    # The meta task of paper 001, word for word.
    meta = "Write a bug reproduction test for the following bug report."
    assert first.messages[-1].text.startswith(meta)
    assert TESTS.strip() in first.messages[-1].text
    mine = f"{TESTS}\n\ndef test_a():\n    assert clamp(0, 0, 10) == 0\n"
    changes = (FileChange(path=HOST, content=mine.encode()),)
    edited = Step(number=1, reply="", call=Call(action="edit"), result=Done(changes=changes))
    again = edit_prompt(task, turn(task, edited), HOST, CHANGE)
    assert mine.strip() in again.messages[-1].text


def test_the_edit_of_a_new_file(task: TestTask) -> None:
    check("agent-edit-new", edit_prompt(task, turn(task), "tests/test_new.py", CHANGE))

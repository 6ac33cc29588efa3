"""The prompts of the agent as they are sent, for one small bug."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.code.index import open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.model.base import Prompt, Sampling
from pytest_brt.reproduce.agent.editing import edit_prompt
from pytest_brt.reproduce.agent.kit import Found, Kit, remembered
from pytest_brt.reproduce.agent.run import opening
from pytest_brt.reproduce.prompting.context import gather_hints
from pytest_brt.types import CandidateTest, Oracle, OracleKind, Origin, Step, Verdict
from tests.reproduce.bench import bench_of, issue_of, replies
from tests.reproduce.golden import check
from tests.support.interval import CLAMP_ISSUE

HOST = "tests/test_interval.py"
CHANGE = "Assert that clamp(5, 0, 10) is 5."


@pytest.fixture(scope="module")
def kit(interval: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kit]:
    folder = tmp_path_factory.mktemp("prompts")
    issue = issue_of(CLAMP_ISSUE, folder)
    with open_index(Path(interval.subject.root)) as index:
        yield Kit(
            issue=issue,
            bench=bench_of(interval, folder, replies("x")),
            index=index,
            hints=gather_hints(issue, index, interval),
            sampling=Sampling(temperature=0.2),
        )


def test_the_opening(kit: Kit) -> None:
    check("agent-opening", Prompt(messages=opening(kit)[0]))


def test_the_opening_with_what_replay_found(kit: Kit) -> None:
    found = replace(kit, found=Found(hints=kit.hints))
    check("agent-opening-facts", Prompt(messages=opening(found)[0]))


def test_the_opening_with_what_was_tried_before(kit: Kit) -> None:
    best = "from interval import clamp\n\n\ndef test_a():\n    assert clamp(5, 0, 10) != 0"
    reasons = ("`assert clamp(0, 0, 10) == 0`: passes on this tree", "`assert 1 == 2`: nothing ran")
    tried = replace(kit, found=Found(hints=kit.hints, best=best, refused=reasons))
    check("agent-opening-tried", Prompt(messages=opening(tried)[0]))


def test_the_edit_is_shown_what_was_read(kit: Kit) -> None:
    def look(number: int, action: str, value: str, problem: str = "") -> Step:
        arguments = (("path", value),)
        shown = f"shown {number}"
        return Step(
            number=number,
            reply="",
            action=action,
            arguments=arguments,
            observation=shown,
            problem=problem,
        )

    steps = (
        look(1, "cat", "a.py"),
        look(2, "code_search", "clamp"),
        look(3, "cat", "none.py", "There is no file"),
        look(4, "cat", "b.py"),
    )
    text = edit_prompt("tests/test_new.py", CHANGE, steps, kit).messages[-1].text
    assert "What was read of the project:\n\n```\nclamp\nshown 2\n\nb.py\nshown 4\n```" in text


def test_the_edit(kit: Kit) -> None:
    check("agent-edit", edit_prompt("tests/test_interval.py", CHANGE, (), kit))


def test_the_edit_of_a_test_that_was_run(kit: Kit) -> None:
    source = "def test_a():\n    assert clamp(0, 0, 10) == 0\n"
    mine = CandidateTest(
        id="t",
        issue="i",
        path=HOST,
        name="test_a",
        source=source,
        origin=Origin(strategy="agent"),
        oracle=Oracle(kind=OracleKind.EQUALS, sentence="it is", prior=0.5),
    )
    edited = Step(
        number=1,
        reply="",
        action="edit",
        arguments=(("path", HOST),),
        facts=(remembered([mine]),),
    )
    ran = Step(
        number=2,
        reply="",
        action="test",
        arguments=(("path", HOST),),
        observation="test_a: PASS\nIt passes on the code with the bug: it does not show the bug.",
        verdict=Verdict.PASS,
    )
    check("agent-edit-again", edit_prompt(HOST, CHANGE, (edited, ran), kit))
    # What an older version of the test did says nothing of the new one.
    again = edit_prompt(HOST, CHANGE, (edited, ran, replace(edited, number=3)), kit)
    assert "When it was run" not in again.messages[-1].text


def test_the_opening_can_be_had_without_listings(kit: Kit) -> None:
    short = opening(kit)[1][-1].text
    assert "clamp(5, 0, 10)" in short
    assert "def clamp" not in short
    assert "Your first action?" not in short


def test_the_edit_of_a_new_file(kit: Kit) -> None:
    prompt = edit_prompt("tests/test_new.py", CHANGE, (), kit)
    check("agent-edit-new", prompt)
    # The meta task of paper 001, word for word.
    task = "Write a bug reproduction test for the following bug report."
    assert prompt.messages[-1].text.startswith(task)

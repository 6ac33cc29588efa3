"""Dialogues from their first to their last step, with a model that follows a script."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest

from pytest_brt.agent.action import Outcome, Refusal, action
from pytest_brt.agent.loop import Turn, run_agent
from pytest_brt.agent.memory import Counter
from pytest_brt.agent.trajectory import Log
from pytest_brt.agent.tree import changed_files
from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import EditProblem, ModelProblem
from pytest_brt.model.base import Message, Model, Settings
from pytest_brt.model.server import ServerModel
from pytest_brt.store import Journal
from pytest_brt.types import Ending, Repeated, Step, Trajectory
from tests.agent.scripts import Finder, header, script, session
from tests.model.stand_in import Server

WRITTEN = header("write", path="tests/test_new.py") + "\n```python\nx = 1\n```"


def converse(model: Model, **changes: Any) -> Trajectory:
    return run_agent(Finder(), session(model, **changes))


def told(trajectory: Trajectory) -> list[str]:
    """Return why each step was not carried out, "" where it was."""
    return ["" if step.is_done else step.observation for step in trajectory.steps]


def test_a_dialogue_ends_when_the_model_says_so(tmp_path: Path) -> None:
    model = script(tmp_path, header("cat", path="core.py"), WRITTEN, header("finish"))
    trajectory = converse(model)
    assert trajectory.ending is Ending.FINISH
    assert [step.action for step in trajectory.steps] == ["cat", "write", "finish"]
    assert trajectory.steps[0].observation == (
        "(path 'core.py' read as 'pkg/core.py')\ncontent of pkg/core.py"
    )
    assert changed_files(trajectory.steps)["tests/test_new.py"].content == b"x = 1\n"
    assert trajectory.steps[1].cost.calls == 1


def test_what_was_written_is_a_file_from_then_on(tmp_path: Path) -> None:
    model = script(tmp_path, WRITTEN, header("cat", path="test_new"), header("finish"))
    assert converse(model).steps[1].argument("path") == "tests/test_new.py"


def test_a_wrong_reply_costs_a_step_and_is_answered(tmp_path: Path) -> None:
    model = script(tmp_path, "hm", header("grep", text="x"), header("finish"))
    first, second, last = converse(model).steps
    assert "No action found" in first.observation
    assert "You can use: cat, code_search, write, finish" in second.observation
    assert (first.is_done, second.is_done, last.action) == (False, False, "finish")


def test_the_steps_run_out(tmp_path: Path) -> None:
    model = script(tmp_path, *(header("code_search", text=f"w{n}") for n in range(9)))
    trajectory = converse(model, steps=4)
    assert (trajectory.ending, len(trajectory.steps)) == (Ending.STEPS, 4)


def test_an_action_that_is_not_allowed_now_is_refused(tmp_path: Path) -> None:
    class Careful(Finder):
        def allowed(self, steps: Sequence[Step]) -> Sequence[str]:
            return ["cat"] if not steps else ["finish"]

    model = script(tmp_path, header("finish"), header("finish"))
    assert told(run_agent(Careful(), session(model))) == [
        "There is no action 'finish' now. You can use: cat.",
        "",
    ]


def test_a_repeat_is_told_twice_in_other_words_and_then_ends_it(tmp_path: Path) -> None:
    same = header("cat", path="pkg/core.py")
    trajectory = converse(script(tmp_path, *[same] * 9), steps=9)
    assert trajectory.ending is Ending.LOOP
    first, second, third, _ = told(trajectory)
    assert first == ""
    assert "exactly this in step 1" in second
    assert "totally different from cat" in third
    assert trajectory.reason == "the same action 4 times"


def test_two_steps_in_turn_are_a_loop_too(tmp_path: Path) -> None:
    class Endless(Finder):
        @action(repeatable=True)
        def finish(self, turn: Turn) -> Outcome:
            raise Refusal("Run a test first.")

    words = [header("code_search", text=f"w{number}") for number in range(9)]
    replies = [reply for word in words for reply in (header("finish"), word)]
    trajectory = run_agent(Endless(), session(script(tmp_path, *replies), steps=25))
    assert trajectory.ending is Ending.LOOP
    assert [step.action for step in trajectory.steps].count("finish") == 4


def test_what_may_be_done_again_is_a_repeat_only_at_once(tmp_path: Path) -> None:
    class Back(Finder):
        @action(repeatable=True)
        def back(self, turn: Turn) -> Outcome:
            """Go back."""
            return Outcome(observation="You are back.")

    look, back = header("code_search", text="x"), header("back")
    steps = run_agent(Back(), session(script(tmp_path, back, look, back, back), steps=4)).steps
    assert [isinstance(step.result, Repeated) for step in steps] == [0, 0, 0, 1]


def test_an_action_that_each_change_makes_worth_while_is_no_loop(tmp_path: Path) -> None:
    look = header("cat", path="tests/test_new.py")
    writes = [WRITTEN.replace("x = 1", f"x = {number}") for number in range(6)]
    replies = [reply for write in writes for reply in (write, look)]
    trajectory = converse(script(tmp_path, *replies, header("finish")), steps=25)
    assert (trajectory.ending, len(trajectory.steps)) == (Ending.FINISH, 13)


def test_a_reply_that_cannot_be_read_four_times_ends_it(tmp_path: Path) -> None:
    trajectory = converse(script(tmp_path, *["hm"] * 9), steps=25)
    assert (trajectory.ending, len(trajectory.steps)) == (Ending.LOOP, 4)


def test_doing_it_again_after_a_change_is_no_repeat(tmp_path: Path) -> None:
    look = header("cat", path="pkg/core.py")
    again = WRITTEN.replace("x = 1", "x = 2")
    model = script(tmp_path, WRITTEN, look, again, look, look, header("finish"))
    steps = converse(model).steps
    assert [isinstance(step.result, Repeated) for step in steps] == [0, 0, 0, 0, 1, 0]


def test_a_long_observation_is_cut_and_says_so(tmp_path: Path) -> None:
    model = script(tmp_path, header("code_search", text="word"), header("finish"))
    shown = converse(model, observation=200).steps[0].observation
    assert "more times]" in shown or "left out" in shown
    assert len(shown) < 700


def test_an_action_that_fails_is_an_observation(tmp_path: Path) -> None:
    class Failing(Finder):
        @action()
        def code_search(self, turn: Turn, text: Annotated[str, "a word"]) -> Outcome:
            raise EditProblem("the host is not Python")

    model = script(tmp_path, header("code_search", text="x"), header("finish"))
    first, _ = told(run_agent(Failing(), session(model)))
    assert first == "This did not work: the host is not Python"


def test_a_model_that_stops_answering_ends_it_and_what_was_done_is_kept(tmp_path: Path) -> None:
    trajectory = converse(script(tmp_path, header("cat", path="core.py")))
    assert trajectory.ending is Ending.ERROR
    assert "no reply (left)" in trajectory.reason
    assert len(trajectory.steps) == 1


def test_a_model_that_never_answers_is_an_error(tmp_path: Path) -> None:
    model = script(tmp_path, header("finish"))
    converse(model)
    with pytest.raises(ModelProblem, match="no reply"):
        converse(model)


def test_time_is_a_limit_too(tmp_path: Path) -> None:
    replies = [header("code_search", text=f"w{n}") for n in range(9)]
    late = time.monotonic() - 1
    assert converse(script(tmp_path, *replies), deadline=late).ending is Ending.TIME
    assert session(script(tmp_path, "x")).seconds() == 0


def test_what_does_not_fit_ends_it(tmp_path: Path) -> None:
    model = script(tmp_path, header("finish"), context=20)
    trajectory = converse(model)
    assert (trajectory.ending, trajectory.steps) == (Ending.TOKENS, ())
    assert trajectory.reason.startswith("the first prompt does not fit the model's context of 20 ")


def test_a_small_context_is_no_reason_to_fail(tmp_path: Path) -> None:
    replies = [header("code_search", text=f"w{n}") for n in range(20)]
    model = script(tmp_path, *replies, context=600)
    trajectory = converse(model, steps=20, observation=150)
    assert (trajectory.ending, len(trajectory.steps)) == (Ending.STEPS, 20)


KILLED = """\
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from pytest_brt.agent.loop import run_agent
from pytest_brt.agent.trajectory import Log
from pytest_brt.store import Journal
from tests.agent.scripts import Finder, header, script, session

folder = Path(sys.argv[1])
replies = [header("code_search", text=f"w{n}") for n in range(9)]

def say(text):
    if text.startswith("step 3 of "):
        os.kill(os.getpid(), signal.SIGKILL)

journal = Journal(folder / "journal.jsonl", "s")
log = Log("i", "a", journal)
run_agent(Finder(), session(script(folder, *replies), say=say, log=log))
"""


def test_a_killed_dialogue_goes_on_where_it_was(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    process = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), str(root)], check=False, cwd=root
    )
    assert process.returncode == -signal.SIGKILL
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(b'{"key": "half a li')
    log = Log("i", "a", Journal(tmp_path / "journal.jsonl", "s"))
    cut = log.kept()
    assert [step.number for step in cut] == [1, 2, 3]
    trajectory = converse(script(tmp_path, header("finish")), log=log)
    assert trajectory.steps[:3] == cut
    assert [step.action for step in trajectory.steps[3:]] == ["finish"]
    assert Journal(tmp_path / "journal.jsonl", "s").get(Step, "step", "i", "a", "4")


def test_steps_are_json_and_back(tmp_path: Path) -> None:
    model = script(tmp_path, WRITTEN, "odd \u2028 reply", header("finish"))
    for step in converse(model).steps:
        assert from_json(to_json(step), Step) == step


def test_what_a_server_refuses_as_too_long_is_made_anew_for_its_context(tmp_path: Path) -> None:
    server = Server(tmp_path)
    refusal = {"message": "the request exceeds the context window", "n_ctx": 900}
    server.plan(
        {"text": header("code_search", text="x")},
        {"status": 400, "error": refusal},
        {"text": header("finish")},
    )
    model = ServerModel(server.url, Settings())
    rooms: list[int] = []

    class Listening(Finder):
        def messages(self, steps: Sequence[Step], room: int, count: Counter) -> Sequence[Message]:
            rooms.append(room)
            return super().messages(steps, room, count)

    try:
        trajectory = run_agent(Listening(), session(model))
        assert (trajectory.ending, len(trajectory.steps)) == (Ending.FINISH, 2)
        assert rooms == [16_384 - 100, 16_384 - 100, 900 - 100]
    finally:
        server.end()

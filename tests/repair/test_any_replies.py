"""Whatever a model asks for, in whatever order: no tool runs outside of its state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_brt.model.base import Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.bug import Bug
from pytest_brt.repair.repairagent import STATES, State, run_repairagent, state_after
from pytest_brt.types import Ending
from tests.repair.scenes import MODULE, Scene
from tests.support.trees import tree_hash

NAMES = sorted({name for row in STATES.values() for name in row})
WORDS = st.sampled_from(["", "clamp", MODULE, "nothing.py", "3", "-1", "moveTo", "x" * 50])
ARGUMENTS = ("path", "name", "first", "last", "keywords", "hypothesis", "reason", "changes")


@st.composite
def replies(draw: st.DrawFn) -> str:
    header = {"thought": "t", "action": draw(st.sampled_from([*NAMES, "finish", "write_fixx"]))}
    header |= {name: draw(WORDS) for name in ARGUMENTS if draw(st.booleans())}
    block = draw(st.sampled_from(["", "\n```python\nreturn 1\n```", "\n```"]))
    return json.dumps(header) + block


@pytest.fixture(scope="module")
def bug(scene: Scene) -> Bug:
    bug = scene.bug()
    bug.places()
    return bug


@settings(max_examples=40, suppress_health_check=[*HealthCheck])
@given(st.lists(replies() | st.text(max_size=40), min_size=1, max_size=12))
def test_tools_run_only_in_their_states(bug: Bug, tmp_path: Path, texts: list[str]) -> None:
    before = tree_hash(bug.tree.root)
    path = tmp_path / "replies.txt"
    # A line of a reply must not look like the mark before one.
    body = "".join(f"=== reply\n{text.replace('===', '')}\n" for text in texts)
    path.write_text(body.replace("\r", ""), encoding="utf-8")
    model = ScriptedModel(str(path), Settings())
    bench = RepairBench(bug=bug, model=model, steps=len(texts), variants=0)
    trajectory = run_repairagent(0, bench).trajectory
    assert trajectory is not None
    assert trajectory.ending in {Ending.STEPS, Ending.LOOP}
    for at, step in enumerate(trajectory.steps):
        if step.is_done:
            assert step.action in STATES[state_after(trajectory.steps[:at])]
        assert step.changes == ()
    assert state_after(trajectory.steps) is not State.DONE
    assert tree_hash(bug.tree.root) == before

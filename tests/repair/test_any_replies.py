"""Whatever a model asks for, in whatever order: no tool runs outside of its state."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_brt.model.base import Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.repair.repairagent import repair
from pytest_brt.repair.site import RepairBench, Site
from pytest_brt.repair.states import TABLE, State, ToolName, recall, state_after
from pytest_brt.types import Ending
from tests.repair.scenes import MODULE, Scene, scripted
from tests.support.trees import tree_hash

WORDS = st.sampled_from(["", "clamp", MODULE, "nothing.py", "3", "-1", "moveTo", "x" * 50])
ARGUMENTS = ("path", "name", "first", "last", "keywords", "hypothesis", "reason", "changes")


@st.composite
def replies(draw: st.DrawFn) -> str:
    header = {"thought": "t", "action": draw(st.sampled_from([*ToolName, "finish", "write_fixx"]))}
    header |= {name: draw(WORDS) for name in ARGUMENTS if draw(st.booleans())}
    block = draw(st.sampled_from(["", "\n```python\nreturn 1\n```", "\n```"]))
    return json.dumps(header) + block


@pytest.fixture(scope="module")
def site(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = scene.site(scripted(tmp_path_factory.mktemp("model"), "=== reply\n"))
    site.places()
    return site


@settings(max_examples=40, suppress_health_check=[*HealthCheck])
@given(st.lists(replies() | st.text(max_size=40), min_size=1, max_size=12))
def test_tools_run_only_in_their_states(site: Site, tmp_path: Path, texts: list[str]) -> None:
    before = tree_hash(site.root)
    path = tmp_path / "replies.txt"
    # A line of a reply must not look like the mark before one.
    body = "".join(f"=== reply\n{text.replace('===', '')}\n" for text in texts)
    path.write_text(body.replace("\r", ""), encoding="utf-8")
    model = ScriptedModel(str(path), Settings())
    bench = RepairBench(site=replace(site, model=model), steps=len(texts), variants=0)
    trajectory = repair(bench)
    assert trajectory.ending in {Ending.STEPS, Ending.LOOP}
    for at, step in enumerate(trajectory.steps):
        if step.action and not step.problem:
            assert ToolName(step.action) in TABLE[state_after(trajectory.steps[:at])]
        assert step.changes == ()
    memory = recall(trajectory.steps)
    assert memory.state is not State.DONE
    assert len(memory.entries) == len(trajectory.steps)
    assert tree_hash(site.root) == before
